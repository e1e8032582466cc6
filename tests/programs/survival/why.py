# SPDX-License-Identifier: BSD-3-Clause
"""What tutti why says of a job that goes on without a rank: who has failed, how and when, and that the others are in an
agreement, which waits for the one that has not come.   usage: why.py BIN PROGRAM"""
import json
import pathlib
import re
import subprocess
import sys
import time

PATIENCE = 30


def says(tutti, *options):
    return subprocess.run([tutti, "why", *options], capture_output=True, text=True, timeout=30).stdout


def is_child(pid, parent):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1]) == parent
    except FileNotFoundError:
        return False


def look(tutti, job):
    """What it says, once it is what it should be."""
    wanted = [r"3 of its 4 ranks are seen, 1 has failed$",
              r"^  rank 3: failed [\d.]+ s ago: was killed by signal 9 \(Killed\)$",
              r"^  ranks 0, 1: in MPIX_Comm_agree\(\) .*; waiting for rank 2$"]
    text, end = "", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        text = says(tutti, job)
        if all(re.search(each, text, re.MULTILINE) for each in wanted):
            return text
        time.sleep(0.1)
    sys.exit(f"tutti why does not come to say what it should:\n{text}")


def main(folder, program):
    tutti = pathlib.Path(folder) / "tutti"
    command = [pathlib.Path(folder) / "mpirun", "-n", "4", "--on-failure=continue", program, "held"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as job:
        try:
            first = job.stderr.readline()
            if "was killed by signal 9 (Killed); the job goes on" not in first:
                sys.exit(f"mpirun says {first}")
            name = next(each["job"] for each in json.loads(says(tutti, "--json")) if is_child(each.get("pid"), job.pid))
            print(look(tutti, name))
            failed = [each for each in json.loads(says(tutti, "--json", name)) if each["state"] == "failed"]
            if [(each["rank"], each["why"]) for each in failed] != [(3, "was killed by signal 9 (Killed)")]:
                sys.exit(f"as JSON it says {failed}")
        finally:
            job.terminate()
            job.communicate(timeout=PATIENCE)


if __name__ == "__main__":
    main(*sys.argv[1:])
