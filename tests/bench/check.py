#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shows that the benchmark works: check.py PREFIX. Speeds are not looked at, only that there are some."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

import grid
import report
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = ""


def bench(*arguments):
    return subprocess.run([sys.executable, os.path.join(HERE, "bench.py"), "--prefix", PREFIX, *arguments],
                          capture_output=True, text=True, timeout=150)


def rows_of(path):
    with open(path) as file:
        blocks = json.load(file)["blocks"]
    return {f"{block['name']} {row['measure']}/{row['size']}": row for block in blocks for row in block["rows"]}


class Measured(unittest.TestCase):
    """A few measures of each block, with the launcher and library under test."""

    def test_figures_table_and_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            table, plot = os.path.join(folder, "figures.json"), os.path.join(folder, "plot.svg")
            done = bench("--only", "tutti", "--quick", "--runs", "2", "--json", table, "--svg", plot, "p2p",
                         "fresh", "away", "barrier", "iallreduce/8", "alltoall*", "behind.send", "hidden", "files4", "files_open",
                         "allocated.*", "behind_windows", "spawn", "session.*", "startup2", "memory2")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = rows_of(table)
            drawing = xml.parse(plot)
        units = {"p2p latency/8": "us", "p2p bandwidth/1048576": "GB/s", "p2p rate/8": "M/s",
                 "pair barrier/0": "us", "crowd barrier/0": "us", "pair iallreduce/8": "us",
                 "pair alltoall/65536": "us", "crowd alltoall/1024": "us", "behind behind.send/1048576": "ms",
                 "fresh fresh.latency/65536": "us", "fresh fresh.exchange/65536": "us",
                 "fresh fresh.alltoall/65536": "us",
                 "away elsewhere.send/1048576": "ms",
                 "hidden hidden.exchange/1048576": "%",
                 "files4 shm.write/1024": "GB/s", "files4 shm.strided.read_all/1024": "GB/s",
                 "files4 shm.left/33554432": "ms", "files4 shm.append/1024": "us", "files_open shm.open/0": "ms",
                 "windows allocated.put/8": "us", "windows allocated.put_groups/8": "us",
                 "behind_windows behind.created.put_lock/8": "us",
                 "processes spawn/2": "ms", "sessions session.init/0": "us", "sessions session.comm/0": "us",
                 "startup2 startup/2": "ms", "memory2 memory.init/2": "MiB", "memory2 memory.talked/2": "MiB"}
        self.assertLessEqual(set(units), set(rows))
        for cell, unit in units.items():
            self.assertEqual(rows[cell]["unit"], unit, cell)
        for cell, row in rows.items():
            self.assertEqual(len(row["values"]["tutti"]), 2, cell)
            self.assertGreaterEqual(row["medians"]["tutti"], 0 if row["unit"] == "%" else 1e-9, cell)
            self.assertEqual(row["failures"], {}, cell)
        self.assertRegex(done.stdout, r"(?m)^  latency +8 +us +~?[0-9.]+$")
        self.assertRegex(done.stdout, r"(?m)^  startup +2 ranks +ms +~?[0-9.]+$")
        if len(os.sched_getaffinity(0)) > 1:
            self.assertRegex(done.stdout, r"(?m)^  cache line one way at the time, ns: tutti [0-9]+")
        self.assertNotIn("Failed", done.stdout)
        dots = drawing.findall(".//{http://www.w3.org/2000/svg}circle/{http://www.w3.org/2000/svg}title")
        self.assertEqual(len(dots), len(rows))

    def test_failures_are_rows(self):
        """An error of MPI, a crash and a hang cost their own rows; nothing stays behind."""
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "figures.json")
            done = bench("--only", "tutti", "--quick", "--runs", "1", "--patience", "3", "--json", table,
                         "fault", "latency/8")
            rows = rows_of(table)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("rank", rows["fault fault.error/0"]["failures"]["tutti"])
        self.assertIn("the run ended with exit code 134", rows["fault fault.abort/0"]["failures"]["tutti"])
        self.assertIn("nothing happened for 3 s", rows["fault fault.hang/0"]["failures"]["tutti"])
        self.assertGreater(rows["p2p latency/8"]["medians"]["tutti"], 0)
        for name in ("fault.error", "fault.abort", "fault.hang"):
            self.assertRegex(done.stdout, rf"(?m)^  {name} +failed$")
        self.assertEqual(self.left_over(), [])

    @staticmethod
    def left_over():
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if b"fault.hang" in file.read():
                        found.append(pid)
            except OSError:
                pass
        return found


class Nodes(unittest.TestCase):
    """The same over two nodes, where this machine allows them."""

    def test_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "figures.json")
            done = bench("--only", "tutti", "--quick", "--runs", "1", "--json", table, "nodes", "nodes8")
            if "making namespaces needs root" in done.stderr:
                self.skipTest(done.stderr)
            rows = rows_of(table)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for cell in ("nodes latency/8", "nodes bandwidth/1048576", "nodes8 barrier/0", "nodes8 allreduce/65536"):
            self.assertGreater(rows[cell]["medians"]["tutti"], 0, cell)


class PeersOfARoot(unittest.TestCase):
    """This machine's own root in place of another distribution's: each command goes through it."""

    def test_figures(self):
        if not (shutil.which("mpicc.mpich") and shutil.which("mpirun.mpich")):
            self.skipTest("there is no MPICH")
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "figures.json")
            done = bench("--only", "mpich", "--quick", "--runs", "1", "--json", table, "--peers", "/", "latency/8")
            if "Operation not permitted" in done.stderr:
                self.skipTest(done.stderr)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertGreater(rows_of(table)["p2p latency/8"]["medians"]["mpich"], 0)

    def test_no_root(self):
        done = bench("--peers", "/nonexistent", "latency")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--peers wants the folder of a root, and /nonexistent is none", done.stderr)

    def test_a_root_without_them(self):
        with tempfile.TemporaryDirectory() as root:
            done = bench("--only", "mpich", "--peers", root, "latency")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"mpich is left out: there is no mpicc.mpich in {root}", done.stderr)


class Refused(unittest.TestCase):
    def test_unknown_name(self):
        done = bench("--quick", "lattency")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing is called lattency in a quick run", done.stderr)

    def test_unknown_library(self):
        done = bench("--quick", "--only", "tutti,mpi", "latency")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no library 'mpi'", done.stderr)

    def test_no_rounds(self):
        self.assertEqual(bench("--runs", "0").returncode, 2)

    def test_nothing_built(self):
        done = bench("--only", "tutti", "--prefix", "/nonexistent", "latency")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tutti is left out: there is no /nonexistent/bin/mpicc", done.stderr)


class Library:
    def __init__(self, name):
        self.name, self.version = name, ""


class Figures(unittest.TestCase):
    """The arithmetic, over made-up values."""

    @staticmethod
    def result(cell, unit, **values):
        block = grid.Block("p2p", "messages", 2, [cell])
        result = report.Report([block], [Library(name) for name in values],
                               {"cpu": "", "cores": [0, 1], "date": "", "load": 0})
        for name, each in values.items():
            for value in each:
                outcome = runs.Outcome()
                outcome.values[cell] = (value, unit)
                result.take(block, Library(name), outcome, 56.0)
        return result, result.rows["p2p", cell]

    def test_less_is_better(self):
        result, row = self.result("latency/8", "us", tutti=[1, 5, 2], openmpi=[4, 4, 9], mpich=[3, 3, 3])
        self.assertEqual((row.median("tutti"), row.best_peer(), row.ratio()), (2, "mpich", 1.5))
        self.assertTrue(row.is_unsteady("tutti"))
        self.assertFalse(row.is_unsteady("mpich"))
        self.assertFalse(row.falls_short())  # the goal is 1.4
        self.assertIn("tutti 56, openmpi 56", result.as_text())

    def test_more_is_better(self):
        result, row = self.result("rate/8", "M/s", tutti=[10], openmpi=[20], mpich=[8])
        self.assertEqual((row.best_peer(), row.ratio()), ("openmpi", 0.5))
        self.assertTrue(row.falls_short())
        self.assertIn("<0.500", result.as_text())

    def test_shares_have_no_ratio(self):
        _, row = self.result("latency/8", "%", tutti=[90], openmpi=[0])
        self.assertIsNone(row.ratio())

    def test_a_library_without_figures_is_no_peer(self):
        _, row = self.result("latency/8", "us", tutti=[1], openmpi=[])
        self.assertIsNone(row.best_peer())
        self.assertIsNone(row.ratio())


class Names(unittest.TestCase):
    def test_what_they_select(self):
        for names, cells in ((["latency/8"], {"latency/8"}), (["barrier"], {"barrier"}),
                             (["memory"], {"memory.init/2", "memory.talked/2"}),
                             (["startup"], {"startup/2", "startup/16"}),
                             (["i*"], {"ibarrier", "iallreduce/8", "iallreduce/65536"})):
            blocks, unknown = grid.selected(grid.quick_grid(), names)
            self.assertEqual(({cell for block in blocks for cell in block.cells}, unknown), (cells, []))

    def test_faults_only_on_request(self):
        blocks, _ = grid.selected(grid.full_grid(), [])
        self.assertNotIn("fault", [block.name for block in blocks])


if __name__ == "__main__":
    PREFIX = sys.argv.pop(1)
    unittest.main(verbosity=2)
