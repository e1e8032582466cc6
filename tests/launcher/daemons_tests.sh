# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Daemons on this machine, by a shell that just runs the command: the wire
# without a network.

test_own_names_need_no_ssh() {
  launch --set launch.rsh=/no/such/shell -H "localhost,$(hostname),127.0.0.1" -n 3 echo x
  expect_code 0
  printed_lines 3
}

# As on Debian, where the machine's full name has the address 127.0.1.1.
test_full_own_names_need_no_ssh() {
  printf '127.0.0.1 localhost\n127.0.1.1 node9.example.org node9\n' >hosts
  local name capitals
  capitals=$(hostname | tr a-z A-Z)
  for name in node9.example.org node9 NODE9.Example.Org. "$capitals" "$(hostname)." "$(id -un)@localhost"; do
    launch_with_hosts "$name"
    expect_code 0
    printed_lines 2
    [ ! -s err ] || said_once "share"
  done
  launch -H nobodyatall@localhost -n 1 true
  expect_code 2
  said_once "on this machine ranks are your own, not those of user nobodyatall; write localhost"
}
launch_with_hosts() {
  code=0
  timeout -k 5 60 unshare $([ "$(id -u)" = 0 ] || echo -r) -m sh -c 'mount --bind hosts /etc/hosts && exec "$@"' \
    sh "$mpirun" --set launch.rsh=/no/such/shell -H "$1:2" -n 2 echo x >out 2>err || code=$?
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

# The shell changes what the launcher says of itself, as another version would say it: by its protocol, by its number, or,
# as before there was one, by the protocol alone.
test_daemon_refuses_another_version() {
  local own line
  own=$("$mpirun" --version)
  own=${own#tutti }
  printf '#!/bin/bash\nshift\nexec sh -c "$*" < <(sed -u "1s/.*/$FIRST_LINE/")\n' >shell && chmod +x shell
  for line in "999 $own" "999 9.9.9" "999"; do
    FIRST_LINE="tutti-daemon $line" launch --set launch.rsh=./shell -H a.invalid -n 1 true
    expect_code 1
    said "the launcher is of another version of Tutti ("
    said "protocol 999; this node has $own, protocol "
  done
  printf '#!/bin/bash\nshift\nexec sh -c "$*" < <(sed -u "1s/$OWN/9.9.9/")\n' >shell
  OWN=$own launch --set launch.rsh=./shell -H a.invalid -n 1 true
  expect_code 1
  said "the launcher is of another version of Tutti (9.9.9, protocol "
  said "install the same on all nodes"
  # And with nothing changed it runs.
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >shell
  launch --set launch.rsh=./shell -H a.invalid -n 1 echo x
  expect_code 0
}

# More nodes than a variable of each rank should name: a hostfile has them. The spawned job runs on one of them.
test_spawned_where_nodes_are_many_by_library() {
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >shell && chmod +x shell
  local label n
  label=$(printf 'x%.0s' $(seq 60))
  for n in $(seq 20); do echo "n$n.$label.$label.$label.$label slots=2"; done >hosts
  launch --set launch.rsh=./shell --hostfile hosts -n 1 "$build/tests/launcher/crowd" spawn
  expect_code 0
  printed_lines 2
  printed "of a job of 40 slots"
  printed "of a job of 40 slots, spawned"
  launch --set launch.rsh=./shell --hostfile hosts -n 1 sh -c 'cat "$TUTTI_ALLOCATION"'
  expect_code 0
  diff hosts out || fail "the hostfile is not what it was"
  nothing_is_left
}

# The daemon has said why: nobody asks then whether the shell works.
test_what_a_daemon_says_is_the_reason() {
  printf '#!/bin/sh\nshift\nTMPDIR=/no/such/folder exec sh -c "$*"\n' >shell && chmod +x shell
  launch --set launch.rsh=./shell -H a.invalid -n 1 true
  expect_code 1
  said_once "tutti: "
  said "tutti: error: cannot start the daemon on a.invalid: cannot make the job's folder /no/such/folder/tutti."
  # A firewall: nothing of the launcher's can be reached.
  printf '#!/bin/bash\nshift\nexec sh -c "$*" < <(sed -u "s/^above .*/above 9 127.0.0.2/")\n' >shell
  launch --set launch.rsh=./shell -H a.invalid -n 1 true
  expect_code 1
  said_once "tutti: "
  said "cannot start the daemon on a.invalid: cannot reach the launcher at port 9"
  said "is there a firewall between the nodes?"
  ! grep -q "without a password" err || fail "the shell is suspected as well"
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
  start_ready 6 "$@" "${remote[@]}" -n 6 ./stubborn
}
# By order: of a.invalid, of b.invalid. A daemon is the child, by way of exec, of mpirun or of the daemon that has started
# it; its watchdog has another name.
daemon_of() {
  local pid=$launched n
  [ "$fan_out" = 1 ] || { pgrep -P "$launched" -x tuttid | sed -n "$1p"; return; }
  for ((n = 0; n < $1; ++n)); do pid=$(pgrep -P "$pid" -x tuttid); done
  echo "$pid"
}
test_killed_daemon() {
  local which
  for which in 1 2; do
    start_stubborn_daemons
    fault kill -9 "$(daemon_of $which)"
    ends_in_time
    expect_code 1
    said ".invalid is lost"
  done
}

test_ranks_hear_of_a_killed_one_on_another_node_by_library() {
  fake_nodes
  start_ready 5 "${remote[@]}" -n 5 "$build/tests/launcher/hears"
  fault kill -9 "$(cat pid.3)"
  ends_in_time
  expect_code 137
  said_once "rank 3 on b.invalid"
  for rank in 0 1 2 4; do printed "rank $rank knows of 1"; done
}

test_killed_launcher_of_daemons() {
  start_stubborn_daemons
  fault kill -9 "$launched"
  ends_in_time
}

test_interrupt_with_daemons() {
  start_stubborn_daemons
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
}

# A daemon that is stopped, or waits for a file system: its kernel goes on acknowledging.
start_with_stopped_daemon() {
  start_stubborn_daemons "$@"
  kill -STOP "$(daemon_of 2)"
}
may_be_left() { said_once "processes of the job may still run on b.invalid (its daemon does not answer)"; }
test_stopped_daemon_and_interrupt() {
  start_with_stopped_daemon
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
  may_be_left
  start_with_stopped_daemon
  fault kill -TERM "$launched"
  ends_in_time
  expect_code 143
}
# Whoever asks twice does not wait, also for ranks that have a long grace.
test_stopped_daemon_and_two_interrupts() {
  start_with_stopped_daemon --set launch.kill_grace=60s
  kill -INT "$launched"
  told() { grep -q "the job ends: Interrupt" err; }
  within 5 told || fail "mpirun does not hear the first one"
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
  may_be_left
}
test_stopped_daemon_and_timeout() {
  start_with_stopped_daemon --timeout 2
  within 12 is_over || fail "mpirun still runs"
  start_clock
  ends_in_time
  expect_code 124
  may_be_left
}
is_over() { ! kill -0 "$launched" 2>/dev/null; }
# Its watchdog is not stopped, and sees that the shell has ended.
test_stopped_daemon_and_killed_launcher() {
  start_with_stopped_daemon
  fault kill -9 "$launched"
  ends_in_time
}
# Stopped before its ranks end, and before it has said that it is finished.
test_stopped_daemon_and_normal_end() {
  fake_nodes
  local begin
  launch_behind "${remote[@]}" -n 6 sh -c 'echo ready; until [ -e go ]; do sleep 0.05; done'
  within 20 all_ready 6 || fail "the ranks do not start"
  kill -STOP "$(daemon_of 2)"
  touch go
  within 20 is_over || fail "mpirun still runs"
  start_clock
  ends_in_time
  expect_code 1
  said_once "b.invalid is waited for in vain: its daemon does not answer; the job ends"
  may_be_left
}
# mpirun that is suspended reads nothing, but its kernel acknowledges: also when its buffers are full.
test_suspended_launcher_is_not_mute() {
  fake_nodes
  "$mpirun" --set launch.node_timeout=500ms "${remote[@]}" -n 6 sh -c 'echo ready >&2; i=0
    while [ $i -lt 200 ]; do i=$((i + 1)); head -c 65536 /dev/zero; sleep 0.01; done' 2>err >zeros &
  launched=$!
  started() { [ "$(grep -c ready err)" = 6 ]; }
  within 20 started || fail "the ranks do not start"
  sleep 0.5
  kill -STOP "$launched"
  sleep 6
  kill -CONT "$launched"
  wait "$launched" || fail "exit code $? after mpirun was suspended"
  [ "$(wc -c <zeros)" = $((6 * 200 * 65536)) ] || fail "output is lost"
  nothing_is_left
}

# Ctrl-Z stops the ranks of other nodes, too, and "fg" lets them go on.
test_ctrl_z_with_daemons() {
  fake_nodes
  start_ready 6 "${remote[@]}" -n 6 sh -c 'echo ready; exec sleep 600'
  states() {
    local pid
    for pid in $(processes); do sed -n 's/^[0-9]* (sleep) \(.\).*/\1/p' "/proc/$pid/stat"; done 2>/dev/null
  }
  within 10 eval '[ "$(states | grep -c .)" = 6 ]' || fail "not six ranks: $(states)"
  all_stopped() { [ "$(states | grep -c T)" = 6 ]; }
  none_stopped() { [ "$(states | grep -c T)" = 0 ]; }
  kill -TSTP "$launched"
  within 10 all_stopped || fail "ranks still run: $(states | tr '\n' ' ')"
  kill -CONT "$launched"
  within 10 none_stopped || fail "ranks stay stopped: $(states | tr '\n' ' ')"
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
}

test_secret_is_not_shown() {
  start_stubborn_daemons
  local pid
  for pid in $(processes); do
    tr '\0' '\n' <"/proc/$pid/cmdline" | grep -E '[0-9a-f]{32}' && fail "a secret on a command line"
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -E '=[0-9a-f]{32,}$' && fail "a secret in an environment"
  done
  fault kill -INT "$launched"
  ends_in_time
}

# listening PID: the ports that it listens at and others than this machine can reach.
listening() {
  local inodes
  inodes=$(ls -l "/proc/$1/fd" 2>/dev/null | sed -n 's/.*socket:\[\([0-9]*\)\]$/\1/p' | tr '\n' ' ')
  awk -v inodes="$inodes" 'BEGIN { split(inodes, list, " "); for (i in list) own[list[i]] }
    $4 == "0A" && ($10 in own) && $2 !~ /^0100007F:/ { sub(".*:", "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null |
    while read -r port; do echo $((16#$port)); done
}
# A job of which one daemon comes when there is a file; in $waiting who waits for it, at $port: mpirun, or the daemon that
# starts it.
start_late() {
  local starter=${1:-$mpirun} hosts=late.invalid:1,localhost:1
  [ "$fan_out" != 1 ] || hosts=a.invalid:1,$hosts
  late_ranks=$(tr , '\n' <<<"$hosts" | grep -c '')
  printf '#!/bin/sh\nname=$1\nshift\n[ $name != late.invalid ] || until [ -e go ]; do sleep 0.02; done\nexec sh -c "$*"\n' >shell && chmod +x shell
  "$starter" --set launch.rsh=./shell -H "$hosts" -n "$late_ranks" echo done >out 2>err &
  launched=$!
  is_listening() {
    waiting=$launched
    [ "$fan_out" != 1 ] || waiting=$(daemon_of 1)
    port=$(listening "$waiting") && [ -n "$port" ]
  }
  within 10 is_listening || fail "the port where daemons report is not found"
}
ends_well() {
  touch go
  wait "$launched" || fail "the job failed"
  printed_lines "$late_ranks"
  nothing_is_left
}

# Whoever comes to the launcher's port and proves nothing is dropped: for what it says, or after ten
# seconds.
test_strangers_are_turned_away() {
  start_late
  local silent began
  began=$(now_us)
  exec {silent}<>"/dev/tcp/127.0.0.1/$port"
  head -c 100000 /dev/urandom >"/dev/tcp/127.0.0.1/$port" 2>/dev/null
  for bytes in '\x05\0\0\0\x02\0\0\0\0\0' '\xff\xff\xff\xff\x02' '\0\0\0\x08\x02' '\0\0\0\0\x36'; do
    exec {stranger}<>"/dev/tcp/127.0.0.1/$port"
    printf "$bytes" >&$stranger
    timeout 5 cat <&$stranger >/dev/null 2>&1
    [ $? != 124 ] || fail "who says $bytes is still heard"
    exec {stranger}>&-
  done
  timeout 15 cat <&$silent >/dev/null || fail "who says nothing is still heard"
  (($(now_us) - began > 9000000)) || fail "who says nothing was dropped after $((($(now_us) - began) / 1000)) ms"
  exec {silent}>&-
  [ ! -s err ] || fail "strangers are no news: $(cat err)"
  ends_well
}

# They cannot use up the launcher's descriptors and then its processor.
test_strangers_beyond_the_limit() {
  cat >crowd <<'END'
for ((i = 0; i < 150; ++i)); do exec {fd}<>"/dev/tcp/127.0.0.1/$1" || exit 1; done
exec sleep 600
END
  printf '#!/bin/bash\nulimit -n 64; exec "%s" "$@"\n' "$mpirun" >limited && chmod +x limited
  start_late ./limited
  bash crowd "$port" >crowd.out 2>&1 &
  local crowd=$!
  complains() { grep -q "cannot take the connections of daemons for now: Too many open files" err; }
  within 10 complains || fail "the launcher does not tell that it can take no more: $(cat crowd.out)"
  local before after
  before=$(spent "$waiting")
  sleep 1
  after=$(spent "$waiting")
  ((${after% *} - ${before% *} < 300000000)) || fail "it ran for $(((${after% *} - ${before% *}) / 1000000)) ms of a second"
  said_once "cannot take the connections"
  kill "$crowd" 2>/dev/null
  ends_well
}

# Daemons do not wait behind strangers who say nothing, not even for the ten seconds that these have.
test_strangers_in_front_of_a_daemon() {
  cat >crowd <<'END'
trap '' PIPE
for ((i = 0; i < 600; ++i)); do exec {fd}<>"/dev/tcp/127.0.0.1/$1" || exit 1; done
echo "they are there"
exec sleep 600
END
  start_late
  local as=()
  [ "$(id -u)" != 0 ] || as=(setpriv "--reuid=nobody" --regid="$(id -g nobody)" --clear-groups)
  (ulimit -n 1000 && exec "${as[@]}" bash -s "$port" <crowd) >crowd.out 2>&1 &
  local crowd=$!
  are_there() { grep -q "they are there" crowd.out; }
  within 10 are_there || fail "the strangers do not come: $(cat crowd.out)"
  local began=$(now_us)
  touch go
  wait "$launched" || fail "the job failed"
  printed_lines "$late_ranks"
  (($(now_us) - began < 8000000)) || fail "the daemon has waited for $((($(now_us) - began) / 1000)) ms behind strangers"
  kill "$crowd" 2>/dev/null
  nothing_is_left
}

# Nobody needs the port once all daemons are there.
test_launcher_stops_listening() {
  fake_nodes
  start_ready 6 "${remote[@]}" -n 6 ./stubborn
  local pid
  for pid in "$launched" "$(daemon_of 1)" "$(daemon_of 2)"; do
    [ -z "$(listening "$pid")" ] || fail "$(cat "/proc/$pid/comm") listens at $(listening "$pid")"
  done
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
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
