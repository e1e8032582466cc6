! SPDX-License-Identifier: BSD-3-Clause
! The part of mixed.f90 that includes mpif.h.
subroutine oldest_half(comm, total)
  implicit none
  include 'mpif.h'
  integer :: comm, total, ierror
  total = 1
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
end subroutine
