# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. What stands in the way of a job or is taken away from it: processes that are stopped, a
# TMPDIR that goes with a scheduler's job, memory that runs out; and what is said, or not said, where nobody reads.

# A job killed whole, watchdog and all, and its TMPDIR gone with it: what it has in /dev/shm goes with the next job.
test_shared_files_without_their_folder() {
  local id
  mkdir "$work/job-tmp"
  TMPDIR=$work/job-tmp launch_behind -n 2 sh -c 'echo "$TUTTI_JOB" >job; echo ready; exec sleep 100'
  within 10 all_ready 2 || fail "the ranks do not start"
  id=$(cat job)
  touch "/dev/shm/tutti.$id.7"
  "$mpirun" -n 1 true || fail "another job fails"
  [ -e "/dev/shm/tutti.$id.7" ] || fail "the files of a living job are gone"
  kill -9 $(pgrep -P "$launched" -x tutti-watchdog) "$launched"
  within 5 eval '[ -z "$(processes)" ]' || fail "ranks stay"
  rm -r "$work/job-tmp"
  launch -n 1 true
  expect_code 0
  nothing_is_left
}
# A watchdog that is stopped must not hold up the end, nor the rank that is started behind it.
test_stopped_watchdog() {
  launch_behind -n 1 sh -c 'echo ready; sleep 0.5'
  within 10 all_ready 1 || fail "the rank does not start"
  fault kill -STOP "$(pgrep -P "$launched" -x tutti-watchdog)"
  ends_in_time
  expect_code 0
}
# Between the launcher's fork and the program, where a child is stopped here.
test_program_that_does_not_begin() {
  LD_PRELOAD=$build/tests/launcher/libstops_before.so launch_behind -n 30 sleep 60
  told() { grep -q "ranks 0 to 29 on $(hostname) have still to become sleep: process [0-9]* is stopped" err; }
  # Three seconds after the last one was started, of which none but the first is waited for at length: to wait for each
  # takes a minute and a half.
  within 30 told || fail "nothing is said of it"
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
}
test_program_that_does_not_begin_in_time() {
  code=0
  LD_PRELOAD=$build/tests/launcher/libstops_before.so timeout -k 5 30 "$mpirun" --timeout 0.5 -n 2 sleep 60 >out 2>err || code=$?
  expect_code 124
  said_once "its time (--timeout 0.5) is over"
  nothing_is_left
}

# The name of the folder that the user's shell has, unless it is another folder's.
test_name_of_the_folder() {
  mkdir -p real/sub other
  ln -s real link
  cd link
  launch -n 1 sh -c 'echo "$PWD"; /bin/pwd'
  [ "$(xargs <../link/out)" = "$work/link $work/real" ] || fail "PWD and folder: $(xargs <out)"
  launch -n 1 --wdir sub printenv PWD
  [ "$(cat out)" = "$work/link/sub" ] || fail "PWD with --wdir: $(cat out)"
  (PWD=$work/other launch -n 1 printenv PWD; [ "$(cat out)" = "$work/real" ]) || fail "another folder's name: $(cat out)"
  (PWD=$work/other/../link launch -n 1 printenv PWD; [ "$(cat out)" = "$work/real" ]) || fail "no plain name: $(cat out)"
  (unset PWD; exec env -u PWD "$mpirun" -n 1 printenv PWD) >out 2>err
  [ "$(cat out)" = "$work/real" ] || fail "without PWD: $(cat out)"
  cd "$work"
}

# Test suites take any line on standard error for a failure.
test_silence_about_many_ranks() {
  local more=$(($(nproc) + 1))
  launch -n $more true
  expect_code 0
  [ ! -s err ] || fail "something was said"
  launch -v --oversubscribe -n $more true
  ! grep -q 'ranks share' err || fail "it was said though it was asked for"
  launch -v --map-by slot:oversubscribe -n $more true
  ! grep -q 'ranks share' err || fail "it was said though it was asked for"
  launch -v -n $more true
  said_once "$more ranks share"
  python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$mpirun" -n $more true </dev/null >out || fail "exit code $?"
  printed "$more ranks share"
}

test_loopback_is_down() {
  unshare -n true 2>/dev/null || { echo "skipped: namespaces are not allowed here"; exit 77; }
  code=0
  timeout 20 unshare -n "$mpirun" -n 2 true >out 2>err || code=$?
  expect_code 1
  said_once "tutti: error: the loopback device of $(hostname) is down"
  [ "$(grep -c '' err)" = 1 ] || fail "more than a sentence"
  nothing_is_left
}

# In a control group that is too small for one of the ranks. Version 1 or 2, as far as this test may make one.
small_group() {
  local base=/sys/fs/cgroup own
  if [ -d $base/memory ]; then
    own=$base/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
    [ -d "$own" ] || own=$base/memory
    group=$own/tutti-test.$$ limit=memory.limit_in_bytes
  else
    group=$base$(sed -n 's/^0:://p' /proc/self/cgroup)/tutti-test.$$ limit=memory.max
  fi
  mkdir "$group" 2>/dev/null && echo 100M >"$group/$limit" 2>/dev/null && [ -e "$group/cgroup.procs" ] &&
    { [ ! -e "$group/memory.memsw.limit_in_bytes" ] || echo 100M >"$group/memory.memsw.limit_in_bytes"; } ||
    { rmdir "$group" 2>/dev/null; echo "skipped: no control group of memory can be made here"; exit 77; }
}
test_memory_that_runs_out() {
  local group limit
  small_group
  (
    trap 'echo $BASHPID >"$group/../cgroup.procs" 2>/dev/null' EXIT
    echo $BASHPID >"$group/cgroup.procs"
    launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] && exec python3 -c "x = bytearray(400 << 20)"; exec sleep 20'
    expect_code 137
  ) || { rmdir "$group"; exit 1; }
  within 5 rmdir "$group"
  said_once "was killed by signal 9 (Killed): memory ran out on $(hostname), where the kernel has killed "
  said "it had up to "
  said "the other rank there has "
  said "its control group may have 100 MiB"
  # Nor is the kernel blamed for another end, where its log tells whom it has killed.
  if : 2>/dev/null </dev/kmsg && [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]; then
    small_group
    (
      trap 'echo $BASHPID >"$group/../cgroup.procs" 2>/dev/null' EXIT
      echo $BASHPID >"$group/cgroup.procs"
      launch -n 1 sh -c 'python3 -c "x = bytearray(400 << 20)"; kill -9 $$'
      expect_code 137
    ) || { rmdir "$group"; exit 1; }
    within 5 rmdir "$group"
    ! grep -q "memory ran out" err || fail "memory is blamed for what came long after"
  fi
  # Whoever else sends the signal is not taken for the kernel.
  launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] && kill -9 $$; exec sleep 20'
  expect_code 137
  ! grep -q memory err || fail "memory is blamed"
  nothing_is_left
}

# Grid Engine's own shell, which its loose environments refuse: qrsh here answers as Grid Engine 8.1.9 does.
test_grid_engine_loose() {
  printf '%s 2 all.q UNDEFINED\nother.invalid 2 all.q UNDEFINED\n' "$(hostname)" >pe
  printf '#!/bin/sh\necho "error: executing task of job 1 failed: execution daemon on host \\"$2\\" didn'"'"'t accept task" >&2\nexit 1\n' >qrsh
  chmod +x qrsh
  PATH=$work:$PATH JOB_ID=1 SGE_ROOT=/x PE_HOSTFILE=$work/pe launch hostname
  expect_code 1
  said "qrsh -inherit ended with code 1; Grid Engine starts nothing on other nodes where a job's parallel environment is loose"
  said "--set launch.rsh=ssh"
  nothing_is_left
}
# Without a parallel environment a job has a slot and no file of nodes.
test_grid_engine_alone() {
  SGE_ROOT=/x JOB_ID=1 NSLOTS=1 HOSTNAME=$(hostname) launch sh -c 'echo one'
  expect_code 0
  printed_lines 1
  [ ! -s err ] || fail "something was said"
}
# What Grid Engine sends before it kills a job.
test_grid_engine_tells_of_its_end() {
  SGE_ROOT=/x JOB_ID=1 NSLOTS=1 start_ready 1 -n 1 sh -c 'echo ready; sleep 60'
  fault kill -USR2 "$launched"
  ends_in_time
  expect_code 140
  said_once "was killed by signal 12 (User defined signal 2), which mpirun was sent and has passed on: Grid Engine sends it before it kills a job (qsub -notify): by qdel"
}

# A hint that means nothing is worth a line for the job; a 0 is no wish.
test_senseless_hints_are_said_once_by_library() {
  launch -n 3 "$build/tests/launcher/jobs" hints
  expect_code 0
  said_once 'the hint striping_unit of a file cannot be "many"; it is ignored'
  [ "$(grep -c '' err)" = 1 ] || fail "something else was said"
  nothing_is_left
}

# OAR has a shell of its own for where ssh is refused; it may be asked for.
test_oar_names_its_shell() {
  printf '%s\nother.invalid\n' "$(hostname)" >nodes
  printf '#!/bin/sh\nexit 255\n' >ssh
  chmod +x ssh
  PATH=$work:$PATH OAR_JOB_ID=1 OAR_NODEFILE=$work/nodes launch true
  expect_code 1
  said_once "--set launch.rsh=oarsh"
  nothing_is_left
}
