# SPDX-License-Identifier: BSD-3-Clause
"""Measures what it costs to survive the failure of a rank, beside Open MPI where that is found: medians of rounds in turns; and
what it costs a job in which nobody fails that it would go on, beside itself without the option, on 2 and 4 ranks: the least of
all rounds. As a test it asks whether every measure is there; no assertion on speed.
usage: survival.py PREFIX [--measure [--ranks 4,16,64] [--rounds 5] [--peers ROOT]]"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import libraries

HERE = pathlib.Path(__file__).resolve().parent
MEASURES = ("agree", "allreduce", "error", "revoke", "shrink", "respawn")
OFF_MEASURES = ("latency_8", "message_64K", "message_1M", "barrier", "bcast_8", "allreduce_8", "bcast_64K", "allreduce_64K")
# How each library is told that the job goes on.
GOES_ON = {"tutti": ["--on-failure=continue"], "openmpi": ["--with-ft", "ulfm"]}


def measured(library, ranks, folder):
    options = [*GOES_ON[library.name], *library.shared]
    return figures(library, ranks, options, [library.program, os.path.join(folder, "times")], MEASURES, folder)


def figures(library, ranks, options, program, measures, folder):
    command = [*library.there(folder), library.launcher, "-n", str(ranks), *options, *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=library.environment_for_run())
    words = done.stdout.split()
    found = {name: float(value) for name, value in zip(words[::2], words[1::2])}
    if set(found) != set(measures):
        sys.exit(f"dev bench survival: {library.name} on {ranks} ranks ended with {done.returncode} and said "
                 f"{done.stdout[-200:]}{done.stderr[-1000:]}")
    return found


def with_option_and_without(tutti, rounds, folder):
    """Prints what the option costs where nobody fails: pairs of jobs, of which now the one comes first and now the other."""
    program = os.path.join(folder, "survival_off")
    subprocess.run([tutti.compiler, "-std=gnu11", "-O2", "-o", program, str(HERE / "survival_off.c")], check=True)
    for ranks, bound in ((2, tutti.pinned), (4, tutti.shared)):
        least = [dict.fromkeys(OFF_MEASURES, float("inf")) for _ in range(2)]
        for turn in range(2 * rounds):
            on = (turn + turn // 2) % 2
            options = [*bound, *(GOES_ON["tutti"] if on else [])]
            for name, value in figures(tutti, ranks, options, [program], OFF_MEASURES, folder).items():
                least[on][name] = min(least[on][name], value)
        print(f"{ranks:5} ranks  " + "".join(f"{name:>14}" for name in OFF_MEASURES))
        for i, which in enumerate(("without", "with")):
            print(f"      {which:8}" + "".join(f"{least[i][name]:14.3f}" for name in OFF_MEASURES) + "   µs, least", flush=True)


def usable(prefix, root, folder):
    for library in libraries.all_libraries(prefix, [0], root):
        if library.name not in GOES_ON:
            continue
        problem = library.missing(folder) or library.compile([str(HERE / "survival.c")], folder)
        if problem:
            print(f"{library.name} is left out: {problem}", file=sys.stderr)
        else:
            yield library


def main():
    parser = argparse.ArgumentParser(prog="dev bench survival", allow_abbrev=False,
                                     description="Measures what it costs to survive the failure of a rank.")
    parser.add_argument("prefix", help=argparse.SUPPRESS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ranks", default="4,16,64", help="numbers of ranks, 3 at least")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", metavar="ROOT", help="take Open MPI from the root of another distribution")
    options = parser.parse_args()
    root = os.path.abspath(options.peers) if options.peers else None
    with tempfile.TemporaryDirectory() as folder:
        known = list(usable(os.path.abspath(options.prefix), root, folder))
        if not options.measure:
            print(measured(known[0], 4, folder))
            with_option_and_without(known[0], 1, folder)
            return
        print(f"{'ranks':>5} {'':8}" + "".join(f"{name:>11}" for name in MEASURES) + "   µs, medians")
        for ranks in map(int, options.ranks.split(",")):
            rounds = [[measured(library, ranks, folder) for library in known] for _ in range(options.rounds)]
            for i, library in enumerate(known):
                figures = (statistics.median(each[i][name] for each in rounds) for name in MEASURES)
                print(f"{ranks:5} {library.name:8}" + "".join(f"{figure:11.1f}" for figure in figures), flush=True)
        with_option_and_without(known[0], 2 * options.rounds, folder)


main()
