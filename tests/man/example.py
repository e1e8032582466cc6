# SPDX-License-Identifier: BSD-3-Clause
"""Compiles an example of a manual page, runs it as its last comment says, with --check=strict, and compares what it
prints with what stands there. The order of lines is the ranks' own.   usage: example.py BIN EXAMPLE.c PROGRAM"""
import pathlib
import re
import subprocess
import sys

tools, source, program = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
said = re.search(r"/\* mpirun -n (\d+) prints, in some order:\n(.*?) \*/\s*$", pathlib.Path(source).read_text(), re.S)
if not said:
    sys.exit(f"{source} does not end in `/* mpirun -n N prints, in some order:` and what that is")
subprocess.run([tools / "mpicc", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lm"], check=True)
command = [tools / "mpirun", "-n", said[1], "--check=strict", program]
run = subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=pathlib.Path(program).parent)
expected = sorted(line.strip() for line in said[2].splitlines())
printed = sorted(line.strip() for line in run.stdout.splitlines())
if run.returncode or run.stderr or printed != expected:
    sys.exit(f"exit code {run.returncode}\nexpected: {expected}\nprinted: {printed}\n{run.stderr}")
print("\n".join(printed))
