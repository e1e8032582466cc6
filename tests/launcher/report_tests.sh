# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. `tutti report`: what it must have, what it must not tell, and that it comes to an end.

# report ARGUMENT…: its text in out, what it says of itself in err, and the exit code in $code.
report() {
  code=0
  timeout -k 5 90 "$build/bin/tutti" report "$@" >out 2>err </dev/null || code=$?
}
not_told() { ! grep -qiF -- "$1" out || fail "the report tells '$1': $(grep -iF -- "$1" out | head -3)"; }

test_report_has_what_is_asked_for() {
  local title
  TUTTI_LOG_LEVEL=debug report
  expect_code 0
  for title in Tutti Libraries UCX Machine Limits "Network devices" Scheduler Settings Environment "tutti doctor" \
      "Commands in PATH"; do
    grep -qxF -- "== $title" out || fail "there is no part $title"
  done
  printed "$("$build/bin/tutti" info | head -1)"
  printed "built:         by "
  grep -qE '^PMIx [0-9]' out && grep -qE '^hwloc [0-9]' out && grep -qE '^libevent [0-9]' out || fail "libraries are missing"
  printed "/libpmix.so"
  printed "$(uname -r)"
  printed "ulimit -n (open files): $(ulimit -Sn), at most $(ulimit -Hn)"
  grep -qE '^lo: ' out || fail "the loopback device is missing"
  printed "log.level: debug  # TUTTI_LOG_LEVEL"
  printed "good installation: "
}
test_report_tells_of_ucx_by_library() {
  report
  grep -qE '^UCX [0-9]' out || fail "no version of UCX"
  printed "/libucp.so"
  grep -qE '^UCX offers: .*tcp/lo' out || fail "what UCX offers is missing"
}

# Each is planted where it would be found if nothing were taken out.
test_report_tells_no_secret() {
  mkdir -p home/carroll/.ssh other "$XDG_CONFIG_HOME/tutti"
  printf '#!/bin/sh\necho "Other MPI 1.0 by wonderland at 198.51.100.7, password=jabberwock"\n' >other/mpirun
  chmod +x other/mpirun
  printf 'launch:\n  rsh: sshpass -p vorpalsword ssh\n' >"$XDG_CONFIG_HOME/tutti/tutti.yaml"
  cat >tells <<'END'
#!/bin/sh
echo "$USER on $HOSTNAME ($HOME/data, /home/mockturtle/x): $DB_PASSWORD, token: gryphon; 198.51.100.7 2001:db8::7 52:54:00:ab:cd:ef"
exit 3
END
  chmod +x tells
  USER=wonderland LOGNAME=wonderland HOME=$work/home/carroll HOSTNAME=croquet.lawn.example DB_PASSWORD=bandersnatch \
    UCX_NET_DEVICES=eth0 UCX_AUTH_TOKEN=tulgeywood OMP_X=$work/home/carroll LD_LIBRARY_PATH=/home/mockturtle/lib \
    SLURM_JOB_USER=wonderland SLURM_SUBMIT_HOST=croquet SLURM_NTASKS=4 SLURM_JOB_ACCOUNT=hatter \
    PATH=$work/other:$PATH report -- ./tells --key dormouse --host
  expect_code 0
  local secret
  for secret in wonderland carroll mockturtle croquet lawn.example bandersnatch tulgeywood vorpalsword jabberwock gryphon \
      dormouse hatter 198.51.100.7 2001:db8::7 52:54:00:ab:cd:ef; do
    not_told "$secret"
  done
  # And it still says something, the same word wherever the same was.
  printed "== Command: ./tells --key (left out) --host"
  printed "USER on HOST-2 (HOME/data, /home/USER-"
  printed "): (left out), token: (left out) ADDR-1 ADDR-2 ADDR-3"
  printed "(exit code 3, after "
  printed "launch.rsh: sshpass -p …"
  printed "UCX_NET_DEVICES=eth0"
  printed "UCX_AUTH_TOKEN=(left out)"
  printed "OMP_X=HOME"
  printed "SLURM_NTASKS=4"
  printed "SLURM_JOB_ACCOUNT is set"
  printed "Other MPI 1.0 by USER at ADDR-1, password=(left out)"
}
# The name of this machine, in a namespace of its own where that may be changed.
test_report_tells_no_host_name() {
  local name=queenofhearts
  cat >renamed <<END
hostname $name && exec "$build/bin/tutti" report -- sh -c 'echo from \$(hostname), ${name}7 and $name.lawn.example'
END
  code=0
  unshare -ru sh ./renamed >out 2>err </dev/null || code=$?
  [ "$code" = 0 ] || { grep -qE "unshare|hostname" err && exit 77; }
  expect_code 0
  not_told "$name "
  not_told "$name.lawn"
  printed "from HOST-1, "
  printed "this node:     HOST-1: "
}
# Nodes of a job: by name in a hostfile, which no pattern knows.
test_report_tells_no_names_of_nodes() {
  printf '%s\n' tweedledee.invalid cheshire.invalid >hosts
  "$mpirun" --set launch.connect_timeout=1s --hostfile hosts -n 2 true 2>err && fail "there is such a host"
  grep -qE "tweedledee|cheshire" err || fail "mpirun does not name the node"
  report -- "$mpirun" --set launch.connect_timeout=1s --hostfile hosts -n 2 true
  expect_code 0
  not_told tweedledee
  not_told cheshire
  report -- "$mpirun" --set launch.connect_timeout=1s --host tweedledum.invalid,walrus.invalid -n 2 true
  expect_code 0
  not_told tweedledum
  not_told walrus
}

test_report_goes_to_a_new_file_of_its_user() {
  (umask 0; report -o report.txt; [ "$code" = 0 ]) || fail "no report"
  [ "$(stat -c %a report.txt)" = 600 ] || fail "mode $(stat -c %a report.txt)"
  [ ! -s out ] || fail "standard output has something as well"
  said "the report is in report.txt; read it before you send it"
  grep -q "^== Machine" report.txt || fail "$(cat report.txt)"
  echo mine >kept
  report -o kept
  expect_code 1
  said "kept cannot be made: File exists; a report is written over nothing"
  [ "$(cat kept)" = mine ] || fail "it was written over"
  ln -s elsewhere link
  report -o link
  expect_code 1
  [ ! -e elsewhere ] || fail "a link was followed"
  report -o no/such/folder
  expect_code 1
  said "no/such/folder cannot be made: No such file or directory"
}
test_report_says_that_a_disk_is_full() {
  code=0
  "$build/bin/tutti" report >/dev/full 2>err || code=$?
  expect_code 1
  said_once "standard output cannot be written: No space left on device"
  [ "$(wc -l <err)" = 1 ] || fail "more is said: $(cat err)"
  # A folder without room for a file: the report needs none.
  unshare -rm sh -c 'mkdir -p full && mount -t tmpfs -o size=4k none full && cd full && { dd if=/dev/zero of=all bs=4k 2>/dev/null; true; } &&
    TMPDIR=$PWD HOME=$PWD "$0" report' "$build/bin/tutti" >out 2>err || { grep -qE "unshare|mount" err && exit 77; fail "a full disk"; }
  printed "== Commands in PATH"
}
test_report_without_home_and_environment() {
  code=0
  env -i "$build/bin/tutti" report >out 2>err </dev/null || code=$?
  expect_code 0
  printed "HOME is not set"
  printed "== Commands in PATH"
  ! grep -qE "signal|given up|cannot be started" out || fail "a part fails"
}
# Without leave to see anything of others', as an unknown user in a container.
test_report_without_rights() {
  [ "$(id -u)" = 0 ] || exit 77
  chmod 755 "$work"
  # The build may stand where others come by no right.
  setpriv --reuid 54321 --regid 54321 --clear-groups test -x "$build/bin/tutti" 2>err || exit 77
  mkdir secret && chmod 700 secret
  code=0
  HOME=$work/secret XDG_CONFIG_HOME=$work/secret PATH=$work/secret:$PATH \
    setpriv --reuid 54321 --regid 54321 --clear-groups "$build/bin/tutti" report >out 2>err </dev/null || code=$?
  expect_code 0
  printed "user:           not root"
  printed "== Commands in PATH"
  ! grep -qE "signal|given up|cannot be started" out || fail "a part fails"
}

# What stands still is given up, with a sentence, and leaves nothing.
test_report_never_hangs() {
  local folders= i
  for i in 1 2 3 4 5 6 7; do
    mkdir "mpi$i"
    printf '#!/bin/bash\n# %s\nsleep 1000\n' "$i" >"mpi$i/mpirun"
    chmod +x "mpi$i/mpirun"
    folders+=$work/mpi$i:
  done
  PATH=$folders$PATH report
  expect_code 0
  printed "mpi1/mpirun: '--version' has not ended after 3 s"
  printed "(this has not come to an end within 20 s, and was given up)"
  [ -z "$(processes)" ] || fail "processes are left"
}
test_report_interrupts_a_command_that_hangs_by_library() {
  report --timeout 7 -- "$mpirun" -n 2 "$stay"
  expect_code 0
  printed "(it was interrupted after 7 s)"
  printed "(exit code 130, after "
  printed "tutti: error: the job ends: Interrupt"
  report --timeout 1 -- bash -c 'trap "" INT; echo deaf; sleep 100 & sleep 100'
  printed "deaf"
  printed "that did not end it within 15 s; it was killed"
  [ -z "$(processes)" ] || fail "processes are left"
}
# Ctrl-C ends what is being looked at, and the report has the rest.
test_report_goes_on_when_its_command_is_interrupted() {
  "$build/bin/tutti" report -- sh -c 'echo begun; : >begun; exec sleep 100' >out 2>err </dev/null &
  launched=$!
  within 20 [ -e begun ] || fail "the command does not begin"
  kill -INT "$launched"
  code=0
  wait "$launched" || code=$?
  expect_code 0
  printed "begun"
  printed "(exit code 130, after "
  printed "== Commands in PATH"
}
test_report_of_a_job_by_library() {
  # Its name from a rank: beside it other jobs of this user may run.
  start_ready 2 -n 2 sh -c 'echo "$TUTTI_JOB" >job; exec "$0"' "$stay"
  local job
  job=$(cat job)
  report --job "$job"
  expect_code 0
  printed "== Job $job"
  printed "all of its 2 ranks are seen"
  kill -TERM "$launched"
  wait "$launched"
  report --job nosuchjob
  expect_code 1
  said "job nosuchjob cannot be seen whole; the report says why"
  printed "no rank of job nosuchjob is seen"
  printed "== Commands in PATH"
}
# The end of what a command prints is kept, and its beginning is counted.
test_report_keeps_the_end_of_an_output() {
  echo 'echo the beginning; seq 100000; echo the end' >long
  report -- sh ./long
  expect_code 0
  printed "bytes are left out)"
  printed "the end"
  not_told "the beginning"
  [ "$(wc -c <out)" -lt 100000 ] || fail "the report is long"
  report -- ./no-such-command
  printed "(exit code 127, after "
}
test_words_of_report() {
  local words
  while read -r words; do
    code=0
    "$build/bin/tutti" report $words >out 2>err || code=$?
    expect_code 2
    [ -s err ] && [ ! -s out ] || fail "tutti report $words: $(cat out err)"
  done <<'END'
--nope
mpirun
-o
--job
--timeout 0
--timeout soon
--
END
  "$build/bin/tutti" report --jop x 2>err
  said "did you mean '--job'?"
  "$build/bin/tutti" report mpirun -n 2 x 2>err
  said "a command stands behind --"
}
