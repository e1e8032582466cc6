# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh: right answers over three nodes, and what else a job is there for.

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
    op.user comm.communicators comm.divided comm.resources comm.overlapping comm.threads coll.rooted coll.unrooted coll.derived coll.bcast_gaps \
    coll.stress coll.requests legal.collectives rma.fence rma.pscw rma.lock rma.lock_all rma.atomics rma.derived rma.dynamic \
    rma.large rma.shared rma.direct rma.random rma.errors; do
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

# Operations on windows by memory that the ranks of a node share and by messages, in one window; as the standard allows it
# at its worst; and by messages alone. TUTTI_TEST_WINDOWS picks programs.
test_windows() {
  nodes_up $nodes
  local name how
  for how in "" "--stress=loose" "--stress=random:7" "--set rma.direct=off"; do
    for name in ${TUTTI_TEST_WINDOWS:-fence pscw lock lock_all accumulate atomics derived dynamic attached shared direct random \
      properties errors threads}; do
      launch $how --host $all "$programs/program.rma.$name"
      [ "$code" = 0 ] || fail "$name $how, exit code $code: $(cat "$bed/out")"
      echo "$name $how: $took s"
    done
  done
  nothing_is_left
}

# Whom MPI_Win_lock_all asks, and when it waits; and how many messages synchronisation takes.
test_lock_all() {
  nodes_up $nodes
  launch --host $all "$programs/program.rma.lock_all" lazy
  went_well
  launch --set rma.direct=off --host $all "$programs/program.rma.lock_all" lazy
  went_well
  launch --set transport.cma=off --host $all "$programs/program.rma.touched"
  went_well
  nothing_is_left
}

# Where one of three nodes has no room for windows: private memory and messages there, shared memory on the others.
test_small_node() {
  nodes_up $nodes
  in_node node2 mount -o remount,size=48m /dev/shm
  launch --host $all "$programs/program.rma.small_node" node2 32
  went_well
  ! grep -v '^ok$' "$bed/out" || fail "something was said"
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

# Jobs that are on one node each, where ranks listen to that alone until they meet those of another one: by a port, and as
# parents of children on both, several times.
test_connected_across() {
  nodes_up $nodes
  local jobs=$build/tests/launcher/jobs server
  export TUTTI_NAMES=$bed/names
  in_node node2 timeout 60 "$bin/mpirun" -n 2 "$jobs" server across </dev/null >"$bed/server" 2>&1 &
  server=$!
  server_is_ready() { grep -q 'server ready' "$bed/server"; }
  within 20 server_is_ready || fail "the server does not start: $(cat "$bed/server")"
  launch -n 2 "$jobs" client across 5
  [ "$code" = 0 ] || fail "exit code $code: $(cat "$bed/out" "$bed/server")"
  said "client fine"
  wait "$server" || fail "the server ends with $?: $(cat "$bed/server")"
  launch --host node1:2,node2:2 -n 2 "$programs/program.process.spawn" 4 2
  went_well
  nothing_is_left
}

# Ranks that share memory by a folder which the other node has as well: each node's have files of their own there.
test_shared_folder() {
  nodes_up node1 node2
  launch --host node1:2,node2:2 env -u TUTTI_JOB_FOLDER TMPDIR="$build/tests/cluster" \
    "$source_dir/tests/programs/apart.sh" folder "$programs/program.rma.shared" 2
  [ "$code" = 0 ] || fail "exit code $code: $(cat "$bed/out")"
  nothing_is_left
}

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

# A rank runs one program after the other, each with other addresses than the one before.
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
  # Two ranks alone say little that six do not: under TUTTI_LONG.
  for hosts in ${TUTTI_LONG:+node1:1,node2:1} $all; do
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

# MPI_Init tells no node the addresses of others: the first to ask, here one of the nodes' first ranks, which meet in an
# allreduce, has them told to all.
test_addresses() {
  nodes_up $nodes
  # times TEXT, in what the job has printed
  times() { grep -c -- "$1" "$bed/out" || true; }
  one_by_one() { times "asks for what rank [0-9]* on node[0-9] has published"; }
  launch --host $all --set log.level=debug "$where"
  went_well
  [ "$(times "addresses of all ranks are spread")" = 1 ] || fail "addresses are not spread once: $(cat "$bed/out")"
  [ "$(one_by_one)" = 0 ] || fail "$(one_by_one) addresses asked for, one by one: $(cat "$bed/out")"
  # Ranks that do not see the file of their node, as in containers, ask for each address that they need, also where one
  # rank of a node sees it and the other does not.
  local blind
  for blind in "0 1 2 3 4 5" "1 2 4"; do
    launch --host $all --set log.level=debug \
      sh -c "case ' $blind ' in *\" \$PMIX_RANK \"*) TUTTI_JOB_FOLDER=/media ;; esac; exec $steps alltoall"
    went_well
    [ "$(one_by_one)" -gt 0 ] || fail "ranks $blind see no table and ask nobody: $(cat "$bed/out")"
  done
  # The table is one file on each node, which ranks map while they run, and which goes with the job.
  start_ready --host $all "$traffic"
  local node
  for node in node1 node2 node3; do
    tables() { in_node $node sh -c 'cat /proc/[0-9]*/maps 2>/dev/null | grep "/tutti[.]ucx"'; }
    [ "$(tables | awk '{print $5}' | sort | uniq -c | awk '{print $1}')" = 2 ] ||
      fail "the two ranks of $node do not share one table: $(tables)"
  done
  fault in_node node1 pkill -INT -o -x mpirun
  ends_in_time
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
  # A name of the current folder that one node alone has: the others start in the folder itself.
  local folder=$build/tests/cluster/named.$$
  mkdir "$folder"
  in_node node1 ln -s "$folder" /tmp/name
  code=0
  in_node node1 sh -c 'cd /tmp/name && exec timeout 60 "$0" "$@"' "$bin/mpirun" --host $all -n 6 sh -c 'echo "$(hostname) $PWD $(/bin/pwd)"' \
    </dev/null >"$bed/out" 2>&1 || code=$?
  rmdir "$folder"
  in_node node1 rm /tmp/name
  went_well
  said "^node1 /tmp/name $folder\$"
  said "^node2 $folder $folder\$"
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
  # A firewall between two nodes, both of which mpirun's own node reaches: of it nothing would be seen but that ranks wait.
  in_node node3 iptables-legacy -A INPUT -p tcp --syn -s 10.77.0.2 -j REJECT --reject-with tcp-reset
  in_node node1 timeout 60 "$bin/tutti" doctor --host node2,node3 </dev/null >"$bed/out" 2>&1 || true
  said "^good node3: way back: mpirun's node is reached at 10.77.0.1"
  said "^good node3: other nodes: node2 is reached at 10.77.0.2"
  said "^bad  node2: other nodes: no address of node3 is reached (10.77.0.3: Connection refused"
  said "what to do: let the firewall pass"
  # With one way open a job goes well whenever that one is the first to be tried.
  in_node node2 iptables-legacy -A INPUT -p tcp --syn -s 10.77.0.3 -j REJECT --reject-with tcp-reset
  code=0
  in_node node1 timeout 60 "$bin/mpirun" --host node2,node3 "$steps" alltoall </dev/null >"$bed/out" 2>&1 || code=$?
  [ "$code" = 1 ] || fail "exit code $code: $(cat "$bed/out")"
  said "Either a firewall keeps tcp connections between the two away"
  in_node node2 iptables-legacy -F INPUT
  in_node node3 iptables-legacy -F INPUT
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

# The clocks of two machines have nothing to do with each other: what a profile says of all of them is by one clock, and how
# wrong that may be.
test_clocks() {
  unshare --time --monotonic 5 true 2>/dev/null || { echo "skipped: this kernel has no namespaces of time"; exit 77; }
  clock_of_node=([1]=20000 [2]=3 [3]=5000)
  nodes_up $nodes
  launch --host $all "--profile=$bed/left" "$profiled" ring
  went_well
  said "clocks of the nodes are compared to"
  python3 "$here/clocks.py" "$bin/tutti" "$bed/left" "$bed" "$ranks"
  nothing_is_left
}
