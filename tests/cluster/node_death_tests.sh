# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh: nodes that fail where the job goes on without them, on trees of daemons of several shapes.

# survivors FAN-OUT NODES LEFT [WAY]: a job on so many nodes, $each ranks on each (one), until each is ready.
survivors() {
  local fan_out=$1 count=$2 left=$3 each=${each:-1} hosts
  shift 3
  hosts=$(seq -s, -f "node%g:$each" 1 "$count")
  launch_behind --set launch.fan_out=$fan_out --host "$hosts" --map-by node --on-failure=continue \
    "$programs/program.survival.loses_nodes" "$left" "$@"
  all_come() { [ "$(grep -c "is ready" "$bed/out")" = "$((count * each))" ]; }
  within 60 all_come || fail "the job did not start: $(cat "$bed/out")"
}
# go_on COUNT SECONDS: so many ranks go on, and the job ends well within some time after the fault.
go_on() {
  local count=$1
  ended() { ! kill -0 "$launched" 2>/dev/null; }
  within "$2" ended || fail "mpirun still runs $(since_fault) s after the fault: $(cat "$bed/out")"
  code=0
  wait "$launched" || code=$?
  echo "ended $(since_fault) s after the fault"
  went_well
  [ "$(grep -c "goes on$" "$bed/out")" = "$count" ] || fail "not $count ranks go on: $(cat "$bed/out")"
  start_clock
  nothing_stays
}
# is_told NODE…: a line for each node, and no other.
is_told() {
  local node
  for node; do
    [ "$(grep -c "warning: node $node is lost: .*; the job goes on without rank" "$bed/out")" = 1 ] ||
      fail "the failure of $node is not told once: $(cat "$bed/out")"
  done
  [ "$(grep -c "tutti: " "$bed/out")" = $# ] || fail "more is told than the failures of $*: $(cat "$bed/out")"
}
# Of a node that is called dead.
is_without_job() {
  local name
  for name in tuttid program.surviva; do
    ! in_node "$1" pgrep -x $name >/dev/null || fail "$1 is called dead, and has $name: $(cat "$bed/out")"
  done
}
kill_daemon_of() { in_node "$1" sh -c 'kill -9 $(pgrep -o -x tuttid)'; }
stop_daemon_of() { in_node "$1" sh -c 'kill -STOP $(pgrep -o -x tuttid)'; }
# All stand still first, so that none of them cleans up. A rank dies with its daemon, so that it may be gone by its turn.
kill_all_of() {
  in_node "$1" sh -c 'all() { pgrep -x tuttid; pgrep -x tutti-watchdog; pgrep -x program.surviva; }
    those=$(all) && kill -STOP $those && { kill -9 $those 2>/dev/null; until [ -z "$(all)" ]; do sleep 0.01; done; }'
}

# A chain, node1 to node4, and a tree of seven of which node1 starts 2 and 5, and those 3, 4 and 6, 7. What is behind the
# daemon that is killed comes to another place.
test_daemon_dies_and_others_go_on() {
  nodes_up node1 node2 node3 node4 node5 node6 node7
  local node
  for node in node4 node2 node3; do
    survivors 1 4 3
    fault kill_daemon_of $node
    go_on 3 20
    is_told $node
  done
  for node in node5 node4; do
    survivors 2 7 6
    fault kill_daemon_of $node
    go_on 6 20
    is_told $node
  done
  # Two at once, of which one is above the other, and one after the other.
  survivors 1 4 2
  both() { kill_daemon_of node2; kill_daemon_of node3; }
  fault both
  go_on 2 20
  is_told node2 node3
  survivors 1 4 2
  fault kill_daemon_of node2
  sleep 1
  kill_daemon_of node3
  go_on 2 20
  is_told node2 node3
}

# All processes of a node at once, those that clean up too; and the node itself, of which its kernel says nothing.
test_node_dies_and_others_go_on() {
  nodes_up node1 node2 node3 node4
  survivors 1 4 3
  fault kill_all_of node2
  go_on_with_files_of_node2() {
    within 30 ended || fail "mpirun still runs $(since_fault) s after the fault: $(cat "$bed/out")"
    wait "$launched" || fail "exit code $?: $(cat "$bed/out")"
    echo "ended $(since_fault) s after the fault"
    [ "$(grep -c "goes on$" "$bed/out")" = 3 ] || fail "not 3 ranks go on: $(cat "$bed/out")"
    # Nobody is left there to remove what was in memory and /tmp: the next job does.
    start_clock
    is_clean_elsewhere() { [ -z "$(leftovers | grep -v '^node2: ')" ]; }
    in_patience is_clean_elsewhere || fail "there is: $(leftovers)"
  }
  ended() { ! kill -0 "$launched" 2>/dev/null; }
  go_on_with_files_of_node2
  survivors 1 4 3
  fault crash_node node3
  go_on 3 30
  is_told node3
}

# Its cable is pulled: both sides end in time, the one that is cut off before the others call it dead.
test_node_cut_off_and_others_go_on() {
  nodes_up node1 node2 node3 node4
  local node
  for node in node4 node2; do
    survivors 1 4 3
    fault cut_link $node
    is_called_dead() { grep -q "node $node is lost" "$bed/out"; }
    within 20 is_called_dead || fail "nobody misses $node: $(cat "$bed/out")"
    is_without_job $node
    echo "called dead $(since_fault) s after the fault"
    mend_link $node
    go_on 3 30
    is_told $node
  done
}

# A daemon that is stopped for longer than it may be silent takes its ranks along; for less, and nothing happens.
test_daemon_stops_and_others_go_on() {
  nodes_up node1 node2 node3 node4
  local node
  for node in node4 node2; do
    survivors 1 4 3
    fault stop_daemon_of $node
    is_called_dead() { grep -q "node $node is lost" "$bed/out"; }
    within 20 is_called_dead || fail "nobody misses $node: $(cat "$bed/out")"
    is_without_job $node
    echo "called dead $(since_fault) s after the fault"
    go_on 3 30
    is_told $node
  done
  survivors 1 4 3
  stop_daemon_of node2
  sleep 1
  in_node node2 sh -c 'kill -CONT $(pgrep -o -x tuttid)'
  sleep 4
  ! grep -q "is lost" "$bed/out" || fail "a stop of a second is called a death: $(cat "$bed/out")"
  fault kill_daemon_of node4
  go_on 3 20
  is_told node4
}

# Those who are left are in MPI_Finalize, on two nodes, when the others fail, and when these have failed before.
test_finalize_with_dead_nodes() {
  nodes_up node1 node2 node3 node4
  survivors 1 4 2 finalize
  both() { kill_daemon_of node3; kill_daemon_of node4; }
  fault both
  go_on 0 20
  is_told node3 node4
  survivors 2 4 2
  fault both
  go_on 2 20
  is_told node3 node4
}

# If mpirun dies all ends, and as soon as without the option; and so does a job whose node fails without it.
test_launcher_dies_with_survivors() {
  nodes_up node1 node2 node3 node4
  survivors 1 4 1
  fault in_node node1 sh -c 'kill -9 $(pgrep -o -x mpirun)'
  ends_in_time
  went_wrong
}

# Without the option nodes say nothing to each other that they have not said before.
test_no_heartbeats_without_survival() {
  nodes_up node1 node2 node3
  local line
  launch --set launch.fan_out=1 -v -x TUTTI_LOG_LEVEL=note --host node1,node2,node3 sleep 3
  went_well
  line=$(grep "between mpirun and daemons" "$bed/out")
  for word in beat told carried; do
    ! grep -q "$word" <<<"$line" || fail "there is $word: $line"
  done
}

# Nodes fail one after the other at random, in each of the ways above, while one to three ranks on each do what is drawn.
# TUTTI_TEST_JOBS jobs (8), the first one of the seed TUTTI_TEST_SEED (1).
test_nodes_die_at_random() {
  local first=${TUTTI_TEST_SEED:-1} jobs=${TUTTI_TEST_JOBS:-8} seed count each victims victim left lost=0 ucx=0
  nodes_up node1 node2 node3 node4 node5
  ended() { ! kill -0 "$launched" 2>/dev/null; }
  gone() {
    local name
    for name in tuttid tutti-watchdog program.surviva; do
      ! in_node "node$victim" pgrep -x $name >/dev/null || return 1
    done
  }
  for ((seed = first; seed < first + jobs; ++seed)); do
    RANDOM=$seed
    count=$((2 + RANDOM % 4)) each=$((1 + RANDOM % 3))
    victims=$(seq 2 "$count" | shuf -n $((1 + RANDOM % (count - 1))) --random-source=<(yes "$seed"))
    left=$(((count - $(wc -w <<<"$victims")) * each))
    survivors $((1 + RANDOM % 3)) "$count" "$left" busily
    for victim in $victims; do
      sleep 0.$((RANDOM % 500 + 100))
      start_clock
      case $((RANDOM % 4)) in
        0) kill_daemon_of "node$victim" ;;
        1) kill_all_of "node$victim" ;;
        2) stop_daemon_of "node$victim" ;;
        3) cut_link "node$victim" ;;
      esac || ended || fail "seed $seed: node$victim cannot be made to fail: $(cat "$bed/out")"
    done
    within 60 ended || fail "seed $seed: mpirun still runs $(since_fault) s after the last fault: $(cat "$bed/out")"
    code=0
    wait "$launched" || code=$?
    # The end of a rank that tutti-survival(7) has among its limits.
    if grep -qE "UCX cannot go on .*Assertion" "$bed/out"; then
      ucx=$((ucx + 1))
    else
      [ "$code" = 0 ] || fail "seed $seed: exit code $code: $(cat "$bed/out")"
      [ "$(grep -c "goes on$" "$bed/out")" = "$left" ] || fail "seed $seed: not $left ranks go on: $(cat "$bed/out")"
    fi
    for victim in $victims; do
      within 10 gone || fail "seed $seed: node$victim still has $(in_node "node$victim" ps ax)"
      mend_link "node$victim"
    done
    lost=$((lost + count * each - left))
  done
  echo "$jobs jobs, $lost ranks lost with their nodes; in $ucx jobs UCX has ended a rank by an assertion"
  ((ucx * 10 <= jobs + 9)) || fail "UCX ends a rank in more jobs than one in ten"
}
