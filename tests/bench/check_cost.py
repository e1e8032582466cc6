# SPDX-License-Identifier: BSD-3-Clause
"""What --check=basic costs a short collective, of two ranks, against --check=off of the same library.
Jobs with and without take turns, so that both see the same machine. Of each job's batches of 100
calls the 10th percentile counts, which nothing else on the machine has disturbed; of all jobs the
median. usage: check_cost.py MPIRUN PROGRAM [JOBS [BATCHES [RANKS]]]
With one rank nothing waits: what is left is processor time."""
import statistics
import subprocess
import sys


def costs(mpirun, program, level, batches, ranks):
    out = subprocess.run([mpirun, f"--check={level}", "-n", str(ranks), program, str(batches)], check=True,
                         capture_output=True, text=True, timeout=600).stdout
    return {name: float(ns) for name, ns in (line.split() for line in out.splitlines())}


def main(mpirun, program, jobs=11, batches=4000, ranks=2):
    found = {"off": [], "basic": []}
    for turn in range(int(jobs)):
        for level in ("off", "basic") if turn % 2 else ("basic", "off"):
            found[level].append(costs(mpirun, program, level, batches, ranks))
    print("ns a call       off    basic  difference")
    for name in found["off"][0]:
        off, basic = (statistics.median(job[name] for job in found[level]) for level in ("off", "basic"))
        print(f"{name:12} {off:7.1f}  {basic:7.1f}  {basic - off:+6.1f} ({100 * (basic - off) / off:+.1f} %)")


main(*sys.argv[1:])
