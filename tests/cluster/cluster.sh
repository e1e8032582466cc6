#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cluster.sh BUILD TEST
# Runs one test of Tutti on a cluster of three nodes (nodes.sh), with the programs of a build tree.
# The tests are the functions test_… of the files *_tests.sh beside this one. Exit 77: this machine forbids namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
wanted=$2

fail() { echo "cluster: $*" >&2; exit 1; }
. "$here/../fault_bound.sh"
. "$here/../idle_bound.sh"
. "$here/nodes.sh"
. "$here/slurm.sh"

bin=$build/bin
programs=$build/tests/programs
where=$build/tests/cluster/where  # prints "rank R of N on HOST"
steps=$build/tests/cluster/steps  # MPI_Init, a barrier, an all-to-all, as far as it is told
reordered=$build/tests/cluster/reordered
departs=$build/tests/launcher/departs  # prints, and leaves in many ways
profiled=$build/tests/profile/profiled  # has times that are made on purpose
stay=$build/tests/launcher/stay   # prints "ready" and stays: half of the ranks asleep, half waiting
traffic=$build/tests/launcher/traffic  # prints "ready" amid messages; "stubborn": ends only by force
deadlock=$build/tests/contract/deadlock_program
fatal=$build/tests/contract/contract.fatal
cd "$build"

# What keeps a job that is not over in time: whom its ranks wait for, and for each process how long it has run, and how long
# it was ready to run and had no processor. Where the latter is most of the time the machine is busy with something else, and
# nothing stands still.
tell_of_late_job() {
  local pid ran ready
  echo "the job is not over after $1 s; load average $(cut -d' ' -f1-3 /proc/loadavg)"
  in_node node1 timeout 10 "$bin/tutti" why || true
  for pid in $(job_processes); do
    read -r ran ready _ <"/proc/$pid/schedstat" || continue
    echo "process $pid ($(cat "/proc/$pid/comm")): ran for $((ran / 1000000)) ms, had no processor for $((ready / 1000000)) ms," \
      "$(sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$pid/status") sleeps"
  done 2>/dev/null
}

# mpirun on node1: output and exit code in $bed/out and $code, seconds in $took. What is said of a job that does not end in
# time stands behind its output.
launch() {
  local begin=$SECONDS watcher within=${limit:-60}
  code=0
  rm -f "$bed/late"
  { sleep "$within" && tell_of_late_job "$within" >"$bed/late" 2>&1; } </dev/null >/dev/null 2>&1 &
  watcher=$!
  in_node node1 timeout $((within + 15)) "$bin/mpirun" "$@" </dev/null >"$bed/out" 2>&1 || code=$?
  took=$((SECONDS - begin))
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  [ ! -e "$bed/late" ] || cat "$bed/late" >>"$bed/out"
}
launch_behind() {
  : >"$bed/out"  # before it is looked at for what the job says
  in_node node1 "$bin/mpirun" "$@" </dev/null >"$bed/out" 2>&1 &
  launched=$!
}
said() { grep -q -- "$1" "$bed/out" || fail "expected \"$1\" in the output (exit code ${code:-?}): $(cat "$bed/out")"; }
went_well() { [ "$code" = 0 ] || fail "exit code $code: $(cat "$bed/out")"; }
went_wrong() { [ "$code" != 0 ] || fail "exit code 0 after a fault: $(cat "$bed/out")"; }
# After a job that ended by itself.
nothing_is_left() {
  start_clock
  nothing_stays
}
# start_ready ARGUMENT…: mpirun behind, on all nodes, until each rank has said that it is ready.
start_ready() {
  launch_behind "$@"
  all_ready() { [ "$(grep -c ready "$bed/out")" = "$ranks" ]; }
  within 20 all_ready || fail "the job did not start: $(cat "$bed/out")"
}
# each_program FAULT CHECK…: the fault to a job that is quiet, and to one that will not go.
each_program() {
  local harm=$1 program
  shift
  for program in "$stay" "$traffic" "$traffic stubborn"; do
    start_ready --host $all $program
    fault $harm
    ends_in_time
    "$@"
  done
}
nodes="node1 node2 node3"
all=node1:2,node2:2,node3:2
ranks=6
# The same, ranks 0 to 5 where they are, with four nodes more: a tree whose node2 has started node3 and node4, and
# node5 the rest (launch.fan_out=2).
if [ "${TUTTI_TEST_TREE:-}" = 1 ]; then
  nodes="$nodes node4 node5 node6 node7"
  all=$all,node4:1,node5:1,node6:1,node7:1
  ranks=10
fi

# --- the bed itself, with nothing of Tutti ---------------------------------------------------------

test_bed() {
  nodes_up $nodes
  [ "$(in_node node1 ssh node2 ssh node3 hostname)" = node3 ] || fail "ssh does not hop over the nodes"
  [ "$(in_node node2 sh -c 'touch /dev/shm/x /tmp/x; hostname')" = node2 ] || fail "node2 has another's name"
  [ -z "$(in_node node3 sh -c 'ls /dev/shm')" ] || fail "/dev/shm is shared between nodes"
  leftovers | grep -q "node2: /dev/shm/x" || fail "leftovers does not see a file in /dev/shm"
  in_node node2 rm /dev/shm/x /tmp/x
  [ -z "$(leftovers)" ] || fail "leftovers sees what is not there: $(leftovers)"
  in_node node1 cat /proc/sys/kernel/random/boot_id >"$bed/a"
  in_node node2 cat /proc/sys/kernel/random/boot_id | cmp -s - "$bed/a" && fail "two nodes have one boot id"
  cut_link node2
  in_node node1 timeout 1 ssh node2 true 2>/dev/null && fail "a cut link still carries ssh"
  mend_link node2
  within 5 in_node node1 ssh node2 true || fail "a mended link does not carry ssh"
  stop_sshd node3
  in_node node1 ssh node3 true 2>/dev/null && fail "ssh reaches a node without a sshd"
  in_node node3 true || fail "a node without a sshd is gone"
  crash_node node2
  in_node node1 timeout 2 ssh node2 true 2>/dev/null && fail "a crashed node answers"
  true
}

for tests in "$here"/*_tests.sh; do
  . "$tests"
done
declare -F "test_$wanted" >/dev/null || fail "there is no test '$wanted'"
enter_the_bed "$build" "$wanted"
"test_$wanted"
echo "ok"
