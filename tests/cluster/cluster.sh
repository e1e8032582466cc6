#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cluster.sh BUILD TEST
# Runs one test of Tutti on a cluster of three nodes (nodes.sh), with the programs of a build tree.
# The tests are the functions test_… below. Exit 77: this machine forbids namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
wanted=$2

fail() { echo "cluster: $*" >&2; exit 1; }
. "$here/nodes.sh"
. "$here/slurm.sh"

bin=$build/bin
programs=$build/tests/programs
where=$build/tests/cluster/where  # prints "rank R of N on HOST"
stay=$build/tests/cluster/stay    # prints "all here" and stays: half of the ranks asleep, half waiting
cd "$build"

# mpirun on node1: output and exit code in $bed/out and $code, seconds in $took.
launch() {
  local begin=$SECONDS
  code=0
  in_node node1 timeout "${limit:-60}" "$bin/mpirun" "$@" </dev/null >"$bed/out" 2>&1 || code=$?
  took=$((SECONDS - begin))
}
launch_behind() {
  in_node node1 "$bin/mpirun" "$@" </dev/null >"$bed/out" 2>&1 &
  launched=$!
}
said() { grep -q -- "$1" "$bed/out" || fail "expected \"$1\" in the output (exit code ${code:-?}): $(cat "$bed/out")"; }
went_well() { [ "$code" = 0 ] || fail "exit code $code: $(cat "$bed/out")"; }
went_wrong() { [ "$code" != 0 ] || fail "exit code 0 after a fault: $(cat "$bed/out")"; }
# within SECONDS COMMAND…
within() {
  local limit=$(($1 * 20)) tries
  shift
  for ((tries = 0; tries < limit; ++tries)); do
    "$@" && return
    sleep 0.05
  done
  return 1
}
# Judged after two seconds of grace, which is what a job may take to end.
nothing_is_left() {
  is_clean() { [ -z "$(leftovers)" ]; }
  within 3 is_clean || fail "left behind: $(leftovers)"
}
wait_until_all_here() {
  all_here() { grep -q "all here" "$bed/out"; }
  within 20 all_here || fail "the job did not start: $(cat "$bed/out")"
}
# ends_within SECONDS: the launcher started last, after a fault.
ends_within() {
  gone() { ! kill -0 "$launched" 2>/dev/null; }
  within "$1" gone || fail "mpirun still runs $1 s after the fault: $(cat "$bed/out")"
  code=0
  wait "$launched" || code=$?
}
all=node1:2,node2:2,node3:2

# --- the bed itself, with nothing of Tutti ---------------------------------------------------------

test_bed() {
  nodes_up node1 node2 node3
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

# --- right answers over three nodes ----------------------------------------------------------------

test_hosts() {
  nodes_up node1 node2 node3
  launch --host $all "$where"
  went_well
  [ "$(grep -c '^rank [0-5] of 6 on node[123]$' "$bed/out")" = 6 ] || fail "who ran where: $(cat "$bed/out")"
  for node in node1 node2 node3; do
    [ "$(grep -c "on $node\$" "$bed/out")" = 2 ] || fail "$node should run 2 ranks: $(cat "$bed/out")"
  done
  nothing_is_left
}

test_hostfile() {
  nodes_up node1 node2 node3
  printf '# comment\nnode3 slots=1\n\nnode1 slots=3\n' >"$bed/hostfile"
  launch --hostfile "$bed/hostfile" "$where"
  went_well
  [ "$(grep -c '^rank . of 4 on node1$' "$bed/out")" = 3 ] || fail "node1 should run 3 ranks: $(cat "$bed/out")"
  [ "$(grep -c '^rank . of 4 on node3$' "$bed/out")" = 1 ] || fail "node3 should run 1 rank: $(cat "$bed/out")"
  nothing_is_left
}

test_programs() {
  nodes_up node1 node2 node3
  local name
  for name in p2p.modes p2p.order p2p.status p2p.probe p2p.completion datatype.constructors datatype.usage \
    op.user comm.communicators comm.overlapping comm.threads coll.rooted coll.unrooted coll.derived coll.stress \
    coll.requests legal.collectives progress.overlap; do
    launch --host $all "$programs/program.$name"
    [ "$code" = 0 ] || fail "$name, exit code $code: $(cat "$bed/out")"
    echo "$name: $took s"
  done
  launch --host $all "$programs/program.cg" "$source_dir/tests/programs/cg/diffusion.mtx"
  went_well
  said "The solution is right."
  said "on node3"
  nothing_is_left
}

# --- faults ------------------------------------------------------------------------------------------

test_kill_node() {
  nodes_up node1 node2 node3
  launch_behind --host $all "$stay"
  wait_until_all_here
  crash_node node3
  ends_within 10
  went_wrong
  said node3
  nothing_is_left
}

test_cut_link() {
  nodes_up node1 node2 node3
  launch_behind --host $all "$stay"
  wait_until_all_here
  cut_link node2
  ends_within 30
  went_wrong
  said node2
  mend_link node2
  within 30 sh -c "! pgrep -f '^$stay' >/dev/null" || true
  nothing_is_left
}

test_kill_rank() {
  nodes_up node1 node2 node3
  launch_behind --host $all "$stay"
  wait_until_all_here
  in_node node2 sh -c 'kill -9 $(pgrep -x stay | head -1)'
  ends_within 10
  [ "$code" = 137 ] || fail "a rank killed by SIGKILL should give 137, not $code: $(cat "$bed/out")"
  nothing_is_left
}

test_kill_launcher() {
  nodes_up node1 node2 node3
  launch_behind --host $all "$stay"
  wait_until_all_here
  in_node node1 sh -c 'kill -9 $(pgrep -o -x mpirun)'
  nothing_is_left
}

test_interrupt() {
  nodes_up node1 node2 node3
  local signal
  for signal in INT TERM; do
    launch_behind --host $all "$stay"
    wait_until_all_here
    in_node node1 sh -c "kill -$signal \$(pgrep -o -x mpirun)"
    ends_within 10
    went_wrong
    nothing_is_left
  done
}

test_ssh_refused() {
  nodes_up node1 node2 node3
  stop_sshd node2
  limit=30 launch --host $all "$where"
  went_wrong
  [ "$code" != 124 ] || fail "mpirun hangs when ssh is refused: $(cat "$bed/out")"
  said node2
  nothing_is_left
}

test_unknown_host() {
  nodes_up node1 node2 node3
  limit=30 launch --host node1:1,nowhere:1 "$where"
  went_wrong
  [ "$code" != 124 ] || fail "mpirun hangs on an unknown host: $(cat "$bed/out")"
  said nowhere
  nothing_is_left
}

# --- Slurm -------------------------------------------------------------------------------------------

in_slurm() {
  code=0
  in_node node1 timeout 60 srun "$@" </dev/null >"$bed/out" 2>&1 || code=$?
}

test_slurm() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  in_slurm -N3 -n6 hostname
  went_well
  in_slurm --mpi=pmix -N3 -n6 "$where"
  went_well
  [ "$(grep -c '^rank [0-5] of 6 on node[123]$' "$bed/out")" = 6 ] || fail "who ran where: $(cat "$bed/out")"
  local name
  for name in p2p.modes coll.unrooted comm.overlapping op.user coll.stress; do
    in_slurm --mpi=pmix -N3 -n6 "$programs/program.$name"
    [ "$code" = 0 ] || fail "$name under srun, exit code $code: $(cat "$bed/out")"
  done
  in_slurm --mpi=pmix -N3 -n6 "$programs/program.cg" "$source_dir/tests/programs/cg/diffusion.mtx"
  went_well
  said "The solution is right."
}

# Six jobs of one would be the wrong answer to a forgotten option.
test_slurm_without_pmix() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  in_slurm --mpi=none -N3 -n6 "$where"
  went_wrong
  said "--mpi=pmix"
  grep -q "^rank 0 of 1" "$bed/out" && fail "ranks ran as jobs of one: $(cat "$bed/out")"
  in_slurm --mpi=none -N1 -n1 "$where"  # one process is a job of one, launcher or not
  went_well
  said "rank 0 of 1"
}

declare -F "test_$wanted" >/dev/null || fail "there is no test '$wanted'"
enter_the_bed "$build" "$wanted"
"test_$wanted"
echo "ok"
