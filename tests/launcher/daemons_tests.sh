# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Daemons on this machine, by a shell that just runs the command: the wire
# without a network.

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
  start_ready 6 "${remote[@]}" -n 6 ./stubborn
}
test_killed_daemon() {
  start_stubborn_daemons
  # A daemon is its launcher's child by way of exec; its watchdog has another name.
  fault kill -9 "$(pgrep -P "$launched" -x tuttid | head -1)"
  ends_in_time
  expect_code 1
  said ".invalid is lost"
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

test_strangers_are_turned_away() {
  fake_nodes
  start_ready 6 "${remote[@]}" -n 6 ./stubborn
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
