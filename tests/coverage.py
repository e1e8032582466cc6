# SPDX-License-Identifier: BSD-3-Clause
"""Prints of gcovr's summary how many lines of each folder ran. usage: coverage.py SUMMARY.json"""
import collections
import json
import pathlib
import sys


def main(summary):
    total, covered = collections.Counter(), collections.Counter()
    for file in json.loads(pathlib.Path(summary).read_text())["files"]:
        folder = str(pathlib.PurePath(file["filename"]).parent)
        for name in (folder, "all of it"):
            total[name] += file["line_total"]
            covered[name] += file["line_covered"]
    for name in sorted(total, key=lambda name: (name == "all of it", name)):
        share = 100 * covered[name] / max(total[name], 1)
        print(f"{name:24} {covered[name]:6} of {total[name]:6} lines  {share:5.1f} %")
    return 0 if total else 1


sys.exit(main(*sys.argv[1:]))
