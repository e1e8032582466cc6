# SPDX-License-Identifier: BSD-3-Clause
"""A file of 1 GiB (or so many MiB) that all ranks write and read once, each its own part in a row, by Tutti, Open MPI, MPICH
and as many dd's: GB/s, the median of some rounds in turns, from opening to closing. Written files are made anew each time;
"synced" waits until the disk has them; what is read lies in the kernel's memory.
usage: whole_file.py TUTTI_BIN FOLDER [ROUNDS [MIB [RANKS,… [BLOCK_KIB,…]]]]"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def libraries(tutti):
    return {"Tutti": (f"{tutti}/mpicc", [f"{tutti}/mpirun"]),
            "Open MPI": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]),
            "MPICH": ("mpicc.mpich", ["mpirun.mpich"])}


def by_dd(path, mib, ranks, block, moves, synced):
    blocks = mib * 1024 // ranks // block
    begin = time.monotonic()
    running = [subprocess.Popen(
        ["dd", f"bs={block}K", f"count={blocks}", "status=none",
         *([f"if=/dev/zero", f"of={path}", f"seek={blocks * r}", f"conv=notrunc{',fsync' if synced else ''}"]
           if moves == "written" else [f"if={path}", "of=/dev/null", f"skip={blocks * r}"])]) for r in range(ranks)]
    if any([one.wait() for one in running]):
        sys.exit("dd failed")
    return time.monotonic() - begin


def by_program(launcher, program, path, mib, ranks, block, moves, how, synced):
    done = subprocess.run([*launcher, "-n", str(ranks), program, path, str(mib), str(block), moves, how, *(["synced"] if synced else [])],
                          capture_output=True, text=True, timeout=300, env={**os.environ, **ROOT})
    if done.returncode:
        sys.exit(f"{launcher[0]}: {done.stderr[-400:]}")
    return float(done.stdout.split()[-1])


def main(tutti, folder, rounds=5, mib=1024, ranks="4,8", blocks="1024,4096"):
    mib = int(mib)
    with tempfile.TemporaryDirectory(dir=folder) as room:
        ways = {}
        for name, (compiler, launcher) in libraries(tutti).items():
            program = os.path.join(room, name.replace(" ", ""))
            if subprocess.run([compiler, "-O2", "-w", "-o", program, f"{HERE}/whole_file.c"], capture_output=True).returncode == 0:
                ways[name] = (launcher, program)
        columns = ["dd", *(f"{name}, {how}" for name in ways for how in ("alone", "together"))]
        print("GB/s", *columns, sep=" | ", flush=True)
        path = os.path.join(room, "file")
        for n in map(int, ranks.split(",")):
            for block in map(int, blocks.split(",")):
                for moves, synced in (("written", False), ("written", True), ("read", False)):
                    taken = {column: [] for column in columns}
                    for turn in range(int(rounds)):
                        for column in columns[turn % len(columns):] + columns[:turn % len(columns)]:
                            if moves == "written" and os.path.exists(path):
                                os.remove(path)
                            os.sync()
                            if column == "dd":
                                taken[column].append(by_dd(path, mib, n, block, moves, synced))
                            else:
                                name, how = column.split(", ")
                                taken[column].append(by_program(*ways[name], path, mib, n, block, moves, how, synced))
                    gigabytes = mib * 2**20 / 1e9
                    print(f"{n} ranks, {block} KiB, {moves}{', synced' if synced else ''}",
                          *(f"{gigabytes / statistics.median(taken[c]):.2f}" for c in columns), sep=" | ", flush=True)


main(*sys.argv[1:])
