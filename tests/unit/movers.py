# SPDX-License-Identifier: BSD-3-Clause
"""Holds that bytes of payloads are moved by runtime/memory/ alone: that nobody else packs or unpacks a layout, copies a
run of bytes, has the kernel copy to or from another process, or applies a reduction, but for the files listed here, each
with what it moves. A copy whose length is the size of a variable or a number moves a word of ours, and is no matter here.
usage: movers.py SOURCE_FOLDER"""
import pathlib
import re
import sys

MOVERS = "runtime/memory/"
# By what is done: how it looks, and the files and rooms that may, with the reason. A reason that no longer has a line is
# an offence, too.
RULES = {
    "packs or unpacks a layout": (r"(?:\.|->|\bLayout::)(?:pack|unpack)\(", {
        "runtime/base/layout.cpp": "the walk itself, as data",
        "runtime/io/file_bytes.cpp": "files include base/ alone: payloads to and from a stage of a file",
    }),
    "copies bytes": (r"\b(?:memcpy|memmove|mempcpy|copy_n)\(", {
        "runtime/base/layout.cpp": "the walk itself, as data",
        "runtime/base/": "words and texts; lines past the caches, for SharedCopy",
        "runtime/contract/": "texts of reports",
        "runtime/io/file_bytes.cpp": "files include base/ alone: pieces out of a sieve",
        "runtime/io/testing/faulty.cpp": "files include base/ alone: what a test's file has",
        "runtime/transport/shared/doorbell.cpp": "names of sockets",
        "runtime/rma/paths/message.cpp": "a text for the other side",
        "runtime/survival/agreement.cpp": "words of its messages",
        "runtime/mpi/check/steady.cpp": "arrays of counts and displacements, which are integers",
        "runtime/mpi/comm/": "texts and words for other ranks",
        "runtime/mpi/rma/node_memory.cpp": "a text for other ranks",
        "runtime/mpi/process/": "names of ports",
        "runtime/mpi/object/": "texts, and Fortran's values of LOGICAL",
        "runtime/mpi/env/": "texts",
        "runtime/mpi/tool/": "texts, and what an event tells",
        "runtime/mpi/topology/": "lists of ranks",
        "runtime/mpi/type/pack_external.cpp": "one number of external32",
    }),
    "has the kernel copy between processes": (r"\bprocess_vm_(?:readv|writev)\(", {
        "runtime/mpi/check/sent_copy.cpp": "memory of its own that may have been freed, to be looked at without a crash",
    }),
    "applies a reduction": (r"\breduction(?:\.|->)apply\(", {}),
}
SIZE = r"sizeof(?: [\w.]+|\([\w:]+\))"
WORD = re.compile(rf"(?:memcpy|memmove)\([^;]*?,\s*(?:{SIZE}(?: - {SIZE})?|\d+|kWord|kShareHead)\)\s*;")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)


def uses(text, pattern):
    """The lines on which it stands, from 1."""
    for found in re.finditer(pattern, text):
        if not WORD.match(text, found.start()):
            yield text.count("\n", 0, found.start()) + 1


def allows(files, place):
    # The file itself before its room.
    return place if place in files else next((f for f in files if f.endswith("/") and place.startswith(f)), None)


def wrong_about_lines():
    refused = {"packs or unpacks a layout": ["op.payload.layout->pack(a, 1, 0, b, c);", "whole.unpack(0, in, n);"],
               "copies bytes": ["std::memcpy(to, from, length);", "memcpy(a, b, sizeof c + n);", "std::copy_n(a, n, b);",
                                "std::memmove(to, from, static_cast<size_t>(n));"],
               "has the kernel copy between processes": ["process_vm_readv(pid, &here, 1, &there, 1, 0)"],
               "applies a reduction": ["call.reduction.apply(call.reduction, a, b, c, n);"]}
    allowed = {"packs or unpacks a layout": ["memory::pack(payload, 0, out, n);", "packed = taken.packed();"],
               "copies bytes": ["std::memcpy(&head, data, sizeof head);", "std::memcpy(&magic, attribute, 4);",
                                "memory::copy(to, from, n);", "std::memcpy(name + 1, &x, sizeof(Header));"],
               "applies a reduction": ["memory::reduce(call.reduction, a, b, c, n);"]}
    for expected, table in ((True, refused), (False, allowed)):
        for what, lines in table.items():
            for line in lines:
                if any(uses(line, RULES[what][0])) != expected:
                    yield f"movers.py: {line} is {'not ' if expected else ''}refused"


def main():
    source = pathlib.Path(sys.argv[1])
    found, files, used = list(wrong_about_lines()), 0, set()
    for path in sorted((source / "runtime").rglob("*.[ch]pp")):
        place = str(path.relative_to(source))
        files += 1
        if place.startswith(MOVERS):
            continue
        text = without_comments(path.read_text())
        for what, (pattern, listed) in RULES.items():
            for line in uses(text, pattern):
                entry = allows(listed, place)
                used.add((what, entry))
                if entry is None:
                    found.append(f"{place}:{line}: {what}: that is for the movers ({MOVERS}movers.hpp)")
    for what, (_, listed) in RULES.items():
        found += [f"movers.py: no line of {entry} {what}" for entry in listed if (what, entry) not in used]
    print("\n".join(found) or f"{files} files leave moving to the movers")
    return bool(found) or files < 50


sys.exit(main())
