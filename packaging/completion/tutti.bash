# SPDX-License-Identifier: BSD-3-Clause
# Completion of mpirun, mpiexec and tutti for bash. A test compares the names with the table of options.
_tutti_options="--allow-run-as-root --app --bcast --bind-to --bind-to-core --bind-to-none --bootstrap --bootstrap-exec --bynode
--byslot --chdir --check --configfile --cpu-list --cpu-set --cpus-per-proc --cpus-per-rank --cpus-per-task --display
--display-allocation --display-devel-map --display-map --do-not-launch --donotlaunch --dry-run --env --envall
--envlist --envnone --export --gdb --genv --genvall --genvlist --genvnone --gmca --gpus-per-rank --gpus-per-task
--help --host --hostfile --hosts --iface --initial-errhandler --label --launch-agent --launcher --launcher-exec
--machinefile --map-by --mca --memory-alloc-kinds --merge-stderr-to-stdout --mpi --nodelist --nooversubscribe
--npernode --npersocket --ntasks-per-core --ntasks-per-node --ntasks-per-socket --outfile-pattern --output
--output-filename --oversubscribe --perhost --pmixmca --ppn --preload-binary --prepend-rank --prtemca --pset --quiet
--rank-by --ranks-per-node --report-bindings --rmk --set --stdin --stop-in-init --stop-on-start --stress --tag-output
--timeout --timestamp-output --unset --use-hwthread-cpus --verbose --version --wdir"

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

_tutti() {
  local word=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "run info why jobs doctor help" -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    run) _tutti_run ;;
    info) COMPREPLY=($(compgen -W "--config --api --version --help" -- "$word")) ;;
    why) COMPREPLY=($(compgen -W "--json --record --dump --user --help $(tutti jobs --names 2>/dev/null)" -- "$word")) ;;
    jobs) COMPREPLY=($(compgen -W "--json --names --help" -- "$word")) ;;
    doctor) COMPREPLY=($(compgen -W "--json --host --hostfile --help" -- "$word")) ;;
  esac
}

complete -F _tutti_run mpirun mpiexec
complete -F _tutti tutti
