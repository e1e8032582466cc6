# SPDX-License-Identifier: BSD-3-Clause
"""Compiles an example of a manual page, runs it as its last comment says, with --check=strict, and compares what it
prints with what stands there, and its exit code. The order of lines is the ranks' own.
usage: example.py BIN EXAMPLE.c PROGRAM"""
import pathlib
import re
import subprocess
import sys

# What may stand on stderr: that time alone decides which message comes first is told, and for these is no mistake.
NOTES = {"sparse_exchange": r"tutti: .* note: race: "}
# A program that calls MPI_Abort is told of, and which tells so.
ENDED = r"tutti: .*MPI_Abort"

tools, source, program = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
said = re.search(r"/\* mpirun -n (\d+) prints, in some order(?:, and ends with exit code (\d+))?:\n(.*?) \*/\s*$",
                 pathlib.Path(source).read_text(), re.S)
if not said:
    sys.exit(f"{source} does not end in `/* mpirun -n N prints, in some order:` and what that is")
code = int(said[2] or 0)
subprocess.run([tools / "mpicc", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lm"], check=True)
command = [tools / "mpirun", "-n", said[1], "--check=strict", program]
run = subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=pathlib.Path(program).parent)
expected = sorted(line.strip() for line in said[3].splitlines())
printed = sorted(line.strip() for line in run.stdout.splitlines())
may_be_told = NOTES.get(pathlib.Path(source).stem) or (ENDED if code else None)
told = [line for line in run.stderr.splitlines() if not (may_be_told and re.match(may_be_told, line))]
if run.returncode != code or told or printed != expected:
    sys.exit(f"exit code {run.returncode}\nexpected: {expected}, {code}\nprinted: {printed}\n{run.stderr}")
print("\n".join(printed))
