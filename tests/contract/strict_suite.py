# SPDX-License-Identifier: BSD-3-Clause
"""Runs every MPI program of tests/programs, the legal examples among them, under --check=strict: each
ends well, and nothing is told but the notes that it is listed with here.
usage: strict_suite.py MPIRUN FOLDER RANKS[,RANKS…] [--sample] [OPTION OF MPIRUN…]"""
import pathlib
import re
import subprocess
import sys

# What these do on purpose, and what is to be told of it: by program, which notes may come. A note on a
# race tells of a wildcard receive whose message is a matter of time, which is what these are about.
RACE = " note: race: "
NOTES = {
    "program.legal.collectives": RACE,  # the examples with wildcards of 6.14: either outcome is right
    "program.apps.queens": RACE,  # a master that serves whoever asks first
    "program.p2p.status": RACE,  # rank 0 takes the messages of all as they come
    "program.p2p.order": RACE,   # any number of wildcards posted for all that comes
    "program.p2p.mixed": RACE,
    "program.p2p.persistent": RACE,
}
# Not programs that end well, or that take their work from their arguments.
LEFT_OUT = {"program.env.fatal": "ends the job", "program.cg": "has tests of its own"}
SAMPLE = re.compile(r"program\.(p2p\.(modes|order|probe|completion|isendrecv)|comm\.(communicators|overlapping|threads)|"
                    r"coll\.(rooted|unrooted|outstanding|requests)|legal\.collectives|apps\.(heat|sample_sort)|env\.environment)")


def judge(program, code, err):
    told = [line for line in err.splitlines() if line.startswith("tutti: ") and not re.search(r"\d ranks share \d+ cores", line)]
    allowed = NOTES.get(program.name)
    alarms = [line for line in told if not (allowed and allowed in line)]
    if code:
        return f"ended with {code}"
    return f"{len(alarms)} alarms" if alarms else None


def main(mpirun, folder, ranks, *options):
    sample = "--sample" in options
    options = [o for o in options if o != "--sample"]
    failed = ran = 0
    for program in sorted(pathlib.Path(folder).glob("program.*")):
        if program.name in LEFT_OUT or not program.is_file() or (sample and not SAMPLE.fullmatch(program.name)):
            continue
        for n in ranks.split(","):
            done = subprocess.run([mpirun, "-n", n, "--check=strict", *options, program], capture_output=True, text=True,
                                  timeout=100)
            problem = judge(program, done.returncode, done.stderr)
            ran += 1
            if problem:
                failed += 1
                print(f"FAILED: {program.name} on {n}: {problem}\n{done.stderr[-3000:]}", flush=True)
    print(f"{ran} runs, {failed} failed")
    return failed > 0 or ran < 10


sys.exit(main(*sys.argv[1:]))
