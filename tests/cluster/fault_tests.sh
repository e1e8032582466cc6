# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh: faults, on three nodes and on trees of seven.

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
  in_patience node2_is_clean || fail "$(since_fault) s after the fault node2 still has $(in_node node2 pgrep -a 'stay|tuttid')"
  in_node node2 iptables -F OUTPUT
  fault continue_launcher
  ends_in_time
  went_wrong
}

# What a firewall does that forgets connections: each end hears from the kernel that the connection is no more, and both live.
test_broken_connection() {
  nodes_up $nodes
  local program ranks=2
  for program in "$traffic" "$traffic stubborn"; do
    start_ready --host node2,node3 $program
    in_node node2 ss -Kt dst 10.77.0.3 >"$bed/broken" || fail "ss cannot break connections"
    [ "$(grep -c 10.77.0.3 "$bed/broken")" -ge 1 ] || fail "there is no connection: $(cat "$bed/broken")"
    launcher_is_gone() { ! kill -0 "$launched" 2>/dev/null; }
    within 20 launcher_is_gone || fail "the job stands still: $(cat "$bed/out")"
    code=0
    wait "$launched" || code=$?
    went_wrong
    said "a message to rank [01] cannot leave: its connection is lost (UCX: .*Either a firewall"
    [ -z "$(leftovers)" ] || fail "there is: $(leftovers)"
  done
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
      in_node $node sh -c 'grep -q /dev/shm/tutti "/proc/$(pgrep -x where)/maps" && ls /dev/shm/tutti.* && pgrep -x held' \
        >"$bed/memory" 2>&1 || return
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
    within 20 have_memory || fail "$harm: the ranks do not come to their shared memory, or are not held back: $(cat "$bed/out" "$bed/memory")"
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
# The addresses of all ranks cost each node below mpirun's as many messages however many ranks it has: it gives its own
# along with the fence of MPI_Init, may say that it wants those of others, and is told all. In a tree these travel each
# link once, too.
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
      [ "$(of take_addresses)" = 6 ] || fail "fan-out $fan_out, $each ranks a node: $(of take_addresses) of take_addresses, not 6: $(cat "$bed/out")"
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
  stop_sshd node3
  is_refused node3
  # Of two, the one is told whose shell ends first.
  stop_sshd node2
  is_refused 'node[23]'
}
# is_refused NODE, as a basic regular expression.
is_refused() {
  limit=30 launch --host $all "$where"
  went_wrong
  [ "$code" != 124 ] || fail "mpirun hangs when ssh is refused: $(cat "$bed/out")"
  said "cannot start the daemon on $1: ssh ended with code 255"
  nothing_is_left
}

test_unknown_host() {
  nodes_up $nodes
  limit=30 launch --host $all,nowhere:1 "$where"
  went_wrong
  [ "$code" != 124 ] || fail "mpirun hangs on an unknown host: $(cat "$bed/out")"
  said nowhere
  nothing_is_left
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
    said "^tutti: error: rank [23] on node2 .* was killed by signal 9"
  done
}

# A rank dies amid steps of the library's own, on each of the nodes (tests/programs/survival/points.tsv).
test_deaths_at_fault_points() {
  nodes_up $nodes
  local row point scenario victim=0 by_ucx=0
  for row in ring.written:short lane.written:collectives lane.published:collectives lane.claimed:splits ucx.before_send:long \
    ucx.behind_send:long ucx.fetching:long ucx.fetched:long context.agreed:duplicates agreement.contributed:agreements \
    agreement.told_one:agreements agreement.decided:agreements revoke.told_one:revocation put.announced:windows \
    lock.granted:windows lock.passed_on:windows two_phase.exchanged:files two_phase.before_write:files connect.known:connect; do
    point=${row%:*} scenario=${row#*:}
    # Not each rank comes to each point.
    for victim in $(((victim + 1) % 6)) 0 1 2 3 4 5; do
      launch -n 6 --host $all --map-by node --on-failure=continue "$programs/program.survival.deaths" "$point:$victim:1" \
        "$scenario"
      # UCX 1.13 may end a survivor by an assertion (tutti-survival(7), LIMITS): as deaths.py does it counts that apart.
      if grep -q "UCX cannot go on (" "$bed/out"; then
        by_ucx=$((by_ucx + 1))
        continue
      fi
      went_well
      ! grep -q "rank dies at $point" "$bed/out" || break
    done
    said "a rank dies at $point"
  done
  [ $by_ucx -le 2 ] || fail "UCX has ended a rank in $by_ucx jobs"
  nothing_is_left
}

# Ranks that fail where the others are to go on, on each of the nodes: these do, the failure is told once, and nothing is
# left in the end.
test_ranks_fail_and_others_go_on() {
  nodes_up $nodes
  local what
  for what in receives sends collectives revocation first_fails twice; do
    launch -n 4 --host $all --map-by node --on-failure=continue "$programs/program.survival.one_fails" $what
    went_well
    said "; the job goes on"
  done
  launch -n 6 --host $all --map-by node --on-failure=continue "$programs/program.survival.every_call"
  went_well
  [ "$(grep -c 'killed by signal 9 (Killed); the job goes on' "$bed/out")" = 3 ] || fail "three failures: $(cat "$bed/out")"
  launch -n 6 --host $all --map-by node --on-failure=continue:exit=first "$programs/program.survival.one_fails" sends
  [ "$code" = 137 ] || fail "exit code $code in place of the first failure's: $(cat "$bed/out")"
  nothing_is_left
}
