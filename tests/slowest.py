# SPDX-License-Identifier: BSD-3-Clause
"""Passes ctest's output on, and says before its closing line which ten tests took longest: that line stays
what a reader, or a program that reads, finds at the end.
usage: ctest … | slowest.py"""
import re
import sys

TOOK = re.compile(r"Test +#\d+: (\S+) .*?([0-9.]+) sec$")
CLOSING = re.compile(r"\d+% tests passed")


def main():
    took = []
    for line in sys.stdin:
        found = TOOK.search(line.rstrip())
        if found:
            took.append((float(found[2]), found[1]))
        if CLOSING.match(line) and took:
            print("The slowest:")
            for seconds, test in sorted(took, reverse=True)[:10]:
                print(f"{seconds:9.2f} s  {test}")
            print()
            took = []
        print(line, end="", flush=True)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
