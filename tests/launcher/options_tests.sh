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
