# SPDX-License-Identifier: BSD-3-Clause
"""Holds that the pages for people fit together: what a link names is there, also its heading; docs/README.md lists every page;
and each manual page, option of mpirun's and setting that a page of docs/ names is known.
usage: links.py SOURCE_FOLDER"""
import pathlib
import re
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
MANUAL = re.compile(r"\b((?:mpi|tutti|MPI_)[\w.-]*)\(([1-8])\)|\bman ((?:mpi|tutti)[\w.-]*\w)")
# What stands alone, or behind a command of ours; those of others are named with their command, as in `podman run --userns`.
OPTION = re.compile(r"`(?:(?:mpirun|mpiexec|tutti)\b[^`]*? )?(--[a-z][\w-]*)")
SETTING = re.compile(r"`(?:--set )?((?:log|launch|transport|progress|wait|process|collectives|contract)\.[a-z_]+)\b")


def without_code(text):
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """As a web page of the repository names its headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", without_code(path.read_text()), re.MULTILINE):
        text = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.add(text.strip().replace(" ", "-"))
    return found


def main():
    source = pathlib.Path(sys.argv[1])
    manual = {path.name: re.sub(r"\\f[BIRP]", "", path.read_text().replace("\\-", "-"))
              for path in (source / "man").glob("*.[1-8]")}
    sys.path.insert(0, str(source / "man"))
    import functions  # which makes these
    manual |= {"tutti-functions.7": ""} | {f"{name}.3": "" for name in functions.known()}
    known = "\n".join(manual.values())
    pages = sorted((source / "docs").glob("*.md"))
    found, links = [], 0
    for page in [*pages, *(source / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "packaging/README.md"))]:
        text = without_code(page.read_text())
        name = page.relative_to(source)
        for link in LINK.findall(text):
            target, _, anchor = (link[0] or link[1]).partition("#")
            if re.match(r"\w+:", target):
                continue
            links += 1
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                found.append(f"{name}: there is no {target}")
            elif anchor and anchor not in anchors(path):
                found.append(f"{name}: {target} has no heading #{anchor}")
        for match in MANUAL.finditer(text):
            if match[1] and f"{match[1]}.{match[2]}" not in manual or match[3] and not any(
                    file.rpartition(".")[0] == match[3] for file in manual):
                found.append(f"{name}: there is no manual page {match[0]}")
        if page.parent.name == "docs" and page.name not in ("design.md", "performance.md"):
            for setting in SETTING.findall(text):
                if setting not in manual["tutti.yaml.5"]:
                    found.append(f"{name}: there is no setting {setting}")
            for option in OPTION.findall(text):
                if not re.search(rf"(?<![\w-]){option}(?![\w-])", known):
                    found.append(f"{name}: no manual page knows {option}")
    index = (source / "docs" / "README.md").read_text()
    found += [f"docs/README.md does not list {page.name}" for page in pages
              if page.name != "README.md" and f"({page.name})" not in index]
    print("\n".join(found) or f"{links} links, and all that they name is there")
    return bool(found) or links < 20


sys.exit(main())
