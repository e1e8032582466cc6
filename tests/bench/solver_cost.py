# SPDX-License-Identifier: BSD-3-Clause
"""What mpirun --profile costs the solver that comes with Tutti (tests/programs/cg): jobs without it, with it, and with a
timeline take turns, so that all see the same machine. Of each kind's jobs the quickest and the median. usage: solver_cost.py
MPIRUN SOLVER [JOBS [POINTS [RANKS [MOST]]]]: so many jobs of each kind; of a matrix of so many points a side, 0: the one it is
shipped with; exit code 1 if the quickest with a profile takes more than MOST percent longer than the quickest without."""
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

CG = pathlib.Path(__file__).parents[1] / "programs/cg"
KINDS = {"none": [], "page": ["--profile"], "timeline": ["--profile={}"]}


def main(mpirun, solver, jobs=9, points=0, ranks=2, most=0):
    with tempfile.TemporaryDirectory() as folder:
        matrix, left = CG / "diffusion.mtx", pathlib.Path(folder, "left")
        if int(points):
            matrix = pathlib.Path(folder, "matrix.mtx")
            matrix.write_bytes(subprocess.run([sys.executable, CG / "make_matrix.py", points], check=True, stdout=subprocess.PIPE).stdout)

        def run(kind):
            options = [option.format(left) for option in KINDS[kind]]
            done = subprocess.run([mpirun, *options, "-n", str(ranks), solver, str(matrix)], check=True, capture_output=True,
                                  text=True, timeout=600)
            return re.search(r"solved in (\d+) iterations and ([\d.]+) s", done.stdout), done.stderr

        took, order = {kind: [] for kind in KINDS}, list(KINDS)
        for turn in range(int(jobs)):
            for kind in order[turn % 3:] + order[:turn % 3]:
                took[kind].append(float(run(kind)[0][2]))
        solved, page = run("page")
        # Of all ranks; the page has those places where most of the time went.
        calls = sum(int(row) for row in re.findall(r"^\s+(\d+)\s+[\d.]+\s+[\d.]+  MPI_", page, re.M)) / int(ranks)
    rate = calls / float(solved[2])
    print(f"{solved[1]} iterations, {ranks} ranks, {rate:.0f} calls a second of each")
    print("seconds    quickest   median")
    for kind in KINDS:
        beyond = [100 * (of(took[kind]) / of(took["none"]) - 1) for of in (min, statistics.median)]
        print(f"{kind:10} {min(took[kind]):8.3f} {statistics.median(took[kind]):8.3f}" +
              ("" if kind == "none" else f"   {beyond[0]:+.1f} %, {beyond[1]:+.1f} %"))
    if float(most):
        assert all(min(took[kind]) < (1 + float(most) / 100) * min(took["none"]) for kind in KINDS), took


main(*sys.argv[1:])
