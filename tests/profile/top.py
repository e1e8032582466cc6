# SPDX-License-Identifier: BSD-3-Clause
"""What `tutti top` says of a job whose rank 0 keeps the others waiting, once and live in a terminal, and of one that calls often.
usage: top.py MPIRUN PROFILED"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

MPIRUN, PROFILED = sys.argv[1:3]
TUTTI = str(pathlib.Path(MPIRUN).with_name("tutti"))


def job(*arguments):
    """A job, and its name."""
    process = subprocess.Popen([MPIRUN, "-n", "3", "--timeout", "60", PROFILED, *arguments], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    for _ in range(200):
        for line in json.loads(subprocess.run([TUTTI, "why", "--json"], capture_output=True, text=True, check=False).stdout or "[]"):
            if parent_of(line["pid"]) == process.pid:
                return process, line["job"]
        time.sleep(0.1)
    raise AssertionError("the job is not seen")


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return -1  # of another job, which is over


def once(name, *options):
    done = subprocess.run([TUTTI, "top", "--once", "--interval", "0.5", *options, name], capture_output=True, text=True, timeout=60)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.returncode
    return done.stdout


def soon(what, *arguments):
    """Until it is so."""
    for _ in range(40):
        if (found := what(*arguments)):
            return found
        time.sleep(0.2)
    raise AssertionError(what.__name__)


def waiting(name):
    ranks = json.loads(once(name, "--json"))
    return len(ranks) == 3 and [r["state"] for r in ranks[1:]] == ["waiting"] * 2 and ranks


def terminal_of(*options):
    """`tutti top` in a terminal of 200 columns: its process and the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        os.environ["TERM"] = "xterm"
        os.execv(TUTTI, [TUTTI, "top", *options])
    return pid, terminal


def screen(name):
    """What stands on the terminal after each of some keys."""
    pid, terminal = terminal_of("--interval", "0.3", name)
    seen = ""

    def until(pattern):
        nonlocal seen
        end = time.time() + 30
        while time.time() < end:
            if re.search(pattern, seen):
                return True
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    seen += os.read(terminal, 65536).decode(errors="replace")
                except OSError:
                    return False
        print(seen[-3000:])
        return False

    assert until(r"3 of 3 ranks on 1 node")
    for key, pattern in (("c", r"3 of 3 ranks"), ("\x1b[B", r"\x1b\[7m"), ("\r", r"rank 0: outside of MPI, .*profiled\.c"), ("w", r"waiting for rank 0"),
                         ("\x1b", r"rank node")):
        seen = ""
        os.write(terminal, key.encode())
        assert until(pattern), (key, pattern)
    os.write(terminal, b"q")
    _, status = os.waitpid(pid, 0)
    assert status == 0, status


def over(name, sends):
    """How it ends, and what is left on the terminal, of a job that does so or if a signal comes."""
    pid, terminal = terminal_of("--interval", "0.2", name)
    seen, told = "", False
    while True:
        try:
            seen += os.read(terminal, 65536).decode(errors="replace")
        except OSError:
            break
        if not told and "ranks on 1 node" in seen:
            sends(pid)
            told = True
    _, status = os.waitpid(pid, 0)
    assert "\x1b[?1049l" in seen and "\x1b[?25h" in seen, "the terminal is as it was"
    return os.waitstatus_to_exitcode(status), seen.rpartition("\x1b[?1049l")[2]


def main():
    process, name = job("time_over")
    try:
        ranks = soon(waiting, name)
        assert [r["waits_for"] for r in ranks] == [[], [0], [0]] and ranks[1]["call"].startswith("MPI_Recv"), ranks
        text = once(name)
        assert re.search(r"^\s+1 \S+\s+waiting\s+0\s+0 B\s+[\d.]+ m?s\s+0\s+MPI_Recv\(.* at .*profiled\.c:\d+", text, re.M), text
        screen(name)
        assert over(name, lambda pid: os.kill(pid, signal.SIGTERM))[0] == 128 + signal.SIGTERM
        code, left = over(name, lambda _: process.terminate())
        assert code == 0 and f"job {name} is over" in left, (code, left)
    finally:
        process.terminate()
        process.wait()
    process, name = job("many_calls", "100000000")
    try:
        assert soon(lambda: all((r["calls_per_second"] or 0) > 10 and 1 < (r["bytes_per_second"] or 0) / r["calls_per_second"] <= 8 for r in json.loads(once(name, "--json"))))
    finally:
        process.terminate()
        process.wait()
    none = subprocess.run([TUTTI, "top", "--once", "no such job"], capture_output=True, text=True, check=False)
    assert none.returncode == 1 and "no running job whose name contains 'no such job'" in none.stderr, none.stderr
    wrong = subprocess.run([TUTTI, "top", "--interval", "never"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2, wrong.stderr


main()
