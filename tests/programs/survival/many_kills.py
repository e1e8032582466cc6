# SPDX-License-Identifier: BSD-3-Clause
"""Runs random_kills, or workers, with as many seeds as asked for, on 2 to 8 ranks, with ranks killed in the first .06 to 1 s, in
every other job with ranks stopped for some milliseconds meanwhile: each job ends, and well, in a time that no call
that hangs would keep, and no rank finds fault with the program.
usage: many_kills.py MPIRUN PROGRAM FIRST-SEED COUNT [OPTION OF MPIRUN…]"""
import re
import subprocess
import sys

BOUND = 60  # seconds for a job, which takes one or two on a quiet machine


def main(mpirun, program, first, count, *options):
    killed = 0
    for seed in range(int(first), int(first) + int(count)):
        ranks, spell = 2 + seed % 7, (60, 100, 300, 1000)[seed // 7 % 4]
        command = [mpirun, "-n", str(ranks), "--on-failure=continue", *options, program, str(seed), str(spell),
                   *(["stops"] if seed % 2 else [])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND)
            problem = "" if done.returncode == 0 and "ok" in done.stdout else f"ended with {done.returncode}"
            told = done.stderr
            if not problem and re.search(r"^tutti: \[rank \d+ on [^]]*\] error: ", told, re.MULTILINE):
                problem = "a rank has told an error"
        except subprocess.TimeoutExpired as late:
            problem, told = f"did not end in {BOUND} s", (late.stderr or b"").decode()
        killed += len(re.findall(r"killed by signal 9", told))
        if problem:
            print(f"FAILED: {' '.join(command)}: {problem}\n{told[-3000:]}")
            return 1
    print(f"{count} jobs, {killed} ranks killed")
    return killed < int(count) // 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
