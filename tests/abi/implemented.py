# SPDX-License-Identifier: BSD-3-Clause
"""Counts what the library implements, by api.tsv, and says what it does not. Fails if it is fewer
functions than were there before.   usage: implemented.py API.tsv AT_LEAST_FILE"""
import pathlib
import sys

rows = [line.split("\t") for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
at_least = int(pathlib.Path(sys.argv[2]).read_text().split()[0])
missing = [name for name, state in rows if state == "unsupported"]
done = len(rows) - len(missing)
print(f"{len(rows)} functions: {done} implemented, {len(missing)} unsupported:", *missing)
if len(rows) != 664:
    sys.exit(f"the standard has 664 functions, api.tsv {len(rows)}")
if done < at_least:
    sys.exit(f"at least {at_least} functions were implemented before, now {done}")
if done > at_least:
    print(f"{sys.argv[2]} may be raised to {done}")
