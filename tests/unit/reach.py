# SPDX-License-Identifier: BSD-3-Clause
"""Holds how many sources are compiled anew when one of the headers below changes: those that include it, directly or
by others. A header that knows much and changes often is for the few that need all of it.
usage: reach.py SOURCE_FOLDER [HEADER], which lists the sources of one header instead"""
import pathlib
import re
import sys

# At most so many sources, and what the others include instead.
BOUNDS = {
    "runtime/mpi/object/process.hpp": (29, "mpi/object/current.hpp, or what a communicator hands on of its process"),
    "runtime/rma/window_end.hpp": (10, "a declaration of the class"),
    "runtime/engine/engine.hpp": (68, "engine/channel.hpp, or a declaration of the class"),
    "runtime/exec/execution.hpp": (15, "mpi/comm/collective_call.hpp, exec/planner.hpp"),
    "runtime/contract/checker.hpp": (30, "contract/ledger.hpp, or a declaration of the class"),
    "functions.hpp": (40, "base/function.hpp, where a function's number is only handed on"),
    "function_names.hpp": (15, "flight::name_of_function()"),
}
TOPS = ("launcher", "lib", "runtime")


def included(path, root):
    """The headers of ours that a file includes, also those that the build makes, by their names."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), flags=re.M):
        places = (path.parent / name, root / "runtime" / name, root / "lib" / name, root / name)
        own = next((each for each in places if each.is_file()), None)
        found.append(str(own.resolve().relative_to(root)) if own else name)
    return found


def reach(root):
    """By header: the sources that include it."""
    direct = {}
    for top in TOPS:
        for path in (root / top).rglob("*.[ch]pp"):
            direct[str(path.relative_to(root))] = included(path, root)
    sources = {}
    for source in direct:
        if not source.endswith(".cpp"):
            continue
        seen, todo = set(), [source]
        while todo:
            for header in direct.get(todo.pop(), ()):
                if header not in seen:
                    seen.add(header)
                    todo.append(header)
        for header in seen:
            sources.setdefault(header, []).append(source)
    return sources


def main():
    sources = reach(pathlib.Path(sys.argv[1]).resolve())
    if len(sys.argv) > 2:
        print("\n".join(sorted(sources.get(sys.argv[2], ()))))
        return False
    wrong = False
    for header, (most, instead) in BOUNDS.items():
        count = len(sources.get(header, ()))
        good = 0 < count <= most
        print(f"{header}: {count} sources include it, {most} may" + ("" if good else f"; the others: {instead}"))
        wrong |= not good
    return wrong


sys.exit(main())
