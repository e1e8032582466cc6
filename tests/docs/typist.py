# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command at a terminal, and answers what it asks there as the reader of a page would.
usage: typist.py COMMAND ARGUMENT...
A question for a password is answered by 'secret', one with yes in it by 'yes', and any other by Enter. What was shown is
printed, with the answers, and the exit code is the command's."""
import os
import pty
import re
import sys

QUESTIONS = [
    (re.compile(rb"password: *$"), b"secret\n"),
    (re.compile(rb"\(yes/no[^)]*\)\? *$"), b"yes\n"),
    (re.compile(rb"Enter [^\n]*: *$"), b"\n"),
]


def answer_to(shown):
    return next((answer for question, answer in QUESTIONS if question.search(shown)), b"")


def main():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    shown, answered = b"", 0
    while True:
        try:
            more = os.read(terminal, 1 << 12)
        except OSError:  # how Linux tells that nobody has the terminal open any more
            break
        if not more:
            break
        shown += more
        answer = answer_to(shown[answered:])
        if answer:
            os.write(terminal, answer)
            answered = len(shown)
    _, status = os.waitpid(pid, 0)
    sys.stdout.write(shown.decode(errors="replace"))
    return os.waitstatus_to_exitcode(status)


sys.exit(main())
