# SPDX-License-Identifier: BSD-3-Clause
"""Prints which of these sources have a name in an unnamed namespace that one before them in the same folder has as well,
with semicolons between them: compiled at once, one would be taken for the other, and where they are overloads no compiler
would say so.
usage: named_twice.py SOURCE…"""
import pathlib
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.S | re.M)
# What stands at the beginning of a line: a type, or the last word before what a function or variable goes on with.
NAMED = re.compile(r"^(?:(?:struct|class|enum class|enum|union) (\w+)|(?![ /#}]|(?:namespace|template|__attribute__)\b|using [\w:]+;)[^;={}()\n]*\b(\w+)(?= ?[=({\[;]))", re.M)


def names_of(path):
    inside = "\n".join(UNNAMED.findall(path.read_text()))
    return {one or other for one, other in NAMED.findall(inside)}


def main(*sources):
    seen, alone = {}, []
    for path in sorted(map(pathlib.Path, sources)):
        names, before = names_of(path), seen.setdefault(path.parent, set())
        if names & before:
            alone.append(str(path))
        else:
            before |= names
    print(";".join(alone), end="")


main(*sys.argv[1:])
