#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""values.py BUILD memory|valgrind: what MemorySanitizer in a program that mpicc builds with clang, or valgrind's memcheck
around an ordinary one, says of values.c, the library being the ordinary one: a wrong one is told, with its line, and a
right one is not, in shared memory and by messages."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    looks_on = sys.argv[2]
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        program = compiled(build, looks_on, work)
        if not program:
            print(f"no {looks_on} here")
            return 77
        rows = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
        for kind, which in (row.split(";") for row in rows):
            for way in [[], ["--set", "transport.shared_memory=off"]]:
                is_wrong = which == "wrong" or which == f"wrong in {looks_on}"
                bad += not is_as_it_should(build, looks_on, way, program, kind, is_wrong, work)
    print(f"{bad} wrong")
    return 1 if bad else 0


def compiled(build, looks_on, work):
    if not shutil.which("clang" if looks_on == "memory" else "valgrind"):
        return None
    program = f"{work}/values"
    compiler, options = ("clang", ["-fsanitize=memory"]) if looks_on == "memory" else ("gcc", [])
    made = subprocess.run([build / "bin/mpicc", "-g", "-O1", "-w", *options, HERE / "values.c", "-o", program],
                          env={**os.environ, "TUTTI_CC": compiler}, capture_output=True)
    return program if made.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0 else None


def is_as_it_should(build, looks_on, way, program, kind, is_wrong, work):
    around = ["valgrind", "-q", "--error-exitcode=9"] if looks_on == "valgrind" else []
    done = subprocess.run([build / "bin/mpirun", "-n", "2", *way, *around, program, kind], cwd=work, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if is_wrong:
        good = done.returncode != 0 and re.search(r"[Uu]se-of-uninit|[Uu]ninitialised", done.stdout) is not None
        good = good and re.search(r"values\.c:\d+", done.stdout) is not None
    else:
        said = [line for line in done.stdout.splitlines() if "valgrind ignores" not in line]  # as its own notes
        good = done.returncode == 0 and not said
    print(f"{' '.join(way)} {kind}: {'ok' if good else 'WRONG'}", flush=True)
    if not good:
        print(done.stdout[:3000])
    return good


if __name__ == "__main__":
    sys.exit(main())
