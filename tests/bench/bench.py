#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tutti and its peers, measured in turns on the same two cores: A B C D, A B C D, … A figure alone says
little on a machine that does other things, too; a ratio from one run does. No assertion on speed."""
import argparse
import glob
import json
import os
import signal
import sys
import tempfile
import time

import grid
import libraries
import plot
import report
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = {False: 5, True: 3}           # by --quick
SECONDS = {False: 14 * 60, True: 50}   # no further round begins that would not end by then


def arguments():
    parser = argparse.ArgumentParser(
        prog="dev bench", description="Measures Tutti beside Open MPI and MPICH.", allow_abbrev=False,
        epilog="Without names everything is measured. A full run takes up to 15 minutes, --quick one.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these: a block, a measure, a cell, or "
                        "a pattern of them, e.g. latency allreduce 'i*' startup crowd bcast/8 (see --list)")
    parser.add_argument("--json", metavar="FILE", help="write all figures for tools ('-': standard output)")
    parser.add_argument("--svg", metavar="FILE", help="write a plot")
    parser.add_argument("--quick", action="store_true", help="few sizes, few rounds")
    parser.add_argument("--runs", type=int, metavar="N", help="rounds, however long they take")
    parser.add_argument("--only", metavar="LIBRARY,…", help="of tutti, openmpi, openmpi+ucx and mpich")
    parser.add_argument("--peers", metavar="ROOT", help="take the others from the root of another distribution, as "
                        "debootstrap makes one, with its packages of them and a compiler; not over nodes")
    parser.add_argument("--patience", type=float, default=30, metavar="SECONDS",
                        help="how long a run may say nothing before it is ended (default: %(default)g)")
    parser.add_argument("--list", action="store_true", help="print what can be measured")
    parser.add_argument("--prefix", default=os.path.join(HERE, "..", "..", "out"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.runs is not None and options.runs < 1:
        parser.error(f"--runs wants a number from 1, not {options.runs}")
    if options.patience <= 0:
        parser.error(f"--patience wants seconds above 0, not {options.patience:g}")
    return options


def fail(sentence):
    sys.exit(f"dev bench: {sentence}")


def two_cores():
    """Two allowed CPUs on cores of their own (one, where there is no second)."""
    chosen = {}
    allowed = sorted(os.sched_getaffinity(0))
    for cpu in allowed:
        place = f"/sys/devices/system/cpu/cpu{cpu}/topology/"
        try:
            core = tuple(open(place + name).read() for name in ("physical_package_id", "core_id"))
        except OSError:
            core = cpu
        chosen.setdefault(core, cpu)
    cores = list(chosen.values())
    return (cores if len(cores) > 1 else allowed)[:2]


def machine(cores):
    cpu = "unknown CPU"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    return {"cpu": cpu, "cores": cores, "date": time.strftime("%Y-%m-%d %H:%M"), "load": os.getloadavg()[0]}


def usable_libraries(options, cores, folder):
    if options.peers and not os.path.isdir(options.peers):
        fail(f"--peers wants the folder of a root, and {options.peers} is none")
    root = os.path.abspath(options.peers) if options.peers else None
    known = libraries.all_libraries(os.path.abspath(options.prefix), cores, root)
    if options.only:
        wanted = options.only.split(",")
        for name in wanted:
            if name not in (library.name for library in known):
                fail(f"there is no library '{name}'; there are {', '.join(lib.name for lib in known)}")
        known = [library for library in known if library.name in wanted]
    usable = []
    # Programs of their own.
    others = {os.path.join(HERE, name) for name in ("call_cost.c", "model.c", "survival.c", "survival_off.c")}
    sources = sorted(set(glob.glob(os.path.join(HERE, "*.c"))) - others)
    for library in known:
        problem = library.missing(folder) or library.compile(sources, folder)
        if problem:
            print(f"dev bench: {library.name} is left out: {problem}", file=sys.stderr)
        else:
            usable.append(library)
    if not usable:
        fail("no library is left to measure")
    return usable


def chosen_blocks(options):
    everything = grid.quick_grid() if options.quick else grid.full_grid()
    if options.list:
        for block in (block for block in everything if not block.on_request):
            measures = {}
            for cell in block.cells:
                measure, _, size = cell.partition("/")
                measures.setdefault(measure, []).append(size)
            print(f"{block.name}: {block.title}")
            for measure, sizes in measures.items():
                print(f"  {measure} {' '.join(sizes)}".rstrip())
        sys.exit(0)
    blocks, unknown = grid.selected(everything, options.names)
    if unknown:
        fail(f"nothing is called {', '.join(unknown)}{' in a quick run' if options.quick else ''}; "
             "--list prints what there is")
    return blocks


def without_impossible(blocks, cores, prefix, folder):
    """The blocks but those over nodes where this machine allows none."""
    if not any(block.nodes for block in blocks):
        return blocks
    problem = libraries.without_nodes(prefix, cores, folder)
    if not problem:
        return blocks
    names = ", ".join(block.name for block in blocks if block.nodes)
    print(f"dev bench: {names} left out: {problem}", file=sys.stderr)
    return [block for block in blocks if not block.nodes] or fail("no block is left to measure")


def measure_round(result, patience, progress):
    for block in result.blocks:
        for library in result.libraries:
            if block.nodes and library.root:
                continue
            progress(f"round {result.rounds + 1}: {block.name}, {library.name}")
            line = runs.line_latency(library, result.machine["cores"], patience)
            outcome = runs.measure(library, block, result.failed_cells(block, library), patience)
            result.take(block, library, outcome, line)
    result.rounds += 1


def measure_all(result, options):
    begin = time.monotonic()
    terminal = sys.stderr.isatty()

    def progress(text):
        print(f"\r\033[K{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)

    try:
        for rounds in range(1, (options.runs or ROUNDS[options.quick]) + 1):
            measure_round(result, options.patience, progress)
            used = time.monotonic() - begin
            if options.runs is None and used * (rounds + 1) / rounds > SECONDS[options.quick]:
                break
    except KeyboardInterrupt:
        print("\ndev bench: interrupted; this is what is there", file=sys.stderr)
    if terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options = arguments()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as a reader such as head expects
    signal.signal(signal.SIGTERM, interrupt)
    blocks = chosen_blocks(options)
    cores = two_cores()
    os.sched_setaffinity(0, cores)
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as folder:
        blocks = without_impossible(blocks, cores, os.path.abspath(options.prefix), folder)
        result = report.Report(blocks, usable_libraries(options, cores, folder), machine(cores))
        measure_all(result, options)
    result.compare_alike()
    if options.json != "-":
        print(result.as_text())
    try:
        if options.svg:
            plot.write_svg(result, options.svg)
        if options.json == "-":
            json.dump(result.as_json(), sys.stdout, indent=1)
        elif options.json:
            with open(options.json, "w") as file:
                json.dump(result.as_json(), file, indent=1)
    except OSError as error:
        fail(f"cannot write {error.filename}: {error.strerror}")
    broken = [name for _, name, _ in result.failures() if name == report.OURS]
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
