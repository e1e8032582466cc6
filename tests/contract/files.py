# SPDX-License-Identifier: BSD-3-Clause
"""Under --check=strict a job hears that another one has the file open that it deletes, and by whom; not once that is
closed, or killed.
usage: files.py MPIRUN PROGRAM"""
import os
import re
import signal
import subprocess
import sys
import tempfile

MPIRUN, PROGRAM = sys.argv[1:]
SECONDS = 60
RANKS = 2


def refuse(text):
    print(text)
    sys.exit(1)


def hold(path):
    """The job, once all its ranks have the file open, and their processes by rank."""
    job = subprocess.Popen([MPIRUN, "-n", str(RANKS), "--check=strict", PROGRAM, "hold", path], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    processes = {}
    while len(processes) < RANKS:
        line = job.stdout.readline()
        said = re.search(r"rank (\d+) is process (\d+)", line)
        if not said:
            job.kill()
            refuse(f"the job that has the file open says {line!r}\n{job.communicate()[1]}")
        processes[int(said[1])] = int(said[2])
    return job, processes


def delete(path, check="strict"):
    return subprocess.run([MPIRUN, "-n", "1", f"--check={check}", PROGRAM, "delete", path], capture_output=True, text=True,
                          timeout=SECONDS).stdout.strip()


def expect_deleted(path, said, when):
    if said != "deleted" or os.path.exists(path):
        refuse(f"{when}: {said}")


def expect_told(path, processes):
    said = delete(path)
    who = re.search(r"process (\d+) of this machine, which is rank (\d+) of its job, has the file open", said)
    if not said.startswith("in use: ") or path not in said or not who or processes.get(int(who[2])) != int(who[1]):
        refuse(f"while {processes} have the file open: {said}")
    if not os.path.exists(path):
        refuse("the file is gone although its deletion was refused")


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "shared.dat")

    job, processes = hold(path)
    expect_told(path, processes)
    if "closed" not in job.communicate("\n", timeout=SECONDS)[0] or job.returncode != 0:
        refuse("the job that had the file open failed")
    expect_deleted(path, delete(path), "once it is closed")

    job, processes = hold(path)
    expect_told(path, processes)
    for process in processes.values():
        os.kill(process, signal.SIGKILL)
    job.communicate(timeout=SECONDS)
    expect_deleted(path, delete(path), "once its job is killed")

    job, processes = hold(path)
    expect_deleted(path, delete(path, "basic"), "while it is open, under --check=basic")
    job.communicate("\n", timeout=SECONDS)
print("told while it is open, and not otherwise")
