#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processes.sh BUILD TEST
# Runs one test of the launcher with real processes on this machine, from a build tree. The tests are
# the functions test_… below. Each has a folder and a TMPDIR of its own, and a variable in the
# environment of all that it starts, by which it finds what a job has left behind.
set -uo pipefail
build=$(cd "$1" && pwd)
wanted=$2
mpirun=$build/bin/mpirun
hello=$build/tests/launcher/pmix_hello

unset ${!TUTTI_@}
work=$(mktemp -d "${TMPDIR:-/tmp}/launcher-test.XXXXXX")
export TMPDIR=$work/tmp TUTTI_TEST_MARK=$work XDG_CONFIG_HOME=$work/config
mkdir "$TMPDIR"
cd "$work"

fail() {
  echo "$wanted: $*" >&2
  echo "--- output:" >&2
  tail -c 2000 out err >&2 2>/dev/null
  exit 1
}
# within SECONDS COMMAND…: until it holds.
within() {
  local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
  shift
  while :; do
    "$@" && return
    ((${EPOCHREALTIME/[.,]/} < end)) || return 1
    sleep 0.02
  done
}
# mpirun to its end: output in out and err, exit code in $code.
launch() {
  code=0
  timeout -k 5 60 "$mpirun" "$@" >out 2>err || code=$?
}
launch_behind() {
  "$mpirun" "$@" >out 2>err &
  launched=$!
  # Not yet the shell's own child, which a signal would still end.
  is_exec() { [ "$(readlink "/proc/$launched/exe")" = "$(readlink -f "$mpirun")" ]; }
  within 10 is_exec || fail "mpirun does not start"
}
expect_code() { [ "$code" = "$1" ] || fail "exit code $code instead of $1"; }
said() { grep -qF -- "$1" err || fail "standard error lacks: $1"; }
printed() { grep -qF -- "$1" out || fail "standard output lacks: $1"; }
printed_lines() { [ "$(grep -c '' out)" = "$1" ] || fail "$(grep -c '' out) lines instead of $1"; }
# The processes that carry our mark, but for this script and its children's subshells.
processes() {
  local file pid name
  for file in $(grep -lzxF "TUTTI_TEST_MARK=$work" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    read -r name 2>/dev/null <"/proc/$pid/comm" || continue  # gone meanwhile, or grep itself
    [ "$name" = processes.sh ] || echo "$pid"
  done
}
shared_files() { [ -f job ] && ls "/dev/shm/" | grep -F "tutti.$(cat job)." ; }
leftovers() {
  ls -A "$TMPDIR"
  shared_files
  processes
}
nothing_is_left() {
  is_clean() { [ -z "$(leftovers)" ]; }
  within 2 is_clean && return
  local pid
  for pid in $(processes); do ps -o pid,ppid,stat,wchan:20,comm,args -p "$pid" >&2; done
  fail "left behind: $(leftovers | tr '\n' ' ')"
}
ended_within() {
  gone() { ! kill -0 "$launched" 2>/dev/null; }
  within "$1" gone || fail "mpirun still runs after $1 s"
  code=0
  wait "$launched" || code=$?
}
finish() {
  local pid
  for pid in $(processes); do kill -9 "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap finish EXIT

# A rank that will not go by itself, with children in its group and out of it, and a shared file.
cat >stubborn <<'END'
#!/bin/bash
trap '' TERM INT HUP
setsid sleep 600 </dev/null >/dev/null 2>&1 &
sleep 600 &
touch "/dev/shm/tutti.$TUTTI_JOB.$$"
echo "$TUTTI_JOB" >job
echo ready
while :; do sleep 600; done
END
chmod +x stubborn
all_ready() { [ "$(grep -c ready out)" = "$1" ]; }
start_stubborn() {
  launch_behind -n 3 ./stubborn
  within 20 all_ready 3 || fail "the ranks do not start"
}

test_ranks_know_each_other() {
  launch -n 3 "$hello"
  expect_code 0
  printed_lines 3
  for rank in 0 1 2; do
    printed "rank $rank of 3, local $rank of 3, peers 0,1,2, nodes $(hostname), map (vector,(0,1,3)), app 0, last on $(hostname)"
  done
  nothing_is_left
}
test_modex() {
  launch -n 4 "$hello" modex
  expect_code 0
  printed_lines 4
  launch -n 4 "$hello" direct
  expect_code 0
  nothing_is_left
}
test_any_program() {
  launch -n 4 hostname
  expect_code 0
  [ "$(sort -u out)" = "$(hostname)" ] || fail "not four times the host's name"
  printed_lines 4
}
test_default_count_is_the_cores() {
  launch true
  expect_code 0
  taskset -c 0 "$mpirun" echo x >out 2>err || fail "exit code $?"
  printed_lines 1
}
test_exit_code_of_a_rank() {
  launch -n 3 sh -c 'exit 5'
  expect_code 5
  said "exited with code 5"
  launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] && exit 7; sleep 600'
  expect_code 7
  said "rank 1 on $(hostname) (sh, process"
  nothing_is_left
}
test_signal_of_a_rank() {
  launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] && kill -SEGV $$; sleep 600'
  expect_code 139
  said "rank 1 on $(hostname)"
  said "killed by signal 11 (Segmentation fault)"
  nothing_is_left
}
test_abort() {
  launch -n 3 "$hello" abort 42
  expect_code 42
  said "rank 2 on $(hostname) aborted the job with code 42: as it was told to"
  nothing_is_left
}
test_leaving_without_finalize() {
  launch -n 2 "$hello" leave
  expect_code 1
  said "exited with code 0 without MPI_Finalize"
  nothing_is_left
}
test_missing_program() {
  launch -n 2 no-such-program
  expect_code 127
  said "on $(hostname): there is no 'no-such-program' on the PATH"
  launch -n 2 ./no-such-program
  expect_code 127
  said "$work/./no-such-program"
  touch plain
  launch -n 2 ./plain
  expect_code 126
  said "plain is not executable"
  launch -n 2 plain
  said "the one in the current folder is './plain'"
  launch -n 1 "$work"
  expect_code 126
  said "is a folder"
  echo garbage >broken && chmod +x broken
  launch -n 2 ./broken
  expect_code 126
  launch -n 1 --wdir /no/such/folder true
  expect_code 1
  said "folder /no/such/folder"
  nothing_is_left
}
test_one_bad_program_ends_the_others() {
  launch -n 2 ./stubborn : -n 1 ./no-such-program
  expect_code 127
  nothing_is_left
}
test_killed_rank() {
  start_stubborn
  kill -9 "$(pgrep -P "$launched" -x stubborn | head -1)"
  ended_within 2
  expect_code 137
  said "killed by signal 9"
  nothing_is_left
}
test_killed_launcher() {
  start_stubborn
  kill -9 "$launched"
  ended_within 2
  nothing_is_left
}
test_interrupt() {
  start_stubborn
  kill -INT "$launched"
  ended_within 2
  expect_code 130
  said "the job ends: Interrupt"
  nothing_is_left
}
test_terminate_and_hangup() {
  start_stubborn
  kill -TERM "$launched"
  ended_within 2
  expect_code 143
  nothing_is_left
  start_stubborn
  kill -HUP "$launched"
  ended_within 2
  expect_code 129
  nothing_is_left
}
test_interrupt_while_starting() {
  for pause in 0 0.005 0.01 0.015 0.02 0.03 0.05; do
    launch_behind -n 4 sleep 600
    sleep $pause
    kill -TERM "$launched"  # the shell lets background jobs ignore an interrupt
    ended_within 3
    [ "$code" != 0 ] || fail "exit code 0 after an interrupt"
    nothing_is_left
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
}
test_several_programs() {
  launch -n 1 -x A=one sh -c 'echo "$A $PMIX_RANK"' : -n 2 -x A=two sh -c 'echo "$A $PMIX_RANK"' : \
    -n 1 "$hello"
  expect_code 0
  printed "one 0"
  printed "two 1"
  printed "two 2"
  printed "rank 3 of 4, local 3 of 4, peers 0,1,2,3, nodes $(hostname), map (vector,(0,1,4)), app 2"
  launch -n 1 true : true
  expect_code 2
  said "each needs its -n"
}
test_environment_and_folder() {
  mkdir sub
  B=from-here launch -n 1 -x A='a b=c' -x B --wdir sub sh -c 'echo "$A|$B|$(pwd)|$PWD"'
  printed "a b=c|from-here|$work/sub|$work/sub"
  launch -n 1 sh -c 'echo "${#TUTTI_JOB} $TUTTI_SETTINGS_RESOLVED"'
  printed "12 1"
}
test_arguments_arrive_unchanged() {
  launch -n 1 printf '<%s>\n' 'a b' '' '$HOME' '*' -n --help
  printf '<%s>\n' 'a b' '' '$HOME' '*' -n --help | cmp - out || fail "arguments changed"
}
test_tagged_output() {
  launch -n 2 --tag-output sh -c 'printf "a\nb"; printf "e\n" >&2'
  [ "$(sort out | tr '\n' ' ')" = "[0] a [0] b [1] a [1] b " ] || fail "wrong tags"
  said "[0] e"
  said "[1] e"
}
test_lines_stay_whole() {
  # Each rank writes its lines in small pieces, as fast as it can.
  launch -n 4 awk 'BEGIN { for (i = 0; i < 3000; ++i) { for (j = 0; j < 10; ++j) { printf "%s%s%s", ENVIRON["PMIX_RANK"], ENVIRON["PMIX_RANK"], ENVIRON["PMIX_RANK"]; fflush() } print "" } }'
  expect_code 0
  printed_lines 12000
  [ "$(sort -u out | tr '\n' ' ')" = "$(printf '%030d ' 0)$(printf '1%.0s' {1..30}) $(printf '2%.0s' {1..30}) $(printf '3%.0s' {1..30}) " ] ||
    fail "lines are mixed"
}
test_last_line_without_an_end() {
  launch -n 1 printf 'no end'
  [ "$(cat out)" = "no end" ] || fail "wrong output"
  [ "$(wc -c <out)" = 6 ] || fail "something was added"
}
volume() { head -c 100000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null || head -c 100000000 /dev/urandom; }
test_large_input_and_output() {
  volume >in
  "$mpirun" -n 2 cat <in >out 2>err || fail "exit code $?"
  cmp in out || fail "a file changed on its way"
  # Through pipes, to a reader that takes its time.
  cat in | "$mpirun" -n 1 cat 2>err | { sleep 1; cmp - in; } || fail "a pipe's bytes changed"
  nothing_is_left
}
test_only_rank_0_has_input() {
  echo word | "$mpirun" -n 3 sh -c 'read x; echo "$PMIX_RANK:$x"' >out 2>err
  [ "$(sort out | tr '\n' ' ')" = "0:word 1: 2: " ] || fail "wrong input"
}
test_closed_input() {
  launch -n 2 cat <&-
  expect_code 0
  launch -n 1 sh -c 'echo ok' <&- 
  printed ok
  # A rank that does not read, and one that stops reading.
  yes | "$mpirun" -n 1 true 2>err
  [ "${PIPESTATUS[1]}" = 0 ] || fail "unread input is a failure"
  yes | "$mpirun" -n 1 head -1 >out 2>err
  [ "${PIPESTATUS[1]}" = 0 ] || fail "input that is partly read is a failure"
  printed_lines 1
  nothing_is_left
}
test_closed_output() {
  "$mpirun" -n 2 yes 2>err | head -1 >out
  printed y
  nothing_is_left
  "$mpirun" -n 2 echo x >&- 2>err || fail "exit code $?"
  nothing_is_left
}
test_stuck_reader_cannot_hold_the_end_up() {
  mkfifo pipe
  sleep 600 <pipe &
  "$mpirun" -n 2 yes >pipe 2>err &
  launched=$!
  sleep 0.5
  kill -TERM "$launched"
  ended_within 2
  kill %1
  wait %1 2>/dev/null
  expect_code 143
  nothing_is_left
}
test_more_ranks_than_cores_is_said_once() {
  launch -n 33 taskset -p 1 
  launch -n 64 true
  expect_code 0
  [ "$(grep -c 'ranks share' err)" = 1 ] || fail "not said once"
  taskset -c 0 "$mpirun" -n 1 true 2>err
  [ ! -s err ] || fail "said without a reason"
  launch --map-by :nooversubscribe -n 640 true
  expect_code 2
  said "nooversubscribe"
}
test_bindings_are_reported() {
  code=0
  taskset -c 0 "$mpirun" -n 1 --report-bindings true >out 2>err || code=$?
  expect_code 0
  said "rank 0 on $(hostname): core 0 of socket 0 (processors 0)"
  launch -n 1 --bind-to none --report-bindings true
  said "rank 0 on $(hostname): not bound"
  taskset -c 0 "$mpirun" -n 2 --report-bindings grep Cpus_allowed_list /proc/self/status >out 2>err
  said "rank 1 on $(hostname): not bound"
  launch -n 1 --bind-to cors true
  expect_code 2
  said "--bind-to takes none, hwthread, core"
}
test_own_names_need_no_ssh() {
  launch --set launch.rsh=/no/such/shell -H "localhost,$(hostname),127.0.0.1" -n 3 echo x
  expect_code 0
  printed_lines 3
}
test_unreachable_hosts() {
  launch --set launch.rsh=/no/such/shell -H other.invalid true
  expect_code 1
  said "cannot reach other.invalid: there is no /no/such/shell (launch.rsh is '/no/such/shell')"
  printf '#!/bin/sh\necho "no way to $1" >&2\nexit 255\n' >shell && chmod +x shell
  launch --set launch.rsh=./shell -H other.invalid true
  expect_code 1
  said "[other.invalid] no way to other.invalid"
  said "cannot start the daemon on other.invalid: ./shell ended with code 255"
  printf '#!/bin/sh\nexit 127\n' >shell
  launch --set launch.rsh=./shell -H other.invalid true
  said "install Tutti at the same path on all nodes"
  printf '#!/bin/sh\nsleep 600\n' >shell
  launch --set launch.rsh=./shell --set launch.connect_timeout=300ms -H other.invalid true
  expect_code 1
  said "the daemon on other.invalid has not reported"
  launch --set launch.rsh=./shell --timeout 0.3 -H other.invalid true
  expect_code 124
  nothing_is_left
}
# A daemon on this machine, by a shell that just runs the command: the wire without a network.
fake_nodes() {
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >shell && chmod +x shell
  remote=(--set "launch.rsh=./shell" -H "a.invalid:2,b.invalid:2,localhost:2")
}
test_daemons() {
  fake_nodes
  for mode in hello modex direct; do
    launch "${remote[@]}" -n 6 "$hello" $mode
    expect_code 0
    printed_lines 6
    printed "rank 3 of 6, local 1 of 2, peers 2,3, nodes a.invalid,b.invalid,$(hostname), map (vector,(0,3,2))"
  done
  launch "${remote[@]}" -n 6 "$hello" abort 9
  expect_code 9
  launch "${remote[@]}" -n 4 sh -c '[ "$PMIX_RANK" = 3 ] && exit 3; sleep 600'
  expect_code 3
  said "rank 3 on b.invalid"
  launch "${remote[@]}" -n 2 no-such-program
  expect_code 127
  said "cannot start rank 0 on a.invalid"
  nothing_is_left
}
test_daemons_carry_streams() {
  fake_nodes
  volume >in
  cat in | "$mpirun" "${remote[@]}" -n 3 cat 2>err | { sleep 1; cmp - in; } || fail "bytes changed"
  "$mpirun" "${remote[@]}" -n 6 yes 2>err | head -1 >out
  printed y
  nothing_is_left
}
start_stubborn_daemons() {
  fake_nodes
  launch_behind "${remote[@]}" -n 6 ./stubborn
  within 20 all_ready 6 || fail "the ranks do not start"
}
test_killed_daemon() {
  start_stubborn_daemons
  # A daemon is its launcher's child by way of exec; its watchdog has another name.
  kill -9 "$(pgrep -P "$launched" -x tuttid | head -1)"
  ended_within 2
  expect_code 1
  said ".invalid is lost"
  nothing_is_left
}
test_killed_launcher_of_daemons() {
  start_stubborn_daemons
  kill -9 "$launched"
  ended_within 2
  nothing_is_left
}
test_interrupt_with_daemons() {
  start_stubborn_daemons
  kill -INT "$launched"
  ended_within 2
  expect_code 130
  nothing_is_left
}
test_secret_is_not_shown() {
  start_stubborn_daemons
  local pid
  for pid in $(processes); do
    tr '\0' '\n' <"/proc/$pid/cmdline" | grep -E '[0-9a-f]{32}' && fail "a secret on a command line"
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -E '=[0-9a-f]{32,}$' && fail "a secret in an environment"
  done
  kill -INT "$launched"
  ended_within 2
}
test_strangers_are_turned_away() {
  fake_nodes
  launch_behind "${remote[@]}" -n 6 ./stubborn
  within 20 all_ready 6 || fail "the ranks do not start"
  local port
  port=$(ss -Hltnp 2>/dev/null | grep "pid=$launched," | grep -oE ':[0-9]+ ' | head -1 | tr -d ': ')
  [ -n "$port" ] || port=$(awk -v i="$(ls -l "/proc/$launched/fd" | grep -oE 'socket:\[[0-9]+' | grep -oE '[0-9]+' | tr '\n' ' ')" 'BEGIN { split(i, n, " "); for (k in n) own[n[k]] } $4 == "0A" && $10 in own { split($2, a, ":"); print strtonum("0x" a[2]) }' /proc/net/tcp6 /proc/net/tcp 2>/dev/null | head -1)
  [ -n "$port" ] || fail "the launcher's port is not found"
  head -c 100000 /dev/urandom >"/dev/tcp/127.0.0.1/$port" 2>/dev/null
  printf '\x05\0\0\0\x02\0\0\0\0\0' >"/dev/tcp/127.0.0.1/$port" 2>/dev/null
  printf '\xff\xff\xff\xff\x02' >"/dev/tcp/127.0.0.1/$port" 2>/dev/null
  sleep 0.3
  kill -0 "$launched" || fail "a stranger ended the job"
  [ ! -s err ] || ! grep -q lost err || fail "a stranger was taken for a daemon"
  kill -INT "$launched"
  ended_within 2
  expect_code 130
  nothing_is_left
}
test_daemon_called_by_hand() {
  code=0
  timeout 10 "$build/bin/tuttid" </dev/null 2>err || code=$?
  expect_code 1
  said "tuttid is started by mpirun"
  code=0
  timeout 10 "$build/bin/tuttid" --help 2>err || code=$?
  expect_code 2
}
test_configuration_errors() {
  launch --set log.levle=note -n 1 true
  expect_code 2
  said "--set log.levle=note: there is no setting 'log.levle'; did you mean 'log.level'?"
  TUTTI_WAIT_SPINZ=1 launch -n 1 true
  expect_code 2
  said "TUTTI_WAIT_SPINZ is not a setting; did you mean 'TUTTI_WAIT_SPINS'?"
  mkdir -p config/tutti
  printf 'log:\n  level: loud\n' >config/tutti/tutti.yaml
  launch -n 1 true
  expect_code 2
  said "$work/config/tutti/tutti.yaml:2: 'loud' is not a value of log.level"
  printf 'launch:\n  bind_to: none\n' >config/tutti/tutti.yaml
  launch -n 1 --report-bindings true
  expect_code 0
  said "not bound"
  "$build/bin/tutti" info --config >out 2>err
  printed "config/tutti/tutti.yaml:2"
  echo 'node1 slots=two' >hosts
  launch --hostfile hosts -n 1 true
  expect_code 2
  said "hosts:1: 'slots=two' is not expected here"
  launch --hostfile missing -n 1 true
  expect_code 2
  said "hostfile missing: No such file or directory"
  TMPDIR=/no/such/folder launch -n 1 true
  expect_code 1
  said "TMPDIR chooses another place"
}
test_commands() {
  local name
  for name in "mpirun" "mpiexec" "tutti run"; do
    (PATH=$build/bin:$PATH; $name -n 2 echo x) >out 2>err || fail "$name fails"
    printed_lines 2
    (PATH=$build/bin:$PATH; $name --help) >out 2>err || fail "$name --help fails"
    printed "Usage: $name"
    (PATH=$build/bin:$PATH; $name --version) >out 2>err || fail "$name --version fails"
    printed "tutti "
  done
  "$build/bin/tutti" infp >out 2>err && fail "an unknown command succeeds"
  said "did you mean 'info'?"
  "$build/bin/tutti" info >out 2>err || fail "info fails"
  printed "this node:"
}
test_jobs_inside_jobs() {
  launch -n 2 "$mpirun" -n 2 "$hello" modex
  expect_code 0
  printed_lines 4
  [ "$(grep -c 'of 2, local' out)" = 4 ] || fail "an inner job took the outer one for its own"
  nothing_is_left
}
test_starts_quickly() {
  local best=1000 best_hello=1000 i begin took
  for i in 1 2 3 4 5 6 7 8 9 10; do
    begin=$(date +%s%N)
    "$mpirun" -n 2 true 2>err || fail "exit code $?"
    took=$((($(date +%s%N) - begin) / 1000000))
    ((took < best)) && best=$took
    begin=$(date +%s%N)
    "$mpirun" -n 16 "$hello" >out 2>err || fail "exit code $?"
    took=$((($(date +%s%N) - begin) / 1000000))
    ((took < best_hello)) && best_hello=$took
  done
  echo "best of ten: -n 2 true $best ms, -n 16 pmix_hello $best_hello ms"
  # A loaded machine is no failure; ten times too slow is one.
  ((best < 500 && best_hello < 1500)) || fail "much too slow: $best ms and $best_hello ms"
}

declare -F "test_$wanted" >/dev/null || fail "there is no such test"
"test_$wanted"
