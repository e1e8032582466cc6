#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""closed_memory.py BUILD [all]: what operations write, in programs that mpicc builds with -fsanitize=address, the library
being the ordinary one. A load or store too early the sanitizer tells, with its line; right programs are silent. First the
program beside this file, in shared memory and by messages, then each kind of loads_and_stores.c that writes a buffer
here. With gcc, and with `all` by clang as well."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Where a neighbour shares eight bytes the sanitizer takes the place for the end of something.
EARLY = "use-after-poison|heap-buffer-overflow|unknown-crash"
HERE = pathlib.Path(__file__).resolve().parent


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    bad = ran = 0
    with tempfile.TemporaryDirectory() as work:
        for compiler in ["gcc", "clang"] if "all" in sys.argv[2:] else ["gcc"]:
            programs = {name: compiled(compiler, build, name, work) for name in ["closed_memory", "loads_and_stores"]}
            if not all(programs.values()):
                print(f"{compiler}: no -fsanitize=address here")
                continue
            ran += 1
            for kind, told in rows_of(programs["closed_memory"]):
                for way in [[], ["--set", "transport.shared_memory=off"]]:
                    bad += not is_as_it_should(build, [*way, programs["closed_memory"], kind], told, work)
            for kind, wrong in rows_of(programs["loads_and_stores"]):
                if "l" not in wrong or kind.startswith("target,"):
                    continue
                for access in ["load", "store"]:
                    for when, told in [("during", EARLY), ("after", "")]:
                        bad += not is_as_it_should(build, [programs["loads_and_stores"], kind, access, when], told, work)
    print(f"{bad} wrong")
    return 77 if not ran else 1 if bad else 0


def compiled(compiler, build, name, work):
    program = f"{work}/{name}.{compiler}"
    if not shutil.which(compiler):
        return None
    made = subprocess.run([build / "bin/mpicc", "-g", "-w", "-fsanitize=address", HERE / f"{name}.c", "-o", program],
                          env={**os.environ, "TUTTI_CC": compiler}, capture_output=True)
    return program if made.returncode == 0 and subprocess.run([program], capture_output=True).returncode == 0 else None


def rows_of(program):
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [row.split(";") for row in text.splitlines()]


def is_as_it_should(build, words, told, work):
    """`told`: what the sanitizer calls it, with a place in the program; nothing: it is right, and nothing is printed."""
    done = subprocess.run([build / "bin/mpirun", "-n", "2", *words], cwd=work, timeout=120, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if told:
        good = done.returncode != 0 and re.search(f"AddressSanitizer: ({told})", done.stdout) is not None
        good = good and bool(re.search(r"#\d+ .*(closed_memory|loads_and_stores)\.c:\d+", done.stdout))
    else:
        good = done.returncode == 0 and done.stdout == ""
    print(f"{' '.join(pathlib.Path(w).name for w in words)}: {'ok' if good else 'WRONG'}", flush=True)
    if not good:
        print(done.stdout[:3000])
    return good


if __name__ == "__main__":
    sys.exit(main())
