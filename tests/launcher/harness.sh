# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh: what the tests of the launcher share. A test has a folder and a TMPDIR of
# its own, and a variable in the environment of all that it starts, by which it finds what a job has
# left behind.
mpirun=$build/bin/mpirun
hello=$build/tests/launcher/pmix_hello
traffic=$build/tests/launcher/traffic
stay=$build/tests/launcher/stay
departs=$build/tests/launcher/departs

unset ${!TUTTI_@}
work=$(mktemp -d "${TMPDIR:-/tmp}/launcher-test.XXXXXX")
export TMPDIR=$work/tmp TUTTI_TEST_MARK=$work TUTTI_TEST_JOB_FILE=$work/job XDG_CONFIG_HOME=$work/config
# Beside other tests a job would be bound to what these have left: whoever tests that says so.
export TUTTI_LAUNCH_SHARE_CORES=on
[ -z "$fan_out" ] || export TUTTI_LAUNCH_FAN_OUT=$fan_out
mkdir "$TMPDIR"
cd "$work"
segments_before=$(segments_without_users | tr '\n' ' ')

fail() {
  echo "$wanted: $*" >&2
  echo "--- output:" >&2
  tail -c 2000 out err $(ls server.err 2>/dev/null) >&2 2>/dev/null
  local pid
  for pid in $(processes); do ps -o pid,ppid,stat,wchan:20,comm,args -p "$pid" >&2; done
  exit 1
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
said_once() { [ "$(grep -cF -- "$1" err)" = 1 ] || fail "standard error should have once: $1"; }
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
  segments_without_users $segments_before | sed 's/^/segment /'
  processes
}
# After a job that ended by itself.
nothing_is_left() {
  start_clock
  nothing_stays
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
# start_ready RANKS ARGUMENT…: mpirun behind, until each of the ranks has said that it is ready.
start_ready() {
  local ranks=$1
  shift
  launch_behind "$@"
  within 20 all_ready "$ranks" || fail "the ranks do not start"
}
start_stubborn() { start_ready 3 -n 3 ./stubborn; }
# A hundred megabytes that are not all alike.
volume() { head -c 100000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null || head -c 100000000 /dev/urandom; }
