# SPDX-License-Identifier: BSD-3-Clause
"""Holds the layers: who may include whom, and that nothing inside calls a function of MPI.
usage: layers.py SOURCE_FOLDER"""
import pathlib
import re
import sys

# A room may include itself and those that stand behind it here.
MAY_INCLUDE = {
    "launcher": ["base"],
    "lib": ["mpi", "base"],
    "runtime/mpi": ["coll", "rma", "contract", "engine", "transport", "boot", "base"],
    "runtime/coll": ["contract", "engine", "transport", "base"],
    "runtime/rma": ["engine", "transport", "base"],
    "runtime/contract": ["engine", "transport", "base"],
    "runtime/engine": ["transport", "base"],
    "runtime/transport": ["base"],
    "runtime/boot": ["base"],
    "runtime/base": [],
}
# The files that may include a library's headers.
LIBRARIES = {
    r"ucp/|ucs/|uct/": r"runtime/transport/",
    r"pmix": r"runtime/boot/pmix\.cpp|launcher/pmix_",
    r"hwloc": r"launcher/topology|launcher/placement",
    r"event2/": r"launcher/loop\.cpp|runtime/engine/progress\.cpp",
    r"yaml-cpp/": r"runtime/base/config\.cpp",
    r"elfutils/": r"launcher/where\.cpp",
}
ROOMS = {"base", "boot", "transport", "engine", "coll", "contract", "rma", "mpi"}


def without_comments_and_strings(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', '""', text, flags=re.S)


def offences(path, place, allowed):
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        own = re.match(r'\s*#include "([a-z_]+)/', line)
        if own and own[1] in ROOMS and own[1] not in allowed:
            yield f"{place}:{number}: may not include {own[1]}/"
        foreign = re.match(r"\s*#include <([^>]+)>", line)
        for pattern, where in LIBRARIES.items():
            if foreign and re.match(pattern, foreign[1]) and not re.match(where, place):
                yield f"{place}:{number}: may not include <{foreign[1]}>"
    if not place.startswith("lib/"):
        code = without_comments_and_strings(text)
        for call in re.finditer(r"(?<![\w.])P?MPI_[A-Z][a-z]\w*\s*\((?!\*)", code):
            yield f"{place}: calls {call[0].rstrip('( ')}"


def main():
    source = pathlib.Path(sys.argv[1])
    found, files = [], 0
    for room, allowed in MAY_INCLUDE.items():
        for path in sorted((source / room).glob("*.[ch]pp")):
            files += 1
            found += offences(path, str(path.relative_to(source)), [*allowed, room.split("/")[-1]])
    print("\n".join(found) or f"{files} files keep to their layers")
    return bool(found) or files < 50


sys.exit(main())
