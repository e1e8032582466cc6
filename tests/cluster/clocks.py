# SPDX-License-Identifier: BSD-3-Clause
"""What a profile of nodes whose clocks differ by far says of them: each form of it tells the same error; what happened on the
nodes is less apart than the job is long; and no message is received before it was sent by more than that error.
usage: clocks.py TUTTI PROFILE FOLDER RANKS"""
import base64
import json
import pathlib
import re
import struct
import subprocess
import sys

tutti, profile, folder, ranks = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4])

# As the nodes have told it, by their own clocks.
begun, sent, received = {}, {}, {}
rank = -1
for line in profile.read_text().splitlines():
    fields = line.split("\t")
    if fields[0] == "rank":
        rank = int(fields[1])
        begun[rank] = int(fields[6])
    elif fields[0] == "message":
        is_receive, other, *rest = fields[1:7]
        ends = received if is_receive == "1" else sent
        ends[(int(other), rank) if is_receive == "1" else (rank, int(other)), *rest[:3]] = int(rest[3])
assert max(begun.values()) - min(begun.values()) > 1e12, f"the clocks do not differ: {begun}"
assert any(received[name] < sent[name] - 1e12 for name in received), "no message goes back in time by the nodes' clocks"

text = subprocess.run([tutti, "profile", profile], check=True, capture_output=True, text=True, timeout=60).stdout
number, unit = re.search(r"^clocks of the nodes are compared to ([\d.]+) (us|ms|s)$", text, re.M).groups()
error = float(number) * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit]
assert "cannot be compared" not in text, text
length = float(re.search(r"^profile of .*: \d+ ranks, ([\d.]+) s", text)[1]) * 1e9
assert 0 < length < 60e9, length

for form in ("html", "json"):
    subprocess.run([tutti, "profile", profile, "-o", folder / f"left.{form}"], check=True, timeout=60)
trace = json.loads((folder / "left.json").read_text())
assert abs(trace["otherData"]["error of clocks, us"] * 1e3 - error) <= 0.06 * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit], trace["otherData"]
last = max(e["ts"] + e.get("dur", 0) for e in trace["traceEvents"] if "ts" in e) * 1e3
assert last <= 1.5 * length + error, f"something happens {last / 1e9} s after the begin of a job of {length / 1e9} s, by clocks to {error / 1e9} s"

page = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', (folder / "left.html").read_text(), re.S)[1])
assert abs(page["clock_error"] - error) <= 0.06 * {"us": 1e3, "ms": 1e6, "s": 1e9}[unit], page["clock_error"]


def column(name):
    kind, numbers = page["messages"][name]
    return [each for each, in struct.iter_unpack({"u8": "B", "u16": "<H", "u32": "<I"}[kind], base64.b64decode(numbers))]


messages = list(zip(column("from"), column("to"), column("sent"), column("received")))
assert len(messages) == len(received) == ranks * 80, (len(messages), len(received))
back = max((at - to) * page["unit"] for _, _, at, to in messages)
print(f"clocks to {error / 1e3} us; {len(messages)} messages, of which one goes back by {back / 1e3} us at most; "
      f"job of {length / 1e9} s")
assert back <= page["clock_error"] + page["unit"], back
# And it says something: it is no larger than what messages between nodes take on a busy machine.
assert error < 0.1 * length, error
