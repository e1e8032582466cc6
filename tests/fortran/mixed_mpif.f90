! SPDX-License-Identifier: BSD-3-Clause
! The part of mixed.f90 that includes mpif.h.
subroutine oldest_half(comm, total)
  implicit none
  include 'mpif.h'
  integer :: comm, total, ierror
  total = 1
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
end subroutine

! What is handed in may be another interface's MPI_IN_PLACE, and its MPI_STATUS_IGNORE.
subroutine oldest_hands_on(buffer, status, comm, total, known)
  implicit none
  include 'mpif.h'
  integer :: buffer(*), status(*), comm, total, ierror, rank, received
  logical :: known
  total = 1
  call MPI_Allreduce(buffer, total, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
  call MPI_Comm_rank(comm, rank, ierror)
  received = 0
  call MPI_Sendrecv(total, 1, MPI_INTEGER, rank, 3, received, 1, MPI_INTEGER, rank, 3, comm, status, ierror)
  known = ierror == MPI_SUCCESS .and. received == total
end subroutine
