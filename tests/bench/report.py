# SPDX-License-Identifier: BSD-3-Clause
"""Medians, ratios, and the two forms in which they are told: a table for people, JSON for tools."""
import statistics

MORE_IS_BETTER = {"GB/s", "M/s", "%"}
WITHOUT_RATIO = {"%"}  # a share of 0 or 100 makes no useful quotient
STEADY = 1.5           # largest against least of a library's rounds
SAME_LINE = 1.25       # two moments are alike whose cache lines differ by less
ENOUGH = 8             # batches of a library at a cell that make a figure
OURS = "tutti"


class Row:
    """One cell of one block: all rounds of all libraries."""

    def __init__(self, block, cell):
        self.block, self.cell = block, cell
        self.unit = ""
        self.values = {}    # library: [one per round]
        self.failures = {}  # library: sentence
        self.batches = {}   # library: [(cache line, value)], of all rounds
        self.line = None    # nanoseconds of the cache line for which the figures hold; None: not looked at

    @property
    def measure(self):
        return self.cell.partition("/")[0]

    @property
    def size(self):
        return int(self.cell.partition("/")[2] or 0)

    def take(self, library, value, batches):
        self.values.setdefault(library, []).append(value)
        more = self.unit in MORE_IS_BETTER
        self.batches.setdefault(library, []).extend(
            (line, value / share if more else value * share) for line, share in batches if line and share)

    def batches_alike(self, library):
        """Values of the batches that ran while a cache line took what the figures hold for; sorted,
        the best first."""
        values = [value for line, value in self.batches.get(library, ())
                  if line < SAME_LINE * self.line and self.line < SAME_LINE * line]
        return sorted(values, reverse=self.unit in MORE_IS_BETTER)

    def hold_for(self, line):
        """Lets the figures be those of the batches at this line, if each library has enough."""
        self.line = line
        if line and any(len(self.batches_alike(library)) < ENOUGH for library in self.values):
            self.line = None

    def median(self, library):
        if self.line:
            alike = self.batches_alike(library)
            return alike[(len(alike) - 1) // 4] if alike else None
        values = self.values.get(library)
        return statistics.median(values) if values else None

    def is_unsteady(self, library):
        """Whether the rounds differ so much that the figure is to be taken with care."""
        values = self.values.get(library) or [0]
        if self.line:
            alike = self.batches_alike(library)
            values = [alike[len(alike) // 8], alike[len(alike) // 2]]
        return self.unit not in WITHOUT_RATIO and max(values) > STEADY * min(values)

    def best_peer(self):
        peers = {name: self.median(name) for name in self.values if name != OURS and self.values[name]}
        if not peers:
            return None
        return (max if self.unit in MORE_IS_BETTER else min)(peers, key=peers.get)

    def ratio(self):
        """How many times Tutti is ahead of the best peer; None where that says nothing."""
        ours, best = self.median(OURS), self.best_peer()
        if ours is None or best is None or self.unit in WITHOUT_RATIO:
            return None
        theirs = self.median(best)
        if not ours or not theirs:
            return None
        return ours / theirs if self.unit in MORE_IS_BETTER else theirs / ours

    def falls_short(self):
        goal, ratio = self.block.goal(self.cell), self.ratio()
        return goal is not None and ratio is not None and ratio < goal


class Report:
    def __init__(self, blocks, libraries, machine):
        self.blocks, self.libraries, self.machine = blocks, libraries, machine
        self.rounds = 0
        self.rows = {(block.name, cell): Row(block, cell) for block in blocks for cell in block.cells}
        self.line = {block.name: {library.name: [] for library in libraries} for block in blocks}
        self.alike = {}   # block: the line that its figures hold for, and the share of batches that met it
        self.pinned = {}  # (block, library): whether every rank had a core of its own

    def rows_of(self, block):
        return [self.rows[block.name, cell] for cell in block.cells]

    def failed_cells(self, block, library):
        return {row.cell for row in self.rows_of(block) if library.name in row.failures}

    def take(self, block, library, outcome, line):
        if line is not None:
            self.line[block.name][library.name].append(line)
        if outcome.pinned is not None:
            self.pinned[block.name, library.name] = outcome.pinned
        for cell, (value, unit) in outcome.values.items():
            row = self.rows[block.name, cell]
            row.unit = unit
            row.take(library.name, value, outcome.batches.get(cell, ()))
        for cell, sentence in outcome.failures.items():
            self.rows[block.name, cell].failures[library.name] = sentence

    def compare_alike(self):
        """On a virtual machine the cores move about its host, and a cache line between them takes 30 or
        300 ns from one moment to the next. So the figures of a block are those of the batches at the
        line that most batches met, for all libraries alike; rows without enough of them keep the
        medians of their rounds."""
        for block in self.blocks:
            lines = sorted(line for row in self.rows_of(block) for each in row.batches.values()
                           for line, _ in each)
            line = densest(lines)
            for row in self.rows_of(block):
                row.hold_for(line)
            if line:
                near = [each for each in lines if each < SAME_LINE * line and line < SAME_LINE * each]
                self.alike[block.name] = (statistics.median(near), len(near) / len(lines))

    def failures(self):
        return [(row, name, sentence) for row in self.rows.values()
                for name, sentence in row.failures.items()]

    # --- for tools ---

    def as_json(self):
        return {
            "format": 1,
            "machine": self.machine,
            "rounds": self.rounds,
            "libraries": [{"name": lib.name, "version": lib.version} for lib in self.libraries],
            "blocks": [{
                "name": block.name, "title": block.title, "ranks": block.ranks,
                "line_ns": self.line[block.name],
                "pinned": {lib.name: self.pinned.get((block.name, lib.name)) for lib in self.libraries},
                "rows": [self.row_as_json(row) for row in self.rows_of(block)],
            } for block in self.blocks],
        }

    def row_as_json(self, row):
        return {
            "measure": row.measure, "size": row.size, "unit": row.unit,
            "better": "more" if row.unit in MORE_IS_BETTER else "less",
            "values": row.values,
            "medians": {name: row.median(name) for name in row.values},
            "line_ns": row.line,
            "failures": row.failures,
            "best_peer": row.best_peer(), "ratio": row.ratio(), "goal": row.block.goal(row.cell),
        }

    # --- for people ---

    def as_text(self):
        parts = [self.head()]
        parts += [self.block_as_text(block) for block in self.blocks]
        alike = {}  # what goes wrong once often goes wrong for many cells
        for row, name, sentence in self.failures():
            alike.setdefault((name, sentence), []).append(f"{row.block.name} {row.cell}")
        if alike:
            parts.append("Failed:\n" + "\n".join(
                f"  {name}: {sentence}\n    {', '.join(cells)}" for (name, sentence), cells in alike.items()))
        return "\n\n".join(parts)

    def head(self):
        versions = "\n".join(f"  {lib.name:<12} {lib.version}" for lib in self.libraries)
        return (f"{self.machine['cpu']}, cores {', '.join(map(str, self.machine['cores']))}, "
                f"{self.machine['date']}; load {self.machine['load']:.1f} at the start\n{versions}\n"
                f"Medians of {self.rounds} interleaved rounds, or, where it says so, the lower quartile of "
                f"their batches. Ratio: how many times Tutti is ahead of the "
                f"best peer; < marks one below its goal. ~ marks figures that differ by more than {STEADY:g} times, or stand for "
                "whatever the line was.")

    def block_as_text(self, block):
        names = [library.name for library in self.libraries]
        table = [["", "size", "unit", *names, "ratio", "goal"]]
        for row in self.rows_of(block):
            goal, ratio = block.goal(row.cell), row.ratio()
            table.append([
                row.measure, size_as_text(row.size, block), row.unit,
                *(self.cell_as_text(row, name) for name in names),
                "" if ratio is None else f"{'<' if row.falls_short() else ''}{number_as_text(ratio)}",
                "" if goal is None or ratio is None else f"{goal:g}"])
        lines = [block.title + self.line_as_text(block)]
        unpinned = [name for name in names if block.pinned and self.pinned.get((block.name, name)) is False]
        if unpinned:
            lines.append(f"  (not pinned to a core each: {', '.join(unpinned)})")
        widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
        for line in table:
            first, *others = (text.ljust(width) if i in (0, 2) else text.rjust(width)
                              for i, (text, width) in enumerate(zip(line, widths)))
            lines.append(("  " + "  ".join([first, *others])).rstrip())
        return "\n".join(lines)

    def cell_as_text(self, row, name):
        value = row.median(name)
        if value is not None:
            not_alike = row.block.name in self.alike and row.line is None
            return ("~" if not_alike or row.is_unsteady(name) else "") + number_as_text(value)
        return "failed" if name in row.failures else "-"

    def line_as_text(self, block):
        told = [f"{name} {spread_as_text(values)}" for name, values in self.line[block.name].items() if values]
        text = f"\n  cache line one way at the time, ns: {', '.join(told)}" if told else ""
        if block.name in self.alike:
            line, share = self.alike[block.name]
            text += f"\n  figures of the batches at {line:.0f} ns: {100 * share:.0f} % of all"
        return text


def densest(lines):
    """The middle of the widest crowd of these sorted values: most of them are like it."""
    best, most, end = None, 0, 0
    for start, least in enumerate(lines):
        while end < len(lines) and lines[end] < SAME_LINE ** 2 * least:
            end += 1
        if end - start > most:
            most, best = end - start, lines[(start + end) // 2]
    return best


def spread_as_text(values):
    least, most = round(min(values)), round(max(values))
    return f"{statistics.median(values):.0f}" + (f" ({least} to {most})" if least != most else "")


def size_as_text(size, block):
    if block.mode != "cells":
        return f"{size} ranks"
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size) if size else "0" if block.name == "p2p" else ""


def number_as_text(value):
    """Three digits that matter."""
    if value == 0:
        return "0"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" \
        if value >= 1 else f"{value:.3f}"
