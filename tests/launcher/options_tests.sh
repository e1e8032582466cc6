# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. What the options of other launchers do to real ranks, and the environments of
# schedulers.

test_output_in_files() {
  launch -n 2 --output dir=into,merge sh -c 'echo out; echo err >&2'
  expect_code 0
  [ "$(cat into/rank.0/stdout)" = "out
err" ] || [ "$(cat into/rank.0/stdout)" = "err
out" ] || fail "the file has: $(cat into/rank.0/stdout)"
  [ -s into/rank.1/stdout ] || fail "rank 1 has no file"
  [ ! -e into/rank.0/stderr ] || fail "merged streams have two files"
  printed_lines 4
  launch -n 2 --output file=o.%r:nocopy sh -c 'echo $PMIX_RANK; echo e >&2'
  expect_code 0
  printed_lines 0
  [ "$(cat o.1)" = 1 ] && [ "$(cat o.1.err)" = e ] || fail "o.1: $(cat o.1)"
  launch -n 1 --output dir=/proc/none echo x
  expect_code 1
  said "cannot write the output of rank 0 to /proc/none/rank.0/stdout"
  launch -n 1 --timestamp-output -l echo x
  expect_code 0
  grep -qE '^\[[0-9:.]{12}\] \[0\] x$' out || fail "tags: $(cat out)"
}

test_input_of_a_rank() {
  echo word >input
  launch -n 3 --stdin 2 -l cat <input
  expect_code 0
  [ "$(cat out)" = "[2] word" ] || fail "printed: $(cat out)"
  launch -n 2 --stdin none cat <input
  expect_code 0
  printed_lines 0
  launch -n 2 --stdin 2 cat <input
  expect_code 2
  said "--stdin 2: the job has 2 ranks"
}

test_environment_by_options() {
  AB=1 AC=2 launch -n 1 --unset 'A*' env
  expect_code 0
  ! grep -q '^A[BC]=' out || fail "unset variables are there"
  AB=1 AC=2 launch -n 1 -genvnone -genv D e env
  expect_code 0
  printed D=e
  ! grep -q '^AB=\|^HOME=' out || fail "variables are there: $(cat out)"
  AB=1 AC=2 launch -n 1 -genvlist AB env
  printed AB=1
  ! grep -q '^AC=' out || fail "AC is there"
  AB=1 launch -n 1 --export=NONE -x 'A*' env
  printed AB=1
}

test_dry_run_and_display() {
  launch --dry-run -n 3 --host localhost:3 --display map:parseable ./nothing
  expect_code 0
  printed "map rank=2 node=$(hostname) local_rank=2 program=0"
  printed_lines 3
  launch --dry-run -N 2 ./nothing
  expect_code 0
  printed "map: 2 ranks on 1 node"
  launch --display allocation,topology,bindings --bind-to none -n 1 echo there
  expect_code 0
  printed "allocation:"
  printed "topology of $(hostname)"
  printed "rank 0 on $(hostname): not bound"
  printed there
  nothing_is_left
}

test_programs_of_a_file() {
  printf -- '-n 1 echo a "b c"\n# no program\n-n 2 echo d\n' >programs
  launch --app programs
  expect_code 0
  printed "a b c"
  printed_lines 3
  launch -configfile programs -l
  expect_code 0
  printed "[0] a b c"
}

test_options_of_other_launchers() {
  launch -n 1 --mca btl self,tcp echo x
  expect_code 0
  said "--mca btl self,tcp changes nothing: transports are chosen by themselves"
  launch -q -n 1 --mca btl self,tcp echo x
  expect_code 0
  [ ! -s err ] || fail "--quiet says: $(cat err)"
  launch --preload-binary -n 1 true
  expect_code 2
  said "--preload-binary is not supported: copy the program"
  launch --nooversubscribe --host localhost:1 -n 2 true
  expect_code 2
  said "2 ranks are asked for on a node with 1 slots"
  launch --bind-to core:overload-allowed -n 1 true
  expect_code 0
  launch --map-by ppr:1:socket true
  expect_code 2
  said "type ppr:N:node"
  launch --help --map-by
  expect_code 0
  printed "--map-by HOW"
  launch --help nothing
  expect_code 2
  said "there is no such option"
}


test_allocations_of_schedulers() {
  local here
  here=$(hostname)
  printf '%s\n%s\n' "$here" "$here" >nodes
  PBS_JOBID=1.s PBS_NODEFILE=$work/nodes launch echo x
  expect_code 0
  printed_lines 2
  LSB_JOBID=1 LSB_MCPU_HOSTS="$here 3" launch echo x
  expect_code 0
  printed_lines 3
  echo "$here 2 all.q@$here UNDEFINED" >pe
  SGE_ROOT=/sge JOB_ID=4 PE_HOSTFILE=$work/pe launch echo x
  expect_code 0
  printed_lines 2
  PBS_JOBID=1.s PBS_NODEFILE=$work/nodes launch --host elsewhere echo x
  expect_code 2
  said "--host elsewhere: the allocation of job 1.s of PBS does not name it"
  PBS_JOBID=1.s PBS_NODEFILE=$work/none launch echo x
  expect_code 2
  said "cannot be read"
  FLUX_JOB_ID=f launch -n 1 echo x
  expect_code 0
  said "this seems to be job f of Flux"
  FLUX_JOB_ID=f launch -n 1 --host localhost echo x
  expect_code 0
  [ ! -s err ] || fail "a warning for nothing: $(cat err)"
}

test_threads_of_ranks_decide_their_cores() {
  local cores
  cores=$("$build/bin/tutti" info | sed -n 's/.*: \([0-9]*\) of [0-9]* cores.*/\1/p')
  OMP_NUM_THREADS=2 launch -n 1 --report-bindings true
  expect_code 0
  if [ "$cores" -ge 2 ]; then
    grep -qE 'core [0-9]+,[0-9]+' err || fail "one core for two threads: $(cat err)"
  fi
  OMP_NUM_THREADS=2 launch -n 1 --map-by slot:pe=1 --report-bindings true
  expect_code 0
  grep -qE 'core [0-9]+ ' err || fail "an option is weaker: $(cat err)"
}

test_gpus_that_are_not_there() {
  launch -n 1 --gpus-per-rank 1024 true
  expect_code 1
  said "--gpus-per-rank 1024: the node has"
}

test_jobs_that_run() {
  "$build/bin/tutti" jobs --wrong >out 2>err && fail "a wrong option is taken"
  said "tutti jobs takes --json or --names"
  launch_behind -n 2 sh -c 'echo ready $TUTTI_JOB; exec sleep 60'
  within 20 all_ready 2 || fail "the ranks do not start"
  local job
  job=$(sed -n '1s/ready //p' out)
  "$build/bin/tutti" jobs --names >names || fail "tutti jobs fails"
  grep -qxF "$job" names || fail "job $job is not among $(cat names)"
  "$build/bin/tutti" jobs --json | grep -qF "\"job\":\"$job\"" || fail "no JSON of job $job"
  fault kill -TERM "$launched"
  ends_in_time
  "$build/bin/tutti" jobs --names >names
  ! grep -qxF "$job" names || fail "job $job has ended"
}

test_doctor_by_library() {
  # What is bad on this machine, such as a small /dev/shm, is no fault of the command.
  "$build/bin/tutti" doctor >out 2>err || [ $? = 1 ] || fail "tutti doctor fails"
  printed "installation:"
  printed "CMA:"
  printed "/dev/shm:"
  "$build/bin/tutti" doctor --json >told || [ $? = 1 ] || fail "tutti doctor --json fails"
  python3 -c '
import json, sys
told = json.load(sys.stdin)
assert {"good"} & {f["health"] for f in told["findings"]}
assert all(f["advice"] for f in told["findings"] if f["health"] == "bad")' <told || fail "its JSON is none"
  code=0
  FLUX_JOB_ID=f "$build/bin/tutti" doctor >out 2>err || code=$?
  expect_code 1
  printed "what to do: name the nodes by --hostfile"
  TUTTI_LOG_LEVEL=loud "$build/bin/tutti" doctor >out 2>err && fail "a wrong setting is good"
  printed "bad  settings:"
}

# A stand-in for a scheduler's remote shell: it checks what it is told before the name of the node, and does here
# what it is told to do there.
stand_in() {
  mkdir -p bin
  cat >"bin/$1" <<END
#!/bin/bash
words="$2"
for word in \$words; do
  [ "\$1" = "\$word" ] || exit 7
  shift
done
[ "\$1" = elsewhere ] || exit 9
[ \$# = 2 ] || exit 8
exec sh -c "\$2"
END
  chmod +x "bin/$1"
}

test_remote_shells_of_schedulers() {
  stand_in blaunch ""
  stand_in qrsh "-inherit -nostdin"
  PATH=$work/bin:$PATH LSB_JOBID=1 LSB_MCPU_HOSTS="elsewhere 2" launch echo x
  expect_code 0
  printed_lines 2
  echo "elsewhere 3 q U" >pe
  PATH=$work/bin:$PATH SGE_ROOT=/sge JOB_ID=4 PE_HOSTFILE=$work/pe launch echo x
  expect_code 0
  printed_lines 3
  # A remote shell that is set is stronger.
  PATH=$work/bin:$PATH LSB_JOBID=1 LSB_MCPU_HOSTS="elsewhere 2" launch --set launch.rsh=false echo x
  expect_code 1
  said "cannot start the daemon on elsewhere: false ended with code 1"
}

test_hosts_by_their_place() {
  echo 'localhost slots=3' >hosts
  launch --hostfile hosts --host +n0 echo x
  expect_code 0
  printed_lines 3
  launch --hostfile hosts --host +n0:2 echo x
  expect_code 0
  printed_lines 2
  launch --hostfile hosts --host +n1 echo x
  expect_code 2
  said "+n1: the hostfile hosts has 1 hosts, and +n0 is the first"
  launch --host +n0 echo x
  expect_code 2
  said "there is no hostfile and no allocation"
  launch --hostfile hosts --host +nx echo x
  expect_code 2
  said "'+nx' is not a host"
}
