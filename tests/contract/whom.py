# SPDX-License-Identifier: BSD-3-Clause
"""Shows that tutti why names those that a blocked call waits for, whatever call that is: as the call itself says, not
as receives that are posted beside it would make one guess. usage: whom.py BIN PROGRAM SHARED_MEMORY"""
import json
import subprocess
import sys
import time

ALL, SOME = False, True
# Whom rank 0 waits for, and whether some of them would do. None: any of the others, since it is a plan's affair whom a
# collective waits for first.
CASES = {
    "receive": ({2}, ALL),
    "receive_from_any": ({1, 2, 3}, SOME),
    "receive_beside_barrier": ({2}, ALL),
    "receive_beside_receive": ({2}, ALL),
    "send": ({3}, ALL),
    "long_send": ({3}, ALL),
    "probe": ({1}, ALL),
    "waitany": ({2, 3}, SOME),
    "waitsome": ({2, 3}, SOME),
    "waitall": ({2, 3}, ALL),
    "lock": ({2}, ALL),
    # Among messages its holder, unless the target is about to tell that it is free.
    "lock_by_messages": ({1, 2}, SOME),
    "wait_for_bcast": (None, ALL),
    "barrier": (None, ALL),
}


def rank_0(tutti, job):
    shown = subprocess.run([tutti, "why", "--json", job], capture_output=True, text=True, timeout=30).stdout
    try:
        return next((rank for rank in json.loads(shown) if rank["rank"] == 0), {})
    except json.JSONDecodeError:  # the job is not there yet
        return {}


def is_right(case, view):
    whom, some = CASES[case]
    named = set(view.get("waits_for", ()))
    return (named == whom if whom else bool(named) and named <= {1, 2, 3}) and view["waits_for_some"] == some


def main(bin_folder, program, shared_memory):
    failed = False
    for case in CASES:
        if case == "lock" and shared_memory == "off":
            continue
        direct = "off" if case.endswith("_by_messages") else "on"
        job = subprocess.Popen([f"{bin_folder}/mpirun", "-n", "4", "--set", f"transport.shared_memory={shared_memory}",
                                "--set", f"rma.direct={direct}", program, case.removesuffix("_by_messages")],
                               stdout=subprocess.PIPE, text=True)
        name = job.stdout.readline().strip()
        view, end = {}, time.monotonic() + 20
        while not is_right(case, view) and time.monotonic() < end and job.poll() is None:
            time.sleep(0.05)
            view = rank_0(f"{bin_folder}/tutti", name)
        right = is_right(case, view)
        failed |= not right
        print(f"{'ok' if right else 'FAILED'}: {case}: {view.get('call')} waits for {view.get('waits_for')}, "
              f"{'some' if view.get('waits_for_some') else 'all'} of them")
        text = subprocess.run([f"{bin_folder}/tutti", "why", name], capture_output=True, text=True, timeout=30).stdout
        if case == "receive_from_any" and "rank 0: in MPI_Recv" in text and "waiting for some of ranks 1 to 3" not in text:
            print(f"FAILED: {case}: {text}")
            failed = True
        job.terminate()
        job.wait(timeout=30)
    return failed


sys.exit(main(*sys.argv[1:]))
