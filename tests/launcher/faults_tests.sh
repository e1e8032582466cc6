# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Jobs of one node that end before their time: see fault_bound.sh.

test_one_bad_program_ends_the_others() {
  launch -n 2 ./stubborn : -n 1 ./no-such-program
  expect_code 127
  nothing_is_left
}
test_killed_rank() {
  start_stubborn
  fault kill -9 "$(pgrep -P "$launched" -x stubborn | head -1)"
  ends_in_time
  expect_code 137
  said_once "killed by signal 9"
}
# The others hear of it by PMIx, before they end as they always did.
test_ranks_hear_of_a_killed_one_by_library() {
  start_ready 3 -n 3 "$build/tests/launcher/hears"
  fault kill -9 "$(cat pid.1)"
  ends_in_time
  expect_code 137
  said_once "killed by signal 9"
  for rank in 0 2; do printed "rank $rank knows of 1"; done
}
# PMIx cannot send to those that are gone already, and would say so in its own words.
test_many_ranks_that_fail_at_once_by_library() {
  local turn
  for turn in 1 2 3; do
    launch -n 48 "$departs" at_once
    expect_code 1
    said_once "exited with code 1"
    [ "$(grep -c '' err)" = 1 ] || fail "more than the cause is told: $(head -3 err)"
  done
}
test_killed_launcher() {
  start_stubborn
  fault kill -9 "$launched"
  ends_in_time
}
# Whoever would clean up is killed as well: the next job does it, and touches nothing that lives.
all_of_job() { echo "$launched $(pgrep -P "$launched" | tr '\n' ' ')"; }
test_folder_of_a_job_killed_whole_goes_with_the_next() {
  launch_behind -n 2 sh -c 'echo "$TUTTI_JOB" >job; echo ready; exec sleep 600'
  within 20 all_ready 2 || fail "the ranks do not start"
  touch "/dev/shm/tutti.$(cat job).left"
  kill -STOP $(all_of_job)
  fault kill -9 $(all_of_job)
  [ -n "$(ls -A "$TMPDIR")" ] || fail "the test leaves no folder behind"
  launch -n 1 true
  expect_code 0
  nothing_stays
}
test_folder_of_a_living_job_elsewhere_stays() {
  unshare $([ "$(id -u)" = 0 ] || echo -r) -pf --kill-child --mount-proc "$mpirun" -n 2 \
    sh -c 'echo ready; while [ ! -e go ]; do sleep 0.02; done; echo done' >out 2>err &
  launched=$!
  within 20 all_ready 2 || fail "the ranks do not start"
  ls -A "$TMPDIR" >before
  [ -s before ] || fail "the job has no folder"
  "$mpirun" -n 1 true >other 2>&1 || fail "the other job fails"
  ls -A "$TMPDIR" | cmp - before || fail "the folder of a living job was removed"
  touch go
  wait "$launched" || fail "exit code $?"
  [ "$(grep -c done out)" = 2 ] || fail "the ranks did not end"
  nothing_is_left
}
# hears INT|TERM|HUP: mpirun has a handler for it.
hears() {
  local caught
  caught=$(sed -n 's/^SigCgt:\s*//p' "/proc/$launched/status") || return
  (((16#$caught >> ($(kill -l "$1") - 1)) & 1))
}
test_interrupt() {
  start_stubborn
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
  said "the job ends: Interrupt"
}
test_terminate_and_hangup() {
  start_stubborn
  fault kill -TERM "$launched"
  ends_in_time
  expect_code 143
  start_stubborn
  fault kill -HUP "$launched"
  ends_in_time
  expect_code 129
}
# Whoever starts it may have blocked signals; the loop lives by them, and the ranks get none that is blocked.
# blocked COMMAND…: becomes it, with all signals blocked, and that of ended children ignored.
make_blocked() {
  cat >blocked <<'END'
#!/usr/bin/env python3
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], sys.argv[1:])
END
  chmod +x blocked
}
test_blocked_signals() {
  make_blocked
  code=0
  timeout -k 5 60 ./blocked "$mpirun" -n 2 sh -c 'grep SigBlk /proc/self/status' >out 2>err || code=$?
  expect_code 0
  [ "$(grep -c 'SigBlk:.0*$' out)" = 2 ] || fail "signals are blocked in ranks: $(cat out)"
  ./blocked "$mpirun" -n 2 sh -c 'echo ready; exec sleep 600' >out 2>err &
  launched=$!
  within 20 all_ready 2 || fail "the ranks do not start"
  fault kill -TERM "$launched"
  ends_in_time
  expect_code 143
}
# Pipes are no files: a job that needs none runs.
test_no_file_may_be_written() {
  local printed
  printed=$( (ulimit -f 0; timeout -k 5 60 "$mpirun" -n 2 echo x) 2>&1 | cat; exit "${PIPESTATUS[0]}") ||
    fail "exit code $?: $printed"
  [ "$printed" = $'x\nx' ] || fail "printed: $printed"
}
# Libraries would crash with it.
test_small_stack() {
  local size
  for size in 100 192; do
    code=0
    (ulimit -s $size; timeout -k 5 60 "$mpirun" -n 2 true) >out 2>err || code=$?
    expect_code 1
    said "the limit of the stack (ulimit -s) is $size KiB; starting a job takes 512. Raise it"
  done
  (ulimit -s 512; timeout -k 5 60 "$mpirun" -n 2 true) >out 2>err || fail "exit code $? with 512 KiB: $(cat err)"
  nothing_is_left
}
test_blocked_signals_of_daemons() {
  fake_nodes
  make_blocked
  sed -i 's|exec |exec ./blocked |' shell  # a remote shell may do so, too
  code=0
  timeout -k 5 60 ./blocked "$mpirun" "${remote[@]}" -n 6 sh -c 'grep SigBlk /proc/self/status' >out 2>err || code=$?
  expect_code 0
  [ "$(grep -c 'SigBlk:.0*$' out)" = 6 ] || fail "signals are blocked in ranks: $(cat out)"
  nothing_is_left
}
# UCX would take it for a call stack.
test_rank_that_is_hung_up_ends_by_library() {
  start_ready 2 -n 2 "$stay"
  fault kill -HUP "$(pgrep -P "$launched" -x stay | head -1)"
  ends_in_time
  expect_code 129
  said_once "killed by signal 1 (Hangup)"
}
test_a_job_under_nohup_survives_its_terminal() {
  trap '' HUP
  start_ready 2 -n 2 sh -c 'echo ready; exec sleep 600'
  trap - HUP
  kill -HUP "$launched"
  fault kill -USR1 "$launched"  # which ends the ranks: heard, and behind it
  ends_in_time
  [ "$code" = 138 ] || fail "exit code $code"
}
test_interrupt_while_starting() {
  local pause signal
  for signal in TERM HUP INT; do  # each of them also right behind the start, when nobody has asked to hear it
    for pause in 0 0.005 0.01 0.015 0.02 0.03 0.05; do
      launch_behind -n 4 sleep 600
      # The shell lets background jobs ignore an interrupt, until mpirun asks for it.
      [ $signal != INT ] || within 10 hears INT || fail "mpirun does not ask for SIGINT"
      sleep $pause
      fault kill -$signal "$launched"
      ends_in_time
      [ "$code" != 0 ] || fail "exit code 0 after SIG$signal"
    done
  done
}
test_leftover_children() {
  launch -n 2 sh -c 'setsid sleep 600 & sleep 600 & echo done'
  expect_code 0
  printed_lines 2
  nothing_is_left
}
test_timeout() {
  launch --timeout 0.5 -n 2 ./stubborn
  expect_code 124
  said "its time (--timeout 0.5) is over"
  nothing_is_left
  # The variable of other launchers, beside which the option holds.
  MPIEXEC_TIMEOUT=0.5 launch -n 2 ./stubborn
  expect_code 124
  said "its time (MPIEXEC_TIMEOUT 0.5) is over"
  MPIEXEC_TIMEOUT=0.5 launch --timeout 50 -n 2 sleep 1
  expect_code 0
  MPIEXEC_TIMEOUT=0.3 launch --time UNLIMITED -n 2 sleep 0.6
  expect_code 0
  MPIEXEC_TIMEOUT=never launch -n 2 true
  expect_code 2
  said "MPIEXEC_TIMEOUT is 'never', which is no positive number of seconds"
  nothing_is_left
}

# A real MPI program in the midst of messages, by each transport.
mpi_ranks() { pgrep -P "$launched" -x 'traffic|pair'; }
amid_messages() {
  local transport
  for transport in on off; do
    start_ready 4 --set transport.shared_memory=$transport -n 4 "$traffic" $1
    [ -s job ] || fail "the job left no name"
    "harm_$2"
    ends_in_time
    [ -z "${3:-}" ] || expect_code "$3"
    ! grep -E 'UCX|_ep\.c|backtrace' err >&2 || fail "the UCX library speaks beside us"
  done
}
harm_launcher() { fault kill -9 "$launched"; }
harm_rank() { fault kill -9 "$(mpi_ranks | tail -1)"; }
harm_ranks() { fault kill -9 $(mpi_ranks); }
harm_all() { fault kill -9 $(mpi_ranks) "$launched"; }
harm_interrupt() { fault kill -INT "$launched"; }
harm_hang_up() { fault kill -HUP "$launched"; }
harm_terminate() { fault kill -TERM "$launched"; }
test_launcher_killed_amid_messages() { amid_messages "" launcher; }
test_rank_killed_amid_messages() { amid_messages "" rank 137; }
test_all_ranks_killed_amid_messages() { amid_messages "" ranks 137; }
test_everything_killed_amid_messages() { amid_messages "" all; }
test_terminated_amid_messages() { amid_messages "" terminate 143; }
test_stubborn_rank_killed_amid_messages() { amid_messages stubborn rank 137; }
test_stubborn_launcher_killed_amid_messages() { amid_messages stubborn launcher; }
test_stubborn_terminated_amid_messages() { amid_messages stubborn terminate 143; }

# Inside of MPI_Init, where the ranks' memory still has its name: one of them is held back, and will not go.
inside_init() {
  launch_behind -n 4 sh -c '[ "$PMIX_RANK" = 3 ] || exec "$0"
    echo "$TUTTI_JOB" >job; trap "" TERM INT HUP; while :; do sleep 600; done' "$build/tests/launcher/pair"
  have_memory() {
    [ "$(mpi_ranks | sed 's|.*|/proc/&/maps|' | xargs -r grep -l /dev/shm/tutti | grep -c '')" = 3 ] && shared_files
  }
  within 20 have_memory || fail "the ranks do not come to their shared memory"
  "harm_$1"
  ends_in_time
  [ -z "${2:-}" ] || expect_code "$2"
}
harm_held() { fault kill -9 "$(pgrep -P "$launched" -x sh)"; }
test_launcher_killed_inside_init_by_library() { inside_init launcher; }
test_rank_killed_inside_init_by_library() { inside_init rank 137; }
test_rank_killed_before_init_by_library() { inside_init held 137; }
test_all_ranks_killed_inside_init_by_library() { inside_init ranks 137; }
test_everything_killed_inside_init_by_library() { inside_init all; }
test_terminated_inside_init_by_library() { inside_init terminate 143; }
test_interrupted_inside_init_by_library() { inside_init interrupt 130; }
test_hung_up_inside_init_by_library() { inside_init hang_up 129; }

# A System V segment whose maker did not live to remove it; one of a job that ended well stays.
test_segments_of_killed_ranks_are_removed() {
  local maker='[ "$PMIX_RANK" = 0 ] && exec ipcmk -M 4096; while ! grep -q Shared out; do sleep 0.02; done; echo ready;'
  segment_is_there() { [ -n "$(segments_without_users $segments_before)" ]; }
  start_ready 1 -n 2 sh -c "$maker sleep 600"
  segment_is_there || fail "the test makes no segment"
  fault kill -9 "$launched"
  ends_in_time
  start_ready 1 -n 2 sh -c "$maker sleep 600"
  fault kill -TERM "$launched"
  ends_in_time
  launch -n 1 ipcmk -M 4096
  segment_is_there || fail "a segment that was left on purpose is gone"
  ipcrm -m "$(grep -o '[0-9]*$' out)"
}

# --- a terminal ------------------------------------------------------------------------------------

# at_terminal KEYS CODE BOUND [PROGRAM…]: the keys end the job, with the code, in that many seconds.
at_terminal() {
  local keys=$1 expected=$2 bound=$3 word code took
  shift 3
  [ $# -gt 0 ] || set -- ./stubborn
  python3 "$here/terminal.py" "$keys" 3 "$mpirun" -n 3 "$@" >out 2>err || fail "$(tail -1 err)"
  read -r word code took < <(tail -1 out)
  [ "$word $code" = "ended $expected" ] || fail "'$word $code' instead of 'ended $expected'"
  echo "keys $keys: ended after $took s"
  awk -v t="$took" -v b="$bound" -v s="$job_end_slack" 'BEGIN { exit !(t <= b + s) }' ||
    fail "ended $took s after the last key"
  nothing_is_left
}
test_ctrl_c() {
  at_terminal c 130 "$job_end_bound"
  printed "the job ends: Interrupt"
  at_terminal qc 130 "$job_end_bound"  # the first only asks what the ranks do
  printed "no rank has a record to be asked"
  printed "the job ends: Interrupt"
}
# The second one does not wait for the ranks: at 0.5 s, when the first still would for as long.
test_second_ctrl_c() {
  at_terminal cC 130 0.2
}
test_terminal_goes_away() {
  at_terminal h 129 "$job_end_bound"
}
test_ctrl_z() {
  at_terminal zfc 130 "$job_end_bound"
  printed "stopped"
  printed "continued"
  at_terminal zh 129 "$job_end_bound"  # a stopped job must hear of its end, too
}
test_user_signals_reach_the_ranks() {
  start_ready 3 -n 3 bash -c 'trap "echo one" USR1; trap "echo two; exit 0" USR2; echo ready; while :; do sleep 0.02; done'
  kill -USR1 "$launched"
  all_heard() { [ "$(grep -c one out)" = 3 ]; }
  within 5 all_heard || fail "SIGUSR1 does not reach all ranks"
  kill -USR2 "$launched"
  wait "$launched" || fail "exit code $?"
  [ "$(grep -c two out)" = 3 ] || fail "SIGUSR2 does not reach all ranks"
  nothing_is_left
}

# Who waits for whom is said before the end of a job that seems to be stuck; not of one that runs.
test_interrupted_while_it_waits_by_library() {
  start_ready 2 -n 2 "$stay"
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
  ! grep -q MPI_Recv err || fail "what the ranks do is not asked for yet"
  start_ready 2 -n 2 "$stay"
  waits_long() { "$build/bin/tutti" why | grep -qE "rank 1: in MPI_Recv.* for ([6-9]|[1-9][0-9])\.[0-9] s"; }
  within 20 waits_long || fail "no rank waits"
  fault kill -TERM "$launched"
  ends_in_time
  expect_code 143
  said "rank 1: in MPI_Recv"
  said "the job ends: Terminated"
}

# --- limits ----------------------------------------------------------------------------------------

# Before all are started: with fewer processes than asked for the job is over.
ended_while_many_start() {  # SIGNAL EXIT_CODE
  launch_behind -n 2000 sh -c 'echo >>started; exec sleep 600'
  some_run() { [ -s started ]; }
  within 20 some_run || fail "no rank starts"
  fault kill "-$1" "$launched"
  ends_in_time
  expect_code "$2"
  [ "$(grep -c '' started)" -lt 1900 ] || fail "all ranks were started first"
}
test_terminated_while_many_start_quickly() { ended_while_many_start TERM 143; }
test_interrupted_while_many_start_quickly() { ended_while_many_start INT 130; }
test_hung_up_while_many_start_quickly() { ended_while_many_start HUP 129; }
test_timeout_while_many_start_quickly() {
  launch --timeout 0.3 -n 2000 sh -c 'echo >>started; exec sleep 600'
  expect_code 124
  [ "$(grep -c '' started)" -lt 1900 ] || fail "all ranks were started first"
  nothing_is_left
}
test_a_million_ranks_are_refused_quickly() {
  local begin
  begin=$(now_us)
  (ulimit -n 4096; launch -n 1000000 touch started; expect_code 1) || exit 1
  (($(now_us) - begin < 2000000)) || fail "it took $((($(now_us) - begin) / 1000)) ms"
  said "1000000 ranks cannot start on $(hostname): "
  said "starting them takes"
  [ ! -e started ] || fail "some were started"
  nothing_is_left
}

test_descriptors_of_ranks() {
  # Nothing of the launcher's or the shell's is open there; ls has the folder that it lists.
  exec 7</dev/null
  launch -n 6 ls /proc/self/fd
  exec 7<&-
  expect_code 0
  [ "$(sort out | uniq -c | xargs)" = "6 0 6 1 6 2 6 3" ] || fail "open in the ranks: $(sort out | uniq -c | xargs)"
}
# A rank that is started while others have connected already gets nothing of that.
test_descriptors_of_ranks_by_library() {
  local ranks common most
  for ranks in 24 64; do
    launch -n $ranks "$build/tests/launcher/descriptors"
    expect_code 0
    [ "$(grep -c '^started with 3, ' out)" = $ranks ] || fail "not all ranks begin with 3: $(sort out | uniq -c)"
    # A thread that starts, or a file that is read, may hold one at the moment of the count; who has slept has a bell.
    common=$(sed 's/.*, has //' out | sort -n | uniq -c | sort -n | awk 'END { print $2 }')
    most=$(sed 's/.*, has //' out | sort -n | tail -1)
    [ "$common" -le 21 ] && [ "$most" -le $((common + 3)) ] || fail "too many: $(sort out | uniq -c)"
  done
  nothing_is_left
}
test_few_descriptors() {
  # The launcher has as many as it may; ranks have what their user set.
  (ulimit -Sn 64; launch -n 16 sh -c 'ulimit -Sn'; expect_code 0) || exit 1
  [ "$(sort out | uniq -c | xargs)" = "16 64" ] || fail "limits of the ranks: $(sort out | uniq -c | xargs)"
  (ulimit -n 64; launch -n 16 touch started; expect_code 1) || exit 1
  said_once "16 ranks cannot start on $(hostname): the limit of open files (ulimit -Hn) is 64, of which"
  (ulimit -n 12; launch -n 1 touch started; expect_code 1) || exit 1
  said_once "the limit of open files (ulimit -Hn) is 12, of which"
  [ "$(grep -c '' err)" = 1 ] || fail "more than a sentence"
  [ ! -e started ] || fail "some were started"
  nothing_is_left
}
test_few_descriptors_in_ranks_by_library() {
  local limit
  for limit in 6 10 14 18; do
    launch -n 2 sh -c "ulimit -n $limit; exec \"\$0\"" "$build/tests/launcher/pair"
    [ "$code" != 0 ] || fail "exit code 0 with $limit"
    said "MPI_Init: 17 more open files are needed here, and only $((limit - 3)) can be had: Too many open files; the limit of open files (ulimit -n) is too low"
    ! grep -q '^\[' err || fail "a library's own words"
  done
  # Over connections, which take more the more peers there are.
  for limit in 22 26 28 29 30 31; do
    launch --set transport.shared_memory=off --set transport.ucx_tls=tcp,self -n 4 sh -c "ulimit -n $limit; exec \"\$0\"" "$build/tests/launcher/pair"
    [ "$code" != 0 ] && [ "$code" != 124 ] || fail "exit code $code with $limit"
    said "the limit of open files (ulimit -n) is too low"
    ! grep -q '^\[' err || fail "a library's own words"
  done
  nothing_is_left
}

# as_nobody COMMAND…: as a user with a number alone, and no HOME; the namespace is the fallback.
as_nobody() {
  if [ "$(id -u)" = 0 ]; then
    chmod 777 "$work" "$TMPDIR"
    setpriv --reuid=54321 --regid=54321 --clear-groups env -u HOME "$@"
  else
    unshare --user --map-user=54321 env -u HOME "$@"
  fi
}
test_no_home_by_library() {
  local hello=$build/tests/launcher/pair
  as_nobody test -x "$mpirun" || { echo "the build is not to be seen by others"; return 0; }
  ! getent passwd 54321 >/dev/null || fail "there is a user 54321"
  as_nobody timeout 30 "$mpirun" -n 2 "$hello" >out 2>err || fail "exit code $?"
  as_nobody timeout 30 "$mpirun" -n 2 sh -c 'echo "${HOME-none}"' >out 2>err || fail "exit code $?"
  [ "$(sort -u out)" = none ] || fail "the ranks have a home: $(cat out)"
  as_nobody timeout 30 "$departs" child >out 2>err || fail "alone: exit code $?"
  nothing_is_left
}
# Whatever the limit is, there is a sentence or it works, and never a library's way to die.
test_few_processes_by_library() {
  local limit
  [ "$(id -u)" = 0 ] || { echo "only for root: others have processes of their own"; return 0; }
  as_nobody test -x "$mpirun" || { echo "the build is not to be seen by others"; return 0; }
  for limit in 1 3 6 8 10 11 12 14 20; do
    code=0
    as_nobody timeout 30 bash -c 'ulimit -u '$limit' && exec "$0" -n 4 "$1"' "$mpirun" "$build/tests/launcher/pair" >out 2>err || code=$?
    case $code in
      0) ;;
      1 | 16) grep -qE "^tutti: error: .*(limit|ulimit -u)" err || fail "no reason with $limit" ;;
      *) fail "exit code $code with $limit" ;;
    esac
    ! grep -q "terminate called" err || fail "an exception"
  done
  nothing_is_left
}
test_little_memory_by_library() {
  local limit
  for limit in 15000 20000 30000 50000; do
    code=0
    (ulimit -v $limit; exec timeout 30 "$mpirun" -n 2 "$build/tests/launcher/pair") >out 2>err || code=$?
    case $code in 0 | 1 | 16 | 127) ;; *) fail "exit code $code with $limit" ;; esac
    ! grep -q "terminate called" err || fail "an exception"
  done
  nothing_is_left
}
