# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Jobs that a program of MPI's has connected: by MPI_Comm_spawn, or by ports between two
# launchers. What they need of the library: jobs.cpp.
jobs=$build/tests/launcher/jobs
export TUTTI_NAMES=$work/names

test_by_library_child_that_aborts_is_an_error_of_its_parents() {
  launch -n 2 "$jobs" parent abort
  expect_code 0
  printed "parent fine"
  said_once "aborted the job with code 3"
  nothing_is_left
}
test_by_library_child_that_is_killed_is_an_error_of_its_parents() {
  launch -n 3 "$jobs" parent die
  expect_code 0
  printed "parent fine"
  said_once "killed by signal 9"
  nothing_is_left
}
# The exit code is that of the launcher's own ranks; what became of the children is said.
test_by_library_child_that_aborts_unheard_leaves_the_exit_code() {
  launch -n 2 "$jobs" parent unheard
  expect_code 0
  printed "parent fine"
  said_once "aborted the job with code 3"
  nothing_is_left
}
test_by_library_child_that_has_parted_dies_alone() {
  launch -n 2 "$jobs" parent part
  expect_code 0
  printed "parent fine"
  said_once "killed by signal 9"
  nothing_is_left
}
test_by_library_singleton_has_children() {
  code=0
  timeout 60 "$jobs" parent abort >out 2>err || code=$?
  expect_code 0
  printed "parent fine"
  within 3 eval '[ -z "$(processes)" ]' || fail "the children's job stays"
}
children_ready() { [ "$(grep -c 'child ready' out)" = 2 ] && [ "$(grep -c 'parent ready' out)" = 2 ]; }
start_family() {
  launch_behind -n 2 "$jobs" parent stay
  within 20 children_ready || fail "the children do not start"
}
# Also slots that the own machine is given.
test_by_library_spawned_jobs_have_the_universe_of_their_parents() {
  launch --host localhost:16 -n 1 "$jobs" parent universe
  expect_code 0
  printed "parent: universe of 16"
  [ "$(grep -c 'child: universe of 16' out)" = 2 ] || fail "the children do not have the slots"
  nothing_is_left
}
# The parent waits for rank 1 of its children, who wait for it. Nobody looks for deadlocks meanwhile.
why_names_both() {
  "$build/bin/tutti" why >why 2>&1
  [ "$(grep -c '^job [^:]*: jobs,' why)" = 2 ] || return 1  # beside those of other tests
  local ours theirs
  ours=$(sed -n 's/^job \([^:]*\): jobs, all of its 1 ranks.*/\1/p' why)
  theirs=$(sed -n 's/^job \([^:]*\): jobs, all of its 2 ranks.*/\1/p' why)
  grep -q "rank 0: in MPI_Recv.*waiting for rank 1 of job $theirs" why &&
    grep -q "ranks 0, 1: in MPI_Barrier.*waiting for .*rank 0 of job $ours" why
}
test_by_library_why_names_the_other_job() {
  export TUTTI_CONTRACT_STANDSTILL=600s
  launch_behind -n 1 "$jobs" parent wait
  within 20 why_names_both || fail "tutti why says $(cat why)"
  fault kill -INT "$launched"
  ends_in_time
}
test_by_library_killed_launcher_takes_spawned_job_along() {
  start_family
  fault kill -9 "$launched"
  ends_in_time
}
test_by_library_interrupted_launcher_takes_spawned_job_along() {
  start_family
  fault kill -INT "$launched"
  ends_in_time
}
test_by_library_killed_parent_takes_spawned_job_along() {
  start_family
  fault kill -9 "$(pgrep -P "$launched" -x jobs | head -1)"
  ends_in_time
  expect_code 137
}
is_printed() { grep -qF -- "$1" "$2"; }
start_server() {
  "$mpirun" -n "$1" "$jobs" server "$wanted" >server.out 2>server.err &
  server=$!
  within 20 is_printed "server ready" server.out || fail "the server does not start: $(cat server.err)"
}
server_ends_well() {
  is_gone() { ! kill -0 "$server" 2>/dev/null; }
  within 20 is_gone || fail "the server does not end"
  wait "$server" || fail "the server ends with $?: $(cat server.err)"
  is_printed "server fine" server.out || fail "the server is not fine: $(cat server.err)"
}
test_by_library_jobs_of_two_launchers_connect() {
  start_server 3
  launch -n 2 "$jobs" client "$wanted" 20
  expect_code 0
  printed "client fine"
  server_ends_well
  nothing_is_left
  [ -z "$(ls -A "$TUTTI_NAMES")" ] || fail "a name stays: $(ls "$TUTTI_NAMES")"
}
test_by_library_client_that_dies_is_an_error_of_the_server() {
  start_server 2
  launch -n 2 "$jobs" client "$wanted" dies
  expect_code 137
  launch -n 2 "$jobs" client "$wanted" 1
  expect_code 0
  server_ends_well
  nothing_is_left
}
# The server is not this job's child, and nobody has started it: it ends with the client, and says why.
server_ends_with() {
  is_gone() { ! kill -0 "$server" 2>/dev/null; }
  within 20 is_gone || fail "the server does not end"
  code=0
  wait "$server" || code=$?
  [ "$code" = "$1" ] || fail "the server ends with $code, not $1: $(cat server.err)"
  is_printed "of another job on" server.err && is_printed "has ended its job and this one" server.err ||
    fail "the server does not say why: $(cat server.err)"
}
test_by_library_abort_of_both_jobs_ends_both() {
  start_server 3
  launch -n 2 "$jobs" client "$wanted" aborts
  expect_code 5
  said "MPI_Abort on a communicator with code 5"
  server_ends_with 5
  nothing_is_left
}
test_by_library_fatal_error_ends_all_that_are_connected() {
  start_server 2
  launch -n 2 "$jobs" client "$wanted" errs
  said "MPI_Send: rank 77 is not in communicator MPI_COMM_WORLD"
  server_ends_with "$code"
  nothing_is_left
}
test_by_library_name_of_a_killed_server_is_nobodys() {
  start_server 1
  kill -9 $(pgrep -P "$server" -x jobs)
  wait "$server"
  [ -n "$(ls -A "$TUTTI_NAMES")" ] || fail "the test leaves no name behind"
  launch -n 1 "$jobs" client "$wanted" 1
  said "its publisher has ended"
  start_server 1
  launch -n 2 "$jobs" client "$wanted" 1
  expect_code 0
  server_ends_well
}
# Who connects and says nothing, something else, or too much, is sent away, and the next one is served.
test_by_library_strangers_at_a_port() {
  start_server 1
  local port
  port=$(cut -d/ -f5 "$TUTTI_NAMES"/*)
  exec 7<>"/dev/tcp/127.0.0.1/$port"
  (exec 8<>"/dev/tcp/127.0.0.1/$port" && echo "GET / HTTP/1.0" >&8) 2>/dev/null
  (exec 8<>"/dev/tcp/127.0.0.1/$port" && head -c 100000 /dev/urandom >&8) 2>/dev/null
  launch -n 2 "$jobs" client "$wanted" 1
  expect_code 0
  exec 7>&-
  server_ends_well
}
test_by_library_waiting_at_a_port_can_be_interrupted() {
  start_ready 2 -n 2 "$jobs" waits
  fault kill -INT "$launched"
  ends_in_time
}
