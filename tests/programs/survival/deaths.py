# SPDX-License-Identifier: BSD-3-Clause
"""Runs deaths for the rows of points.tsv: each ends well, and nobody in it waits longer than ten seconds for anything. Who dies
differs from row to row, and so does the how manieth time that it reaches its point; where that rank never comes there, as one that
is nobody's root, another one is tried. Each row, but for those with "maybe", is reached. Jobs in which UCX ends a rank by an
assertion of its own, of which tutti-survival(7) tells under LIMITS, are counted, and may be few.
usage: deaths.py MPIRUN PROGRAM sample|all RANKS [POINT] [-- OPTION OF MPIRUN…]"""
import pathlib
import subprocess
import sys

BOUND = 90  # seconds for a job, which takes one or two on a quiet machine
OF_UCX = "UCX cannot go on ("


def rows():
    for line in (pathlib.Path(__file__).parent / "points.tsv").read_text().splitlines():
        if not line.startswith("#"):
            point, scenario, ranks, options, remarks = (line.split("\t") + [""] * 4)[:5]
            yield point, scenario.split(), int(ranks), options.split(), remarks


def run(command):
    """What went wrong, and what was said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND)
    except subprocess.TimeoutExpired as late:
        return f"did not end in {BOUND} s", (late.stderr or b"").decode()
    fine = done.returncode == 0 and done.stdout.startswith("ok") and "more than 10 s" not in done.stderr
    return "" if fine else f"ended with {done.returncode}", done.stderr


def main(mpirun, program, which, ranks, *rest):
    more = list(rest[rest.index("--") + 1:]) if "--" in rest else []
    only = rest[0] if rest and rest[0] != "--" else None
    ranks, jobs, deaths, failed, by_ucx, unreached, seen = int(ranks), 0, 0, 0, 0, [], set()
    for number, (point, scenario, least, options, remarks) in enumerate(rows()):
        if ranks < least or (which == "sample" and "sample" not in remarks) or only not in (None, point):
            continue
        reached = False
        for attempt in range(2 * ranks):
            victim, nth = (number + attempt) % ranks, 1 + (3 * number + attempt // ranks) % 4
            if attempt >= ranks:
                nth = 1
            command = [mpirun, "-n", str(ranks), "--on-failure=continue", *options, *more, program,
                       f"{point}:{victim}:{nth}", *scenario]
            problem, told = run(command)
            jobs += 1
            if problem and OF_UCX in told:
                by_ucx += 1
                problem = ""
            elif problem:
                failed += 1
                print(f"FAILED: {' '.join(command)}: {problem}\n{told[-3000:]}", flush=True)
            if f"a rank dies at {point}\n" in told:
                deaths += 1
                reached = True
            if reached or problem:
                break
        if reached:
            seen.add(point)
        elif "maybe" not in remarks and not problem:
            unreached.append(f"{point} in {' '.join(scenario)}")
    print(f"{jobs} jobs, {deaths} deaths at {len(seen)} points, {failed} failed, in {by_ucx} UCX has ended a rank")
    for each in unreached:
        print(f"never reached: {each}")
    return failed > 0 or bool(unreached) or by_ucx > 2 + jobs // 20


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
