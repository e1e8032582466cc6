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
expect send 2 'MPI_Send' 'wrong.f90:8, in send_to_nobody()' 'rank 1000' '(argument dest)'
expect wait 2 'MPI_Recv' 'wrong.f90:16, in wait_for_nobody()' 'deadlock'
expect forget 2 'MPI_Comm_dup' 'wrong.f90:23, in forget()'
expect section 2 'MPI_Put' 'fewer elements' 'wrong.f90:36, in put_a_section()'
expect types 2 'MPI_Bcast' 'MPI_REAL (wrong.f90:' 'MPI_INTEGER (wrong.f90:' 'in wrong_module::broadcast()'
expect order 2 'MPI_Barrier' 'MPI_Bcast' 'in the main program'
expect truncated 2 'MPI_Recv' 'longer than the receive buffer' 'in receive_less()'
expect handle 1 'MPI_Barrier' 'freed already' '(argument comm)'
expect buffer 2 'MPI_Irecv' 'in receive_twice()'
# What is right says nothing.
right() {
  said=$(TUTTI_CONTRACT_CHECK=strict timeout 50 "$mpirun" -n 2 "$program" "$1" 2>&1)
  [ -z "$said" ] || { echo "$1 is right, and this is said: $said"; failed=1; }
}
right right_types
right right_order
right right_truncated
right right_buffer
exit $failed
