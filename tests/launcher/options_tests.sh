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
  mkfifo fifo.0
  launch -n 1 --output file=fifo.%r echo x
  expect_code 1
  said_once "cannot write the output of rank 0 to fifo.0: it is a FIFO"
  launch -n 1 --timestamp-output -l echo x
  expect_code 0
  grep -qE '^\[[0-9:.]{12}\] \[0\] x$' out || fail "tags: $(cat out)"
}

test_input_of_all_ranks() {
  echo word >input
  launch -n 3 --stdin all -l cat <input
  expect_code 0
  for rank in 0 1 2; do printed "[$rank] word"; done
  printed_lines 3
  # More than pipes hold, a rank that reads none of it, and one that is slow.
  head -c 5000000 /dev/zero >input
  launch -n 3 --stdin all sh -c 'case $PMIX_RANK in 0) exit 0 ;; 1) sleep 1 ;; esac; wc -c' <input
  expect_code 0
  [ "$(cat out)" = "5000000
5000000" ] || fail "read: $(cat out)"
  fake_shell
  echo word >input
  launch --set launch.rsh=./shell -H a.invalid:2,localhost:2 --stdin all -l cat <input
  expect_code 0
  printed_lines 4
  printed "[3] word"
}

# Stands for ssh: does here what it is told to do there.
fake_shell() {
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >shell
  chmod +x shell
}

test_places_by_options() {
  local here
  here=$(hostname)
  printf '# two\nrank 1=localhost slot=0\nrank 0=%s\n' "$here" >ranks
  launch --rankfile ranks --report-bindings true
  expect_code 0
  said "rank 0 on $here: not bound"
  said "rank 1 on $here: core 0 "
  launch --rankfile ranks --dry-run --display bindings true
  expect_code 0
  printed "rank 0 on $here: not bound"
  printed "rank 1 on $here: core 0 "
  launch --rankfile ranks --bind-to none --report-bindings true
  expect_code 0
  said "rank 0 on $here: not bound"
  said "rank 1 on $here: not bound"
  launch --map-by rankfile:file=ranks -n 1 echo x
  expect_code 0
  printed_lines 1
  launch --rankfile ranks -n 3 true
  expect_code 2
  said "3 ranks are asked for, and the rankfile names the places of 2"
  echo 'rank 0=localhost slot=4096' >ranks
  launch --rankfile ranks true
  expect_code 1
  said "rankfile: rank 0 on $here: slot=4096: there are"
  launch --rankfile none true
  expect_code 2
  said "--rankfile none: the file cannot be read (No such file or directory)"
  : >empty
  launch --map-by rankfile --rankfile empty true
  expect_code 2
  said "empty: names no rank"
  launch --map-by rankfile --rankfile . true
  expect_code 2
  said "--rankfile .: the file cannot be read (it is a folder)"
  launch --map-by seq --host localhost,localhost,localhost echo x
  expect_code 0
  printed_lines 3
  launch --map-by seq --host localhost -n 2 echo x
  expect_code 2
  said "names the places of 1"
  launch --cpu-set 0 grep Cpus_allowed_list /proc/self/status
  expect_code 0
  [ "$(cat out)" = "Cpus_allowed_list:	0" ] || fail "allowed: $(cat out)"
  launch --cpu-set 0 --bind-to none -n 2 grep Cpus_allowed_list /proc/self/status
  [ "$(sort -u out)" = "Cpus_allowed_list:	0" ] || fail "allowed: $(cat out)"
  launch --cpu-set 4095 true
  expect_code 1
  said "--cpu-set 4095: $here has none of these processors"
  launch --map-by ppr:1:core --dry-run --display map:parseable true
  expect_code 0
  [ "$(grep -c '^map ' out)" = "$("$build/bin/tutti" info | sed -n 's/.*: \([0-9]*\) of [0-9]* cores.*/\1/p')" ] ||
    fail "a rank for each core: $(cat out)"
  launch --bind-to core:no-overload --host localhost:4096 -n 4096 true
  expect_code 2
  said "--bind-to says no-overload, and 4096 ranks would share"
  launch --map-by dist:nothing true
  expect_code 1
  said "this node has no such device"
  launch --map-by gpu -n 1 true
  [ "$code" = 0 ] || said "has no GPUs that are seen"
}

# Names of hosts that reach this machine by ./shell: two nodes more.
test_ranks_are_numbered_over_nodes() {
  fake_shell
  local nodes=a.invalid:2,b.invalid:2
  launch --set launch.rsh=./shell -H $nodes -n 4 --rank-by node --dry-run --display map:parseable true
  expect_code 0
  [ "$(sed 's/.*node=\([ab]\).*/\1/' out | tr -d '\n')" = abab ] || fail "map: $(cat out)"
  printf 'b.invalid\na.invalid\nb.invalid\n' >hosts
  launch --set launch.rsh=./shell --hostfile hosts --map-by seq --dry-run --display map:parseable true
  [ "$(sed 's/.*node=\([ab]\).*/\1/' out | tr -d '\n')" = bab ] || fail "map: $(cat out)"
  printf 'rank 0=+n1\nrank 1=+n0\n' >ranks
  launch --set launch.rsh=./shell --hostfile hosts --rankfile ranks --dry-run --display map:parseable true
  [ "$(sed 's/.*node=\([ab]\).*/\1/' out | tr -d '\n')" = ab ] || fail "map: $(cat out)"
  echo 'rank 0=c.invalid' >ranks
  launch --set launch.rsh=./shell --hostfile hosts --rankfile ranks true
  expect_code 2
  said "c.invalid is none of the hosts"
  nothing_is_left
}

test_files_that_other_nodes_are_given() {
  fake_shell
  mkdir there
  printf '#!/bin/sh\ncat data.txt; echo $0 $1\n' >program
  chmod +x program
  echo words >data.txt
  # In another folder there is neither: as on a node that does not share ours.
  launch --set launch.rsh=./shell -H a.invalid:1 --preload-binary --preload-files data.txt --wdir "$work/there" \
    "$work/program" argument
  expect_code 0
  printed words
  grep -qE "^$TMPDIR/.*/files/program argument$" out || fail "started: $(cat out)"
  [ -z "$(ls -A there)" ] || fail "files stay: $(ls -A there)"
  echo mine >there/data.txt
  launch --set launch.rsh=./shell -H a.invalid:1 --preload-files data.txt --wdir "$work/there" cat data.txt
  expect_code 0
  printed mine
  [ "$(cat there/data.txt)" = mine ] || fail "the file of the other node is changed"
  launch --set launch.rsh=./shell -H a.invalid:1 --preload-files none cat
  expect_code 2
  said "none cannot be copied to other nodes: No such file"
  launch --set launch.rsh=./shell -H a.invalid:1 --preload-files there cat
  expect_code 2
  said "is it a folder?"
  nothing_is_left
}

# While another job of the user's chooses its cores, for however long, nobody can tell which are free. A lock of the
# folder, which anybody may take, and files of other users by the lock's name say nothing of that. It is another /dev/shm,
# so that the jobs of other tests do not wait for this lock.
test_job_that_cannot_lock_the_cores_is_not_bound() {
  if ! unshare --mount true 2>/dev/null; then exit 77; fi
  export TUTTI_LAUNCH_SHARE_CORES=off
  code=0
  unshare --mount sh -c '
    mount -t tmpfs none /dev/shm || exit 77
    exec 8</dev/shm
    flock 8
    "$0" -n 1 --report-bindings true 2>free 8<&- || exit 1
    lock=/dev/shm/tutti-cores-$(id -u)
    if [ "$(id -u)" = 0 ]; then
      for i in $(seq 0 15); do touch $lock-$i; chown nobody $lock-$i; done
      "$0" -n 1 --report-bindings true 2>unlocked 8<&- || exit 1
      rm $lock-*
    fi
    [ -z "$(ls /dev/shm)" ] || exit 2
    umask 077
    exec 9>$lock-0
    flock 9
    "$0" -n 1 --report-bindings true 2>held 9<&- || exit 1
    "$0" -n 1 --bind-to core --report-bindings true 2>wanted 9<&-' "$mpirun" >out 2>err || code=$?
  [ "$code" != 77 ] || exit 77
  expect_code 0
  cat free held wanted >>err
  if [ -f unlocked ]; then
    grep -q "rank 0 on .*: core " unlocked || fail "it is not bound where another user is in the way: $(cat unlocked)"
    grep -q "may choose the same cores: /dev/shm/tutti-cores-0-15: it is another user's" unlocked || fail "no word of the lock: $(cat unlocked)"
  fi
  grep -q "rank 0 on .*: core " free || fail "it is not bound to a core that nobody has"
  grep -q "rank 0 on .*: not bound: other jobs of yours have the cores, or choose theirs" held || fail "it is bound without the lock"
  grep -q "rank 0 on .*: core " wanted || fail "it is not bound where an option wants it"
}

test_jobs_beside_each_other_take_other_cores() {
  local cores here
  here=$(hostname)
  cores=$("$build/bin/tutti" info | sed -n 's/.*: \([0-9]*\) of [0-9]* cores.*/\1/p')
  [ "$cores" -ge 2 ] || exit 77
  # Other tests' jobs may be beside these: they are in other folders, and not of these two processors.
  export TUTTI_LAUNCH_SHARE_CORES=off
  bound_to() { sed -n "s/.*rank 0 on $here: .*(processors \(.*\))/\1/p" "$1"; }
  # Until it has a core: while other jobs have them all it takes none, and nothing could be seen.
  local first=
  has_core() {
    if [ -n "$first" ]; then kill -TERM "$first" && ! wait "$first"; fi
    start_ready 1 -n 1 --report-bindings sh -c 'echo ready; exec sleep 60'
    first=$launched
    mv err first
    [ -n "$(bound_to first)" ]
  }
  within 20 has_core || fail "other jobs have the cores for all the time"
  launch -n 1 --report-bindings true
  expect_code 0
  if [ -n "$(bound_to first)" ] && [ -n "$(bound_to err)" ]; then
    [ "$(bound_to first)" != "$(bound_to err)" ] || fail "both are bound to $(bound_to err)"
  fi
  launch -n "$cores" --report-bindings true
  expect_code 0
  said "not bound: other jobs of yours have the cores"
  launch -n "$cores" --bind-to core --report-bindings true
  expect_code 0
  said "core 0 of"
  # A record whose writer is gone, or that is none, takes nothing.
  echo "999999999 1" >"/dev/shm/tutti.x$$.cores.1"
  echo "nonsense" >"/dev/shm/tutti.x$$.cores.2"
  ln -s /etc/passwd "/dev/shm/tutti.x$$.cores.3"
  fault kill -TERM "$first"
  launched=$first
  ends_in_time
  launch -n 1 --report-bindings true
  expect_code 0
  rm "/dev/shm/tutti.x$$.cores."[123]
  export TUTTI_LAUNCH_SHARE_CORES=on
  nothing_is_left
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
  # -genv is for all programs, -env for one; of two words for a variable the program's own counts.
  launch -genv G 1 -genv H 1 -n 1 -env H 2 sh -c 'echo a $G $H' : -n 1 sh -c 'echo b $G $H'
  expect_code 0
  printed "a 1 2"
  printed "b 1 1"
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

test_programs_of_a_file_that_names_another() {
  printf '%s\n' '--app x' >programs
  launch --app programs
  expect_code 2
  said "programs:1: --app has no place in a file of programs"
}

test_options_of_other_launchers() {
  launch -n 1 --mca btl self,tcp echo x
  expect_code 0
  said "--mca btl self,tcp changes nothing: transports are chosen by themselves"
  launch -q -n 1 --mca btl self,tcp echo x
  expect_code 0
  [ ! -s err ] || fail "--quiet says: $(cat err)"
  launch --preload-binary -n 1 echo x
  expect_code 0
  printed x
  launch --tv -n 1 true
  expect_code 2
  said "--tv is not supported: type --gdb"
  launch --nooversubscribe --host localhost:1 -n 2 true
  expect_code 2
  said "2 ranks are asked for on a node with 1 slots"
  launch --bind-to core:overload-allowed -n 1 true
  expect_code 0
  launch --map-by ppr:1:slot true
  expect_code 2
  said "'ppr:1:slot' is not one of slot, core"
  launch --help --map-by
  expect_code 0
  printed "--map-by HOW"
  launch --help nothing
  expect_code 2
  said "there is no such option or topic"
  launch --help placement
  expect_code 0
  printed "--rankfile, -rf FILE"
}


test_programs_by_ranks() {
  printf '%s\n' '0,3 echo a %t %o' '1 echo b' '*  sh -c "echo c $PMIX_RANK"' >programs
  launch -n5 -l --multi-prog programs
  expect_code 0
  [ "$(sort out)" = "[0] a 0 0
[1] b
[2] c 2
[3] a 3 1
[4] c 4" ] || fail "printed: $(cat out)"
  launch -n 2 --multi-prog programs
  expect_code 2
  said "programs:1: rank 3 is named, and -n 2 gives ranks 0 to 1"
}

test_places_of_other_launchers() {
  fake_shell
  launch --set launch.rsh=./shell -H localhost,a.invalid -nolocal --display map:parseable sh -c 'echo $PMIX_RANK'
  expect_code 0
  printed 0
  ! grep -q '^1$' out || fail "a rank runs here: $(cat out)"
  launch --set launch.rsh=./shell -w 'a[1-2].invalid' -l echo x
  expect_code 0
  printed_lines 2
  launch --set launch.rsh=./shell -H 'a[1-3].invalid:2' --nodes 2 -n 2 --dry-run --display map:parseable true
  expect_code 0
  grep -q a1.invalid out && grep -q a2.invalid out || fail "not on two nodes: $(cat out)"
  ! grep -q a3.invalid out || fail "on the third node: $(cat out)"
  launch --set launch.rsh=./shell -H 'a[1-2].invalid:2' --nodes 2 -n 2 --cpus-per-task 1 --dry-run --display map:parseable true
  expect_code 0
  grep -q a1.invalid out && grep -q a2.invalid out || fail "not on two nodes beside --cpus-per-task: $(cat out)"
  launch -nolocal true
  expect_code 2
  said "--nolocal leaves no node; name others by --host or --hostfile"
  launch --nodes 2 true
  expect_code 2
  said "--nodes 2: the job has 1 node"
  launch --map-by seq -H localhost --nodes 1 -n 1 true
  expect_code 2
  said "--nodes and --map-by seq both say which nodes ranks go to"
  launch -launcher fork -n 1 echo x
  expect_code 0
  launch -launcher fork -H a.invalid true
  expect_code 2
  said "-launcher fork starts ranks on this machine alone, and the job has a.invalid"
  launch -bootstrap slurm -H a.invalid true
  expect_code 2
  said "-bootstrap slurm: no allocation of a scheduler is seen"
}

test_process_number_and_time() {
  launch --report-pid - -n 1 sh -c 'echo $PPID'
  expect_code 0
  [ "$(sort -u out | wc -l)" = 1 ] || fail "two numbers: $(cat out)"
  launch --report-pid pid -n 1 true
  expect_code 0
  grep -qE '^[0-9]+$' pid || fail "the file has: $(cat pid)"
  launch --report-pid /none/pid -n 1 true
  expect_code 1
  said "--report-pid /none/pid: it cannot be written (No such file or directory)"
  launch --time=0:1 -n 1 sleep 30
  expect_code 124
  said "its time (--time 0:1) is over"
  launch 4 ./hello
  expect_code 2
  said "'4' stands where the program should, and -n is missing; type: mpirun -n 4 ./hello"
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
  launch -genv OMP_NUM_THREADS 2 -n 1 --report-bindings true
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

# Root lists the jobs of all users, each as that user would see them; others do not.
test_jobs_of_all_users() {
  "$build/bin/tutti" jobs --all-users --user nobody >out 2>err && fail "two ways to say whose"
  said "both say whose jobs"
  if [ "$(id -u)" != 0 ]; then
    "$build/bin/tutti" jobs --all-users >out 2>err && fail "others' jobs are listed"
    said "takes root"
    return
  fi
  local as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR=/tmp HOME=/"
  $as_nobody "$build/bin/mpirun" --version >out 2>err || { echo "skipped: nobody may not run what is in $build"; exit 77; }
  (cd / && exec $as_nobody "$build/bin/mpirun" -n 2 sleep 61) >out 2>err </dev/null &
  launched=$!
  listed() { "$build/bin/tutti" jobs --all-users >jobs && grep -q ": sleep, 2 ranks, 2 of them here, started here, of nobody$" jobs; }
  within 20 listed || fail "nobody's job is not among these: $(cat jobs)"
  local job
  job=$(sed -n 's/: sleep, .* of nobody$//p' jobs)
  "$build/bin/tutti" jobs --user nobody >jobs && grep -q "^$job: sleep, 2 ranks" jobs || fail "not with --user: $(cat jobs)"
  "$build/bin/tutti" jobs --json --all-users | python3 -c '
import json, sys
assert ("nobody", "'"$job"'") in {(job["user"], job["job"]) for job in json.load(sys.stdin)}' || fail "not in its JSON"
  "$build/bin/tutti" jobs --names >names
  ! grep -qxF "$job" names || fail "nobody's job is one of root's"
  # Who may not become another user, as in a container without that right, is told whose jobs are missing.
  setpriv --bounding-set=-setuid,-setgid --inh-caps=-setuid,-setgid "$build/bin/tutti" jobs --all-users >out 2>err &&
    fail "jobs that are missing are no error"
  said "the jobs of nobody are not listed"
  kill "$launched"
  wait "$launched" || true
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
case "\$1" in -*) exit 6 ;; esac  # such as -nostdin, without which the daemon hears nothing
[ "\$1" = elsewhere ] || exit 9
[ \$# = 2 ] || exit 8
exec sh -c "\$2"
END
  chmod +x "bin/$1"
}

test_remote_shells_of_schedulers() {
  stand_in blaunch ""
  stand_in qrsh "-inherit"
  PATH=$work/bin:$PATH LSB_JOBID=1 LSB_MCPU_HOSTS="elsewhere 2" launch echo x
  expect_code 0
  printed_lines 2
  echo "elsewhere 3 q U" >pe
  PATH=$work/bin:$PATH SGE_ROOT=/sge JOB_ID=4 PE_HOSTFILE=$work/pe launch echo x
  expect_code 0
  printed_lines 3
  # Flux counts its nodes, and its command is no shell.
  cat >bin/flux <<'END'
#!/bin/bash
case "$1 $2" in
  "getattr hostlist") echo "elsewhere[1-2]" ;;
  "exec -r") [ "$3" = 0 ] || [ "$3" = 1 ] || exit 9
    shift 3
    exec "$@" ;;
  *) exit 7 ;;
esac
END
  chmod +x bin/flux
  PATH=$work/bin:$PATH FLUX_ENCLOSING_ID=f FLUX_URI=local:///x launch -N 2 echo x
  expect_code 0
  printed_lines 4
  PATH=$work/bin:$PATH FLUX_ENCLOSING_ID=f FLUX_URI=local:///x launch --host elsewhere2:1 echo x
  expect_code 0
  printed_lines 1
  PATH=$work/bin:$PATH FLUX_ENCLOSING_ID=f FLUX_URI=local:///x "$build/bin/tutti" doctor >out 2>err
  printed "elsewhere2: way back: mpirun's node is reached at"
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
