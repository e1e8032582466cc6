#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the matrix that cg.c is shipped with, in Matrix Market form, to standard output.

The operator is -div(k grad u) by linear finite elements on triangles: a square grid whose points
are moved by up to a fifth of a cell, a round hole and a slit cut out of it, u = 0 on the outer edge,
nothing flowing through the hole's. The conductivity k is 1 with inclusions of 100 and of 0.01. Only
the lower triangle is written, as the format asks for symmetric matrices.

  make_matrix.py [points per side, default 69] > diffusion.mtx
"""
import math
import random
import sys


def conductivity(x, y):
    if (x - 0.25) ** 2 + (y - 0.7) ** 2 < 0.015:
        return 100.0
    if abs(x - 0.75) < 0.08 and 0.15 < y < 0.85:
        return 0.01
    return 1.0


def is_cut_out(x, y):
    in_hole = (x - 0.55) ** 2 + (y - 0.35) ** 2 < 0.01
    in_slit = abs(y - 0.5) < 0.008 and x < 0.3
    return in_hole or in_slit


def points(side, rng):
    """Positions by grid index; those on the outer edge are not moved."""
    h = 1.0 / (side - 1)
    place = {}
    for i in range(side):
        for j in range(side):
            x, y = i * h, j * h
            if 0 < i < side - 1 and 0 < j < side - 1:
                x += h / 5 * rng.uniform(-1, 1)
                y += h / 5 * rng.uniform(-1, 1)
            place[i, j] = (x, y)
    return place


def triangles(side, place):
    for i in range(side - 1):
        for j in range(side - 1):
            a, b, c, d = (i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)
            halves = ((a, b, c), (a, c, d)) if (i + j) % 2 else ((a, b, d), (b, c, d))
            for corners in halves:
                x = sum(place[p][0] for p in corners) / 3
                y = sum(place[p][1] for p in corners) / 3
                if not is_cut_out(x, y):
                    yield corners, conductivity(x, y)


def stiffness(corners, place, k):
    """The element's 3 x 3 matrix, as ((row, column), value)."""
    (x0, y0), (x1, y1), (x2, y2) = (place[p] for p in corners)
    twice_area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    gradients = [(y1 - y2, x2 - x1), (y2 - y0, x0 - x2), (y0 - y1, x1 - x0)]
    for p, g in zip(corners, gradients):
        for q, h in zip(corners, gradients):
            yield (p, q), k * (g[0] * h[0] + g[1] * h[1]) / (2 * twice_area)


def main():
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 69
    if side < 3:
        sys.exit("make_matrix.py: a grid needs at least 3 points per side")
    place = points(side, random.Random(1))
    entries = {}
    for corners, k in triangles(side, place):
        for (p, q), value in stiffness(corners, place, k):
            on_edge = any(c in (0, side - 1) for c in p + q)
            if not on_edge:
                entries[p, q] = entries.get((p, q), 0.0) + value
    unknowns = {p: n + 1 for n, p in enumerate(sorted({p for p, _ in entries}))}
    lower = sorted((unknowns[p], unknowns[q], v) for (p, q), v in entries.items()
                   if unknowns[p] >= unknowns[q])
    print("%%MatrixMarket matrix coordinate real symmetric")
    print("% Diffusion with inclusions, a hole and a slit, by linear finite elements; SPDX: BSD-3-Clause")
    print(f"{len(unknowns)} {len(unknowns)} {len(lower)}")
    for row, column, value in lower:
        print(f"{row} {column} {value:.8g}")


if __name__ == "__main__":
    main()
