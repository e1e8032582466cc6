# SPDX-License-Identifier: BSD-3-Clause
"""Wrong use of ports, names and spawning gets its sentence and ends in time; the right twin says nothing.
usage: processes.py MPIRUN PROGRAM [CASE…]"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

MPIRUN, PROGRAM, *ONLY = sys.argv[1:]
SECONDS = 40
AT_ONCE = 3  # they wait for most of their time
ROOTS = r"rank 1 calls with root 1, rank 0 with root 0"

# Case: number of ranks, and what one of the lines must say of the wrong one.
CASES = {
    "spawn_other_root": (2, ROOTS),
    "spawn_root_outside": (2, r"MPI_Comm_spawn: rank 2 is not in communicator MPI_COMM_WORLD of 2 ranks \(argument root\)"),
    "spawn_negative_root": (2, r"MPI_Comm_spawn: rank -3 \(MPI_PROC_NULL\) is not in communicator MPI_COMM_WORLD of 2 ranks \(argument root\)"),
    "spawn_and_barrier": (2, r"MPI_Barrier.*MPI_Comm_spawn|MPI_Comm_spawn.*MPI_Barrier"),
    "spawn_and_spawn_multiple": (2, r"MPI_Comm_spawn.*MPI_Comm_spawn_multiple|MPI_Comm_spawn_multiple.*MPI_Comm_spawn"),
    "spawn_multiple_other_root": (2, ROOTS),
    "spawn_not_by_all": (2, r"deadlock: ranks 0 and 1 wait for each other"),
    "spawn_no_program": (1, r"MPI_Comm_spawn: the processes could not be started: .*/no/such/program"),
    "spawn_no_command": (1, r"MPI_Comm_spawn: the command is empty \(argument command\)"),
    "spawn_a_folder": (1, r"MPI_Comm_spawn: the processes could not be started: .*/tmp"),
    "spawn_none": (1, r"MPI_Comm_spawn: no processes are asked for \(argument maxprocs\)"),
    "spawn_fewer_than_none": (1, r"MPI_Comm_spawn: -1 is no number of processes \(argument maxprocs\)"),
    "spawn_dies": (1, r"MPI_Comm_spawn: the processes could not be started"),
    "spawn_no_mpi": (1, r"the processes could not be started: they ended before they called MPI_Init"),
    "spawn_no_folder": (1, r"MPI_Comm_spawn: the processes could not be started: .*/no/such/folder"),
    "spawn_unknown_host": (1, r"MPI_Comm_spawn: the processes could not be started: .*no-such-node"),
    "spawn_no_hostfile": (1, r"MPI_Comm_spawn: the processes could not be started: .*/no/such/file"),
    "spawn_bad_map_by": (1, r"MPI_Comm_spawn: the processes could not be started: .*moon"),
    "spawn_bad_bind_to": (1, r"MPI_Comm_spawn: the processes could not be started: .*moon"),
    "spawn_other_machine": (1, r"the nodes are \S+, and the hint 'arch' wants vax"),
    "spawn_bad_soft": (1, r"the hint 'soft' is 'two': .*first:last:step"),
    "spawn_soft_without_any": (1, r"the hint 'soft' \('5:9'\) has no number from 1 to maxprocs, which is 1"),
    "spawn_no_info_file": (1, r"the hint 'file' names /no/such/file, which cannot be read"),
    "spawn_bad_info_file": (1, r"the hint 'file' names /proc/self/cmdline, whose line 1 is no 'key = value'"),
    "spawn_bad_errhandler": (1, r"the hint 'mpi_initial_errhandler' is 'mpi_errors_are_funny', and not one of mpi_errors_are_fatal"),
    "spawn_of_two_groups": (2, r"MPI_Comm_spawn: an intercommunicator has no group that could be one side of another"),
    "session_with_another_job": (1, r"MPI_Comm_create_from_group: rank 0 of .* is in the group: .*argument group\)"),
    "sessions_with_another_job": (2, r"MPI_Intercomm_create_from_groups: rank 0 of .* is in the group: .*argument remote_group\)"),
    "spawn_multiple_none": (1, r"MPI_Comm_spawn_multiple: 0 is no number of commands \(argument count\)"),
    "spawn_multiple_one_missing": (1, r"MPI_Comm_spawn_multiple: the processes could not be started: .*/no/such/program"),
    "spawn_multiple_null": (1, r"MPI_Comm_spawn_multiple: a list of 1 command is NULL"),
    "spawn_by_freed": (1, r"MPI_Comm_spawn: .*freed"),
    "no_parent": (1, r"MPI_Barrier: .*null"),
    "parents_bcast_child_barrier": (2, r"MPI_Bcast.*MPI_Barrier|MPI_Barrier.*MPI_Bcast"),
    "child_other_count": (2, r"MPI_Bcast"),
    "child_other_type": (2, r"MPI_FLOAT.*MPI_INT|MPI_INT.*MPI_FLOAT|MPI_Bcast.*type"),
    "child_other_operation": (2, r"MPI_SUM.*MPI_MAX|MPI_MAX.*MPI_SUM"),
    "child_other_root": (2, r"root 1"),
    "child_is_root_too": (2, r"MPI_ROOT|MPI_Bcast"),
    "child_other_form": (2, r"MPI_Barrier.*MPI_Ibarrier|MPI_Ibarrier.*MPI_Barrier"),
    "child_truncates": (2, r"MPI_Recv: .*(longer|room|truncat)"),
    "child_rank_outside": (2, r"MPI_Send: rank 7 is not in the other group, of 2 ranks, of communicator MPI_COMM_PARENT"),
    "both_receive": (2, r"deadlock: rank 0 and rank 0 of another job.* wait for each other"),
    "child_in_barrier_of_its_own": (2, r"deadlock: .*another job"),
    "child_does_not_part": (2, r"MPI_Comm_disconnect.*MPI_Barrier|MPI_Barrier.*MPI_Comm_disconnect"),
    # The parent's end may reach the child's launcher before the child's own word does.
    "child_aborts": (2, r"MPI_Abort|rank 0 of another job on \S+ has ended its job and this one"),
    "threads_ssend_both": (1, r"deadlock: rank 0 and rank 0 of another job.* wait for each other"),
    "threads_late": (1, r"deadlock: rank 0 and rank 0 of another job.* wait for each other"),
    "threads_over_a_port": (2, r"deadlock: ranks 0 and 1 wait for each other"),
    "recv_from_finalize": (2, r"deadlock: rank 0 and rank 0 of another job.* wait for each other"),
    "child_recv_from_finalize": (1, r"deadlock: rank 0 and rank 0 of another job.* wait for each other"),
    "merge_against_finalize": (2, r"MPI_Intercomm_merge.*MPI_Finalize|MPI_Finalize.*MPI_Intercomm_merge|deadlock: .*another job"),
    "child_merges_against_finalize": (1, r"MPI_Intercomm_merge.*MPI_Finalize|MPI_Finalize.*MPI_Intercomm_merge|deadlock: .*another job"),
    "parted_by_some": (2, r"MPI_Comm_disconnect.*MPI_Barrier|MPI_Barrier.*MPI_Comm_disconnect"),
    "used_after_parting": (1, r"MPI_Barrier: .*freed"),
    "parted_twice": (1, r"MPI_Comm_disconnect: .*freed"),
    "parts_with_the_world": (2, r"MPI_Comm_disconnect: .*MPI_COMM_WORLD"),
    "parts_with_a_receive_open": (2, r"deadlock: .*rank"),
    "accept_at_no_port": (2, r"MPI_Comm_accept: the root has opened no such port|MPI_Comm_connect: 'nonsense' is no name"),
    "accept_at_closed_port": (1, r"MPI_Comm_accept: the root has opened no such port, or has closed it"),
    "accept_at_anothers_port": (2, r"MPI_Comm_accept: the root has opened no such port, or has closed it"),
    "accept_other_root": (4, r"MPI_Comm_accept: " + ROOTS),
    "connect_other_root": (4, r"MPI_Comm_connect: " + ROOTS),
    "accept_root_outside": (2, r"MPI_Comm_accept: rank 1 is not in communicator MPI_COMM_SELF of 1 rank \(argument root\)"),
    "accept_and_connect": (4, r"MPI_Comm_accept.*MPI_Comm_connect|MPI_Comm_connect.*MPI_Comm_accept"),
    "accept_and_barrier": (4, r"MPI_Comm_accept.*MPI_Barrier|MPI_Barrier.*MPI_Comm_accept"),
    "accept_of_two_groups": (2, r"MPI_Comm_accept: an intercommunicator has no group that could be one side"),
    "connect_to_nonsense": (2, r"MPI_Comm_connect: 'tutti://a/b' is no name of a port: it has not four parts"),
    "connect_to_closed_port": (2, r"MPI_Comm_connect: the port \d+ of \S+ cannot be reached"),
    "connect_to_nobody": (2, r"rank 1 on .*: MPI_Comm_connect.*waits for rank 0"),
    "connect_to_one_that_waits": (2, r"MPI_Comm_connect: the port \d+ of .*MPI_Comm_accept has not been called there for 1 s"),
    "accept_nobody": (2, r"MPI_Comm_accept: nobody has connected for 1 s"),
    "bad_timeout": (2, r"the hint 'timeout' is 'soon', which is no number of seconds"),
    "port_closed_twice": (1, r"MPI_Close_port: this process has opened no such port, or has closed it already"),
    "port_of_another_closed": (2, r"MPI_Close_port: this process has opened no such port"),
    "port_closes_while_one_waits": (2, r"MPI_Comm_connect: the port \d+ of \S+ cannot be reached .*closed"),
    "no_socket_to_join": (1, r"MPI_Comm_join: 987 is no descriptor of a socket"),
    "published_twice": (1, r"MPI_Publish_name: the service '\S+' is published already"),
    "published_by_two": (2, r"MPI_Publish_name: the service '\S+' is published already"),
    "unpublished_twice": (1, r"MPI_Unpublish_name: this process has published no service"),
    "unpublished_by_another": (2, r"MPI_Unpublish_name: this process has published no service"),
    "unpublished_with_another_port": (1, r"MPI_Unpublish_name: the service '\S+' is published with another port"),
    "never_published": (1, r"MPI_Lookup_name: no service '\S+' is published"),
    "published_no_more": (1, r"MPI_Lookup_name: no service '\S+' is published"),
    "published_without_a_name": (1, r"MPI_Publish_name: the name of the service is empty"),
    "published_with_a_long_name": (1, r"MPI_Publish_name: the name of the service has 300 characters"),
    "published_without_a_port": (1, r"MPI_Publish_name: an empty text is no name of a port"),
}
# The same under --check=strict alone, of which a note is the most that is said.
NOTES = {
    "message_cut_off": (1, r"1 message of a connection never received, cut off by MPI_Comm_disconnect at .*, from rank 0 of the other group with tag 7 \(rank 0\)"),
}
RANKS_AND_WORDS = CASES | NOTES


def run(case, which, level):
    command = [MPIRUN, "-n", str(RANKS_AND_WORDS[case][0]), f"--check={level}", "--timeout", str(SECONDS), "--set",
               "contract.standstill=1s", PROGRAM, case, which]
    with tempfile.TemporaryDirectory() as names:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 20, check=False,
                              env={**os.environ, "TUTTI_NAMES": names})
    return done.returncode, done.stdout + done.stderr


def main():
    cases = {case: RANKS_AND_WORDS[case] for case in ONLY} if ONLY else RANKS_AND_WORDS
    runs = [(case, *how) for case in cases for how in
            (("wrong", "strict" if case in NOTES else "basic"), ("right", "basic"), ("right", "strict"))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for (case, which, level), (code, text) in zip(runs, pool.map(lambda r: run(*r), runs)):
            ended = code == 0 if case in NOTES else code not in (0, 124)
            good = ended and re.search(cases[case][1], text) if which == "wrong" else code == 0 and not text
            if not good:
                failed += 1
                print(f"--- {case} {which} with --check={level}: exit code {code}\n{text}")
    print(f"{len(cases)} wrong programs and their right twins, {failed} failures")
    return failed > 0


sys.exit(main())
