# SPDX-License-Identifier: BSD-3-Clause
"""What a choice costs a short call, of two ranks, against the other choice in the same library: "check",
--check=off and --check=basic; "threads", MPI_THREAD_SINGLE and MPI_THREAD_MULTIPLE, of programs that
call MPI from one thread; "pending", nothing and a receive, a send of 1 MiB and an allreduce that are
under way all the time; "profile", none and mpirun --profile; "timeline", none and --profile=FILE. "work" is arithmetic for some seconds without a call. Jobs of either take turns, so
that both see the same machine. Of each job's batches of 100 calls the 10th percentile counts, which nothing
else on the machine has disturbed, of work the whole time; of all jobs the median. usage: call_cost.py MPIRUN PROGRAM check|threads|pending|profile|timeline [JOBS [BATCHES [RANKS]]]
With one rank nothing waits: what is left is processor time."""
import statistics
import subprocess
import sys

# Of mpirun, and of the program.
CHOICES = {"check": {"off": (["--check=off"], []), "basic": (["--check=basic"], [])},
           "threads": {"single": ([], []), "multiple": ([], ["multiple"])},
           "pending": {"nothing": ([], []), "pending": ([], ["pending"])},
           "profile": {"off": ([], []), "page": (["--profile"], [])},
           "timeline": {"off": ([], []), "file": (["--profile=/dev/null"], [])}}


def costs(mpirun, program, choice, batches, ranks):
    of_mpirun, of_program = choice
    out = subprocess.run([mpirun, *of_mpirun, "-n", str(ranks), program, str(batches), *of_program], check=True,
                         capture_output=True, text=True, timeout=600).stdout
    return {name: float(ns) for name, ns in (line.split() for line in out.splitlines())}


def main(mpirun, program, what, jobs=11, batches=4000, ranks=2):
    choices = CHOICES[what]
    without, having = choices
    found = {name: [] for name in choices}
    for turn in range(int(jobs)):
        for name in (without, having) if turn % 2 else (having, without):
            found[name].append(costs(mpirun, program, choices[name], batches, ranks))
    print(f"ns a call  {without:>8} {having:>8}  difference")
    for name in found[without][0]:
        before, after = (statistics.median(job[name] for job in found[choice]) for choice in choices)
        print(f"{name:10} {before:8.1f} {after:8.1f}  {after - before:+6.1f} ({100 * (after - before) / before:+.1f} %)")


main(*sys.argv[1:])
