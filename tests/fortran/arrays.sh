#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What --check=strict tells of arrays that are shorter than their call says, or of another kind; and that it tells nothing
# of what is right.   usage: arrays.sh MPIRUN PROGRAM
mpirun=$1 program=$2
failed=0
expect() {
  what=$1
  shift
  said=$(timeout 50 "$mpirun" -n 2 --check=strict "$program" "$what" 2>&1)
  code=$?
  [ $code != 0 ] && [ $code != 124 ] || { echo "$what: the exit code is $code"; failed=1; }
  for text; do
    case $said in *"$text"*) ;; *) echo "$what: not said: $text"; failed=1 ;; esac
  done
  [ $failed = 0 ] || printf '%s\n' "$said"
}
more='the array has fewer elements than count and datatype say'
expect send_more "MPI_Send: $more" 'it has 20 bytes, and 8 of MPI_INTEGER take 32' 'in arrays::send_more()'
expect receive_more "MPI_Recv: $more" 'it has 16 bytes, and 5 of MPI_INTEGER take 20'
expect reduce_more "MPI_Allreduce: $more" 'it has 24 bytes, and 7 of MPI_REAL take 28'
expect post_more "MPI_Irecv: $more"
expect span_more "MPI_Bcast: $more" 'it has 40 bytes, and 1 of a derived datatype without a name take 44'
expect shorter_kind 'the elements of the array have 8 bytes, and those of MPI_REAL have 4'
expect integer_kind 'MPI_Bcast: the elements of the array have 8 bytes, and those of MPI_INTEGER have 4'
expect words_more "MPI_Send: $more" 'it has 15 bytes, and 16 of MPI_CHARACTER take 16'
expect words_of_any_length "MPI_Bcast: $more" 'it has 28 bytes, and 29 of MPI_CHARACTER take 29'
blocks='the array has fewer elements than counts and displacements say'
expect blocks_beyond "MPI_Gatherv: $blocks" 'it has 16 bytes, and a block ends at 20' 'in arrays::blocks_beyond()'
expect blocks_more "MPI_Iallgather: $blocks" 'it has 20 bytes, and a block ends at 24'
for level in off basic strict; do
  said=$(timeout 50 "$mpirun" -n 2 --check=$level "$program" right 2>&1) || failed=1
  [ -z "$said" ] || { echo "it is right, and this is said with $level: $said"; failed=1; }
done
exit $failed
