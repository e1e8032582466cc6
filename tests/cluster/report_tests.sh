# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh: what is said about ranks on all nodes.

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
    [ "$(grep -c '"waits_for":\[0\]' "$bed/why")" = 3 ] && [ "$(grep -c '"kernel":"asleep in pause"' "$bed/why")" = 3 ]
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
  told "^  ranks 1, 5: in MPI_Recv\(1 of MPI_INT, from 0, tag 99\) on MPI_COMM_WORLD \(6 ranks\), called at .*, for [0-9.]+ s; waiting for rank 0; on node1, node3$"
  told "^  rank 3: stopped; in MPI_Recv\(.* for [0-9.]+ s; waiting for rank 0; on node2 \(process [0-9]+\)$"
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
  in_node node1 "$bin/tutti" top --once --interval 0.3 >"$bed/why" 2>&1 || fail "top: $(cat "$bed/why")"
  told "^job [0-9a-f]+: stay, 6 of 6 ranks on 3 nodes: 3 asleep, 3 waiting; 0 calls, [0-9]+ B a second$"
  told "^ +5 node3 +waiting +0 +0 B +[0-9.]+ m?s +0 +MPI_Recv\(1 of MPI_INT, from 0, tag 99\) at "
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
