#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""loads_and_stores.py BUILD [TIMES [KIND]]: operations of MPI against the program's own loads and stores, in a program
that mpicc builds with -fsanitize=thread, the library being the ordinary one. What is wrong before an operation is
complete ThreadSanitizer tells, with both places in the program; what is right it does not, nor anything afterwards.

Prints a table: of each kind, in how many of TIMES runs (1) a load and a store before its end were told. A race at the
target of an operation on a window is told in most runs, of those in some: the sanitizer remembers few accesses, and a
clock orders more than the program does (runtime/mpi/check/knowledge.hpp). So one told in three runs will do. With
gcc, and where there are more than one run of each, with clang as well."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TRIES = 3


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    bad = ran = 0
    with tempfile.TemporaryDirectory() as work:
        for compiler in ["gcc", "clang"][: 1 if times == 1 else 2]:
            program = compile_with(compiler, build, work)
            if not program:
                continue
            ran += 1
            bad += all_kinds(build, program, times, only, work)
    if not ran:
        print("no compiler here has -fsanitize=thread")
        return 77
    print(f"{bad} wrong")
    return 1 if bad else 0


def compile_with(compiler, build, work):
    program = f"{work}/{compiler}"
    if not shutil.which(compiler):
        return None
    made = subprocess.run([build / "bin/mpicc", "-g", "-O1", "-fsanitize=thread", HERE / "loads_and_stores.c", "-o",
                           program], env={**os.environ, "TUTTI_CC": compiler}, capture_output=True, text=True)
    can_run = made.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0
    if not can_run:
        print(f"{compiler}: {made.stderr or 'its programs do not run here'}")
    return program if can_run else None


def all_kinds(build, program, times, only, work):
    bad = 0
    rows = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    print(f"{'':32}{'load':>10}{'store':>10}   after")
    for row in filter(None, rows):
        kind, wrong = row.split(";")
        if only not in kind:
            continue
        cells = []
        for access in ["load", "store"]:
            if access[0] not in wrong:
                cells.append("right" if not told(run(build, program, kind, access, "during", work)) else "FALSE")
                continue
            runs = [bool(told(run(build, program, kind, access, "during", work))) for _ in range(times)]
            while times == 1 and not any(runs) and len(runs) < TRIES:
                runs.append(bool(told(run(build, program, kind, access, "during", work))))
            cells.append(f"{sum(runs)} of {len(runs)}" if any(runs) else "NEVER")
        after = run(build, program, kind, "store", "after", work)
        cells.append("silent" if not told(after) and not after[0] else "FALSE")
        print(f"{kind:32}{cells[0]:>10}{cells[1]:>10}   {cells[2]}", flush=True)
        if "FALSE" in cells:
            print(after[1][:4000])
        bad += any(cell in ("FALSE", "NEVER") for cell in cells)
    return bad


def run(build, program, kind, access, when, work):
    """The exit code, and what was printed."""
    done = subprocess.run([build / "bin/mpirun", "-n", "2", program, kind, access, when], cwd=work, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def told(ran):
    """A race, by two places in the program; anything else that is said is an error."""
    code, text = ran
    if "ThreadSanitizer" not in text:
        return False
    first = text.split("Location is")[0].split("Thread T")[0]
    places = re.findall(r"#0 .*loads_and_stores\.c:\d+", text)
    return code != 0 and "data race" in first and len(places) >= 2


if __name__ == "__main__":
    sys.exit(main())
