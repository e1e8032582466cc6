#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: explain.sh NAME CODE COMMAND…   what mpifort (NAME) runs when a compiler's COMMAND has ended with CODE: looks at what
# the compiler says, by running it once more, and adds what is known of it. Ends with CODE.
name=$1 code=$2
shift 2
[ "$code" -lt 126 ] || exit "$code"
said=$(LC_ALL=C "$@" 2>&1 >/dev/null </dev/null)

case $said in
  *'Error: Type mismatch between actual argument'* | *'Error: Rank mismatch between actual argument'*)
    echo "$name: arguments of different types in calls of one procedure, as programs with mpif.h have them, are let through by -fallow-argument-mismatch" >&2
    ;;
esac

# What MPI 3.0 has removed.
explain() {
  case $said in
    *"$1_'"* | *"$1_\`"* | *" $1_"*) echo "$name: $(printf %s "$1" | tr a-z A-Z) was removed from MPI in 2012; $2 takes its place" >&2 ;;
  esac
}
case $said in
  *undefined*mpi_* | *unresolved*mpi_*)
    explain mpi_address 'MPI_GET_ADDRESS, with an INTEGER(KIND=MPI_ADDRESS_KIND),'
    explain mpi_errhandler_create MPI_COMM_CREATE_ERRHANDLER
    explain mpi_errhandler_get MPI_COMM_GET_ERRHANDLER
    explain mpi_errhandler_set MPI_COMM_SET_ERRHANDLER
    explain mpi_type_extent 'MPI_TYPE_GET_EXTENT, with two INTEGER(KIND=MPI_ADDRESS_KIND),'
    explain mpi_type_hindexed 'MPI_TYPE_CREATE_HINDEXED, with INTEGER(KIND=MPI_ADDRESS_KIND) displacements,'
    explain mpi_type_hvector 'MPI_TYPE_CREATE_HVECTOR, with an INTEGER(KIND=MPI_ADDRESS_KIND) stride,'
    explain mpi_type_lb MPI_TYPE_GET_EXTENT
    explain mpi_type_struct 'MPI_TYPE_CREATE_STRUCT, with INTEGER(KIND=MPI_ADDRESS_KIND) displacements,'
    explain mpi_type_ub 'MPI_TYPE_GET_EXTENT, whose lower bound and extent add up to it,'
    ;;
esac
exit "$code"
