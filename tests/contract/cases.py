# SPDX-License-Identifier: BSD-3-Clause
"""What those have in common that run a program's cases and judge what is said: the places of the source by name, what
counts as said, and a line for each case."""
import pathlib
import re


class Source:
    """`// LINE name` at the end of a line of a program's sources names it; LINE(name) in an expected text stands for that
    place. `paths`: one or several, with commas between them."""

    def __init__(self, paths):
        self.places = {m[1]: rf"{re.escape(pathlib.Path(path).name)}:{n}\b" for path in paths.split(",")
                       for n, line in enumerate(open(path), 1) if (m := re.search(r"// LINE (\w+)$", line))}

    def missing(self, err, expected):
        """None, or which of the expected texts no line of `err` has."""
        for text in expected:
            pattern = re.sub(r"LINE\((\w+)\)", lambda m: self.places[m[1]], text)
            if not any(re.search(pattern, line) for line in err.splitlines()):
                return f"no line says: {pattern}"
        return None


def said(err):
    """What Tutti has told, but for ranks that share cores."""
    return [line for line in err.splitlines() if line.startswith("tutti: ") and " share " not in line]


def errors(err):
    return [line for line in err.splitlines() if "error:" in line and " exited with code " not in line]


def judge_all(runs):
    """(name, what judges it) each: that returns the problem or None, and what was printed. True if one failed."""
    failed = 0
    for name, judge in runs:
        problem, words = judge()
        print(f"{'FAILED' if problem else 'ok'}: {name} {problem or ''}", flush=True)
        if problem:
            failed += 1
            print(words)
    return failed > 0
