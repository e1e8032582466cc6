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
stay=$build/tests/launcher/stay   # prints "ready" and stays: half of the ranks asleep, half waiting
traffic=$build/tests/launcher/traffic  # prints "ready" amid messages; "stubborn": ends only by force
deadlock=$build/tests/contract/deadlock_program
fatal=$build/tests/contract/contract.fatal
cd "$build"

# mpirun on node1: output and exit code in $bed/out and $code, seconds in $took.
launch() {
  local begin=$SECONDS
  code=0
  in_node node1 timeout "${limit:-60}" "$bin/mpirun" "$@" </dev/null >"$bed/out" 2>&1 || code=$?
  took=$((SECONDS - begin))
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
  fault_at=$(now_us)
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

# --- right answers over three nodes ----------------------------------------------------------------

test_hosts() {
  nodes_up $nodes
  launch --host $all "$where"
  went_well
  [ "$(grep -c '^rank [0-5] of 6 on node[123]$' "$bed/out")" = 6 ] || fail "who ran where: $(cat "$bed/out")"
  for node in node1 node2 node3; do
    [ "$(grep -c "on $node\$" "$bed/out")" = 2 ] || fail "$node should run 2 ranks: $(cat "$bed/out")"
  done
  nothing_is_left
}

test_hostfile() {
  nodes_up $nodes
  printf '# comment\nnode3 slots=1\n\nnode1 slots=3\n' >"$bed/hostfile"
  launch --hostfile "$bed/hostfile" "$where"
  went_well
  [ "$(grep -c '^rank . of 4 on node1$' "$bed/out")" = 3 ] || fail "node1 should run 3 ranks: $(cat "$bed/out")"
  [ "$(grep -c '^rank . of 4 on node3$' "$bed/out")" = 1 ] || fail "node3 should run 1 rank: $(cat "$bed/out")"
  nothing_is_left
}

test_programs() {
  nodes_up $nodes
  local name
  for name in p2p.modes p2p.order p2p.status p2p.probe p2p.completion datatype.constructors datatype.usage \
    op.user comm.communicators comm.overlapping comm.threads coll.rooted coll.unrooted coll.derived coll.bcast_gaps \
    coll.stress coll.requests legal.collectives rma.fence rma.pscw rma.lock rma.atomics rma.derived rma.dynamic \
    rma.large rma.shared rma.errors; do
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

# Twelve ranks on three nodes: neighbours come to share a node, whether nodes were filled in blocks or in turns.
test_reorder() {
  nodes_up $nodes
  local how
  for how in slot node; do
    launch --host node1:4,node2:4,node3:4 --map-by "$how" "$reordered"
    went_well
    grep -E '(before|after)' "$bed/out"
    # Of four triangles one has no room on a node.
    for kind in graph adjacent distributed; do said "^$kind: 24 before, 6 after\$"; done
  done
  nothing_is_left
}

# Jobs that are spawned by ranks on either node, on the nodes of their parents, and whose messages cross these.
test_spawned() {
  nodes_up $nodes
  launch --host node1:1,node2:1,node3:1 "$programs/program.process.spawn" 3 3
  went_well
  [ "$(grep -c '^ok$' "$bed/out")" = 4 ] || fail "three jobs should be spawned: $(cat "$bed/out")"
  launch --host $all "$programs/program.process.spawn_multiple"
  went_well
  nothing_is_left
}

# A rank runs one program after the other, each with other addresses than the one before.
# Files in a folder that all nodes have: the shared pointer and the two phases over nodes.
test_files() {
  nodes_up $nodes
  local name
  for name in views modes representations overlap errors together datasets; do
    limit=300 launch --host $all env TMPDIR="$build/tests/cluster" "$programs/program.file.$name"
    [ "$code" = 0 ] || fail "$name, exit code $code: $(cat "$bed/out")"
    echo "$name: $took s"
  done
  nothing_is_left
}

test_program_after_program() {
  nodes_up $nodes
  launch --host $all sh -c '"$0" && "$0" && exec "$0"' "$programs/program.coll.unrooted"
  went_well
  nothing_is_left
}

# What is started completes though its peers stay away, over tcp as well, alone and with ranks of the
# same node; and a rank that has nothing to do is not disturbed.
test_progress() {
  nodes_up $nodes
  local name hosts
  for hosts in node1:1,node2:1 $all; do
    for name in overlap elsewhere user_function one_sided quiet; do
      launch --host $hosts "$programs/program.progress.$name"
      [ "$code" = 0 ] || fail "$name on $hosts, exit code $code: $(cat "$bed/out")"
      echo "$name on $hosts: $took s; $(grep "the slowest" "$bed/out" | sort -k4,4 -g | tail -1 || true)"
    done
  done
  nothing_is_left
}

# Where our own shared memory serves a node's ranks, UCX takes none for them; and it does where it is off,
# or where the user says so.
test_segments() {
  nodes_up node1 node2
  local how expected found
  for how in on off sysv; do
    expected=0
    [ $how = on ] || expected=2
    case $how in
      sysv) launch_behind --host node1:2,node2:2 -x UCX_TLS=tcp,sysv,self "$stay" ;;
      *) launch_behind --host node1:2,node2:2 --set transport.shared_memory=$how "$stay" ;;
    esac
    are_ready() { [ "$(grep -c ready "$bed/out")" = 4 ]; }
    within 20 are_ready || fail "$how: the job did not start: $(cat "$bed/out")"
    found=$(in_node node2 tail -n +2 /proc/sysvipc/shm | wc -l)
    if [ $expected = 0 ]; then
      [ "$found" = 0 ] || fail "$how: UCX has $found segments on node2"
    else
      ((found >= expected)) || fail "$how: UCX has $found segments on node2"
    fi
    fault in_node node1 sh -c 'kill -TERM $(pgrep -o -x mpirun)'
    ends_in_time
  done
}

test_shared_cores() {
  nodes_up $nodes
  launch --host $all "$build/tests/cluster/shared_cores"
  went_well
  cat "$bed/out"
  nothing_is_left
}

# Between ranks of a node nothing is as slow as to ask the network each time, which must not starve.
test_two_ways() {
  nodes_up node1 node2
  limit=150 launch --host node1:2,node2:1 "$build/tests/cluster/two_ways"
  went_well
  cat "$bed/out"
  nothing_is_left
}

# mpirun and its daemons look after each other, which must not show either.
test_idle() {
  nodes_up $nodes
  start_ready --host $all "$stay"
  is_idle $(job_processes)
  fault in_node node1 sh -c 'kill -TERM $(pgrep -o -x mpirun)'
  ends_in_time
}

# MPI_Init moves nobody's address: a node asks for those that its ranks write to, here the nodes' first
# ranks, which meet in an allreduce.
test_addresses() {
  nodes_up $nodes
  launch --host $all --set log.level=debug "$where"
  went_well
  local asked gathered
  asked=$(grep -c "asks for what rank [0-5] on node[123] has published" "$bed/out") || true
  gathered=$(grep -c "addresses of all ranks are gathered" "$bed/out") || true
  [ "$gathered" = 1 ] || fail "addresses are gathered $gathered times, not once: $(cat "$bed/out")"
  [ "$asked" = 0 ] || fail "$asked addresses asked for, one by one: $(cat "$bed/out")"
  nothing_is_left
}

test_options() {
  nodes_up $nodes
  # -x: of this program alone, with a value or with the one that it has here.
  FROM_HERE=here launch --host $all -x 'GIVEN=a b' -x FROM_HERE -n 3 --map-by node sh -c 'echo "$(hostname) $GIVEN $FROM_HERE"'
  went_well
  for node in node1 node2 node3; do said "^$node a b here\$"; done
  # --wdir, and what is said where a node lacks it.
  in_node node1 mkdir /tmp/wd
  launch --host $all --wdir /media -n 6 pwd
  went_well
  [ "$(grep -c '^/media$' "$bed/out")" = 6 ] || fail "--wdir: $(cat "$bed/out")"
  launch --host $all --wdir /tmp/wd -n 6 pwd
  went_wrong
  said "cannot start rank [0-9] on node[23]: folder /tmp/wd: No such file or directory; --wdir chooses another"
  in_node node1 rmdir /tmp/wd
  # Several programs, each on its own nodes, in one job.
  launch --host node3:1 -n 1 "$where" : --host node1:2,node2:2 -n 3 "$where" : -n 1 --host node2:2 "$where"
  went_well
  local line
  for line in "rank 0 of 5 on node3" "rank 1 of 5 on node1" "rank 2 of 5 on node1" "rank 3 of 5 on node2" "rank 4 of 5 on node2"; do
    said "^$line\$"
  done
  # --map-by: the ranks of each node, in order.
  mapped() {
    local how=$1 expected=$2 got
    launch --host $all --map-by "$how" -n "$3" --tag-output hostname
    went_well
    got=$(grep '^\[' "$bed/out" | sort -V | sed 's/.*node//' | tr -d '\n')
    [ "$got" = "$expected" ] || fail "--map-by $how: ranks on nodes $got instead of $expected"
  }
  mapped slot 112233 6
  mapped core 112233 6
  mapped slot 11223 5
  mapped node 123123 6
  mapped node 1231 4
  mapped ppr:1:node 123 3
  launch --host $all --map-by slot:nooversubscribe -n 7 hostname
  went_wrong
  said "nooversubscribe"
  # The exit code of the rank that failed, and the time that a job may take.
  launch --host $all --tag-output sh -c '[ "$PMIX_RANK" = 5 ] && exit 42; sleep 600'
  [ "$code" = 42 ] || fail "exit code $code instead of 42: $(cat "$bed/out")"
  said "rank 5 on node3 (sh, process [0-9]*) exited with code 42"
  launch --host $all --timeout 0.5 "$traffic" stubborn
  [ "$code" = 124 ] || fail "exit code $code instead of 124: $(cat "$bed/out")"
  said "its time (--timeout 0.5) is over"
  nothing_is_left
}

test_streams() {
  nodes_up $nodes
  # Lines stay whole when the ranks of three nodes write them at once, in small pieces.
  launch --host $all --tag-output awk 'BEGIN { for (i = 0; i < 1500; ++i) { for (j = 0; j < 6; ++j) { printf "%s%s%s", ENVIRON["PMIX_RANK"], ENVIRON["PMIX_RANK"], ENVIRON["PMIX_RANK"]; fflush() } print "" } }'
  went_well
  local rank
  for rank in 0 1 2 3 4 5; do
    [ "$(grep -cxE "\[$rank\] $rank{18}" "$bed/out")" = 1500 ] || fail "lines of rank $rank are mixed or lost"
  done
  # Input goes to rank 0, wherever that is; the others have none.
  head -c 3000000 /dev/urandom >"$bed/in"
  for first in node1 node2; do
    in_node node1 timeout 60 "$bin/mpirun" --host "$first:1,node3:2" -n 3 sh -c 'if [ "$PMIX_RANK" = 0 ]; then cat; else [ "$(wc -c)" = 0 ] || echo "rank $PMIX_RANK has input"; fi' \
      <"$bed/in" >"$bed/out" 2>"$bed/err" || fail "exit code $?: $(cat "$bed/err")"
    cmp "$bed/in" "$bed/out" || fail "input changed on its way to rank 0 on $first"
  done
  nothing_is_left
}

# --- what is said about ranks on all nodes ------------------------------------------------------------

# Continues a suspended mpirun, and after it the nsenter that has stopped itself with it. In this
# order: nsenter continues its child, too, which may have ended the job before anyone looks for it.
continue_launcher() {
  in_node node1 sh -c 'kill -CONT $(pgrep -o -x mpirun)'
  kill -CONT $(pgrep -P "$launched")
}

why() { in_node "$1" timeout 20 "$bin/tutti" why "${@:2}" >"$bed/why" 2>&1; }
told() { grep -qE -- "$1" "$bed/why" || fail "tutti why should tell \"$1\": $(cat "$bed/why")"; }
# Once all ranks are where they stay, on every node.
settled() {
  why node1 --json && [ "$(grep -c '"call":"MPI_Recv.*"state":"inside"\|"state":"inside".*"call":"MPI_Recv' "$bed/why")" = 3 ] &&
    [ "$(grep -c '"kernel":"asleep in pause"' "$bed/why")" = 3 ]
}
# field RANK NAME: of tutti why --json.
field() { grep "\"rank\":$1," "$bed/why" | grep -oE "\"$2\":(\"[^\"]*\"|[0-9]+)" | cut -d: -f2- | tr -d '"'; }

# tutti why on mpirun's node sees the ranks of all nodes, also those that are stopped there; on another
# node it says where to ask. Nothing of it outlives mpirun.
test_why() {
  nodes_up $nodes
  start_ready --host $all "$stay"
  within 20 settled || fail "the ranks are not seen where they stay: $(cat "$bed/why")"
  [ "$(field 3 host) $(field 4 host)" = "node2 node3" ] || fail "hosts: $(cat "$bed/why")"
  in_node node2 kill -STOP "$(field 3 pid)"
  why node1 || fail "exit code $?: $(cat "$bed/why")"
  told "^job [0-9a-f]+: stay, all of its 6 ranks are seen$"
  told "^  ranks 0, 2, 4: outside of MPI, asleep in pause; the latest call was MPI_Barrier\(\) on MPI_COMM_WORLD \(6 ranks\) at .*, [0-9.]+ s ago; on node1, node2, node3$"
  told "^  ranks 1, 5: in MPI_Recv\(1 of MPI_INT, from 0, tag 99\) on MPI_COMM_WORLD \(6 ranks\), called at .*, for [0-9.]+ s; on node1, node3$"
  told "^  rank 3: stopped; in MPI_Recv\(.* for [0-9.]+ s; on node2 \(process [0-9]+\)$"
  why node1 --json
  in_node node2 kill -CONT "$(field 3 pid)"
  [ "$(field 3 process_state)" = T ] || fail "a stopped rank of node2 in JSON: $(cat "$bed/why")"
  why node1 --record 0 5 || fail "exit code $?: $(cat "$bed/why")"
  told "^the [0-9]+ collective calls that both records hold agree$"
  why node1 --dump 5
  told "^rank 5 on node3: its latest [0-9]+ collective calls, the oldest first$"
  told "^  [0-9]+ on MPI_COMM_WORLD \(6 ranks\): MPI_Barrier\(\) at "
  why node1 --record 0 6 && fail "a rank that does not exist is compared"
  told "has no rank 6 that is seen from here"
  # Elsewhere: its own ranks, and where to ask.
  why node2
  told "2 of its 6 ranks are seen from here"
  told "its mpirun runs on node1 and knows of all: try 'tutti why [0-9a-f]+' there"
  # A stopped mpirun cannot answer, but what is here is seen.
  in_node node1 sh -c 'kill -STOP $(pgrep -o -x mpirun)'
  why node1
  continue_launcher
  told "the mpirun of job [0-9a-f]+ does not answer; is it stopped\?"
  told "2 of its 6 ranks are seen from here"
  # A signal to mpirun tells the same.
  in_node node1 sh -c 'kill -QUIT $(pgrep -o -x mpirun)'
  seen_by_mpirun() { grep -q "all of its 6 ranks are seen" "$bed/out"; }
  within 10 seen_by_mpirun || fail "SIGQUIT: $(cat "$bed/out")"
  said "ranks 1, 3, 5: in MPI_Recv(.*on node1, node2, node3"
  in_node node1 grep -q '@tutti\..*\.why' /proc/net/unix || fail "mpirun does not listen where this test looks"
  fault in_node node1 sh -c 'kill -9 $(pgrep -o -x mpirun)'
  ends_in_time
  in_node node1 grep '@tutti\.' /proc/net/unix && fail "a socket is left"
  true
}

test_timeout_tells() {
  nodes_up $nodes
  launch --host $all --timeout 2 "$stay"
  [ "$code" = 124 ] || fail "exit code $code instead of 124: $(cat "$bed/out")"
  said "all of its 6 ranks are seen"
  said "ranks 1, 3, 5: in MPI_Recv(.*on node1, node2, node3"
  said "ranks 0, 2, 4: outside of MPI, asleep in pause"
  nothing_is_left
}

# Wrong programs over several nodes: one report each.
test_deadlock() {
  nodes_up $nodes
  local how report
  stuck() {
    limit=30 launch --set contract.standstill=500ms --host "$1" "$deadlock" "$2"
    [ "$code" = 86 ] || fail "$2 on $1: exit code $code instead of 86: $(cat "$bed/out")"
    [ "$(grep -c 'deadlock: ' "$bed/out")" = 1 ] || fail "$2 on $1: not one report: $(cat "$bed/out")"
    said "deadlock: $3"
    nothing_is_left
  }
  stuck node1:1,node2:1 receives "ranks 0 and 1 wait for each other"
  said "rank 1 on node2.*MPI_Recv\|rank 1.*MPI_Recv.*waits for rank 0"
  stuck node1:2,node2:2 ring "ranks 0 to 3 wait for each other"
  stuck node1:1,node2:2 three_bcasts "ranks 0 to 2 wait for each other"
  stuck node1:2,node2:1 barrier_against_recv "ranks .* wait for each other"
}

test_mismatch() {
  nodes_up $nodes
  local case
  for case in order form root op count type; do
    for how in node1:1,node2:2 node1:2,node2:1; do
      limit=30 launch --host $how "$fatal" $case
      went_wrong
      [ "$code" != 124 ] || fail "$case on $how hangs: $(cat "$bed/out")"
      [ "$(grep -c 'error:' "$bed/out")" = 1 ] || fail "$case on $how: not one report: $(cat "$bed/out")"
      said "^tutti: error: ranks\? .* calls\? MPI_.* where ranks\? .*, on MPI_COMM_WORLD (3 ranks)"
    done
  done
  nothing_is_left
}

# --- faults ------------------------------------------------------------------------------------------

# A node is gone for good: a bed for each program.
node_is_lost() {
  nodes_up $nodes
  start_ready --host $all "$@"
  fault crash_node node3
  ends_in_time
  went_wrong
  said "node node3 is lost"
}
test_kill_node() { node_is_lost "$stay"; }
test_kill_node_amid_messages() { node_is_lost "$traffic" stubborn; }

# Both sides of a cable that is pulled end, each by itself.
test_cut_link() {
  nodes_up $nodes
  node2_is_missed() {
    went_wrong
    said "node node2 is lost"
    mend_link node2
    within 5 in_node node1 ssh node2 true || fail "a mended link does not carry ssh"
  }
  each_program "cut_link node2" node2_is_missed
}

# A node that is still there, and does not answer: its daemon is stopped.
test_stopped_daemon() {
  nodes_up $nodes
  local harm
  stop_daemon() { in_node node2 sh -c 'kill -STOP $(pgrep -x tuttid)'; }
  of_mpirun() { in_node node1 sh -c "kill -$1 \$(pgrep -o -x mpirun)"; }
  for harm in INT TERM KILL; do
    start_ready --host $all "$traffic" stubborn
    stop_daemon
    fault of_mpirun $harm
    ends_in_time
    went_wrong
    [ $harm = KILL ] || said "processes of the job may still run on node2 (its daemon does not answer)"
  done
  start_ready --set launch.kill_grace=60s --host $all "$traffic" stubborn
  stop_daemon
  of_mpirun INT
  told() { grep -q "the job ends: Interrupt" "$bed/out"; }
  within 5 told || fail "mpirun does not hear the first interrupt"
  fault of_mpirun INT
  ends_in_time
  said "processes of the job may still run on node2 (its daemon does not answer)"
}

# The user asks for the end while a node is out of reach, before that is noticed and once more.
test_cut_link_and_interrupt() {
  nodes_up $nodes
  local times
  harm() {
    cut_link node2
    in_node node1 sh -c 'kill -INT $(pgrep -o -x mpirun)'
    [ $times = 1 ] || { sleep 0.2; in_node node1 sh -c 'kill -INT $(pgrep -o -x mpirun)'; }
  }
  for times in 1 2; do
    start_ready --host $all "$traffic" stubborn
    fault harm
    ends_in_time
    [ "$code" = 130 ] || fail "exit code $code: $(cat "$bed/out")"
    said "processes of the job may still run on node2"
    mend_link node2
    within 5 in_node node1 ssh node2 true || fail "a mended link does not carry ssh"
  done
}

# What a node sends is dropped there, before it is counted as sent; what it gets still comes.
test_dropped_packets() {
  command -v iptables >/dev/null || { echo "skipped: there is no iptables"; exit 77; }
  nodes_up $nodes
  drop() { in_node node2 iptables -A OUTPUT -o eth0 -p tcp -j DROP; }
  start_ready --host $all "$traffic" stubborn
  fault drop
  ends_in_time
  went_wrong
  in_node node2 iptables -F OUTPUT
  # A launcher that is suspended sends nothing that could tell node2, whose own kernel has to.
  start_ready --host $all "$stay"
  in_node node1 sh -c 'kill -STOP $(pgrep -o -x mpirun)'
  fault drop
  node2_is_clean() { [ -z "$(in_node node2 pgrep -x 'stay|tuttid')" ]; }
  within "$(patience_left)" node2_is_clean || fail "$(since_fault) s after the fault node2 still has $(in_node node2 pgrep -a 'stay|tuttid')"
  in_node node2 iptables -F OUTPUT
  fault continue_launcher
  ends_in_time
  went_wrong
}

# A launcher that is suspended is not mute: its kernel acknowledges.
test_suspended_launcher() {
  nodes_up $nodes
  start_ready --host $all "$stay"
  in_node node1 sh -c 'kill -STOP $(pgrep -o -x mpirun)'
  sleep 5
  continue_launcher
  sleep 1
  [ "$(job_processes | wc -l)" -ge 9 ] || fail "the job did not survive: $(cat "$bed/out")"
  fault in_node node1 sh -c 'kill -TERM $(pgrep -o -x mpirun)'
  ends_in_time
}

test_kill_rank() {
  nodes_up $nodes
  one_of_node2() { in_node node2 sh -c 'kill -9 $(pgrep -x "stay|traffic" | head -1)'; }
  rank_is_blamed() {
    went_wrong
    [ "$code" = 137 ] || fail "a rank killed by SIGKILL should give 137, not $code: $(cat "$bed/out")"
    said "on node2 (.*was killed by signal 9"
  }
  each_program one_of_node2 rank_is_blamed
  # Its daemon tells of the death when ranks elsewhere have seen their connections break.
  told_late() { in_node node2 sh -c 'kill -STOP $(pgrep -x tuttid); kill -9 $(pgrep -x traffic | head -1); sleep 0.1; kill -CONT $(pgrep -x tuttid)'; }
  start_ready --host $all "$traffic"
  fault told_late
  ends_in_time
  rank_is_blamed
}

# Inside of MPI_Init, where the memory of each node's ranks still has its name: one of them is held back,
# and will not go.
test_killed_inside_init() {
  nodes_up $nodes
  local node harm
  have_memory() {
    for node in node1 node2 node3; do
      in_node $node sh -c 'grep -q /dev/shm/tutti "/proc/$(pgrep -x where)/maps" && ls /dev/shm/tutti.*' >"$bed/memory" 2>&1 || return
    done
  }
  the_launcher() { in_node node1 sh -c 'kill -9 $(pgrep -o -x mpirun)'; }
  the_user() { in_node node1 sh -c 'kill -TERM $(pgrep -o -x mpirun)'; }
  a_rank() { in_node node2 sh -c 'kill -9 $(pgrep -x where)'; }
  a_rank_held_back() { in_node node2 sh -c 'kill -9 $(pgrep -x held)'; }
  a_daemon() { in_node node3 sh -c 'kill -9 $(pgrep -o -x tuttid)'; }
  for harm in the_launcher the_user a_rank a_rank_held_back a_daemon "crash_node node3"; do
    launch_behind --host $all bash -c '((PMIX_RANK % 2)) || exec "$0"
      printf held >/proc/self/comm; trap "" TERM INT HUP; while :; do sleep 600; done' "$where"
    within 20 have_memory || fail "$harm: the ranks do not come to their shared memory: $(cat "$bed/out" "$bed/memory")"
    fault $harm
    ends_in_time
    went_wrong
  done
}

# A rank that leaves before MPI_Init, before others wait for it there and while they do.
test_absent_rank() {
  nodes_up $nodes
  launch --host $all sh -c '[ "$PMIX_RANK" != 0 ] || exit 0; exec "$0"' "$where"
  [ "$code" = 1 ] || fail "exit code $code: $(cat "$bed/out")"
  said "rank 0 on node1 (sh, process [0-9]*) exited with code 0 without calling MPI_Init, and ranks\? .* waits\? for it there"
  ((took < 10)) || fail "it took $took s"
  launch_behind --host $all sh -c '[ "$PMIX_RANK" != 5 ] || { while ! [ -e /tmp/go ]; do sleep 0.02; done; exit 0; }; exec "$0"' "$where"
  sleep 2.5  # beyond the time after which ranks say that they wait
  fault in_node node3 touch /tmp/go
  wait "$launched" && fail "exit code 0: $(cat "$bed/out")"
  in_node node3 rm /tmp/go
  nothing_stays
  said "rank 5 on node3 (sh, process [0-9]*) exited with code 0 without calling MPI_Init, and ranks\? .* waits\? for it there"
  launch --host $all sh -c '[ "$PMIX_RANK" != 3 ] || sleep 3; exec "$0"' "$where"
  went_well
}

test_kill_daemon() {
  nodes_up $nodes
  daemon_of_node3() { in_node node3 sh -c 'kill -9 $(pgrep -o -x tuttid)'; }
  daemon_is_missed() {
    went_wrong
    said "node3"
  }
  each_program daemon_of_node3 daemon_is_missed
}

test_kill_launcher() {
  nodes_up $nodes
  the_launcher() { in_node node1 sh -c 'kill -9 $(pgrep -o -x mpirun)'; }
  each_program the_launcher went_wrong
}

# The ranks of a node and its daemon at once, as when the kernel's memory killer runs wild.
test_kill_all_of_a_node() {
  nodes_up $nodes
  all_of_node2() { in_node node2 sh -c 'kill -9 $(pgrep -x "stay|traffic|tuttid") 2>/dev/null || true'; }
  each_program all_of_node2 went_wrong
}

test_interrupt() {
  nodes_up $nodes
  local signal
  for signal in INT TERM HUP; do
    signal_launcher() { in_node node1 sh -c "kill -$signal \$(pgrep -o -x mpirun)"; }
    each_program signal_launcher went_wrong
  done
}

# Seven nodes as a tree of depth two: node1 starts 2 and 5, those start 3, 4 and 6, 7.
seven=node1,node2,node3,node4,node5,node6,node7
tree_up() { nodes_up node1 node2 node3 node4 node5 node6 node7; }
on_tree() { launch --set launch.fan_out=2 --host "$(sed 's/\(node[0-9]\)/\1:2/g' <<<"$seven")" "$@"; }
each_rank_is_in_place() {
  local rank
  went_well
  for ((rank = 0; rank < 14; ++rank)); do said "rank $rank of 14 on node$((rank / 2 + 1))$"; done
}
test_tree() {
  tree_up
  on_tree "$where"
  each_rank_is_in_place
  nothing_is_left
  # Every node's ranks write more than a connection holds; no byte is lost on the way.
  on_tree sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
  went_well
  [ "$(tr -cd x <"$bed/out" | wc -c)" = 42000000 ] || fail "of 42000000 bytes $(tr -cd x <"$bed/out" | wc -c) came"
  # The launcher has two shells, and so have its children.
  launch_behind --set launch.fan_out=2 --host $seven "$stay"
  all_seven() { [ "$(grep -c ready "$bed/out")" = 7 ]; }
  within 30 all_seven || fail "the job did not start: $(cat "$bed/out")"
  local node
  for node in node1 node2 node5; do
    [ "$(in_node $node pgrep -c -x ssh)" = 2 ] || fail "$node has started $(in_node $node pgrep -c -x ssh) daemons, not 2"
  done
  for node in node3 node4 node6 node7; do
    ! in_node $node pgrep -x ssh >/dev/null || fail "$node has started a daemon"
  done
  in_node node1 sh -c 'kill -INT $(pgrep -o -x mpirun)'
  wait $launched || true
  # A node that cannot reach others: its own parent starts what it was to start.
  in_node node2 sh -c 'echo "ProxyCommand false" >/etc/ssh/ssh_config.d/0.conf'
  on_tree "$where"
  each_rank_is_in_place
  nothing_is_left
}
# The addresses of all ranks cost each node below mpirun's as many messages however many ranks it has: it is asked,
# answers, and is told, and may have said before that it wants them. In a tree these travel each link once, too.
test_messages() {
  tree_up
  local fan_out each kind
  # of KIND: how many messages of it mpirun has counted
  of() { grep -oE "[:,] $1 [0-9]+ \(" "$bed/out" | grep -oE '[0-9]+' || echo 0; }
  for fan_out in 32 2; do
    for each in 4 8; do
      launch -v -x TUTTI_LOG_LEVEL=note --set wait.spins=1 --set launch.fan_out=$fan_out \
        --host "$(sed "s/\(node[0-9]\)/\1:$each/g" <<<"$seven")" "$steps" alltoall
      went_well
      said "messages of .* bytes: challenge 6 (.*), launch 6 (.*)"
      for kind in give_addresses addresses take_addresses; do
        [ "$(of $kind)" = 6 ] || fail "fan-out $fan_out, $each ranks a node: $(of $kind) of $kind, not 6: $(cat "$bed/out")"
      done
      [ "$(of addresses_wanted)" -le 6 ] || fail "addresses are wanted $(of addresses_wanted) times: $(cat "$bed/out")"
      [ "$(of modex_wanted)" = 0 ] || fail "ranks have asked one by one: $(cat "$bed/out")"
      # One fence in MPI_Init and one in MPI_Finalize.
      for kind in fence fence_done; do
        [ "$(of $kind)" = 12 ] || fail "fan-out $fan_out, $each ranks a node: $(of $kind) of $kind, not 12: $(cat "$bed/out")"
      done
    done
  done
  nothing_is_left
}
test_tree_faults() {
  tree_up
  local harm
  # An inner daemon, the last one of the tree, an inner node, and a rank.
  daemon_of() { in_node "$1" sh -c 'kill -9 $(pgrep -o -x tuttid)'; }
  for harm in "daemon_of node2" "daemon_of node7" "in_node node6 pkill -9 -x -o stay" "crash_node node5"; do
    launch_behind --set launch.fan_out=2 --host $seven "$stay"
    all_seven() { [ "$(grep -c ready "$bed/out")" = 7 ]; }
    within 30 all_seven || fail "the job did not start: $(cat "$bed/out")"
    fault $harm
    ends_in_time
    went_wrong
    said "$(grep -o 'node[0-9]' <<<"$harm")"
  done
}
test_ssh_refused() {
  nodes_up $nodes
  stop_sshd node2
  limit=30 launch --host $all "$where"
  went_wrong
  [ "$code" != 124 ] || fail "mpirun hangs when ssh is refused: $(cat "$bed/out")"
  said node2
  nothing_is_left
}

test_unknown_host() {
  nodes_up $nodes
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
  # Who is late for the second program of its rank is waited for there.
  in_slurm --mpi=pmix -N3 -n6 sh -c '"$0" && { [ "$SLURM_LOCALID" != "$1" ] || sleep 2; } && exec "$0"' \
    "$programs/program.p2p.order" 0
  went_well
  ! grep warning "$bed/out" || fail "warned"
  in_slurm --mpi=pmix -N3 -n6 "$programs/program.cg" "$source_dir/tests/programs/cg/diffusion.mtx"
  went_well
  said "The solution is right."
}

# Six jobs of one would be the wrong answer to a forgotten option.
# Slurm's PMIx server starts no processes: the program hears so, soon; by mpirun in the same allocation it may spawn.
test_slurm_spawn() {
  slurm_configuration 2
  nodes_up ctl node1 node2
  slurm_up
  in_slurm --mpi=pmix -N2 -n2 "$programs/program.process.spawn" 2 1
  [ "$code" != 0 ] || fail "it spawned under srun: $(cat "$bed/out")"
  said "MPI_Comm_spawn: srun has started this job, and Slurm's PMIx server starts no processes"
  code=0
  in_node ctl timeout 60 salloc -Q -N2 -n2 "$bin/mpirun" "$programs/program.process.spawn" 2 1 </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
}

# Ranks that are killed while they start: nobody is there to remove a name.
test_slurm_killed_at_start() {
  slurm_configuration 1
  nodes_up ctl node1
  slurm_up
  in_node node1 srun --mpi=pmix -N1 -n2 sh -c '[ "$SLURM_PROCID" = 0 ] || sleep 1000; exec "$0"' "$where" \
    </dev/null >"$bed/out" 2>&1 &
  launched=$!
  has_memory() { in_node node1 sh -c 'grep -lE "/dev/shm/tutti|memfd:tutti" /proc/$(pgrep -x where)/maps' >"$bed/maps" 2>&1; }
  within 20 has_memory || fail "the first rank does not come to its shared memory: $(cat "$bed/out" "$bed/maps")"
  in_node node1 pkill -9 -x 'where|sleep|sh'
  wait "$launched" && fail "the job ended well: $(cat "$bed/out")"
  no_memory_stays() { [ -z "$(in_node node1 sh -c 'ls -A /dev/shm')" ]; }
  within 5 no_memory_stays || fail "left in /dev/shm: $(in_node node1 sh -c 'ls -la /dev/shm')"
  # When all of its ranks come, and be it late, the job goes by that memory: UCX, which could not, is not needed.
  in_slurm --mpi=pmix -N1 -n2 sh -c '[ "$SLURM_PROCID" = 1 ] || sleep 3; TUTTI_TRANSPORT_UCX_TLS=none exec "$0"' "$where"
  went_well
}

# Nobody of ours sees who has ended there: a rank says for whom it waits, and who is late is waited for.
test_slurm_absent_rank() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  in_slurm --mpi=pmix -N3 -n6 sh -c '[ "$PMIX_RANK" != 0 ] || sleep 21; exec "$0"' "$where"
  went_well
  [ "$(grep -c 'MPI_Init has waited' "$bed/out")" = 1 ] || fail "not said once: $(cat "$bed/out")"
  said "\[rank 1 on node1\] warning: MPI_Init has waited 1[5-9] s for rank 0, of which nothing is known yet.*srun --wait=SECONDS"
  in_slurm --mpi=pmix --wait=2 -N3 -n6 sh -c '[ "$PMIX_RANK" != 0 ] || exit 0; exec "$0"' "$where"
  went_wrong
  [ "$code" != 124 ] || fail "srun --wait does not end the step: $(cat "$bed/out")"
}

# Slurm takes it for a good end, and the others would wait for ever.
test_slurm_left_without_finalize() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  local how
  for how in "exit 3" "exit 0" "return 0"; do
    in_slurm --mpi=pmix -N3 -n6 "$departs" $how
    went_wrong
    [ "$code" != 124 ] || fail "'$how' leaves the others waiting: $(cat "$bed/out")"
    said "\[rank 5 on node3\] error: this rank exited with code ${how#* } without MPI_Finalize; the job ends"
  done
  ! grep -q UCX "$bed/out" || fail "a library's own words: $(cat "$bed/out")"
  for how in finalize_late child; do
    in_slurm --mpi=pmix -N3 -n6 "$departs" $how
    went_well
  done
  # What was printed before the job ended is not lost there either.
  in_slurm --mpi=pmix -N3 -n6 "$departs" abort
  went_wrong
  said "kept by stdio"
  said "kept by C++"
}

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

# mpirun inside of an allocation: the nodes and their slots are Slurm's, daemons come by srun (there is
# no sshd on two of the nodes).
test_slurm_allocation() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  stop_sshd node2
  stop_sshd node3
  cat >"$bed/script" <<TEXT
#!/bin/sh
"$bin/mpirun" "$where" && "$bin/mpirun" -n 2 --host node2,node3 --map-by node "$where" && echo "script is done"
"$bin/mpirun" -n 2 --host node9 "$where"
TEXT
  code=0
  in_node node1 timeout 60 sbatch --wait -N3 --ntasks-per-node=2 -o "$bed/out" "$bed/script" >"$bed/sbatch" 2>&1 || code=$?
  said "script is done"
  grep -q "srun:" "$bed/out" && fail "srun's chatter comes through: $(cat "$bed/out")"
  for line in "rank 0 of 6 on node1" "rank 2 of 6 on node2" "rank 5 of 6 on node3" "rank 0 of 2 on node2" "rank 1 of 2 on node3"; do
    said "^$line\$"
  done
  said "node9: the Slurm allocation of job [0-9]* does not name it"
  # From a submit host, which is no part of the allocation; and from inside of a step.
  code=0
  in_node ctl timeout 60 salloc -Q -N3 -n5 "$bin/mpirun" "$where" </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  [ "$(grep -c '^rank [0-4] of 5 on node[123]$' "$bed/out")" = 5 ] || fail "salloc: $(cat "$bed/out")"
  code=0
  in_node node1 timeout 60 salloc -Q -N3 -n6 srun -N1 -n1 "$bin/mpirun" "$where" </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  [ "$(grep -c '^rank [0-5] of 6 on node[123]$' "$bed/out")" = 6 ] || fail "in a step: $(cat "$bed/out")"
  nothing_is_left
}

# Hybrid jobs, and those of several components: nodes, tasks and cores of each are Slurm's.
test_slurm_components() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  stop_sshd node2
  stop_sshd node3
  cat >"$bed/script" <<TEXT
#!/bin/sh
"$bin/mpirun" "$where" && "$bin/mpirun" -n 2 --host node3 "$where" && echo "script is done"
TEXT
  code=0
  in_node node1 timeout 60 sbatch --wait -o "$bed/out" -w node1 -N1 -n1 : -w node2,node3 -N2 --ntasks-per-node=2 "$bed/script" \
    >"$bed/sbatch" 2>&1 || code=$?
  said "script is done"
  for line in "rank 0 of 5 on node1" "rank 1 of 5 on node2" "rank 2 of 5 on node2" "rank 3 of 5 on node3" \
              "rank 4 of 5 on node3" "rank 0 of 2 on node3" "rank 1 of 2 on node3"; do
    said "^$line\$"
  done
  # From a submit host, and with other counts of cores: two ranks, each with all that its node grants.
  code=0
  in_node ctl timeout 60 salloc -Q -N1 -n1 -c2 : -N1 -n1 -c2 "$bin/mpirun" --report-bindings "$where" \
    </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  [ "$(grep -c '^rank [01] of 2 on node[123]$' "$bed/out")" = 2 ] || fail "salloc: $(cat "$bed/out")"
  local wanted=$(nproc)
  [ "$wanted" -le 2 ] || wanted=2
  [ "$(grep -cE "^tutti: rank [01] on node[123]: core .*\(processors [0-9]+$([ $wanted = 1 ] || echo '[-,][0-9]+')\)" "$bed/out")" = 2 ] ||
    fail "not $wanted cores each: $(cat "$bed/out")"
  # The components are sets of processes.
  code=0
  in_node ctl timeout 60 salloc -Q -N1 -n2 : -N1 -n1 "$bin/mpirun" sh -c 'echo $TUTTI_PSETS' </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  [ "$(grep -cx 'slurm://het-group/0:0-1;slurm://het-group/1:2' "$bed/out")" = 3 ] || fail "sets: $(cat "$bed/out")"
  local wish_option_order wish option order
  # What salloc was asked about the places of tasks holds for ranks; an option is stronger.
  for wish_option_order in '-m cyclic||123123' '-m block||112233' '-m cyclic|--map-by slot|112233'; do
    IFS='|' read -r wish option order <<<"$wish_option_order"
    code=0
    in_node ctl timeout 60 salloc -Q -N3 -n6 --ntasks-per-node=2 $wish "$bin/mpirun" $option --dry-run \
      --display map:parseable "$where" </dev/null >"$bed/out" 2>&1 || code=$?
    went_well
    [ "$(sed -n 's/^map rank=.* node=node\([123]\) .*/\1/p' "$bed/out" | tr -d '\n')" = "$order" ] ||
      fail "$wish_option_order: $(cat "$bed/out")"
  done
  nothing_is_left
}

test_slurm_faults() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  local harm
  the_rank() { in_node node2 sh -c 'kill -9 $(pgrep -o -x traffic)'; }
  the_user() { in_node ctl sh -c 'kill -TERM $(pgrep -o -x mpirun)'; }
  for harm in the_rank the_user "crash_node node3"; do
    : >"$bed/out"
    in_node ctl salloc -Q -N3 -n6 "$bin/mpirun" "$traffic" stubborn </dev/null >"$bed/out" 2>&1 &
    launched=$!
    all_ready() { [ "$(grep -c ready "$bed/out")" = 6 ]; }
    within 20 all_ready || fail "the job did not start: $(cat "$bed/out")"
    fault $harm
    ends_in_time
    went_wrong
  done
}

# On the nodes there is nothing of the folder that the program and its file are in.
test_files_for_nodes() {
  nodes_up $nodes
  in_node node1 sh -c "mkdir /tmp/own && cp '$where' /tmp/own/ && echo words >/tmp/own/data"
  code=0
  in_node node1 sh -c "cd /tmp/own && timeout 60 '$bin/mpirun' --host $all --preload-binary --preload-files data \
    sh -c 'cat /tmp/own/data'" </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  [ "$(grep -c '^words$' "$bed/out")" = 6 ] || fail "not all ranks have the file: $(cat "$bed/out")"
  code=0
  in_node node1 sh -c "cd /tmp/own && timeout 60 '$bin/mpirun' --host $all --preload-binary --wdir / /tmp/own/where" \
    </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  [ "$(grep -c '^rank [0-5] of 6 on node[123]$' "$bed/out")" = 6 ] || fail "who ran where: $(cat "$bed/out")"
  [ -z "$(in_node node2 sh -c 'ls /tmp/own' 2>/dev/null)" ] || fail "a file stays on node2"
  in_node node1 rm -r /tmp/own
  in_node node2 sh -c 'rmdir /tmp/own 2>/dev/null; true'
  in_node node3 sh -c 'rmdir /tmp/own 2>/dev/null; true'
  nothing_is_left
}

# What the doctor says of nodes that are well, of one without a sshd, and of one that is behind a firewall.
test_doctor() {
  nodes_up $nodes
  stop_sshd node3
  code=0
  in_node node1 timeout 60 "$bin/tutti" doctor --host node1,node2,node3 </dev/null >"$bed/out" 2>&1 || code=$?
  [ "$code" = 1 ] || fail "exit code $code: $(cat "$bed/out")"
  said "^good node2: installation: Tutti"
  said "^good node2: way back: mpirun's node is reached at 10.77.0.1"
  said "^bad  node3: remote shell: 'ssh .*node3' ended with code 255: .*Connection refused"
  in_node node1 timeout 60 "$bin/tutti" doctor --json --host node2 </dev/null >"$bed/json" 2>&1 || true
  python3 -c '
import json, sys
told = json.load(open(sys.argv[1]))
assert told["nodes"][0]["node"] == "node2"
assert {f["what"] for f in told["nodes"][0]["findings"]} > {"way back", "CMA", "cores", "/dev/shm"}' "$bed/json" ||
    fail "its JSON: $(cat "$bed/json")"
  in_node node1 iptables-legacy -A INPUT -p tcp --syn ! -s 127.0.0.1 -j REJECT --reject-with tcp-reset
  in_node node1 timeout 60 "$bin/tutti" doctor --host node2 </dev/null >"$bed/out" 2>&1 || true
  said "^bad  node2: way back: no address of mpirun's node is reached (10.77.0.1: Connection refused"
  said "what to do: let the firewall pass"
}

# What Slurm ends, it was Slurm that ended it: no node is lost.
test_slurm_cancels() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  local harm
  cancel() { in_node ctl sh -c 'scancel $(squeue -h -o %A)'; }
  cancel_step() { in_node ctl sh -c 'scancel $(squeue -h -s -o %i | grep -v -e batch -e extern)'; }
  for harm in cancel cancel_step; do
    : >"$bed/out"
    in_node ctl salloc -Q -N3 -n6 "$bin/mpirun" "$traffic" </dev/null >"$bed/out" 2>&1 &
    launched=$!
    all_ready() { [ "$(grep -c ready "$bed/out")" = 6 ]; }
    within 20 all_ready || fail "the job did not start: $(cat "$bed/out")"
    fault $harm
    # Of a step Slurm kills the watchdogs, too: what they leave goes with the next job's ranks or daemons.
    launcher_is_gone() { ! kill -0 "$launched" 2>/dev/null; }
    within "$(patience_left)" launcher_is_gone || fail "mpirun still runs $(since_fault) s after the fault"
    code=0
    wait "$launched" || code=$?
    went_wrong
    [ "$(grep -c '^tutti: .*error: ' "$bed/out")" = 1 ] || fail "not one sentence: $(cat "$bed/out")"
    ! grep -q "UCX" "$bed/out" || fail "an echo of it: $(cat "$bed/out")"
    grep -qE '^tutti: error: (Slurm ends the job: it was cancelled|the job ends: )' "$bed/out" ||
      fail "another cause: $(cat "$bed/out")"
    ! grep -q -e "is lost" -e "CANCELLED" "$bed/out" || fail "a second cause: $(cat "$bed/out")"
    in_slurm --mpi=pmix -N3 -n6 "$where"
    went_well
    nothing_is_left
  done
}

# Who talks to a rank that was killed has nothing to add to that.
test_killed_rank_is_said_once() {
  nodes_up $nodes
  local mode
  for mode in "" stubborn; do
    start_ready --host "$all" "$traffic" $mode
    fault in_node node2 sh -c 'kill -9 $(pgrep -o -x traffic)'
    ends_in_time
    [ "$code" = 137 ] || fail "exit code $code: $(cat "$bed/out")"
    [ "$(grep -c '^tutti: .*error: ' "$bed/out")" = 1 ] || fail "not one sentence: $(cat "$bed/out")"
    said "^tutti: error: rank [0-5] on node2 .* was killed by signal 9"
  done
}

declare -F "test_$wanted" >/dev/null || fail "there is no test '$wanted'"
enter_the_bed "$build" "$wanted"
"test_$wanted"
echo "ok"
