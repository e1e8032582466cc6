#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What is told of errors in Fortran names the program's own lines, and no file of the library's.
# usage: wrong.sh MPIRUN PROGRAM
mpirun=$1 program=$2
failed=0
expect() {
  what=$1 ranks=$2
  shift 2
  said=$(TUTTI_CONTRACT_CHECK=strict timeout 50 "$mpirun" -n "$ranks" "$program" "$what" 2>&1)
  for text; do
    case $said in *"$text"*) ;; *) echo "$what: not said: $text"; failed=1 ;; esac
  done
  case $said in
    *procedures.inc* | *section.c* | *special.inc*) echo "$what: names the library"; failed=1 ;;
  esac
  [ $failed = 0 ] || printf '%s\n' "$said"
}
expect send 2 'MPI_Send' 'wrong.f90:8' 'rank 1000'
expect wait 2 'MPI_Recv' 'wrong.f90:16' 'deadlock'
expect forget 2 'MPI_Comm_dup' 'wrong.f90:23'
expect section 2 'section with gaps'
exit $failed
