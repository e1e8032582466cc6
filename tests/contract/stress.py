# SPDX-License-Identifier: BSD-3-Clause
"""Shows that --stress makes of calls what it says. usage: stress.py MPIRUN PROGRAM"""
import subprocess
import sys

CALLS = ["broadcast synchronises", "nonblocking broadcast synchronises", "long broadcast synchronises",
         "short send synchronises", "long send synchronises"]
AHEAD = "a root runs ahead without end"  # by messages only
EXPECTED = {
    "sync": {call: "yes" for call in CALLS},
    "loose": {**{call: "no" for call in CALLS}, AHEAD: "yes"},
    "random:5": {"wildcards take any": "yes", AHEAD: "yes"},
    "random:6": {"wildcards take any": "yes", AHEAD: "no"},
    "off": {"broadcast synchronises": "no", "short send synchronises": "no", AHEAD: "no"},
}
# Collectives through shared memory wherever they can, and nowhere.
SETTINGS = {"": [], " by messages": ["--set", "transport.shared_memory=off"]}


def main(mpirun, program):
    failed = False
    for mode, path in [(mode, path) for mode in EXPECTED for path in SETTINGS]:
        expected = EXPECTED[mode]
        if SETTINGS[path] and mode != "sync":
            continue
        shared = [] if SETTINGS[path] else ["--set", "collectives.override=bcast shared"]
        done = subprocess.run([mpirun, f"--stress={mode}", *SETTINGS[path], *shared, "-n", "3", program],
                              capture_output=True, text=True, timeout=60)
        facts = dict(line.split(": ") for line in done.stdout.splitlines())
        for what, answer in expected.items():
            right = facts.get(what) == answer
            failed |= not right
            print(f"{'ok' if right else 'FAILED'}: {mode}{path}: {what}: {facts.get(what)}")
        if not facts:
            print(done.stderr)
    for wrong in ("much", "random", "random:x", "random:-1"):
        done = subprocess.run([mpirun, f"--stress={wrong}", "-n", "1", program], capture_output=True, text=True)
        right = done.returncode == 2 and "off, sync, loose or random:SEED" in done.stderr
        failed |= not right
        print(f"{'ok' if right else 'FAILED'}: --stress={wrong} is refused: {done.stderr.strip()}")
    return failed


sys.exit(main(*sys.argv[1:]))
