# SPDX-License-Identifier: BSD-3-Clause
"""Holds that every test belongs to exactly one tier, and that each program that the middle tier runs has a
number of ranks on which the quick one runs it. usage: tiers.py BUILD_FOLDER [CTEST]"""
import json
import re
import subprocess
import sys

TIERS = {"quick", "middle", "long", "release"}


def labels_of(test):
    return {label for entry in test["properties"] if entry["name"] == "LABELS" for label in entry["value"]}


def main(build, ctest="ctest"):
    listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True)
    tests = [test for test in json.loads(listed.stdout)["tests"] if not test["name"].endswith("_NOT_BUILT")]
    wrong, of_program = [], {}
    for test in tests:
        tiers = labels_of(test) & TIERS
        if len(tiers) != 1:
            wrong.append(f"{test['name']}: its tiers are {sorted(tiers) or 'none'}, and should be one of {sorted(TIERS)}")
        program = re.fullmatch(r"(program\.\w+\.\w+)\.n\d+", test["name"])
        if program:
            of_program.setdefault(program[1], set()).update(tiers)
    for program, tiers in sorted(of_program.items()):
        if "middle" in tiers and "quick" not in tiers:
            wrong.append(f"{program}: no number of ranks is quick; tests/tiers.txt has the rows")
    print("\n".join(wrong) or f"{len(tests)} tests have a tier each")
    return 1 if wrong or len(tests) < 100 else 0


sys.exit(main(*sys.argv[1:]))
