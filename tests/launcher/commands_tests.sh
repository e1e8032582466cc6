# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. The command line, the settings, and what is said about mistakes in them.

test_configuration_errors() {
  launch --set log.levle=note -n 1 true
  expect_code 2
  said "--set log.levle=note: there is no setting 'log.levle'; did you mean 'log.level'?"
  TUTTI_WAIT_SPINZ=1 launch -n 1 true
  expect_code 2
  said "TUTTI_WAIT_SPINZ is not a setting; did you mean 'TUTTI_WAIT_SPINS'?"
  mkdir -p config/tutti
  printf 'log:\n  level: loud\n' >config/tutti/tutti.yaml
  launch -n 1 true
  expect_code 2
  said "$work/config/tutti/tutti.yaml:2: 'loud' is not a value of log.level"
  printf 'launch:\n  bind_to: none\n' >config/tutti/tutti.yaml
  launch -n 1 --report-bindings true
  expect_code 0
  said "not bound"
  "$build/bin/tutti" info --config >out 2>err
  printed "config/tutti/tutti.yaml:2"
  echo 'node1 slots=two' >hosts
  launch --hostfile hosts -n 1 true
  expect_code 2
  said "hosts:1: 'slots=two' is not expected here"
  launch --hostfile missing -n 1 true
  expect_code 2
  said "hostfile missing: No such file or directory"
  TMPDIR=/no/such/folder launch -n 1 true
  expect_code 1
  said "TMPDIR chooses another place"
}

test_commands() {
  local name
  for name in "mpirun" "mpiexec" "tutti run"; do
    (PATH=$build/bin:$PATH; $name -n 2 echo x) >out 2>err || fail "$name fails"
    printed_lines 2
    (PATH=$build/bin:$PATH; $name --help) >out 2>err || fail "$name --help fails"
    printed "Usage: $name"
    (PATH=$build/bin:$PATH; $name --version) >out 2>err || fail "$name --version fails"
    printed "tutti "
  done
  # As a distribution calls it that has several MPIs.
  ln -s "$build/bin/tutti" mpirun.tutti
  ./mpirun.tutti -n 2 echo x >out 2>err || fail "mpirun.tutti fails"
  printed_lines 2
  "$build/bin/tutti" infp >out 2>err && fail "an unknown command succeeds"
  said "did you mean 'info'?"
  "$build/bin/tutti" info >out 2>err || fail "info fails"
  printed "this node:"
}
# Root sees its own ranks, and those of another user as that user would: not root's.
test_why_of_another_user_by_library() {
  start_ready 2 -n 2 "$stay"
  "$build/bin/tutti" why >seen 2>err || fail "tutti why sees nothing"
  grep -q "all of its 2 ranks are seen" seen || fail "tutti why: $(cat seen)"
  "$build/bin/tutti" why --user nosuchuser >seen 2>err && fail "a user that does not exist"
  said "there is no such user"
  "$build/bin/tutti" why --user nobody >seen 2>err && fail "nobody's ranks: $(cat seen)"
  if [ "$(id -u)" = 0 ]; then said "no rank"; else said "that takes root"; fi
  [ ! -s seen ] || fail "another user's ranks are shown"
  fault kill -TERM "$launched"
  ends_in_time
}
test_hostfiles_limit_the_ranks() {
  printf '\xef\xbb\xbflocalhost slots=1 max_slots=3\r\n' >hosts
  launch --hostfile hosts -n 3 echo x
  expect_code 0
  printed_lines 3
  launch --hostfile hosts -n 4 echo x
  expect_code 2
  said_once "4 ranks are asked for, and the nodes take 3 at most"
  [ ! -s out ] || fail "some ranks were started"
  printf 'localhost\nlocalhost slots=2 slots=3\n' >hosts
  launch --hostfile hosts -n 1 true
  expect_code 2
  said "hosts:2: 'slots=3' comes after another number of the same kind"
  launch --hostfile hosts --hostfile hosts -n 1 true
  expect_code 2
  said "--hostfile is given twice"
  : >hosts
  launch --hostfile hosts -n 1 true
  expect_code 2
  said "hosts: names no host"
  launch --hostfile . -n 1 true
  expect_code 2
  said "hostfile .: it is a folder"
  launch --hostfile none -n 1 true
  expect_code 2
  said "hostfile none: No such file or directory"
}
test_cores_that_a_node_does_not_have_are_an_error() {
  local cores
  cores=$("$build/bin/tutti" info | grep -oE '[0-9]+ of [0-9]+ cores' | cut -d' ' -f1)
  launch --map-by slot:pe=$((cores + 1)) --report-bindings true
  expect_code 2
  said_once "--map-by gives each rank $((cores + 1)) cores (pe=$((cores + 1))), and $(hostname) has $cores core"
  ! grep -q "not bound" err || fail "ranks were bound to nothing"
  launch --map-by slot:pe=$cores --report-bindings true
  expect_code 0
  ! grep -q "not bound" err || fail "a rank with all cores is not bound"
  [ "$cores" = 1 ] || {
    launch --map-by slot:pe=$cores -n 2 true
    expect_code 0
    said_once "2 ranks of $cores cores each share $cores cores on $(hostname), and are not bound"
  }
}
# As in the shell of salloc: on this machine alone, and so without Slurm.
test_slurm_gives_each_rank_its_cores() {
  local cores
  cores=$("$build/bin/tutti" info | grep -oE '[0-9]+ of [0-9]+ cores' | cut -d' ' -f1)
  [ "$cores" -gt 1 ] || return 0
  slurm_variables() {
    env SLURM_JOB_ID=1 SLURM_JOB_NODELIST="$(hostname)" SLURM_TASKS_PER_NODE=1 SLURMD_NODENAME="$(hostname)" \
      SLURM_JOB_CPUS_PER_NODE="$cores" SLURM_CPUS_PER_TASK="$cores" "$@"
  }
  run_in_slurm() {
    code=0
    slurm_variables timeout -k 5 60 "$mpirun" "$@" >out 2>err || code=$?
    expect_code 0
  }
  counts='echo "$(nproc) of $PMIX_RANK"'
  run_in_slurm sh -c "$counts"
  printed_lines 1
  printed "$cores of 0"
  # Whatever an option says wins.
  run_in_slurm --map-by slot:pe=1 sh -c "$counts"
  printed_lines "$cores"
  printed "1 of 1"
  run_in_slurm -n "$cores" sh -c "$counts"  # more than tasks: an equal share
  printed_lines "$cores"
  printed "1 of 0"
}
test_words_that_a_command_does_not_know_are_errors() {
  local words
  while read -r words; do
    code=0
    "$build/bin/tutti" $words >out 2>err || code=$?
    expect_code 2
    [ ! -s out ] || fail "tutti $words prints something as well"
    said "'${words##* }'"
  done <<'END'
info foo
info --confg
info --config foo
info --api --nope
info --version foo
info --help foo
help foo
--version foo
--help foo
version foo
why --nope
why job1 job2
run --nope
jobs --nope
doctor --nope
report --nope
fortran --nope
END
  "$build/bin/tutti" info --confg >out 2>err
  said "did you mean '--config'?"
  "$build/bin/tutti" info --config --api >out 2>err && fail "two things at a time"
  said "one of its options at a time: --config, or --api"
  for words in "info --help" "info -h" "why --help" "run --help" "jobs --help" "doctor --help" "fortran --help" "report --help" \
      "help run" "help info" "help why" "help jobs" "help doctor" "help fortran" "help report"; do
    "$build/bin/tutti" $words >out 2>err || fail "tutti $words fails"
    words=${words#help }
    printed "Usage: tutti ${words%% *}"
  done
  "$build/bin/tutti" help >out 2>err || fail "tutti help fails"
  printed "tutti fortran"
  for words in version --version; do
    "$build/bin/tutti" $words >out 2>err || fail "tutti $words fails"
    [ "$(cat out)" = "$("$mpirun" version)" ] || fail "tutti $words prints: $(cat out)"
  done
  code=0
  "$build/bin/tutti" doctor --host 'node[3-1]' >out 2>err || code=$?
  expect_code 2
  said "--host: 'node[3-1]' is not a list of nodes such as node[1-3,7]"
  "$build/bin/tutti" frobnicate >out 2>err && fail "an unknown command succeeds"
  said "there is no command 'tutti frobnicate'; there are run, info, why, top, fortran, jobs, doctor, profile, plan, tune, report, help and version"
  "$mpirun" help binding >out 2>err || fail "mpirun help binding fails"
  printed "--bind-to WHAT"
  "$mpirun" help >out 2>err || fail "mpirun help fails"
  printed "Usage: mpirun"
}
# As ssh does with ControlPersist.
test_doctor_is_not_held_up_by_what_a_shell_leaves() {
  printf '#!/bin/sh\nsetsid sleep 60 &\nshift\nexec sh -c "$*"\n' >shell
  chmod +x shell
  code=0
  TUTTI_LAUNCH_RSH=$work/shell timeout 15 "$build/bin/tutti" doctor --host node.invalid >out 2>err || code=$?
  expect_code 0
  printed "good node.invalid: way back: "
}
test_empty_values_are_errors() {
  local option
  for option in --hostfile --wdir --map-by --bind-to -H; do
    launch -n 1 "$option" "" true
    expect_code 2
    said "$option needs a value"
  done
  launch --set launch.rsh= -n 1 true
  expect_code 2
  said "--set launch.rsh=: '' is not a value of launch.rsh, which is text, and not empty"
  TUTTI_LAUNCH_NODE_TIMEOUT=0 launch -n 1 true
  expect_code 2
  said "TUTTI_LAUNCH_NODE_TIMEOUT: '0' is not a value of launch.node_timeout"
  mkdir -p config/tutti
  printf 'launch:\n  rsh:\n' >config/tutti/tutti.yaml
  launch -n 1 true
  expect_code 2
  said "$work/config/tutti/tutti.yaml:2: '' is not a value of launch.rsh"
  printf 'launch:\n  map_by: slto\n' >config/tutti/tutti.yaml
  launch -n 1 true
  expect_code 2
  said "$work/config/tutti/tutti.yaml:2: --map-by slto: 'slto' is not one of slot"
  rm config/tutti/tutti.yaml
  launch -n 1 ""
  expect_code 127
}
# A setting that only the library can judge: one sentence, though every rank has found it wrong.
test_failed_start_is_said_once_by_library() {
  local setting
  for setting in "collectives.override=alreduce ring" collectives.rules=/no/such/file transport.ucx_tls=nope; do
    launch -n 4 --set transport.shared_memory=off --set "$setting" "$traffic"
    [ "$code" != 0 ] || fail "went on with $setting"
    said "MPI_Init: "
    said "${setting%%=*}"
    [ "$(grep -c "^tutti: error" err)" = 1 ] || fail "more than one sentence about $setting"
    nothing_is_left
  done
}
test_api_is_listed_by_library() {
  local all missing
  "$build/bin/tutti" info --api >out 2>err || fail "exit code $?"
  missing=$(grep -c '	unsupported$' "$build/share/tutti/api.tsv") || true
  all=$(grep -c '' "$build/share/tutti/api.tsv")
  [ "$all" = 664 ] || fail "$all functions"
  [ "$(awk '/^MPI_/' out | wc -l)" = "$missing" ] || fail "not all that is missing is listed"
  awk '$2 == "unsupported" {print $1}' "$build/share/tutti/api.tsv" | sort | diff - <(awk '/^MPI_/' out | sort) ||
    fail "other functions are listed than are missing"
  if [ "$missing" = 0 ]; then
    printed "all $all functions are implemented"
  else
    printed "$((all - missing)) functions are implemented, $missing are not (listed above)"
  fi
}

# What a user of zsh gets for a line and a tab.
completed_by_zsh() {
  cat >complete.zsh <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='%% '; stty -echo; unsetopt zle_bracketed_paste; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; bindkey '^I' complete-word; echo be''gin"
zpty -r -m shell said '*begin*' || exit 1
zpty -w -n shell "$2"$'\t'
sleep 1
zpty -w shell ' #end'
said=
for i in {1..400}; do
  zpty -r -t shell part && said+=$part
  [[ $said == *'#end'* ]] && break
  sleep 0.1
done
zpty -d shell
print -r -- "$said"
END
  PATH=$build/bin:$PATH timeout 60 zsh -f complete.zsh "$here/../../packaging/completion" "$1" 2>&1
}

# The same for bash with bash-completion, which finds the files by the commands' names: with PATH $1 the words of $2, of which
# the last one is not yet whole.
completed_by_bash() {
  mkdir -p share/bash-completion/completions
  local name
  for name in tutti mpirun mpiexec; do ln -sf "$here/../../packaging/completion/tutti.bash" share/bash-completion/completions/$name; done
  PATH=$1 XDG_DATA_DIRS=$work/share BASH_COMPLETION_USER_DIR=$work/none timeout 60 bash --norc -c '
    . /usr/share/bash-completion/bash_completion
    COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
    read -ra COMP_WORDS <<<"$1"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _completion_loader "${COMP_WORDS[0]}"
    entry=$(complete -p "${COMP_WORDS[0]}") && entry=${entry#*-F }
    "${entry%% *}" "${COMP_WORDS[0]}" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
    printf "%s\n" "${entry%% *}" "${COMPREPLY[@]}"' bash "$2" 2>&1
}

test_completion_of_bash() {
  [ -r /usr/share/bash-completion/bash_completion ] || exit 77
  local line wanted word
  while IFS='|' read -r line wanted; do
    completed_by_bash "$build/bin:$PATH" "$line" >completed
    [ "$(tail -n +2 completed)" = "$wanted" ] || fail "'$line' becomes '$(cat completed)' and not '$wanted'"
  done <<'END'
mpirun --use-hw|--use-hwthread-cpus
mpiexec -n 2 --preload-b|--preload-binary
tutti doc|doctor
tutti report --ti|--timeout
tutti report -- --use|
tutti run --map-by nu|numa
tutti fortran --sy|--system
END
  # Each command that tutti's help names; and another MPI's mpirun is left alone.
  for word in $("$build/bin/tutti" help | sed -n 's/^.* tutti \([a-z]*\) .*/\1/p'); do
    completed_by_bash "$build/bin:$PATH" "tutti $word" >completed
    [ "$(tail -n +2 completed)" = "$word" ] || fail "bash does not know 'tutti $word': $(cat completed)"
  done
  mkdir -p other
  printf '#!/bin/sh\n' >other/mpirun
  chmod +x other/mpirun
  completed_by_bash "$work/other:$PATH" "mpirun --use-hw" >completed
  ! grep -q tutti completed || fail "another mpirun is completed as Tutti's: $(cat completed)"
}

test_completion_of_zsh() {
  command -v zsh >/dev/null || exit 77
  local line wanted
  while IFS='|' read -r line wanted; do
    completed_by_zsh "$line" >completed
    grep -qF -- "$wanted" completed || fail "'$line' becomes '$(cat -v completed)' and not '$wanted'"
  done <<'END'
mpirun --use-hw|--use-hwthread-cpus
mpirun --rank-by fi|--rank-by fill
mpiexec -n 2 --preload-b|--preload-binary
tutti doc|tutti doctor
tutti report --ti|tutti report --timeout
tutti run --map-by nu|--map-by numa
END
}
