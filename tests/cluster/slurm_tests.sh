# SPDX-License-Identifier: BSD-3-Clause
# Sourced by cluster.sh: jobs of Slurm (slurm.sh).

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

# Who goes on without ranks that fail there has no launcher that would let it.
test_slurm_survival_is_refused() {
  slurm_configuration 2
  nodes_up ctl node1 node2
  slurm_up
  in_slurm --mpi=pmix -N2 -n2 sh -c 'TUTTI_FAILURE_ACTION=continue exec "$0"' "$where"
  went_wrong
  [ "$code" != 124 ] || fail "the ranks that refuse do not end: $(cat "$bed/out")"
  said "the setting failure.action=continue .from: .*TUTTI_FAILURE_ACTION.* is not supported here: only mpirun goes on"
}

# Nobody of ours prints a page there: ranks leave theirs where they are told to, or it is said, once, that they have no place.
test_slurm_profile() {
  slurm_configuration 3
  nodes_up ctl node1 node2 node3
  slurm_up
  in_slurm --mpi=pmix -N3 -n6 sh -c 'TUTTI_PROFILE_PAGE=on exec "$0" slow_rank 20' "$profiled"
  went_well
  [ "$(grep -c "the profile of this rank has nowhere to go: .* the setting profile.file says" "$bed/out")" = 1 ] ||
    fail "not said once: $(cat "$bed/out")"
  in_slurm --mpi=pmix -N3 -n6 sh -c 'TUTTI_PROFILE_PAGE=on TUTTI_PROFILE_FILE="$1" exec "$0" slow_rank 60' "$profiled" "$bed/left"
  went_well
  ! grep -q profile "$bed/out" || fail "said: $(cat "$bed/out")"
  "$bin/tutti" profile "$bed/left.ranks" >"$bed/out" 2>&1 || fail "no page: $(cat "$bed/out")"
  said "profile of profiled: 6 ranks"
  said "late to it: rank 5 is last in"
  said "clocks of the nodes are compared to"
  said "hint: rank 5 comes last to .* it computes"
  "$bin/tutti" profile "$bed/left.ranks" -o "$bed/left.html" || fail "no page for a browser"
  # By mpirun in an allocation it is as everywhere.
  code=0
  in_node ctl timeout 60 salloc -Q -N3 -n6 "$bin/mpirun" --profile "$profiled" slow_rank 60 </dev/null >"$bed/out" 2>&1 || code=$?
  went_well
  said "late to it: rank 5 is last in"
  said "clocks of the nodes are compared to"
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
    in_patience launcher_is_gone || fail "mpirun still runs $(since_fault) s after the fault"
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

# Slurm looks at the time of its jobs twice a minute.
test_slurm_time_is_up() {
  slurm_configuration 2
  nodes_up ctl node1 node2
  slurm_up
  : >"$bed/out"
  in_node ctl salloc -Q -t 1 -N2 -n4 "$bin/mpirun" "$traffic" </dev/null >"$bed/out" 2>&1 &
  launched=$!
  all_ready() { [ "$(grep -c ready "$bed/out")" = 4 ]; }
  within 20 all_ready || fail "the job did not start: $(cat "$bed/out")"
  launcher_is_gone() { ! kill -0 "$launched" 2>/dev/null; }
  within 150 launcher_is_gone || fail "mpirun still runs after the job's time"
  code=0
  wait "$launched" || code=$?
  went_wrong
  [ "$(grep -c '^tutti: .*error: ' "$bed/out")" = 1 ] || fail "not one sentence: $(cat "$bed/out")"
  grep -qE '^tutti: error: Slurm ends the job: its time is up' "$bed/out" || fail "another cause: $(cat "$bed/out")"
  nothing_is_left
}
