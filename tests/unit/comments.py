# SPDX-License-Identifier: BSD-3-Clause
"""Holds that a file which a comment of the C++ sources, or a page for those who change them, names is there: by its path
from the top, from runtime/ or from the comment's own folder, or by the end of a path. A name without a folder is one
file's at least, or a generated one's.
usage: comments.py SOURCE_FOLDER"""
import pathlib
import re
import sys

# The build makes these.
GENERATED = {"functions.hpp", "function_names.hpp", "settings.hpp", "lib/entries.cpp"}
PAGES = ("CONTRIBUTING.md", "docs/design.md")
# A place in a user's program, as sentences show it.
USERS = {"solver.c"}
PATH = re.compile(r"(?<![\w./<*-])((?:[\w-]+/)*[\w-]+\.(?:hpp|cpp|py|sh|tsv|cmake))\b")


def comments(text):
    """The number of each line that has a comment, and the comment."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"(?<![:\"])//(.*)$", line)
        if found:
            yield number, found[1]


def main():
    source = pathlib.Path(sys.argv[1])
    tops = ("docs", "launcher", "lib", "man", "packaging", "runtime", "tests")
    files = [path for top in tops for path in (source / top).rglob("*") if path.is_file()]
    ends = set()
    for path in files:
        parts = path.relative_to(source).parts
        ends.update("/".join(parts[start:]) for start in range(len(parts)))
    found, named = [], 0
    sources = [path for path in sorted(files) if path.suffix in (".cpp", ".hpp")]
    for path in [*sources, *(source / page for page in PAGES)]:
        is_page = path.suffix == ".md"
        lines = enumerate(path.read_text().splitlines(), 1) if is_page else comments(path.read_text())
        for number, text in lines:
            for name in PATH.findall(text):
                named += 1
                if name not in ends and name not in GENERATED | USERS:
                    found.append(f"{path.relative_to(source)}:{number}: there is no file {name}")
    print("\n".join(found) or f"{named} files are named by comments and pages, and all are there")
    return bool(found) or named < 100


sys.exit(main())
