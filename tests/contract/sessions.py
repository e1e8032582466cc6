# SPDX-License-Identifier: BSD-3-Clause
"""Wrong use of sessions gets its sentence and ends the job in time; the right twin says nothing.
usage: sessions.py MPIRUN PROGRAM [NAME=VALUE…]   the settings to run with"""
import re
import subprocess
import sys

MPIRUN, PROGRAM, *SETTINGS = sys.argv[1:]
SECONDS = 30

# Case, and what one of the lines must say.
CASES = {
    "pending_receive": r"MPI_Session_finalize: 1 operation of the session is not complete, on .*: complete it before",
    "pending_collective": r"MPI_Session_finalize: 1 operation of the session is not complete",
    "pending_of_two": r"MPI_Session_finalize: 1 operation of the session is not complete",
    "twice": r"MPI_Session_finalize: the session is null \(argument session\)",
    "stale_copy": r"MPI_Session_get_num_psets: .* is no session|the session has been freed already",
    "after_the_last": r"(?s)MPI_Barrier: called after MPI_Session_finalize of the last session, and MPI_Init was "
                      r"not called.*\n  the last session was finalized by MPI_Session_finalize at ",
    "world_without_init": r"MPI_Barrier: MPI_COMM_WORLD is there between MPI_Init and MPI_Finalize alone",
    "self_after_finalize": r"MPI_Barrier: MPI_COMM_SELF is there between MPI_Init and MPI_Finalize alone",
    "init_after_finalize": r"MPI_Init: MPI is initialized already and finalized: it starts once",
    "unknown_pset": r"there is no process set 'mpi://WROLD' \(argument pset_name\): there are mpi://WORLD, mpi://SELF",
    "not_a_member": r"MPI_Comm_create_from_group: the calling process is not in the group of 1 \(argument group\)",
    "handler_of_another_kind": r"made for communicators by MPI_Comm_create_errhandler, not for sessions",
    "bad_thread_level": r"thread_level is one of MPI_THREAD_SINGLE, .*, not 'multiple'",
    "long_tag": r"the tag has more than \d+ characters \(argument stringtag\)",
    "not_finalized": r"exited with code 0 without MPI_Finalize",
    "ends_while_another_waits": r"deadlock: rank 1 has ended, and rank 0 waits for it",
    "ends_while_another_makes": r"deadlock: rank 0 has ended, and rank 1 waits for it",
    "comes_late": r"rank 1 has ended its sessions while rank 0 waits for it in MPI_Barrier",
    "other_tags": r"rank 1 makes a communicator with the stringtag 'b' where rank 0 makes one with the stringtag 'a'",
    "other_order": r"MPI_Comm_create_from_group: the group is that of ranks 0, 1, where rank 0 gives that of ranks 1, 0",
    "other_group": r"MPI_Comm_create_from_group",
    "one_does_not_come": r"MPI_Comm_create_from_group",
    "other_collective": r"MPI_B(cast|arrier)",
    "groups_overlap": r"the groups are not disjoint: rank 0 of the local one is rank [01] of the remote one",
    "no_buffer": r"no buffer is attached for this message",
    "nothing_to_detach": r"MPI_Comm_detach_buffer: no buffer is attached to the communicator",
    "starts_again_alone": r"rank 1 .* exited with code 0 without calling MPI_Init again, and rank 0 waits for it there",
    "attached_twice": r"MPI_Session_attach_buffer: a buffer is attached already: detach it first",
}
# Told with strict alone.
STRICT = {"two_sessions": r"MPI_Group_union: the groups are of two sessions"}
# Said, and no error: at this level alone.
NOTES = {"left_over": r"MPI_Session_finalize: 1 communicator of the session is not freed"}


def run(case, which, level):
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    command = [MPIRUN, "-n", "2", f"--check={level}", "--timeout", str(SECONDS), *settings, PROGRAM, case, which]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 20, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    failed = 0

    def judge(case, which, level, good, code, text):
        nonlocal failed
        if not good:
            failed += 1
            print(f"--- {case} {which} with --check={level}: exit code {code}\n{text}")

    for case, sentence in CASES.items():
        code, text = run(case, "wrong", "basic")
        judge(case, "wrong", "basic", code not in (0, 124) and re.search(sentence, text), code, text)
    for case, sentence in STRICT.items():
        code, text = run(case, "wrong", "strict")
        judge(case, "wrong", "strict", code not in (0, 124) and re.search(sentence, text), code, text)
    for case, sentence in NOTES.items():
        code, text = run(case, "wrong", "strict")
        judge(case, "wrong", "strict", code == 0 and re.search(sentence, text), code, text)
        code, text = run(case, "wrong", "basic")
        judge(case, "wrong", "basic", code == 0 and not text, code, text)
    for case in [*CASES, *STRICT, *NOTES]:
        for level in ("basic", "strict"):
            code, text = run(case, "right", level)
            judge(case, "right", level, code == 0 and not text, code, text)
    print(f"{len(CASES) + len(STRICT) + len(NOTES)} wrong programs and their right twins, {failed} failures")
    return failed > 0


sys.exit(main())
