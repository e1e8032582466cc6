#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""instrumented.py BUILD SANITIZER[,SANITIZER…] [FOLDER…]: the programs of tests/programs, all of them right, compiled with
-fsanitize: ThreadSanitizer and AddressSanitizer have nothing to say of them, though they are told what operations do to
the program's memory. Of the folders that are named, or of those whose programs communicate. The library is as it is."""

import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import suite

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"
FOLDERS = ["p2p", "coll", "rma", "file", "comm", "progress", "legal", "topology", "session"]
# What they do on purpose is a fault for a sanitizer.
EARLY = "it looks into memory to see what comes before anybody is in MPI"
LEFT_OUT = {
    "thread": {"rma.polling": "it looks by plain loads until another rank has put something there",
               "rma.node_memory": "a word in shared memory orders two of its processes, of which a sanitizer sees one",
               "progress.elsewhere": EARLY, "progress.overlap": EARLY, "progress.one_sided": EARLY,
               "progress.quiet": "no other thread runs, it says, and the sanitizer has one"},
    "address": {"progress.elsewhere": EARLY, "progress.overlap": EARLY,
                "comm.disconnect": "it leaves requests to MPI_Finalize: memory that nobody gives back"},
}


def main():
    # A test asks for more memory than there is, and expects to be refused; a sanitizer ends the program otherwise.
    for options in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
        os.environ[options] = ":".join(filter(None, ["allocator_may_return_null=1", os.environ.get(options)]))
    build = pathlib.Path(sys.argv[1]).resolve()
    folders = sys.argv[3:] or FOLDERS
    bad = 0
    for sanitizer in sys.argv[2].split(","):
        with tempfile.TemporaryDirectory() as work:
            sources = [s for folder in folders for s in sorted((PROGRAMS / folder).glob("*.cpp"))
                       if (build / "tests/programs" / name_of(s)).is_file()]
            with ThreadPoolExecutor(2) as pool:
                made = list(pool.map(lambda s: compiles(build, sanitizer, s, f"{work}/{name_of(s)}"), sources))
            print(f"{sanitizer}: {sum(made)} of {len(sources)} programs compiled", flush=True)
            if not any(made):
                return 77
            # Some have thousands of operations under way, which ThreadSanitizer is told of one by one.
            bad += suite.run_all(build / "bin/mpirun", work, "4", [], seconds=900)[1]
    return bad


def name_of(source):
    return f"program.{source.parent.name}.{source.stem}"


def compiles(build, sanitizer, source, program):
    if name_of(source).removeprefix("program.") in LEFT_OUT.get(sanitizer, {}):
        return False
    made = subprocess.run([build / "bin/mpicxx", "-std=c++20", "-g", "-O1", "-w", f"-fsanitize={sanitizer}", "-I",
                           PROGRAMS, "-I", PROGRAMS.parent.parent, source, "-o", program, "-lpthread"],
                          env={**os.environ, "TUTTI_CXX": "g++"}, capture_output=True, text=True)
    if made.returncode:
        print(f"{name_of(source)} does not compile by itself: {made.stderr.splitlines()[0]}")
    return made.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
