#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fatal.sh PROGRAM MPIRUN: under the initial error handler each mistake ends the process, with a sentence
# that names the function and what is wrong, and with an exit code that is not 0.
program=$1
mpirun=$2
bad=0
mistake() {
  said=$(timeout 60 "$program" "$1" 2>&1)
  code=$?
  case $code in 0 | 124) echo "wrong: '$1' ends with exit code $code: $said"; bad=1 ;; esac
  case $said in *"went on"*) echo "wrong: '$1' went on"; bad=1 ;; esac
  case $said in *"$2"*) ;; *) printf "wrong: '%s' does not say: %s\n  but: %s\n" "$1" "$2" "$said"; bad=1 ;; esac
}
mistake before "MPI_Send: called before MPI_Init"
mistake rank "MPI_Send: rank 7 is not in communicator MPI_COMM_WORLD of 1 rank, for the program was started without mpirun (argument dest)"
mistake null "MPI_Send: the communicator is null (argument comm)"
mistake twice "MPI_Init: "
mistake after "MPI_Barrier: called after MPI_Finalize"
mistake "finalize twice" "MPI_Finalize: called after MPI_Finalize"
# So do the ranks of a job, of which one speaks for all: with its number and the place of the call.
for case in "before=MPI_Send: called before MPI_Init" "after=MPI_Barrier: called after MPI_Finalize" \
            "finalize twice=MPI_Finalize: called after MPI_Finalize"; do
  said=$(timeout 60 "$mpirun" -n 3 "$program" "${case%%=*}" 2>&1) && { echo "wrong: went on, $case"; bad=1; }
  place="  rank [0-2]: ${case#*=}"
  place="${place%%: called*} at fatal\.c:[0-9]*, in main()"
  if [ "$(echo "$said" | grep -c "^tutti: error: rank [0-2] on .*: ${case#*=}$")" != 1 ] ||
     [ "$(echo "$said" | grep -c "^$place$")" != 1 ] || echo "$said" | grep -q "exited with code"; then
    printf "wrong: a job says of '%s': %s\n" "$case" "$said"
    bad=1
  fi
done
# The place is found, too, where the compiler writes no index of addresses (clang writes none). The copy is beside the program,
# which may find the library by a path from itself.
unindexed=$(mktemp "$program.XXXXXX")
trap 'rm -f "$unindexed"' EXIT
objcopy --remove-section=.debug_aranges "$program" "$unindexed" && chmod +x "$unindexed" || bad=1
said=$(timeout 60 "$mpirun" -n 1 "$unindexed" before 2>&1) && { echo "wrong: went on without an index"; bad=1; }
case $said in *"MPI_Send at fatal.c:"*", in main()"*) ;; *) echo "wrong: no line without an index: $said"; bad=1 ;; esac
# Started as one of several by somebody without PMIx: not one of so many jobs of one.
for variable in PMI_SIZE OMPI_COMM_WORLD_SIZE SLURM_STEP_NUM_TASKS MV2_COMM_WORLD_SIZE; do
  said=$(env $variable=4 timeout 60 "$program" 2>&1) && { echo "wrong: went on with $variable=4"; bad=1; }
  case $said in *"$variable=4"*"PMIx"*) ;; *) echo "wrong: with $variable=4: $said"; bad=1 ;; esac
  env $variable=1 timeout 60 "$program" >/dev/null || { echo "wrong: failed with $variable=1"; bad=1; }
done
# Tutti's mpirun gives such variables, too, which its ranks' other programs may find; Open MPI's inside of a rank says more.
ours="TUTTI_RANK=1 TUTTI_SIZE=4 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4"
env $ours timeout 60 "$program" >/dev/null || { echo "wrong: failed with Tutti's own variables"; bad=1; }
for other in OMPI_UNIVERSE_SIZE=4 OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0; do
  env $ours $other timeout 60 "$program" >/dev/null 2>&1 && { echo "wrong: went on with $other inside of a rank"; bad=1; }
done
# A wrong setting names itself and where it came from.
for setting in "TUTTI_COLLECTIVES_OVERRIDE=alreduce ring" TUTTI_COLLECTIVES_RULES=/nope; do
  said=$(env "$setting" timeout 60 "$program" 2>&1) && { echo "wrong: went on with $setting"; bad=1; }
  case $said in *"from: ${setting%%=*}"*) ;; *) echo "wrong: with $setting: $said"; bad=1 ;; esac
done
# UCX is opened, and its setting looked at, only by a job that needs it.
said=$(timeout 60 "$mpirun" -n 2 --set transport.shared_memory=off --set transport.ucx_tls=nope \
       "$program" 2>&1) && { echo "wrong: went on with transport.ucx_tls=nope"; bad=1; }
case $said in *"with transport.ucx_tls=nope (from: "*) ;; *) echo "wrong: with transport.ucx_tls=nope: $said"; bad=1 ;; esac
# The counters of calls, on request.
case $(TUTTI_LOG_LEVEL=debug timeout 60 "$program" 2>&1) in
  *"MPI_Init was called 1 time"*) ;;
  *) echo "wrong: no count of calls at log.level debug"; bad=1 ;;
esac
[ "$(timeout 60 "$program")" = "went on" ] || { echo "wrong: a program without a mistake failed"; bad=1; }
exit $bad
