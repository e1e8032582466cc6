# SPDX-License-Identifier: BSD-3-Clause
"""Under --check=strict a job hears that another one has the file open that it deletes, and by whom; not once that is
closed, or killed. Ranks on two machines hear that each opens a file of its own: rank 1 is on another one as far as
files go, with a number of the machine's boot and a folder of its own, which only root can give it.
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


ELSEWHERE = """[ "$PMIX_RANK" = 1 ] || exec "$@"
exec unshare -m sh -c 'mount --bind "$1/boot" /proc/sys/kernel/random/boot_id && shift &&
  mount -t tmpfs own "$1" && shift && exec "$@"' sh "$FOLDER" "$OWN" "$@"
"""


def open_on_two_machines(folder, *options):
    own = os.path.join(folder, "own")
    os.makedirs(own, exist_ok=True)
    with open(os.path.join(folder, "boot"), "w") as boot:
        boot.write("11111111-2222-3333-4444-555555555555\n")
    ran = subprocess.run([MPIRUN, "-n", "2", *options, "sh", "-c", ELSEWHERE, "sh", PROGRAM, "hold",
                          os.path.join(own, "x.dat")], env={**os.environ, "FOLDER": folder, "OWN": own}, input="\n",
                         capture_output=True, text=True, timeout=SECONDS)
    return ran.stdout + ran.stderr


def expect_two_machines(folder):
    """Told under strict, and only then: programs have lived with that."""
    apart = "x.dat of rank 0 and .*x.dat of rank 1, on another machine, are two files"
    for level, told, closed in (("basic", False, True), ("strict", True, False)):
        said = open_on_two_machines(folder, f"--check={level}")
        if bool(re.search("not same: .*" + apart, said)) != told or ("closed" in said) != closed:
            refuse(f"two machines, --check={level}: {said}")
    said = open_on_two_machines(folder, "--check=strict", "--set", "contract.report_only=on")
    if not re.search(apart, said) or "closed" not in said:
        refuse(f"two machines, findings only reported: {said}")


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

    hidden = "mount --bind /dev/null /proc/sys/kernel/random/boot_id"
    if subprocess.run(["unshare", "-m", "sh", "-c", hidden], capture_output=True).returncode == 0:
        expect_two_machines(folder)
print("told while it is open, and not otherwise")
