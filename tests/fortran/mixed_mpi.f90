! SPDX-License-Identifier: BSD-3-Clause
! The part of mixed.f90 that uses mpi.
subroutine older_half(comm, total)
  use mpi
  implicit none
  integer :: comm, total, ierror
  total = 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
end subroutine
