#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fatal.sh PROGRAM: under the initial error handler each mistake ends the process, with a sentence
# that names the function and what is wrong, and with an exit code that is not 0.
program=$1
bad=0
mistake() {
  said=$(timeout 60 "$program" "$1" 2>&1)
  code=$?
  case $code in 0 | 124) echo "wrong: '$1' ends with exit code $code: $said"; bad=1 ;; esac
  case $said in *"went on"*) echo "wrong: '$1' went on"; bad=1 ;; esac
  case $said in *"$2"*) ;; *) printf "wrong: '%s' does not say: %s\n  but: %s\n" "$1" "$2" "$said"; bad=1 ;; esac
}
mistake before "MPI_Send: called before MPI_Init"
mistake rank "MPI_Send: rank 7 is not in communicator MPI_COMM_WORLD of 1 rank (argument dest)"
mistake null "MPI_Send: the communicator is null (argument comm)"
mistake unsupported "MPI_Win_create_dynamic: not implemented in Tutti"
mistake twice "MPI_Init: "
mistake after "MPI_Barrier: called after MPI_Finalize"
mistake "finalize twice" "MPI_Finalize: called after MPI_Finalize"
[ "$(timeout 60 "$program")" = "went on" ] || { echo "wrong: a program without a mistake failed"; bad=1; }
exit $bad
