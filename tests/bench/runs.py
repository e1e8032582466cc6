# SPDX-License-Identifier: BSD-3-Clause
"""Starts one library's program for one block and reads what it says. A run that dies or says nothing
for too long costs the cell at which it stood; nothing of it is left running."""
import os
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

MARK = "BENCHMARK_RUN"  # in the environment of all that a run starts
RESTARTS = 5  # of one block, each without the cell that ended the run before
STARTS = {2: 5, 16: 3}  # of a launcher in one round, by ranks; otherwise 1


class Outcome:
    """Of one library's run of one block."""

    def __init__(self):
        self.values = {}    # cell: (value, unit)
        self.batches = {}   # cell: [(nanoseconds of a cache line then, time taken against the value's)]
        self.failures = {}  # cell: sentence
        self.pinned = None


class Run:
    """One started launcher: its lines, its end."""
    count = 0

    def __init__(self, command, environment):
        Run.count += 1
        self.mark = f"{os.getpid()}.{Run.count}"
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
            env={**environment, MARK: self.mark}, start_new_session=True)

    def lines(self, patience):
        """Each BENCH line as its fields; ends with the output, or by TimeoutError after a silence."""
        rest = b""
        descriptor = self.process.stdout.fileno()
        while True:
            if not select.select([descriptor], [], [], patience)[0]:
                raise TimeoutError
            data = os.read(descriptor, 65536)
            if not data:
                return
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                fields = line.decode(errors="replace").split("\t")
                if fields[0] == "BENCH":
                    yield fields[1:]

    def finish(self, patience):
        """Exit code of a run whose output has ended."""
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            return None

    def last_words(self):
        self.errors.seek(0)
        words = [line.strip() for line in self.errors.read().decode(errors="replace").splitlines()]
        return next((line for line in words if line and not set(line) <= set("-=* ")), "")

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(3)
            except subprocess.TimeoutExpired:
                pass
        for pid in self.left_over():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()

    def left_over(self):
        """Processes of this run that are still there, wherever they hang in the process tree."""
        wanted = f"{MARK}={self.mark}".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        yield int(pid)
            except OSError:
                pass


def line_latency(library, cores, patience):
    """Nanoseconds that a cache line takes from core to core at this moment, or None."""
    if len(cores) < 2:
        return None
    try:
        done = subprocess.run([*library.there(os.path.dirname(library.program)), library.program, "line", *map(str, cores)], capture_output=True,
                              text=True, timeout=patience)
        return float(done.stdout.split("\t")[2])
    except (subprocess.TimeoutExpired, IndexError, ValueError):
        return None


def measure(library, block, skip, patience):
    """Runs a block, without the cells in `skip`."""
    cells = [cell for cell in block.cells if cell not in skip]
    if not cells:
        return Outcome()
    return {"cells": measure_cells, "startup": measure_startup, "memory": measure_memory}[block.mode](
        library, block, cells, patience)


def measure_cells(library, block, cells, patience):
    outcome = Outcome()
    for _ in range(1 + RESTARTS):
        at = attempt(library, block, cells, patience, outcome)
        cells = [cell for cell in cells if cell not in outcome.values and cell not in outcome.failures]
        if not cells or at is None:
            break
    for cell in cells:
        outcome.failures[cell] = "not measured: the run ended too often before it"
    return outcome


def attempt(library, block, cells, patience, outcome):
    """One start for these cells. Returns the cell at which it ended, None if at none."""
    command = library.command(block, ["cells", str(block.budget_ms), *cells])
    run = Run(command, library.environment_for_run())
    at, ended, problem = None, False, "the run ended"
    try:
        for fields in run.lines(patience):
            if fields[0] == "library":
                library.version = " ".join(fields[1].split())
            elif fields[0] == "pinned":
                outcome.pinned = fields[1] == "yes"
            elif fields[0] == "begin":
                at = fields[1]
            elif fields[0] == "row":
                outcome.values[fields[1]] = (float(fields[2]), fields[3])
                outcome.batches[fields[1]] = [tuple(map(float, batch.split(":")))
                                              for batch in fields[4].split(",") if batch]
                at = None
            elif fields[0] == "fail":
                outcome.failures[fields[1]] = fields[2]
                at = None
            elif fields[0] == "end":
                ended = True
        code = run.finish(patience)
        problem = "the launcher did not end" if code is None else f"the run ended with exit code {code}"
    except TimeoutError:
        problem = f"nothing happened for {patience:g} s"
    finally:
        words = run.last_words()
        run.close()
    if not ended:
        sentence = f"{problem}: {words}" if words else problem
        for cell in [at] if at else cells:
            if cell not in outcome.values:
                outcome.failures.setdefault(cell, sentence)
    return at


def measure_startup(library, block, cells, patience):
    """Milliseconds from the launcher's start to its end."""
    outcome = Outcome()
    took = []
    for _ in range(STARTS.get(block.ranks, 1)):
        begin = time.monotonic()
        run = Run(library.command(block, ["hello"]), library.environment_for_run())
        try:
            greetings = sum(fields[0] == "hello" for fields in run.lines(patience))
            code = run.finish(patience)
            took.append(1e3 * (time.monotonic() - begin))
            problem = f"{greetings} of {block.ranks} ranks greeted, exit code {code}"
            if greetings == block.ranks and code == 0:
                problem = None
        except TimeoutError:
            problem = f"nothing happened for {patience:g} s"
        finally:
            words = run.last_words()
            run.close()
        if problem:
            outcome.failures[cells[0]] = f"{problem}: {words}" if words else problem
            return outcome
    outcome.values[cells[0]] = (statistics.median(took), "ms")
    return outcome


def measure_memory(library, block, cells, patience):
    """Mean over the ranks, MiB."""
    outcome = Outcome()
    folder = tempfile.mkdtemp(prefix="tutti-bench-")
    run = Run(library.command(block, ["memory", folder]), library.environment_for_run())
    try:
        found = [tuple(map(float, fields[1:])) for fields in run.lines(patience) if fields[0] == "memory"]
        problem = None if len(found) == block.ranks else f"{len(found)} of {block.ranks} ranks answered"
    except TimeoutError:
        problem = f"nothing happened for {patience:g} s"
    finally:
        words = run.last_words()
        run.close()
        shutil.rmtree(folder, ignore_errors=True)
    for cell in cells:
        if problem:
            outcome.failures[cell] = f"{problem}: {words}" if words else problem
        else:
            column = 1 if cell.startswith("memory.talked") else 0
            outcome.values[cell] = (statistics.fmean(values[column] for values in found), "MiB")
    return outcome
