# SPDX-License-Identifier: BSD-3-Clause
# Completion of mpirun, mpiexec and tutti for bash. bash-completion finds it by the name of each of the commands; elsewhere:
# source it. A test compares the names with the table of options.
_tutti_options="--app --bcast --bind-to --bind-to-core --bind-to-none --bind-to-socket --bootstrap --bootstrap-exec
--branch-count --bycore --bynode --byslot --bysocket --chdir --check --check-mpi --check_mpi --config --configfile
--cpu-bind --cpu-list --cpu-set --cpu_bind --cpus-per-proc --cpus-per-rank --cpus-per-task --debug-daemons --depth
--display --display-allocation --display-devel-map --display-diffable-map --display-map --display-topo --distribution
--do-not-launch --donotlaunch --dry-run --env --envall --envexcl --envlist --envnone --envuser --export --export-all
--fanout --gdb --genv --genvall --genvexcl --genvlist --genvnone --genvuser --gmca --gpu-bind --gpus-per-proc
--gpus-per-rank --gpus-per-task --grr --help --hint --host --hostfile --hostlist --hosts --hosts-group --iface --info
--initial-errhandler --kill-on-bad-exit --label --launcher --launcher-exec --loadbalance --machinefile --map-by
--maxtime --mca --memory-alloc-kinds --merge-stderr-to-stdout --multi-prog --nodefile --nodelist --nodes --nolocal
--nooversubscribe --npernode --npersocket --ntasks --ntasks-per-core --ntasks-per-node --ntasks-per-socket --omca
--outfile-pattern --output --output-filename --overcommit --oversubscribe --perhost --pernode --pmixmca --ppn --ppr
--preload-binary --preload-files --prepend-rank --print-rank-map --profile --prtemca --pset --quiet --rank-by
--rankfile --ranks-per-node --report-bindings --report-pid --rmk --rsh --rtos --runtime-options --set --show
--silent-abort --slot-list --spread-job --ssh --stdin --stop-in-init --stop-on-start --stress --tag-output --test-only
--threads-per-core --time --timeout --timestamp-output --unset --use-hwthread-cpus --verbose --version --wdir
--with-ft --on-failure --enable-recovery --disable-auto-cleanup"

_tutti_run() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  case $before in
    --map-by) COMPREPLY=($(compgen -W "slot core node socket numa l3cache gpu seq ppr:1:node ppr:1:socket" -- "$word")) ;;
    --bind-to) COMPREPLY=($(compgen -W "none hwthread core l2cache l3cache numa socket" -- "$word")) ;;
    --rank-by) COMPREPLY=($(compgen -W "slot node fill span socket numa l3cache core" -- "$word")) ;;
    --stdin) COMPREPLY=($(compgen -W "all none 0" -- "$word")) ;;
    --check) COMPREPLY=($(compgen -W "off basic strict" -- "$word")) ;;
    --stress) COMPREPLY=($(compgen -W "sync loose random:1" -- "$word")) ;;
    --display) COMPREPLY=($(compgen -W "map bindings allocation topology" -- "$word")) ;;
    --output) COMPREPLY=($(compgen -W "tag timestamp merge dir= file=" -- "$word")) ;;
    --hostfile | --machinefile | --app | --configfile | --rankfile | --preload-files) COMPREPLY=($(compgen -f -- "$word")) ;;
    --wdir | --chdir | --output-filename) COMPREPLY=($(compgen -d -- "$word")) ;;
    *)
      case $word in
        -*) COMPREPLY=($(compgen -W "$_tutti_options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word") $(compgen -c -- "$word")) ;;
      esac
      ;;
  esac
}

# Behind -- stands a command.
_tutti_report() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} i
  COMPREPLY=()
  for ((i = 2; i < COMP_CWORD; i++)); do
    [ "${COMP_WORDS[i]}" = -- ] || continue
    COMPREPLY=($(compgen -f -- "$word") $(compgen -c -- "$word"))
    return
  done
  case $before in
    -o | --output) COMPREPLY=($(compgen -f -- "$word")) ;;
    --job) COMPREPLY=($(compgen -W "$(tutti jobs --names 2>/dev/null)" -- "$word")) ;;
    --timeout) ;;
    *) COMPREPLY=($(compgen -W "-o --output --job --timeout --help --" -- "$word")) ;;
  esac
}

_tutti_plan() {
  if [ "$COMP_CWORD" = 2 ]; then
    COMPREPLY=($(compgen -W "barrier bcast gather scatter allgather allgatherv alltoall reduce allreduce scan exscan
      reduce_scatter reduce_scatter_block --help" -- "$word"))
  elif [ "${COMP_WORDS[COMP_CWORD-1]}" = --svg ] || [ "${COMP_WORDS[COMP_CWORD-1]}" = --costs ]; then
    COMPREPLY=($(compgen -f -- "$word"))
  else
    COMPREPLY=($(compgen -W "--ranks --nodes --bytes --algorithm --compare --rank --svg --costs" -- "$word"))
  fi
}

_tutti() {
  local word=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "run info why top jobs doctor profile plan tune report fortran version help" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run) _tutti_run ;;
    info) COMPREPLY=($(compgen -W "--config --api --version --help" -- "$word")) ;;
    why) COMPREPLY=($(compgen -W "--json --record --dump --user --help $(tutti jobs --names 2>/dev/null)" -- "$word")) ;;
    top) COMPREPLY=($(compgen -W "--once --json --interval --help $(tutti jobs --names 2>/dev/null)" -- "$word")) ;;
    jobs) COMPREPLY=($(compgen -W "--json --names --all-users --user --help" -- "$word")) ;;
    doctor) COMPREPLY=($(compgen -W "--json --host --hostfile --help" -- "$word")) ;;
    profile) COMPREPLY=($(compgen -f -- "$word") $(compgen -W "--compare -o --help" -- "$word")) ;;
    plan) _tutti_plan ;;
    tune)
      case ${COMP_WORDS[COMP_CWORD-1]} in
        -o | --output) COMPREPLY=($(compgen -f -- "$word")) ;;
        --rounds | --longest) ;;
        *) COMPREPLY=($(compgen -W "-o --output --print --rounds --longest --help" -- "$word")) ;;
      esac
      ;;
    report) _tutti_report ;;
    fortran) COMPREPLY=($(compgen -W "--fc= --cc= --to= --system --help" -- "$word")) ;;
  esac
}

complete -F _tutti tutti
# An mpirun of another MPI has other options.
for _tutti_name in mpirun mpiexec; do
  _tutti_path=$(type -P "$_tutti_name")
  [[ -n $_tutti_path && $(readlink -f "$_tutti_path") != */tutti ]] || complete -F _tutti_run "$_tutti_name"
done
unset _tutti_name _tutti_path
# Who looks for that one's goes on looking.
[[ ${BASH_SOURCE[0]##*/} != mpi* ]] || complete -p "${BASH_SOURCE[0]##*/}" >/dev/null 2>&1
