# SPDX-License-Identifier: BSD-3-Clause
"""Shows that --stress makes of calls what it says. usage: stress.py MPIRUN PROGRAM"""
import subprocess
import sys

CALLS = ["broadcast synchronises", "nonblocking broadcast synchronises", "long broadcast synchronises",
         "short send synchronises", "long send synchronises"]
EXPECTED = {
    "sync": {call: "yes" for call in CALLS},
    "loose": {call: "no" for call in CALLS},
    "random:5": {"wildcards take any": "yes"},
    "off": {"broadcast synchronises": "no", "short send synchronises": "no"},
}


def main(mpirun, program):
    failed = False
    for mode, expected in EXPECTED.items():
        done = subprocess.run([mpirun, f"--stress={mode}", "-n", "3", program], capture_output=True, text=True,
                              timeout=60)
        facts = dict(line.split(": ") for line in done.stdout.splitlines())
        for what, answer in expected.items():
            right = facts.get(what) == answer
            failed |= not right
            print(f"{'ok' if right else 'FAILED'}: {mode}: {what}: {facts.get(what)}")
        if not facts:
            print(done.stderr)
    for wrong in ("much", "random", "random:x", "random:-1"):
        done = subprocess.run([mpirun, f"--stress={wrong}", "-n", "1", program], capture_output=True, text=True)
        right = done.returncode == 2 and "off, sync, loose or random:SEED" in done.stderr
        failed |= not right
        print(f"{'ok' if right else 'FAILED'}: --stress={wrong} is refused: {done.stderr.strip()}")
    return failed


sys.exit(main(*sys.argv[1:]))
