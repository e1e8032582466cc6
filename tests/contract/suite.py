# SPDX-License-Identifier: BSD-3-Clause
"""Runs every MPI program of tests/programs, the legal examples among them, with options of mpirun such as
--check and --stress: each ends well, and nothing is told but the notes that it is listed with here.
usage: suite.py MPIRUN FOLDER RANKS[,RANKS…] [OPTION OF MPIRUN…]"""
import pathlib
import subprocess
import sys

# What these do on purpose, and what --check=strict is to tell of it: by program, which notes may come. A
# note on a race tells of a wildcard receive whose message is a matter of time, which is what these are about.
RACE = " note: race: "
NOTES = {
    "program.legal.collectives": RACE,  # the examples with wildcards of 6.14: either outcome is right
    "program.apps.queens": RACE,  # a master that serves whoever asks first
    "program.p2p.status": RACE,  # rank 0 takes the messages of all as they come
    "program.p2p.order": RACE,   # any number of wildcards posted for all that comes
    "program.p2p.mixed": RACE,
    "program.p2p.persistent": RACE,
    "program.comm.intercomm": RACE,  # from any rank of the other group
    "program.op.characters": " note: undefined: ",  # what the standard does not define
    "program.comm.disconnect": " note: left over at MPI_Finalize: ",  # persistent requests
}
# Of more operations at a time than ThreadSanitizer has fibers for, in programs that are compiled for it.
BOUND = "ThreadSanitizer is told nothing of some of them"
# Not programs that end well, or that take their work from their arguments, or that look at what these
# options change: stress keeps messages aside, and strict keeps books of them.
LEFT_OUT = {
    "program.env.fatal": "ends the job",
    "program.cg": "has tests of its own",
    "program.p2p.short_path": "on two ranks, without either",
    "program.p2p.many": "measures, and relies on what is kept aside",
    "program.coll.allocations": "without either",
    "program.env.kept": "has tests at each level of its own",
    "program.file.faults": "has tests of its own",
    "program.session.named": "wants options of mpirun",
    "program.session.rounds": "measures, and strict and stress keep things aside",
    "program.tool.manual": "wants a page of the manual",
    "program.progress.spread": "on more ranks than there are cores",
    "program.progress.early": "through shared memory, and where nobody asks why others wait",
    "program.datatype.no_copy_aside": "on two ranks, without either",
    "program.datatype.no_copy_aside_bcast": "without either",
    "program.survival.one_fails": "wants --on-failure",
    "program.survival.every_call": "wants --on-failure",
    "program.survival.windows_files": "wants --on-failure",
    "program.survival.random_kills": "wants --on-failure",
    "program.survival.replaced": "wants --on-failure",
    "program.survival.heeded": "wants --on-failure",
    "program.survival.soon": "wants --on-failure",
    "program.survival.stencil": "has tests of its own",
    "program.rma.ways": "is told by its argument which way operations are to go",
    "program.rma.touched": "counts messages: without the kernel's copies, and where locks are lazy",
    "program.rma.between_jobs": "is told by its argument which way operations are to go",
    "program.rma.created": "is told by its argument which way operations are to go",
    "program.survival.deaths": "has tests of its own",
    "program.survival.semantics": "wants --on-failure",
    "program.survival.workers": "wants --on-failure",
    "program.survival.loses_nodes": "wants nodes",
    "program.survival.first_word": "wants --on-failure",
    "program.rma.small_node": "wants nodes",
    "program.file.opening": "counts messages: without either",
    "program.survival.stands_still": "has tests of its own",
}
# Likewise under an option.
LEFT_OUT_UNDER = {("program.survival.nobody_fails", "--on-failure=continue")}  # is about jobs without it
# Arguments under an option. In the example that is left out a message overtakes a broadcast, if that
# does not synchronise: which is what this option makes it do. The other program does what strict calls an error, but
# with an argument.
ARGUMENTS = {("program.legal.collectives", "--stress=sync"): ["-wildcard_takes_root_first"],
             ("program.coll.arrays", "--check=strict"): ["arrays stay as they are"]}


def judge(program, code, err):
    told = [line for line in err.splitlines() if line.startswith("tutti: ")]
    allowed = NOTES.get(program.name)
    alarms = [line for line in told if not (allowed and allowed in line) and BOUND not in line]
    if code:
        return f"ended with {code}"
    return f"{len(alarms)} alarms" if alarms else None


def main(mpirun, folder, ranks, *options):
    ran, failed = run_all(mpirun, folder, ranks, options)
    return failed > 0 or ran < 10


def run_all(mpirun, folder, ranks, options, seconds=100):
    failed = ran = 0
    for program in sorted(pathlib.Path(folder).glob("program.*")):
        if program.name in LEFT_OUT or not program.is_file():
            continue
        if any((program.name, option) in LEFT_OUT_UNDER for option in options):
            continue
        arguments = [a for option in options for a in ARGUMENTS.get((program.name, option), [])]
        for n in ranks.split(","):
            done = subprocess.run([mpirun, "-n", n, *options, program, *arguments], capture_output=True, text=True,
                                  timeout=seconds)
            problem = judge(program, done.returncode, done.stderr)
            ran += 1
            if problem:
                failed += 1
                print(f"FAILED: {program.name} on {n}: {problem}\n{done.stderr[-3000:]}", flush=True)
    print(f"{ran} runs, {failed} failed")
    return ran, failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
