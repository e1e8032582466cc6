# SPDX-License-Identifier: BSD-3-Clause
"""Runs strict_program's cases. Each wrong one is told what its line here says and nothing else, the
right ones nothing; under --check=basic what is left over and what races is not told.
usage: strict.py MPIRUN PROGRAM SOURCE[,SOURCE…] notes|right|reports|asks|report_only|survives [SETTING=VALUE…]"""
import re
import subprocess
import sys

from cases import Source, errors, judge_all, said

# case, ranks, the lines that are told: LINE(name) stands for the place in the source
def undefined(ops, types):
    return [f"undefined: the standard \\(section 6.9.2\\) does not define MPI_{op} on MPI_{of};.*MPI_Allreduce at LINE(reduce).* \\(ranks 0 and 1\\)"
            for of in types for op in ops]


OPS = ["MIN", "MAX", "SUM", "PROD", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"]
NOTES = [
    ("left_request", 2, ["2 requests never completed, started by MPI_Irecv at LINE(left_request).* \\(ranks 0 and 1\\)"]),
    ("left_persistent", 2, ["4 persistent requests never freed, made by MPI_Recv_init at LINE(left_persistent).* \\(ranks 0 and 1: 4\\)"]),
    ("left_send", 2, ["1 request never completed, started by MPI_Isend at LINE(left_send).* \\(rank 0\\)"]),
    ("left_collective", 3, ["3 requests never completed, started by MPI_Ibarrier at LINE(left_collective).* \\(ranks 0 to 2\\)"]),
    ("left_messages", 2, ["2 messages sent and never received, sent by MPI_Send at LINE(send).*, to rank 0 of MPI_COMM_WORLD with tag 7 \\(rank 1: 2\\)"]),
    ("left_messages", 3, ["2 messages sent and never received, sent by MPI_Send at LINE(send)"]),
    ("left_probed", 2, ["1 message matched by a probe and never received, matched by MPI_Mprobe at LINE(left_probed).* \\(rank 0\\)"]),
    ("failing_delete", 1, ["MPI_Finalize: the delete callback of key \\d+ returned \\d+; MPI ends all the same"]),
    ("left_comm", 1, ["1 communicator never freed, made by MPI_Comm_dup at LINE(left_comm).* \\(rank 0\\)"]),
    ("left_comm", 4, ["4 communicators never freed, made by MPI_Comm_dup at LINE(left_comm).* \\(ranks 0 to 3\\)"]),
    ("left_comms", 2, ["8 communicators never freed, made by MPI_Comm_dup at LINE(left_comms),.*\\(ranks 0 and 1: 6\\); by MPI_Comm_split at LINE(left_comms_split), .*\\(ranks 0 and 1\\)"]),
    ("left_type", 2, ["2 datatypes never freed, made by MPI_Type_contiguous at LINE(left_type)"]),
    ("left_op", 2, ["1 operation never freed, made by MPI_Op_create at LINE(left_op).* \\(rank 1\\)"]),
    ("left_group", 2, ["2 groups never freed, made by MPI_Comm_group at LINE(left_group)"]),
    ("left_window", 2, ["2 windows never freed, made by MPI_Win_create at LINE(left_window).* \\(ranks 0 and 1\\)"]),
    ("left_file", 2, ["2 files never closed, opened by MPI_File_open at LINE(left_file).* \\(ranks 0 and 1\\)"]),
    ("left_much", 2, ["1 message sent and never received", "2 datatypes never freed", "2 groups never freed"]),
    ("undefined_char", 2, ["undefined: the standard \\(section 6.9.2\\) does not define MPI_SUM on MPI_CHAR; .*: MPI_Allreduce at LINE(undefined_char), in .* \\(ranks 0 and 1\\)"]),
    ("undefined_local", 2, ["undefined: .* does not define MPI_SUM on MPI_CHAR; .*: MPI_Reduce_local at LINE(undefined_local), in .* \\(ranks 0 and 1\\)"]),
    ("undefined_characters", 2, undefined(OPS, ["CHAR"])),
    ("undefined_fortran_characters", 2, undefined(OPS, ["CHARACTER"])),
    ("undefined_truths", 2, undefined(["LAND", "LOR", "LXOR"], ["AINT", "COUNT", "OFFSET"])),
    ("race", 3, ["race: time alone decides which message MPI_Recv at LINE(race), in .* takes on rank 0: ranks 1 and 2 have each sent one, on MPI_COMM_WORLD"]),
    ("race", 5, ["race: .* MPI_Recv at LINE(race)"]),
    ("race_any_tag", 3, ["race: .* MPI_Recv at LINE(race_any_tag)"]),
    ("race_once", 3, ["race: .* MPI_Irecv at LINE(race_once)"]),
    ("race_probe", 3, ["race: .* MPI_Probe at LINE(race_probe)"]),
    ("race_iprobe", 3, ["race: .* MPI_Iprobe at LINE(race_iprobe)"]),
    ("race_posted", 3, ["race: .* MPI_Irecv at LINE(race_posted).*: ranks 1 and 2 have each sent one"]),
    ("race_posted", 4, ["race: .* MPI_Irecv at LINE(race_posted)"]),
    ("unready", 2, ["not ready: MPI_Recv at LINE(unready), .* a message of MPI_Rsend .* rank 1\\): from rank 0 with tag 1 on MPI_COMM_WORLD"]),
    ("unready_any", 2, ["not ready: MPI_Irecv at LINE(unready_any)"]),
    ("lock_between_fences", 2, ["epochs: MPI_Win_lock at LINE(lock_between_fences), .* between two calls of MPI_Win_fence.*12.5.3\\): give MPI_MODE_NOSUCCEED .* \\(rank 0\\)"]),
    ("file_error", 2, ["errors of files: 4 were returned, .* MPI_File_write_at at LINE(file_error), .* \\(ranks 0 and 1\\), .*: 12 bytes are no whole number of etypes"]),
    ("file_errors_apart", 1, ["errors of files: 2 were returned, .* at LINE(file_errors_apart), .*; and 1 more place"]),
    ("file_race", 2, ["race: MPI_File_write_at at LINE(file_race), .* \\(rank 1\\) writes bytes 8 to 15 of .*, which rank 0 writes by MPI_File_write_at at LINE(file_race), .*14.6.1"]),
    ("file_race_together", 3, ["race: MPI_File_write_at_all at LINE(file_race_together), .* \\(rank 2\\) writes byte 4 of .*, which rank 1 writes by MPI_File_write_at_all"]),
    ("file_race_later", 2, ["race: MPI_File_iwrite_at at LINE(file_race_later), .* \\(rank 1\\) writes bytes 0 to 3 of .*, which rank 0 writes by MPI_File_iwrite_at"]),
    ("puts_unordered", 3, ["race: rank 0 puts and rank 2 puts bytes 12 to 15 of the memory of rank 1 under locks that they share, and no call of MPI orders the two: .*12.7.*: MPI_Put at LINE(puts_unordered), .* and MPI_Put at LINE(puts_unordered)"]),
    ("puts_since_barrier", 3, ["race: rank 0 puts and rank 2 puts bytes 12 to 15 of the memory of rank 1 under locks"]),
    ("adds_unordered", 3, ["race: rank 0 accumulates with MPI_SUM and rank 2 accumulates with MPI_MAX bytes 12 to 15 .* no call of MPI orders the two: .*: MPI_Accumulate at LINE(adds_unordered)"]),
    ("gets_unordered", 3, ["race: rank 0 puts and rank 2 gets bytes 12 to 15 of the memory of rank 1 .* no call of MPI orders the two: .*MPI_Put at LINE(puts_unordered), .* and MPI_Get at LINE(gets_unordered)"]),
    ("swaps_unordered", 3, ["race: rank 0 puts and rank 2 compares and swaps bytes 12 to 15 .*MPI_Compare_and_swap at LINE(swaps_unordered)"]),
    ("puts_across_barrier", 3, ["race: rank 0 puts and rank 2 puts bytes 12 to 15 .*MPI_Put at LINE(puts_across_barrier), .* and MPI_Put at LINE(puts_unordered)"]),
    ("gets_behind_barrier", 3, ["race: rank 0 puts and rank 2 gets bytes 12 to 15 .*MPI_Put at LINE(puts_across_barrier), .* and MPI_Get at LINE(gets_unordered)"]),
    ("race_takes_the_other", 3, ["race: .* MPI_Recv at LINE(race_takes_the_other)"]),
]
RIGHT = [("defined", 2), ("ready", 2), ("clean", 2), ("clean", 3), ("freed_request", 2), ("cancelled", 2), ("one_sender", 2), ("other_tags", 4),
         ("in_turn", 4), ("in_turn_by_barriers", 4), ("in_turn_by_ssend", 3), ("posted_apart", 3), ("posted_in_turn", 3), ("threads_in_turn", 2),
         ("threads_apart", 2), ("serialized_in_turn", 1), ("funneled_at_any_time", 1), ("single_at_any_time", 1),
         ("locks_apart_from_fences", 2), ("file_error_asked", 2), ("file_error_handled", 2), ("file_in_turn", 3), ("file_atomic", 2), ("file_interleaved", 3),
         ("puts_ordered_by_message", 3), ("puts_ordered_by_test", 3), ("puts_ordered_by_barrier", 3), ("puts_ordered_by_memory", 3),
         ("puts_ordered_by_shared_memory", 3), ("puts_ordered_by_lock", 3), ("updates_apart", 3), ("gets_ordered", 3), ("swaps_among_updates", 3), ("puts_apart_across_barrier", 3),
         ("multiple_ask", 1), ("funneled_sessions", 1), ("single_session_for_all", 1), ("serialized_beside_a_session", 1)]
# Wrong, but errors are returned: nothing crashes or hangs, and nothing is told; with off and basic, or where it is named with strict.
SURVIVES = [("two_at_random", 1)] * 5 + [("file_buffer_refused", 2, "strict"), ("file_buffer_refused", 4, "strict")]
# The job ends with the report, at each level.
REPORTS = [
    ("two_threads", 2, ["two threads of rank 0 are in collective calls at once, MPI_(Barrier|Bcast) and MPI_(Barrier|Bcast), on MPI_COMM_WORLD \\(2 ranks\\)",
                        "MPI_Barrier\\(.*LINE(two_threads)"]),
    ("two_threads_nonblocking", 2, ["two threads of rank 0 are in collective calls at once, MPI_I?[Bb]arrier and MPI_I?[Bb]arrier, on MPI_COMM_WORLD",
                                    "MPI_Barrier\\(.*LINE(two_threads_nonblocking)"]),
    ("freed_receive", 2, ["a receive on MPI_COMM_WORLD failed after MPI_Request_free: the message of 8 bytes from rank 1 with tag 1 is longer than the receive buffer of 4 bytes"]),
    ("freed_of_other_type", 2, ["a receive on MPI_COMM_WORLD failed after MPI_Request_free: rank 1 sends 1 of MPI_FLOAT where rank 0 receives 1 of MPI_INT"]),
    ("freed_pair_of_other_type", 1, ["failed after MPI_Request_free: rank 0 sends 1 of MPI_FLOAT where rank 0 receives 1 of MPI_INT"]),
    ("freed_persistent", 1, ["a receive on MPI_COMM_SELF failed after MPI_Request_free: the message of 8 bytes"]),
    ("freed_pair", 1, ["a receive on MPI_COMM_SELF failed after MPI_Request_free: the message of 8 bytes"]),
    ("freed_after_it_failed", 1, ["MPI_Request_free: the message of 8 bytes from rank 0 with tag 1 is longer"]),
    ("freed_get", 1, ["MPI_Request_free: rank 0 of the window has attached no memory"]),
    ("two_waits", 2, ["MPI_Wait: another thread has completed, started or freed the request"]),
    ("two_waitalls", 2, ["MPI_Waitall: another thread has completed, started or freed the request"]),
    ("two_waitanys", 2, ["MPI_Waitany: another thread has completed, started or freed the request"]),
    ("two_waitsomes", 2, ["MPI_Waitsome: another thread has completed, started or freed the request"]),
    ("two_tests", 2, ["MPI_Test: "]),
    ("two_finalize", 1, ["MPI_Finalize(: MPI_Finalize is under way already|.* after MPI_Finalize)"]),
    ("funneled_send", 1, ["MPI_Send is called by another thread than the one that initialized MPI, and MPI_THREAD_FUNNELED allows that one alone",
                          "MPI_Send at LINE(send_to_myself)"]),
    ("single_send", 1, ["MPI_Send is called by another thread .* MPI_THREAD_SINGLE allows", "MPI_Send at LINE(send_to_myself)"]),
    ("funneled_test", 1, ["MPI_Test is called by another thread", "MPI_Test at LINE(funneled_test)"]),
    ("serialized_ask", 1, ["MPI_Comm_rank is called by one thread while another is in MPI_Recv, and MPI_THREAD_SERIALIZED", "MPI_Comm_rank at LINE(ask)"]),
    ("funneled_session_of_another", 1, ["is called by another thread than those that began MPI or a session, and MPI_THREAD_FUNNELED allows"]),
    ("serialized_two", 1, ["MPI_Send is called by one thread while another is in MPI_Recv, and MPI_THREAD_SERIALIZED", "MPI_Send at LINE(send)", "MPI_Recv at LINE(recv)"]),
]
# Calls that only ask, in a thread that may not call, and what other MPIs carry out: a warning and no more at the basic level, an error at this one.
ASKS = [
    ("tolerated_bytes", 2, ["rank 1 sends 16 of MPI_UNSIGNED_CHAR where rank 0 receives 4 of MPI_UNSIGNED, with tag 7", "MPI_Recv.*LINE(tolerated_bytes)",
                            "it was sent by rank 1", "MPI_Send.*LINE(tolerated_send)"]),
    ("tolerated_put", 2, ["the origin is 4 of MPI_CHAR, but target_count and target_datatype name 1 of MPI_INT", "LINE(tolerated_put)"]),
    ("tolerated_edge", 2, ["rank 1 sends to rank 0, which does not receive from it"]),
    ("tolerated_operation", 2, ["MPI_BAND is not defined on MPI_DOUBLE"]),
    ("tolerated_swap", 2, ["MPI_CHAR cannot be compared and swapped", "LINE(tolerated_swap)"]),
    ("funneled_ask", 1, ["MPI_Comm_rank is called by another thread than the one that initialized MPI", "MPI_Comm_rank at LINE(ask)"]),
    ("single_ask", 1, ["MPI_Type_size is called by another thread than the one that initialized MPI", "MPI_Type_size at LINE(single_ask)"]),
    ("single_attribute", 1, ["MPI_Comm_get_attr is called by another thread", "MPI_Comm_get_attr at LINE(single_attribute)"]),
    ("single_beside_a_session", 1, ["MPI_Comm_rank is called by another thread than those that began MPI or a session, and MPI_THREAD_SINGLE allows",
                                    "MPI_Comm_rank at LINE(ask)"]),
]
# Nothing but the report happens: the program goes on, and ends as it would have (124: by --timeout).
REPORT_ONLY = [
    ("op", 3, 0, 1, ["error: rank [012] calls MPI_Allreduce with MPI_(MAX|SUM) \\(LINE(op)\\) where rank.* MPI_(MAX|SUM)"]),
    ("deadlock", 2, 124, 1, ["error: deadlock: ranks 0 and 1 wait for each other", "rank 1.*MPI_Recv.*LINE(recv)"]),
    ("two_threads", 2, 124, 1, ["error: two threads of rank 0"]),
    ("funneled_ask", 1, 0, 1, ["error: rank 0 on .*: MPI_Comm_rank is called by another thread", "MPI_Comm_rank at LINE(ask)"]),
    ("funneled_send", 1, 0, 1, ["error: rank 0 on .*: MPI_Send is called by another thread"]),
    ("overlap", 1, 0, 1, ["error: the receive buffer shares bytes with the receive buffer of an operation that is not complete",
                          "MPI_Irecv.*LINE(overlap)", "started by MPI_Irecv at LINE(overlap_first)"]),
]


class ToldBySanitizer(Exception):
    """What the program does wrong has been told before the library could."""


class Runner:
    def __init__(self, mpirun, program, source, settings):
        self.mpirun, self.program, self.settings = mpirun, program, settings
        self.missing = Source(source).missing

    def run(self, case, ranks, *options):
        command = [self.mpirun, "-n", str(ranks), *options, *(f"--set={s}" for s in self.settings), self.program, case]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        # Two threads at one request are a race of the program's own, which ThreadSanitizer may tell as well.
        own_race = re.match("two_(wait|test|at_random|finalize)", case)
        # Each thread has a copy of the handle: the request that one has ended is gone for the other, and only without
        # AddressSanitizer is its memory still a request's.
        if re.match("two_(tests|at_random)", case) and "AddressSanitizer: heap-use-after-free" in done.stderr:
            raise ToldBySanitizer
        if re.search(("" if own_race else "ThreadSanitizer|") + "AddressSanitizer|runtime error:", done.stderr):
            sys.exit(f"{case}: a sanitizer's report\n{done.stderr}")
        return done.returncode, done.stdout, done.stderr


def note(r, case, ranks, expected):
    code, out, err = r.run(case, ranks, "--check=strict")
    if code or "through" not in out:
        return f"ended with {code}", err
    if len(said(err)) != len(expected) or not all(" note: " in line for line in said(err)):
        return f"{len(said(err))} lines, not {len(expected)} notes", err
    code, out, quiet = r.run(case, ranks, "--check=basic")
    return r.missing(err, expected) or ("basic is not silent" if said(quiet) or code else None), err + quiet


def right(r, case, ranks):
    for options in (["--check=strict"], ["--check=strict", "--stress=random:3"], ["--check=basic"]):
        code, out, err = r.run(case, ranks, *options)
        if code or "through" not in out or said(err):
            return f"ended with {code} under {options}", err
    return None, ""


def survives(r, case, ranks, *levels):
    for level in levels or ("off", "basic"):
        code, out, err = r.run(case, ranks, f"--check={level}")
        if code or "through" not in out or said(err):
            return f"ended with {code} under {level}", err
    return None, ""


def report(r, case, ranks, expected):
    for level in ("basic", "strict"):
        code, _, err = r.run(case, ranks, f"--check={level}")
        if code in (0, 86, 124) or len(errors(err)) != 1:
            return f"ended with {code} and {len(errors(err))} errors under {level}", err
        if problem := r.missing(err, expected):
            return problem, err
    return None, ""


def ask(r, case, ranks, expected):
    code, out, err = r.run(case, ranks, "--check=basic")
    if code or "through" not in out or len(said(err)) != 1 or "[rank 0 on " not in said(err)[0]:
        return f"ended with {code} and {len(said(err))} lines under basic", err
    if problem := r.missing(err, expected):
        return problem, err
    code, _, err = r.run(case, ranks, "--check=strict")
    if code in (0, 86, 124) or len(errors(err)) != 1:
        return f"ended with {code} and {len(errors(err))} errors", err
    return r.missing(err, expected), err


def report_only(r, case, ranks, wanted, count, expected):
    standstill = "500ms" if case == "deadlock" else "60s"
    code, out, err = r.run(case, ranks, "--check=strict", "--set=contract.report_only=on",
                           f"--set=contract.standstill={standstill}", *(["--timeout=4"] if wanted else []))
    told = [line for line in err.splitlines() if "error: " in line and "--timeout" not in line]
    if code != wanted or len(told) != count:
        return f"ended with {code}, {len(told)} errors", err
    if wanted == 0 and "through" not in out:
        return "did not go on", err
    return r.missing(err, expected), err


def main(mpirun, program, source, which, *settings):
    runner = Runner(mpirun, program, source, settings)
    judge, cases = {"notes": (note, NOTES), "right": (right, RIGHT), "reports": (report, REPORTS),
                    "asks": (ask, ASKS),
                    "report_only": (report_only, REPORT_ONLY), "survives": (survives, SURVIVES)}[which]

    def judged(case):
        try:
            return judge(runner, *case)
        except ToldBySanitizer:
            return None, ""

    return judge_all((f"{case[0]} on {case[1]}", lambda case=case: judged(case)) for case in cases)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
