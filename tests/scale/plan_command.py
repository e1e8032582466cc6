# SPDX-License-Identifier: BSD-3-Clause
"""tutti plan: each algorithm of each collective, the picture, and what it refuses.
usage: plan_command.py BUILD_FOLDER"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TUTTI = str(pathlib.Path(sys.argv[1]).resolve() / "bin/tutti")
COLLECTIVES = ["barrier", "bcast", "gather", "scatter", "allgather", "allgatherv", "alltoall", "reduce", "allreduce",
               "scan", "exscan", "reduce_scatter", "reduce_scatter_block"]


def plan(*words, code=0, **environment):
    done = subprocess.run([TUTTI, "plan", *words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    assert code == 0 or done.stderr.startswith("tutti: error: "), done.stderr
    return done.stderr if code else done.stdout + done.stderr


def each_algorithm_is_compared_and_shown():
    """What the table says an algorithm takes is what its own page says; and the table is sorted by it."""
    for where in (["--ranks", "8"], ["--ranks=12", "--nodes=3"], ["--ranks", "1"], ["--ranks", "7", "--nodes", "3"]):
        for collective in COLLECTIVES:
            table = plan(collective, *where, "--bytes", "1k", "--compare").splitlines()
            assert "warning" not in "".join(table), table
            rows = [re.match(r"(\w+)( \(rules\))? +([\d.]+) ", line) for line in table[2:]]
            times = [float(row[3]) for row in rows if row]
            assert times and times == sorted(times), table
            chosen = [row[1] for row in rows if row and row[2]]
            assert len(chosen) == 1, table
            assert f"algorithm: {chosen[0]} (" in plan(collective, *where, "--bytes", "1k")
            for row in rows:
                if not row:
                    continue
                page = plan(collective, *where, "--bytes=1k", "--algorithm", row[1], "--rank", "0")
                said = re.search(r"time by the model: ([\d.]+) us", page)
                assert said and float(said[1]) == float(row[3]), (row[0], page)


def costs_are_taken_from_a_file():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "costs"
        ask = ("allreduce", "--ranks", "8", "--nodes", "2", "--bytes", "64k", "--costs", str(file))
        file.write_text("# nothing\n\n")
        assert plan(*ask) == plan(*ask[:-2])
        file.write_text("latency 15 us # ten times\nbandwidth 1.25 GB/s\neager 1024 B\n")
        time = r"time by the model: ([\d.]+) us"
        assert float(re.search(time, plan(*ask))[1]) > 3 * float(re.search(time, plan(*ask[:-2]))[1])
        for line, reason in (("latncy 1 us", "line 1: there is no cost 'latncy'; did you mean 'latency'?"),
                             ("latency 1", "line 1: latency wants a number and us"),
                             ("bandwidth 1 us", "line 1: bandwidth wants a number and GB/s"),
                             ("copy 0 GB/s", "line 1: copy wants a number from"), ("flag -1 us", "line 1: flag wants a number from"),
                             ("flag 1x us", "not '1x'"), ("step 1 us\nstep 1 us", "line 2: step is given twice")):
            file.write_text(line)
            said = plan(*ask, code=2)
            assert reason in said and str(file) in said, said
        assert "No such file" in plan(*ask[:-1], folder + "/none", code=2)


def the_picture_has_each_step():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "a.svg"
        page = plan("allreduce", "--ranks", "8", "--nodes", "2", "--bytes", "64k", "--svg", str(file))
        steps = len(re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ \w", page, re.M))
        assert steps > 5, page
        drawn = ElementTree.parse(file).getroot()
        space = "{http://www.w3.org/2000/svg}"
        bars = collections.Counter(title.text.split(",")[0] for title in drawn.findall(f"{space}rect/{space}title"))
        assert bars["rank 0"] == steps and set(bars) == {f"rank {rank}" for rank in range(8)}, bars
        lines = [line for line in drawn.findall(f"{space}line") if line.get("class") == "message"]
        texts = [title.text for title in drawn.findall(f"{space}rect/{space}title")]
        assert len(lines) == sum(": send " in text for text in texts) > 0
        said = plan("bcast", "--ranks", "2", "--svg", folder + "/none/a.svg", code=1)
        assert "cannot write" in said and "No such file" in said, said
        if os.path.exists("/dev/full"):
            assert "No space left" in plan("bcast", "--ranks", "2", "--svg", "/dev/full", code=1)


def rules_count_as_in_a_job():
    page = plan("bcast", "--ranks", "4", TUTTI_COLLECTIVES_OVERRIDE="bcast chain")
    assert "algorithm: chain (" in page and "collectives.override:1" in page, page
    said = plan("bcast", "--ranks", "4", code=2, TUTTI_COLLECTIVES_OVERRIDE="bcast chian")
    assert "did you mean 'chain'" in said, said


def many_ranks():
    page = plan("allreduce", "--ranks", "1m", "--nodes", "8k", "--bytes", "8", "--rank", "77")
    assert "1048576 ranks, 8192 nodes of 128" in page and "time by the model" in page and "rank 77:" in page, page


def what_it_refuses():
    for words, part in (
            (["alreduce", "--ranks", "4"], "did you mean 'allreduce'"),
            (["neighbor_alltoall", "--ranks", "4"], "there is no plan to show"),
            (["bcast"], "how many ranks?"),
            (["bcast", "--ranks"], "--ranks wants a value"),
            (["bcast", "--ranks", "0"], "from 1 to"),
            (["bcast", "--ranks", "four"], "not 'four'"),
            (["bcast", "--ranks", "4", "--ranks", "4"], "given twice"),
            (["bcast", "--ranks", "4", "--nodes", "5"], "from 1 to 4"),
            (["bcast", "--ranks", "4", "--rank", "4"], "from 0 to 3"),
            (["bcast", "--ranks", "4", "--bytes", "9999999999g"], "--bytes wants a number"),
            (["allreduce", "--ranks", "4", "--bytes", "9"], "elements of 8 bytes"),
            (["bcast", "--ranks", "4", "--byte", "9"], "did you mean '--bytes'"),
            (["bcast", "--ranks", "4", "--compare=x"], "takes no value"),
            (["bcast", "--ranks", "4", "--compare", "--svg", "x"], "without --algorithm and --svg"),
            (["bcast", "--ranks", "4", "--algorithm", "chian"], "did you mean 'chain'"),
            (["allreduce", "--ranks", "4", "--algorithm", "striped"], "cannot serve"),
            (["bcast", "--ranks", "1000", "--svg", "x"], "up to 256")):
        assert part in plan(*words, code=2), (words, part, plan(*words, code=2))
    help_text = plan("--help")
    assert help_text.startswith("Usage: tutti plan") and help_text == subprocess.run(
        [TUTTI, "help", "plan"], capture_output=True, text=True, timeout=60).stdout


for test in (each_algorithm_is_compared_and_shown, costs_are_taken_from_a_file, the_picture_has_each_step, rules_count_as_in_a_job, many_ranks,
             what_it_refuses):
    test()
