#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""terminal.py KEYS RANKS PROGRAM [ARGUMENT...]

Runs a program in the foreground of a terminal of its own, waits until that many lines "ready" have
come, and presses keys: c (Ctrl-C), q (Ctrl-\\), z (Ctrl-Z), h (the terminal goes away), C (Ctrl-C again
after half a second), f (what "fg" does). Prints what the program wrote, then "ended CODE SECONDS": the
exit code as a shell gives it, and the seconds since the last key; after z "stopped" and the states of
the processes below the program.
"""
import os
import pty
import select
import signal
import subprocess
import sys
import time

KEYS = {"c": b"\x03", "C": b"\x03", "q": b"\x1c", "z": b"\x1a"}
PATIENCE = 20  # seconds for anything; the bound of a fault is judged by the caller


def children(pid):
    """The processes below pid, with their states."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                name, rest = file.read().rsplit(")", 1)
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == pid:
            found.append((int(entry), name.split("(", 1)[1], state))
    return found


def read_output(terminal, seconds):
    """What comes within the time; None at the end."""
    if not select.select([terminal], [], [], seconds)[0]:
        return b""
    try:
        return os.read(terminal, 65536) or None
    except OSError:
        return None


def states_settle(pid, wanted):
    """Waits until all ranks below pid are stopped (or none is); the watchdog never is."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ranks = [s for _, name, s in children(pid) if "watchdog" not in name]
        if ranks and all((s == "T") == wanted for s in ranks):
            return True
        time.sleep(0.02)
    return False


def print_what_hangs(pid):
    """Each process below pid and what its threads do, by gdb where that is installed."""
    for child, name, state in [(pid, "mpirun", "?"), *children(pid)]:
        print(f"process {child} ({name}) {state}", flush=True)
        try:
            for thread in os.listdir(f"/proc/{child}/task"):
                with open(f"/proc/{child}/task/{thread}/wchan", encoding="ascii") as file:
                    print(f"  thread {thread} in {file.read()}", flush=True)
        except OSError:
            print("  it has just ended")
    try:
        subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all backtrace"], timeout=60,
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        print(f"no backtrace: {problem}")


def wait_for(pid, terminal, options=0):
    """The status of pid; its output is printed meanwhile."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG | options)
        if done:
            return status
        if terminal is None:
            time.sleep(0.01)
        else:
            sys.stdout.buffer.write(read_output(terminal, 0.01) or b"")
    print_what_hangs(pid)
    os.kill(pid, signal.SIGKILL)
    sys.exit("terminal.py: it does not end")


def main():
    keys, ranks, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    seen = b""
    end = time.monotonic() + PATIENCE
    while seen.count(b"ready") < ranks:
        piece = read_output(terminal, 0.1)
        if piece is None or time.monotonic() > end:
            sys.exit(f"terminal.py: the ranks do not start: {seen!r}")
        seen += piece
    sys.stdout.buffer.write(seen)
    for key in keys:
        if key == "C":
            time.sleep(0.5)  # a user's second thought: the first has been taken in by then
        pressed = time.monotonic()
        if key == "h":
            os.close(terminal)
            terminal = None
        elif key == "f":
            os.kill(pid, signal.SIGCONT)
            print("continued" if states_settle(pid, False) else "a rank stays stopped")
        else:
            os.write(terminal, KEYS[key])
        if key == "z":
            status = wait_for(pid, terminal, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                sys.exit("terminal.py: it does not stop")
            print("stopped" if states_settle(pid, True) else "a rank still runs")
    status = wait_for(pid, terminal)
    took = time.monotonic() - pressed
    while terminal is not None and (piece := read_output(terminal, 0.1)):
        sys.stdout.buffer.write(piece)
    code = os.waitstatus_to_exitcode(status)
    sys.stdout.flush()
    print(f"\nended {code if code >= 0 else 128 - code} {took:.2f}")


main()
