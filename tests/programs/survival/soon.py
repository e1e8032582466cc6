# SPDX-License-Identifier: BSD-3-Clause
"""Runs soon until one of ten jobs has heard of the failure within 25 ms, which a busy machine lets one of them: where the news
waits for the confirmation of a packet, as it did, each takes 35 ms or more.   usage: soon.py MPIRUN PROGRAM"""
import subprocess
import sys

LEAST, JOBS = 25_000, 10


def main(mpirun, program):
    times = []
    while len(times) < JOBS and min(times, default=LEAST) >= LEAST:
        done = subprocess.run([mpirun, "-n", "3", "--on-failure=continue", program], capture_output=True, text=True,
                              timeout=60)
        if done.returncode != 0 or " us" not in done.stdout:
            print(f"ended with {done.returncode}\n{done.stdout}{done.stderr}")
            return 1
        times.append(int(done.stdout.split()[0]))
    print(*times, "us")
    return min(times) >= LEAST


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
