# SPDX-License-Identifier: BSD-3-Clause
"""The same figures as one SVG: a panel for each measure, a line for each library, both axes
logarithmic. Written with the standard library alone. ./dev bench --svg calls it; alone it draws figures that
are kept: plot.py FIGURES.csv PICTURE.svg (docs/performance.csv shows the form)."""
import csv
import math
import pathlib
import sys
import xml.etree.ElementTree as xml

COLOURS = ("#0b6e4f", "#d1495b", "#edae49", "#30638e", "#7a5195", "#666666")
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 270, 190, 4
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 30, 26  # margins inside a panel
HEAD, BLOCK_HEAD = 56, 30


class Axis:
    """Values of one axis onto a range of pixels, logarithmic; 0 stands where 1 octave below the least."""

    def __init__(self, values, start, end, base):
        positive = [value for value in values if value > 0]
        self.least = (min(positive) if positive else 1) / (2 if 0 in values else 1)
        most = max(positive) if positive else 1
        self.low, self.high = math.log(self.least, base), math.log(most, base)
        if base == 10:  # room around the lines
            self.low, self.high = self.low - 0.08, self.high + 0.08
        self.start, self.end, self.base = start, end, base

    def place(self, value):
        span = self.high - self.low
        share = (math.log(max(value, self.least), self.base) - self.low) / span if span > 1e-9 else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """Where the value axis has its ticks: powers of ten; also twos and fives if these are few."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        for digits in ((1,), (1, 2, 5), range(1, 10)):
            ticks = [digit * 10.0 ** power for power in powers for digit in digits]
            ticks = [tick for tick in ticks if self.low <= math.log10(tick) <= self.high]
            if len(ticks) > 2:
                return ticks
        return [10 ** self.low, 10 ** self.high]


def add(parent, tag, text=None, **attributes):
    element = xml.SubElement(parent, tag, {
        name.rstrip("_").replace("_", "-"): f"{value:.1f}" if isinstance(value, float) else str(value)
        for name, value in attributes.items()})
    element.text = text
    return element


def panel(parent, x, y, measure, rows, names):
    group = add(parent, "g", transform=f"translate({x} {y})")
    unit = next((row.unit for row in rows if row.unit), "")
    add(group, "text", f"{measure} [{unit}]", x=LEFT, y=TOP - 8, font_weight="bold")
    medians = [row.median(name) for row in rows for name in names]
    across = Axis([row.size for row in rows], LEFT + 6, PANEL_WIDTH - RIGHT - 6, 2)
    up = Axis([value for value in medians if value is not None], PANEL_HEIGHT - BOTTOM, TOP, 10)
    add(group, "rect", x=LEFT, y=TOP, width=PANEL_WIDTH - LEFT - RIGHT, height=PANEL_HEIGHT - TOP - BOTTOM,
        fill="none", stroke="#bbb")
    for tick in up.ticks():
        at = up.place(tick)
        add(group, "line", x1=LEFT, x2=PANEL_WIDTH - RIGHT, y1=at, y2=at, stroke="#e5e5e5")
        add(group, "text", f"{round(tick, 9):g}", x=LEFT - 4, y=at + 3, text_anchor="end")
    every = max(1, math.ceil(len(rows) / 6))
    for row in rows[::every]:
        add(group, "text", short_size(row.size), x=across.place(row.size), y=PANEL_HEIGHT - BOTTOM + 13,
            text_anchor="middle")
    for name, colour in zip(names, COLOURS):
        curve(group, [(across.place(row.size), up.place(row.median(name)), row.median(name), row.unit)
                      for row in rows if row.median(name) is not None], name, colour)


def curve(group, points, name, colour):
    if len(points) > 1:
        add(group, "polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points), fill="none",
            stroke=colour, stroke_width="1.5")
    for x, y, value, unit in points:
        dot = add(group, "circle", cx=x, cy=y, r="2.4", fill=colour)
        add(dot, "title", f"{name}: {value:.4g} {unit}")


def short_size(size):
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size) if size else "0"


def panels_of(report):
    """[(title, [(measure, rows)])]; blocks that differ in ranks alone share a panel."""
    groups = {}
    for block in report.blocks:
        title = block.title if block.mode == "cells" else "start-up and memory, by ranks"
        measures = groups.setdefault(title, {})
        for row in report.rows_of(block):
            measures.setdefault(row.measure, []).append(row)
    return [(title, list(measures.items())) for title, measures in groups.items()]


def write_svg(report, path):
    machine = f"{report.machine['cpu']}, {report.machine['date']}"
    write_panels(panels_of(report), [library.name for library in report.libraries],
                 f"{machine}, medians of {report.rounds} interleaved rounds; bytes across", path)


def write_panels(groups, names, head, path):
    height = HEAD + sum(BLOCK_HEAD + PANEL_HEIGHT * math.ceil(len(panels) / COLUMNS) for _, panels in groups)
    width = PANEL_WIDTH * COLUMNS
    root = xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}",
                               "font-family": "sans-serif", "font-size": "10"})
    add(root, "rect", width=width, height=height, fill="white")
    add(root, "text", head, x=12, y=20)
    x = 12
    for name, colour in zip(names, COLOURS):
        add(root, "circle", cx=x + 4, cy=36, r=4, fill=colour)
        add(root, "text", name, x=x + 12, y=40, font_size=12)
        x += 30 + 8 * len(name)
    y = HEAD
    for title, panels in groups:
        add(root, "text", title, x=12, y=y + 18, font_size=13, font_weight="bold")
        y += BLOCK_HEAD
        for index, (measure, rows) in enumerate(panels):
            panel(root, index % COLUMNS * PANEL_WIDTH, y + index // COLUMNS * PANEL_HEIGHT, measure, rows, names)
        y += PANEL_HEIGHT * math.ceil(len(panels) / COLUMNS)
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


class KeptRow:
    """A row of figures that are kept, as panel() reads one of a report."""

    def __init__(self, unit, size, values):
        self.unit, self.size, self.values = unit, int(size), values

    def median(self, name):
        return self.values[name]


def draw_kept(figures, path):
    lines = [line for line in pathlib.Path(figures).read_text().splitlines() if not line.startswith("#")]
    machine, titles, *rows = csv.reader(lines)
    names, groups = titles[4:], {}
    for title, measure, unit, size, *values in rows:
        row = KeptRow(unit, size, dict(zip(names, map(float, values))))
        groups.setdefault(title, {}).setdefault(measure, []).append(row)
    head = f"{machine[1]}, {machine[3]}, medians of {machine[5]} interleaved rounds; bytes across"
    write_panels([(title, list(measures.items())) for title, measures in groups.items()], names, head, path)


if __name__ == "__main__":
    draw_kept(*sys.argv[1:])
