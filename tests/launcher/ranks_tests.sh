# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Ranks: what they know, where they run, and with which code they end.

test_ranks_know_each_other() {
  launch -n 3 "$hello"
  expect_code 0
  printed_lines 3
  for rank in 0 1 2; do
    printed "rank $rank of 3, local $rank of 3, peers 0,1,2, nodes $(hostname), map (vector,(0,1,3)), app 0, last on $(hostname)"
  done
  nothing_is_left
}

# What a rank of a crowded node has does not grow with the crowd: memory, its part of what all share, descriptors.
test_a_crowd_takes_no_more_each_by_library() {
  local ranks
  for ranks in 128 256; do
    launch --oversubscribe -n $ranks "$build/tests/launcher/crowd" $ranks
    expect_code 0
    printed_lines 1
    cp out crowd.$ranks
  done
  local few many
  read -ra few <crowd.128
  read -ra many <crowd.256
  # What is mapped from files is left out, since the kernel takes some of it back when it likes. Of shared memory the lanes of
  # a communicator's collectives are a part: a MiB and up to eight, for whatever number of ranks.
  ((many[0] <= few[0] + 40)) || fail "its own memory is ${few[0]} KiB each of 128 ranks, and ${many[0]} KiB each of 256"
  ((many[1] <= few[1] + 40)) || fail "of /dev/shm each of 128 ranks takes ${few[1]} KiB, and each of 256 ${many[1]} KiB"
  ((few[2] <= 25 && many[2] <= 25)) || fail "a rank has ${few[2]} descriptors, or ${many[2]}"
  nothing_is_left
}

# Their numbers among the programs, where PMIx is told of too few of them to say.
test_programs_of_a_crowd_by_library() {
  launch --oversubscribe -n 40 "$build/tests/launcher/crowd" app : -n 20 "$build/tests/launcher/crowd" app : -n 10 "$build/tests/launcher/crowd" app
  expect_code 0
  [ "$(sort out | uniq -c | xargs)" = "40 program 0 20 program 1 10 program 2" ] || fail "the programs are $(sort out | uniq -c)"
  nothing_is_left
}

test_modex() {
  launch -n 4 "$hello" modex
  expect_code 0
  printed_lines 4
  launch -n 4 "$hello" direct
  expect_code 0
  nothing_is_left
}

test_any_program() {
  launch -n 4 hostname
  expect_code 0
  [ "$(sort -u out)" = "$(hostname)" ] || fail "not four times the host's name"
  printed_lines 4
}

test_default_count_is_the_cores() {
  launch true
  expect_code 0
  taskset -c 0 "$mpirun" echo x >out 2>err || fail "exit code $?"
  printed_lines 1
}

test_exit_code_of_a_rank() {
  launch -n 3 sh -c 'exit 5'
  expect_code 5
  said "exited with code 5"
  launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] && exit 7; sleep 600'
  expect_code 7
  said "rank 1 on $(hostname) (sh, process"
  nothing_is_left
}

test_signal_of_a_rank() {
  launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] && kill -SEGV $$; sleep 600'
  expect_code 139
  said "rank 1 on $(hostname)"
  said "killed by signal 11 (Segmentation fault)"
  nothing_is_left
}

test_abort() {
  launch -n 3 "$hello" abort 42
  expect_code 42
  said "rank 2 on $(hostname) aborted the job with code 42: as it was told to"
  nothing_is_left
}

test_leaving_without_finalize() {
  launch -n 2 "$hello" leave
  expect_code 1
  said "exited with code 0 without MPI_Finalize"
  nothing_is_left
}

# mpi_without_0 SCRIPT [OPTION…]: three ranks, of which 1 and 2 call MPI and 0 does what the script says.
mpi_without_0() { launch "${@:2}" -n 3 sh -c '[ "$PMIX_RANK" != 0 ] || { '"$1"'; }; exec "$0"' "$build/tests/launcher/pair"; }
# rank_0_is_missed HOST: on a loaded machine one of the two that wait may come later than the end.
rank_0_is_missed() {
  expect_code 1
  [ "$(grep -c 'rank 0' err)" = 1 ] || fail "not said once"
  grep -qE "^tutti: error: rank 0 on $1 \(sh, process [0-9]+\) exited with code 0 without calling MPI_Init, and (ranks 1 and 2 wait|rank [12] waits) for it there; the job ends$" err ||
    fail "who left and who waits is not said"
}
test_leaving_before_others_start_by_library() {
  mpi_without_0 'exit 0'
  rank_0_is_missed "$(hostname)"
  fake_nodes
  mpi_without_0 'exit 0' "${remote[@]}"
  rank_0_is_missed a.invalid
  nothing_is_left
}
test_leaving_while_others_start_by_library() {
  launch_behind -n 3 sh -c '[ "$PMIX_RANK" != 0 ] || { while ! [ -e go ]; do sleep 0.02; done; exit 0; }; exec "$0"' \
    "$build/tests/launcher/pair"
  sleep 2  # beyond the time after which ranks say that they wait
  fault touch go
  ends_in_time
  rank_0_is_missed "$(hostname)"
}
# The program that rank 1 starts next has no rank 0. Rank 2 waited for the program before.
test_leaving_before_others_start_again_by_library() {
  launch -n 3 sh -c 'case $PMIX_RANK in
      0) sleep 2; echo $$ >first; exec "$0" ;;
      2) "$0"; exec sleep 60 ;;
    esac
    "$0"; while kill -0 "$(cat first)" 2>/dev/null; do sleep 0.02; done; exec "$0"' "$build/tests/launcher/pair"
  expect_code 1
  said "without calling MPI_Init again, and rank 1 waits for it there"
  nothing_is_left
}
# One of a program's ranks is still leaving PMIx when the others could start the next program.
test_program_after_program_by_library() {
  local late
  for late in 0 3; do
    launch -n 4 env LATE_RANK=$late LD_PRELOAD="$build/tests/launcher/liblate_leave.so" \
      sh -c '"$0" && "$0" && exec "$0"' "$build/tests/launcher/pair"
    expect_code 0
    [ "$(grep -c '^talked$' err)" = 12 ] || fail "not four ranks of three programs"
  done
  nothing_is_left
}
test_late_ranks_are_waited_for_by_library() {
  mpi_without_0 'sleep 2.5'
  expect_code 0
  # A child of the rank's process is the rank to MPI, which may end and leave that process.
  launch -n 2 sh -c '[ "$PMIX_RANK" = 1 ] || sleep 1.5; "$0"; sleep 0.5' "$build/tests/launcher/pair"
  expect_code 0
  # Nobody waits where nobody calls MPI_Init, whatever else ranks do.
  launch -n 3 sh -c '[ "$PMIX_RANK" != 0 ] || exit 0; "$0"; sleep 1.5' "$hello"
  expect_code 0
  nothing_is_left
}

test_missing_program() {
  launch -n 2 no-such-program
  expect_code 127
  said "on $(hostname): there is no 'no-such-program' on the PATH"
  launch -n 2 ./no-such-program
  expect_code 127
  said "$work/./no-such-program"
  touch plain
  launch -n 2 ./plain
  expect_code 126
  said "plain is not executable"
  launch -n 2 plain
  said "the one in the current folder is './plain'"
  launch -n 1 "$work"
  expect_code 126
  said "is a folder"
  echo garbage >broken && chmod +x broken
  launch -n 2 ./broken
  expect_code 126
  launch -n 1 --wdir /no/such/folder true
  expect_code 1
  said "folder /no/such/folder"
  launch -n 1 --wdir nope ./plain
  expect_code 1
  said "folder $work/nope: No such file or directory; --wdir chooses another"
  nothing_is_left
}

test_folder_that_is_gone() {
  local there=$PWD
  mkdir gone && cd gone && rmdir ../gone
  code=0
  timeout 60 "$mpirun" -n 2 pwd >"$there/out" 2>"$there/err" || code=$?
  cp "$there/err" "$there/err.gone"
  within=0
  timeout 60 "$mpirun" -n 2 --wdir sub pwd >/dev/null 2>"$there/err.sub" || within=$?
  elsewhere=0
  timeout 60 "$mpirun" -n 2 --wdir "$there" pwd >"$there/out.there" 2>"$there/err.there" || elsewhere=$?
  cd "$there"
  expect_code 2
  said "ranks would start in the current folder, whose name cannot be told: it is gone; --wdir /FOLDER chooses another"
  [ ! -s out ] || fail "ranks have started in $(head -1 out)"
  [ "$within" = 2 ] || fail "a folder within: $(cat err.sub)"
  [ "$elsewhere" = 0 ] && [ "$(sort -u out.there)" = "$there" ] || fail "another folder: $elsewhere $(cat out.there err.there)"
}

test_folder_that_may_not_be_searched() {
  mkdir closed && cp "$(command -v true)" closed/program
  chmod 600 closed
  chmod 755 "$work" "$TMPDIR"
  closed() { timeout 60 setpriv --bounding-set -all --inh-caps -all --reuid=nobody --regid="$(id -g nobody)" --clear-groups \
    env TMPDIR="$work/free" "$mpirun" -n 1 "$1" >out 2>err; }
  [ "$(id -u)" = 0 ] || closed() { launch -n 1 "$1"; return "$code"; }
  mkdir -m 777 free
  closed ./closed/program
  code=$?
  chmod 700 closed
  expect_code 126
  said "you may not search the folder $work/./closed"
  ! grep -q 'chmod +x' err || fail "it speaks of the program"
}

test_several_programs() {
  launch -n 1 -x A=one sh -c 'echo "$A $PMIX_RANK"' : -n 2 -x A=two sh -c 'echo "$A $PMIX_RANK"' : \
    -n 1 "$hello"
  expect_code 0
  printed "one 0"
  printed "two 1"
  printed "two 2"
  printed "rank 3 of 4, local 3 of 4, peers 0,1,2,3, nodes $(hostname), map (vector,(0,1,4)), app 2"
  launch -n 1 true : true
  expect_code 2
  said "each needs its -n"
}

test_environment_and_folder() {
  mkdir sub
  B=from-here launch -n 1 -x A='a b=c' -x B --wdir sub sh -c 'echo "$A|$B|$(pwd)|$PWD"'
  printed "a b=c|from-here|$work/sub|$work/sub"
  launch -n 1 sh -c 'echo "${#TUTTI_JOB} $TUTTI_SETTINGS_RESOLVED"'
  printed "12 1"
}

test_arguments_arrive_unchanged() {
  launch -n 1 printf '<%s>\n' 'a b' '' '$HOME' '*' -n --help
  printf '<%s>\n' 'a b' '' '$HOME' '*' -n --help | cmp - out || fail "arguments changed"
}

test_more_ranks_than_cores_is_said_once() {
  launch -n 33 taskset -p 1 
  launch -v -n 64 true
  expect_code 0
  [ "$(grep -c 'ranks share' err)" = 1 ] || fail "not said once"
  taskset -c 0 "$mpirun" -v -n 1 true 2>err
  ! grep -q 'ranks\? share' err || fail "said without a reason"
  launch --map-by :nooversubscribe -n 640 true
  expect_code 2
  said "nooversubscribe"
}

# How often a rank looks before it gives its core away: by the cores that are granted, not the machine's.
test_ranks_wait_by_the_cores_that_they_have() {
  looks() {
    "$@" "$mpirun" -n 2 --set log.level=debug "$build/tests/launcher/pair" >out 2>err || fail "exit code $?"
    sed -n 's/.*looks \([0-9]*\) times first.*/\1/p' err | sort -u | tr '\n' ' '
  }
  [ "$(looks taskset -c 0)" = "1 " ] || fail "two ranks poll on one core: $(looks taskset -c 0)"
  if [ "$(nproc)" -ge 2 ]; then
    [ "$(looks env)" != "1 " ] || fail "two ranks with a core each do not poll"
  fi
  # Under srun nobody has looked at the node for them; Slurm says how many processors it grants.
  by_slurm() {
    "$mpirun" -n 2 --set log.level=debug env -u TUTTI_NODE_CORES "$@" "$build/tests/launcher/pair" >out 2>err ||
      fail "exit code $?"
    sed -n 's/.*looks \([0-9]*\) times first.*/\1/p' err | sort -u | tr '\n' ' '
  }
  local without
  without=$(by_slurm -u SLURM_CPUS_ON_NODE)
  [ "$(by_slurm SLURM_CPUS_ON_NODE=1)" = "1 " ] || fail "two ranks poll on the one processor that Slurm grants"
  [ "$(by_slurm SLURM_CPUS_ON_NODE=many)" = "$without" ] || fail "nonsense counts as a number of processors"
  # A core and a half: a time's share that a control group grants is none to poll on.
  local group= root
  for root in /sys/fs/cgroup /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct; do
    mkdir "$root/tutti-test.$$" 2>/dev/null || continue
    group=$root/tutti-test.$$
    [ ! -e "$group/cpu.max" ] || { echo 150000 100000 2>/dev/null >"$group/cpu.max" && break; }
    [ ! -e "$group/cpu.cfs_quota_us" ] || { echo 150000 2>/dev/null >"$group/cpu.cfs_quota_us" && break; }
    rmdir "$group"
    group=
  done
  if [ -z "$group" ]; then
    echo "no quota can be set here: only bindings are tested"
    return
  fi
  local granted
  granted=$(looks bash -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$group")
  rmdir "$group"
  [ "$granted" = "1 " ] || fail "two ranks poll on a core and a half: $granted"
}

test_bindings_are_reported() {
  code=0
  taskset -c 0 "$mpirun" -n 1 --report-bindings true >out 2>err || code=$?
  expect_code 0
  said "rank 0 on $(hostname): core 0 of socket 0 (processors 0)"
  launch -n 1 --bind-to none --report-bindings true
  said "rank 0 on $(hostname): not bound"
  taskset -c 0 "$mpirun" -n 2 --report-bindings grep Cpus_allowed_list /proc/self/status >out 2>err
  said "rank 1 on $(hostname): not bound"
  launch -n 1 --bind-to cors true
  expect_code 2
  said "--bind-to takes none, hwthread, core"
}

test_jobs_inside_jobs() {
  launch -n 2 "$mpirun" -n 2 "$hello" modex
  expect_code 0
  printed_lines 4
  [ "$(grep -c 'of 2, local' out)" = 4 ] || fail "an inner job took the outer one for its own"
  nothing_is_left
}

# hwloc's plugins look for devices, which the launcher does not ask for: X servers on ports 6000 to 6009.
test_no_plugin_looks_for_devices() {
  # What the launcher's process opens, not its ranks.
  LD_DEBUG=files LD_DEBUG_OUTPUT=$work/opened launch -n 1 env -u LD_DEBUG sh -c 'echo "${HWLOC_PLUGINS_PATH-not set}"'
  expect_code 0
  printed "not set"
  grep -qs libhwloc opened.* || fail "the dynamic linker does not tell what it opens"
  if grep -s 'calling init: .*/hwloc_' opened.*; then fail "a plugin of hwloc is loaded"; fi
  HWLOC_PLUGINS_PATH=$work launch -n 1 sh -c 'echo "$HWLOC_PLUGINS_PATH"'
  printed "$work"
}

test_starts_quickly() {
  local best=1000 best_hello=1000 i begin took
  for i in 1 2 3 4 5 6 7 8 9 10; do
    begin=$(date +%s%N)
    "$mpirun" -n 2 true 2>err || fail "exit code $?"
    took=$((($(date +%s%N) - begin) / 1000000))
    ((took < best)) && best=$took
    begin=$(date +%s%N)
    "$mpirun" -n 16 "$hello" >out 2>err || fail "exit code $?"
    took=$((($(date +%s%N) - begin) / 1000000))
    ((took < best_hello)) && best_hello=$took
  done
  echo "best of ten: -n 2 true $best ms, -n 16 pmix_hello $best_hello ms"
  # A loaded machine is no failure; ten times too slow is one.
  ((best < 500 && best_hello < 1500)) || fail "much too slow: $best ms and $best_hello ms"
}
# Neither mpirun and its ranks nor daemons have anything to do while all wait.
test_idle_job_by_library() {
  start_ready 4 -n 4 "$stay"
  is_idle $(processes)
  fault kill -TERM "$launched"
  ends_in_time
  fake_nodes
  start_ready 6 "${remote[@]}" -n 6 "$stay"
  [ "$(pgrep -c -P "$launched" -x tuttid)" = 2 ] || fail "not two daemons"
  is_idle $(processes)
  fault kill -TERM "$launched"
  ends_in_time
}
# Over UCX, where a connection costs something: a rank looks up and connects the peers that it sends to.
test_connections_are_lazy_by_library() {
  launch -n 4 --tag-output --set log.level=debug --set transport.shared_memory=off "$build/tests/launcher/pair"
  expect_code 0
  # What each rank had connected to before it said "talked".
  before() { sed -n "s/^\[$1\] //p" err | sed '/^talked/,$d' | sed -n 's/.*connected to process \([0-9]*\) over UCX.*/\1/p' | sort -u | tr '\n' ' '; }
  local rank
  [ "$(before 0)" = "1 " ] || fail "rank 0 connected to: $(before 0)"
  case $(before 1) in '' | '0 ') ;; *) fail "rank 1 connected to: $(before 1)" ;; esac
  for rank in 2 3; do
    grep -qx "\[$rank\] talked" err || fail "rank $rank did not get there"
    [ -z "$(before $rank)" ] || fail "rank $rank, which talks to nobody, connected to: $(before $rank)"
  done
}

# However late MPI_Finalize comes, and whatever a forked child does.
test_late_finalize_by_library() {
  local how
  for how in finalize_late child; do
    launch -n 2 "$departs" $how
    expect_code 0
  done
  # A child has MPI of its parent no more than the parent's threads: it is told so, and the job goes on.
  launch -n 2 "$departs" child_finalizes
  expect_code 0
  [ "$(grep -c "^tutti: .*error: MPI_Finalize: called by process [0-9]*, which the rank has forked" err)" = 2 ] ||
    fail "children that call MPI_Finalize are not told so"
  for how in exit return; do
    launch -n 2 "$departs" $how
    expect_code 1
    said_once "exited with code 0 without MPI_Finalize; the job ends"
  done
  nothing_is_left
}
# What all ranks do at once is one event: nobody says it twice, and no exit code is told beside it.
test_wrong_starts_and_ends_are_said_once_by_library() {
  local ranks try where=()
  says() {  # HOW SENTENCE
    launch "${where[@]}" -n "$ranks" "$departs" wrongly "$1"
    expect_code 16
    [ "$(grep -c "^tutti: .*error" err)" = 1 ] || fail "$1 on $ranks ranks: not one sentence"
    grep -qE "rank [0-9]+ on $(hostname): $2" err || fail "$1 on $ranks ranks lacks: $2"
    [ "$(grep -cE '^  rank [0-9]+: MPI_[A-Za-z_]+(\(\))? at departs.cpp:' err)" = 1 ] || fail "$1 on $ranks ranks: not one place"
  }
  fake_nodes
  for ranks in 1 2 4 6; do
    [ "$ranks" -lt 6 ] || where=("${remote[@]}")
    says early "MPI_Comm_rank: called before MPI_Init"
    says init_twice "MPI_Init: MPI is initialized already"
    says finalize_twice "MPI_Finalize: called after MPI_Finalize"
    says init_again "MPI_Init: MPI is initialized already and finalized: it starts once"
    says late "MPI_Comm_rank: called after MPI_Finalize"
    # Which of the threads comes first is open, and so is where it is when the other one comes.
    for try in 1 2 3 4 5; do
      says two_threads "MPI_Finalize: (MPI_Finalize is under way already|called after MPI_Finalize)"
    done
  done
  nothing_is_left
}
# Of a made-up machine with two sockets, whose processors are this one's.
test_ranks_are_told_the_places_of_their_node() {
  [ "$(nproc)" -ge 2 ] || return 0
  HWLOC_SYNTHETIC="package:2 core:1 pu:1" HWLOC_THISSYSTEM=1 \
    launch -n 2 --bind-to core sh -c 'echo "places $TUTTI_NODE_PLACES of $PMIX_RANK"'
  expect_code 0
  printed "places 0.0.-.-,1.0.-.- of 0"
  printed "places 0.0.-.-,1.0.-.- of 1"
  # Nothing tells unbound ranks apart.
  launch -n 2 --bind-to none sh -c 'echo "places ${TUTTI_NODE_PLACES-none}"'
  expect_code 0
  printed "places none"
}
