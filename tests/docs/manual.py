# SPDX-License-Identifier: BSD-3-Clause
"""Holds that mpirun(1) explains under OPTIONS each option that mpirun --help lists, and that the manual pages lead to each
other: SEE ALSO names pages that are there, by section and name, each page names mpirun(1), and mpirun(1) all of them.
usage: manual.py PREFIX SOURCE_FOLDER"""
import pathlib
import re
import subprocess
import sys


GENERATED = {"tutti-functions.7"}  # man/functions.py makes it


def section(text, name):
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def main():
    prefix, source = map(pathlib.Path, sys.argv[1:])
    pages = {path.name: re.sub(r"\\f[BIRP]", "", path.read_text().replace("\\-", "-"))
             for path in sorted((source / "man").glob("*.[1-8]"))}
    pages = {name: text for name, text in pages.items() if not text.startswith(".so ")}
    found = []

    told = subprocess.run([prefix / "bin" / "mpirun", "--help"], capture_output=True, text=True, check=True).stdout
    headings = re.findall(r"^\.TP\n(.*)$", section(pages["mpirun.1"], "OPTIONS"), re.MULTILINE)
    explained = {name for heading in headings for name in re.findall(r"(?<![\w-])-{1,2}[\w-]+", heading)}
    rows = [re.findall(r"(?<![\w-])-{1,2}[a-zA-Z][\w-]*", re.split(r" {2,}", line.strip())[0])
            for line in told.splitlines() if re.match(r"  -", line)]
    found += [f"mpirun(1), OPTIONS, lacks {', '.join(names)}" for names in rows if not explained & set(names)]

    for name, text in pages.items():
        named = re.findall(r"((?:mpi|tutti)[\w.-]*) \((\d)\)", section(text, "SEE ALSO"))
        found += [f"{name}: there is no {page}({part})" for page, part in named if f"{page}.{part}" not in pages and f"{page}.{part}" not in GENERATED]
        if named != sorted(named, key=lambda page: (page[1], page[0])):
            found.append(f"{name}: SEE ALSO is not in order")
        if name != "mpirun.1" and ("mpirun", "1") not in named:
            found.append(f"{name}: SEE ALSO lacks mpirun(1)")
        if name == "mpirun.1":
            found += [f"{name}: SEE ALSO lacks {other}" for other in pages
                      if other != name and tuple(other.rsplit(".", 1)) not in named]
    print("\n".join(found) or f"{len(rows)} options are explained, and {len(pages)} pages lead to each other")
    return bool(found) or len(rows) < 30


sys.exit(main())
