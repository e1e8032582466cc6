#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""memory_of_buffers.py BUILD [all]: buffers that are too short or freed, in a program that mpicc builds with
-fsanitize=address, the library being the ordinary one and --check as it is by itself: the call is told, with its line,
before anything is touched; right twins are silent. With gcc, and with `all` by clang as well."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    bad = ran = 0
    with tempfile.TemporaryDirectory() as work:
        for compiler in ["gcc", "clang"] if "all" in sys.argv[2:] else ["gcc"]:
            program = f"{work}/{compiler}"
            if not shutil.which(compiler) or not compiles(compiler, build, program):
                print(f"{compiler}: no -fsanitize=address here")
                continue
            ran += 1
            for kind in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split():
                for what in ["right", "short", "freed"]:
                    bad += not is_as_it_should(build, program, kind, what, work)
    print(f"{bad} wrong")
    return 77 if not ran else 1 if bad else 0


def compiles(compiler, build, program):
    made = subprocess.run([build / "bin/mpicc", "-g", "-w", "-fsanitize=address", HERE / "memory_of_buffers.c", "-o",
                           program], env={**os.environ, "TUTTI_CC": compiler}, capture_output=True)
    return made.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0


def is_as_it_should(build, program, kind, what, work):
    done = subprocess.run([build / "bin/mpirun", "-n", "2", program, kind, what], cwd=work, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    text = done.stdout
    call = kind.split(",")[0]
    if what == "right":
        good = done.returncode == 0 and text == ""
    else:
        told = f"{call}: " in text and "leaves the memory that the program has there" in text
        good = done.returncode != 0 and told and "at memory_of_buffers.c:" in text and "AddressSanitizer:" not in text
    print(f"{kind} {what}: {'ok' if good else 'WRONG'}", flush=True)
    if not good:
        print(text[:3000])
    return good


if __name__ == "__main__":
    sys.exit(main())
