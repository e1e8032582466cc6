# SPDX-License-Identifier: BSD-3-Clause
"""Runs deadlock_program's cases: the wrong ones end with code 86 and one report that names ranks,
calls and lines, the right ones pass in silence though ranks wait for several times the limit.
usage: deadlock.py MPIRUN PROGRAM wrong|right [SETTING=VALUE…]"""
import concurrent.futures
import os
import re
import subprocess
import sys

DEADLOCK_CODE = 86
LIMIT = "400ms"
AT_ONCE = 4  # they wait nearly all the time
LONGEST = 90  # seconds, of which a sanitizer beside compilers takes most to start ranks

# A message that was sent, but not as its receiver wants it: whose, how many, from whom, tag, why.
LYING = "rank %d has %s from rank %d with tag %d on MPI_COMM_WORLD .*that nobody has received \\(its receive %s\\): sent by MPI_Send\\(1 of MPI_INT, to 0.*deadlock_program.cpp:\\d+"
LYING_ON = "rank 0 has a message from rank 1 with tag 5 on %s that nobody has received \\(its receive %s\\): sent by MPI_Send.*deadlock_program.cpp:\\d+"
# case, ranks, what the report says: the first line, then any line
WRONG = [
    ("receives", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Recv.*from 1, tag 1.*waits for rank 1"]),
    ("receives", 4, "wait for each other", ["MPI_Recv"]),
    ("ring", 3, "ranks 0 to 2 wait for each other", ["rank 0 waits for rank 1, rank 1 for rank 2, rank 2 for rank 0"]),
    ("ring", 5, "ranks 0 to 4 wait for each other", ["rank 4.*MPI_Recv.*from 0"]),
    ("ssends", 2, "ranks 0 and 1 wait for each other", ["rank 1.*MPI_Ssend.*to 0.*waits for rank 0"]),
    ("long_sends", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Send.*1048576 of MPI_CHAR.*waits for rank 1"]),
    ("nobody_sends", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Recv", "rank 1.*MPI_Finalize"]),
    ("nobody_sends", 3, "wait for each other", ["rank 0.*MPI_Recv", "MPI_Finalize"]),
    ("nobody_receives", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Ssend", "rank 1.*MPI_Finalize"]),
    ("wrong_tag", 2, "ranks 0 and 1 wait for each other",
     ["rank 0.*MPI_Recv.*tag 5", LYING % (0, "a message", 1, 6, "wants one with tag 5")]),
    ("wrong_comm", 2, "ranks 0 and 1 wait for each other",
     [LYING % (0, "3 messages", 1, 6, "wants one with tag 5"),
      LYING_ON % ("a communicator of 2 ranks made by MPI_Comm_dup", "is on MPI_COMM_WORLD \\(2 ranks\\)")]),
    ("wrong_source", 3, "wait for each other", [LYING % (0, "a message", 2, 5, "wants one from rank 1")]),
    ("partitioned_against_recv", 2, "ranks 0 and 1 wait for each other",
     ["rank 0 has a message from rank 1 with tag 5 on MPI_COMM_WORLD \\(2 ranks\\), of MPI_Psend_init, that nobody has received \\(its receive is not one of MPI_Precv_init\\)$"]),
    ("recv_of_partitions", 2, "ranks 0 and 1 wait for each other",
     ["rank 0 has a message from rank 1 with tag 5 on MPI_COMM_WORLD .*that nobody has received \\(its receive is one of MPI_Precv_init\\): sent by MPI_Send"]),
    ("partition_never_ready", 2, "rank 1 waits for 2 of 3 partitions of a message with tag 5, which it has not made ready",
     ["rank 1.*MPI_Wait.*waits for 2 of 3 partitions .*MPI_Pready has not been called"]),
    ("itself", 1, "rank 0 waits for itself", ["MPI_Recv"]),
    ("itself", 2, "rank 0 waits for itself", ["MPI_Recv"]),
    ("ssend_to_itself", 1, "rank 0 waits for itself", ["MPI_Ssend"]),
    ("any_source", 2, "ranks 0 and 1 wait for each other", ["rank 0.*from any source.*waits for one of ranks 0 and 1"]),
    ("any_source", 4, "wait for each other", ["rank 0.*from any source.*one of ranks 0 to 3", "rank 3.*MPI_Recv"]),
    ("probe", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Probe"]),
    ("wait", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Wait.*waits for rank 1 to complete a receive with tag \\d+$"]),
    ("waitall", 2, "ranks 0 and 1 wait for each other",
     ["rank 0.*MPI_Waitall.*waits for rank 1 to complete a receive with tag 2$"]),
    ("waitany", 3, "wait for each other",
     ["rank 0.*MPI_Waitany.*one of ranks 1 and 2 to complete a receive with tag \\d+ and 1 more$"]),
    ("waitsome", 3, "wait for each other", ["rank 0.*MPI_Waitsome"]),
    ("sendrecv", 3, "ranks 0 to 2 wait for each other", ["rank 0.*MPI_Sendrecv"]),
    ("three_bcasts", 3, "ranks 0 to 2 wait for each other",
     ["rank 0.*MPI_Bcast.*communicator of 2 ranks made by MPI_Comm_split.*waits for rank 2 in it",
      "rank 0 waits for rank 2, rank 2 for rank 1, rank 1 for rank 0"]),
    ("bcast_against_recv", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Recv.*from 1", "rank 1.*MPI_Bcast.*root 0"]),
    ("slots", 2, "ranks 0 and 1 wait for each other",
     ["rank 0.*MPI_Bcast.*root 0.*waits for rank 1", "rank 1.*MPI_Recv.*from 0"]),
    ("slots", 3, "ranks 0 and 1 wait for each other|ranks 0 to 2 wait for each other", ["rank 0.*MPI_Bcast.*root 0.*waits for rank 1"]),
    ("slots_of_many", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Waitall.*waits for rank 1", "rank 1.*MPI_Recv"]),
    ("barrier_against_recv", 3, "wait for each other", ["rank 0.*MPI_Barrier", "rank 2.*MPI_Recv.*from 0"]),
    ("ibarrier_against_recv", 3, "wait for each other", ["rank 0.*MPI_Wait", "rank 2.*MPI_Recv.*from 0"]),
    ("persistent_against_recv", 3, "wait for each other", ["rank 0.*MPI_Wait", "rank 2.*MPI_Recv.*from 0"]),
    ("window_wait", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Win_wait.*on a window \\(2 ranks\\).*waits for rank 1"]),
    ("window_start", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Win_start.*waits for rank 1"]),
    ("window_lock", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Win_(un)?lock.*target 1.*waits for rank 1"]),
    ("window_lock", 3, "wait for each other", ["rank 0.*MPI_Win_(un)?lock.*target 2"]),
    ("window_lock_all", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Win_(un)?lock_all.*waits for rank 1"]),
    ("window_lock_all", 3, "wait for each other", ["rank 0.*MPI_Win_(un)?lock_all"]),
    ("window_lock_alone", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Win_(un)?lock.*target 1.*waits for rank 1"]),
    # Among messages a lock of all has asked nobody yet, and the one alone is had.
    ("window_lock_alone", 3, "wait for each other", ["rank 0.*(MPI_Win_lock.*target 2.*waits for rank 1|MPI_Finalize)"]),
    # Rank 1 waits in its barrier, or, where a lock of the node's is waited for at once, for that.
    ("window_sharers", 4, "wait for each other", ["rank 2.*MPI_Win_(flush|lock).*target 0.*waits for"]),
    ("window_lock_of_own", 2, "ranks 0 and 1 wait for each other", ["rank 1.*MPI_Win_(un)?lock.*target 1.*waits for rank 0"]),
    ("window_lock_of_own", 3, "wait for each other", ["rank 1.*MPI_Win_(un)?lock.*target 1.*waits for.* rank"]),
    ("window_locks", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Win_(un)?lock.*target 1.*waits for rank 1"]),
    ("window_fence", 3, "wait for each other", ["rank 0.*MPI_Recv.*from 1", "rank 1.*MPI_Win_fence"]),
    ("files", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_File_write_at_all.*waits for rank 1", "rank 1.*MPI_File_write_at_all"]),
    ("files", 3, "wait for each other", ["rank 0.*MPI_File_write_at_all"]),
    ("file_request", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Wait.*waits for rank 1", "rank 1.*MPI_Recv.*from 0"]),
    ("file_close", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_File_sync.*waits for rank 1", "rank 1.*MPI_Recv.*from 0"]),
    ("threads", 2, "ranks 0 and 1 wait for each other", ["rank 0.*MPI_Recv.*tag 1", "rank 0.*MPI_Recv.*tag 2"]),
]
RIGHT = [("slow_sender", 4), ("slow_files", 3), ("slow_window", 2), ("slow_window", 3), ("slow_lock", 4), ("slow_sharers", 4), ("slow_root", 3), ("slow_any", 4), ("slow_any_one", 4), ("slow_slots", 2), ("slow_slots", 4), ("slow_finalize", 3), ("slow_ibcast", 4),
         ("slow_polling", 3), ("slow_thread", 2)]

# Right, with few open files: what looks for deadlocks takes none that the program needs.
FEW_FILES = 45
RIGHT_WITH_FEW_FILES = [("slow_root", 16), ("slow_any_one", 16)]

SANITIZERS = re.compile("(Thread|Address)Sanitizer|runtime error:")  # of a rank that is ended they alone tell


def run(mpirun, program, case, ranks, settings, files=None):
    environment = dict(os.environ, TUTTI_CONTRACT_STANDSTILL=LIMIT)
    if "transport.shared_memory=off" in settings:
        # The cases of free slots need senders that wait: over tcp as well as with shared memory.
        environment["UCX_RNDV_THRESH"] = "8k"
    limited = [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$0" "$@"']
    command = [mpirun, "-n", str(ranks), *(f"--set={s}" for s in settings), *limited, program, case]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST)
        return "a sanitizer's report" if SANITIZERS.search(done.stderr) else done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as e:
        return "no end", "", (e.stderr or b"").decode()


def judge_wrong(code, err, first, others):
    lines = err.splitlines()
    reports = [line for line in lines if "deadlock: " in line]
    if code != DEADLOCK_CODE:
        return f"ended with {code}, not {DEADLOCK_CODE}"
    if len(reports) != 1:
        return f"{len(reports)} reports"
    if not any(words in reports[0] for words in first.split("|")):
        return f"the first line does not say '{first}'"
    if ("that nobody has received" in err) == ("no message is under way" in err):
        return "the messages that are there, and that there are none"
    missing = [o for o in others if not any(re.search(o, line) for line in lines)]
    if missing:
        return f"no line says '{missing[0]}'"
    return None if re.search(r"deadlock_program\.cpp:\d+", err) else "no line of the source is named"


def main(mpirun, program, which, *settings):
    failed = 0
    cases = WRONG if which == "wrong" else RIGHT
    if which == "right" and "transport.shared_memory=off" in settings:
        tcp = [*settings, "transport.ucx_tls=tcp,self"]
        for case, ranks in RIGHT_WITH_FEW_FILES:
            code, out, err = run(mpirun, program, case, ranks, tcp, FEW_FILES)
            good = code == 0 and "through" in out and "tutti: error" not in err and "UCX" not in err
            print(f"{'ok' if good else 'FAILED'}: {case} on {ranks} with {FEW_FILES} files" + ("" if good else f"{code}\n{err}"))
            failed += not good
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = pool.map(lambda case: run(mpirun, program, case[0], case[1], settings), cases)
        for (case, ranks, *expected), (code, out, err) in zip(cases, outcomes):
            if expected:
                problem = judge_wrong(code, err, *expected)
            else:
                problem = None if code == 0 and "through" in out and "deadlock" not in err else f"ended with {code}"
            print(f"{'ok' if not problem else 'FAILED'}: {case} on {ranks} {problem or ''}")
            if problem:
                failed += 1
                print(err)
    return failed > 0


sys.exit(main(*sys.argv[1:]))
