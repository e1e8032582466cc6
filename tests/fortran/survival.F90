! SPDX-License-Identifier: BSD-3-Clause
! What mpi-ext.h has, in each of the three interfaces: the last rank fails, and the others go on without it. Run with
! mpirun --on-failure=continue.
#include "interface.h"
#ifdef F08
#define USE_EXTENSIONS use mpi_f08_ext
#define INCLUDE_EXTENSIONS
#elif defined MPIF
#define USE_EXTENSIONS
#define INCLUDE_EXTENSIONS include 'mpif-ext.h'
#else
#define USE_EXTENSIONS use mpi_ext
#define INCLUDE_EXTENSIONS
#endif
program survival
  USE_MPI
  USE_EXTENSIONS
  use check_module
  implicit none
  INCLUDE_MPI
  INCLUDE_EXTENSIONS
  integer :: rank, ranks, ierror
  HANDLE(MPI_Comm) :: comm
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call attribute()
  call agreements()
  call the_last_one_fails()
  call who_has_failed()
  call communicators()
  call MPI_Comm_free(comm, ierror)
  call MPI_Finalize(ierror)
  call finish()
contains

  subroutine attribute()
    integer(MPI_ADDRESS_KIND) :: goes_on
    logical :: found
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, goes_on, found, ierror)
    call check('MPIX_FT', found .and. goes_on == 1)
  end subroutine

  subroutine agreements()
    integer, ASYNC :: later
    integer :: flag
    HANDLE(MPI_Request) :: request
    STATUS(status)
    flag = not(ishft(1, rank))
    call MPIX_Comm_agree(comm, flag, ierror)
    call check('agree', ierror == MPI_SUCCESS .and. flag == not(ishft(1, ranks) - 1))
    later = ior(ishft(1, rank), 64)
    call MPIX_Comm_iagree(comm, later, request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_F_SYNC_REG(later)
    call check('iagree', ierror == MPI_SUCCESS .and. later == 64)
  end subroutine

  subroutine the_last_one_fails()
    integer, parameter :: tag = 4711
    integer :: i, word, its_class
    STATUS(status)
    word = 0
    if (rank == ranks - 1) then
      do i = 0, ranks - 2
        call MPI_Recv(word, 1, MPI_INTEGER, i, tag, comm, status, ierror)
      end do
      error stop 3
    end if
    call MPI_Send(word, 1, MPI_INTEGER, ranks - 1, tag, comm, ierror)
    call MPI_Recv(word, 1, MPI_INTEGER, ranks - 1, tag, comm, status, ierror)
    call MPI_Error_class(ierror, its_class, ierror)
    call check('a receive from one who has failed', its_class == MPIX_ERR_PROC_FAILED)
  end subroutine

  subroutine who_has_failed()
    HANDLE(MPI_Group) :: failed, acknowledged, world
    integer :: n, its_rank(1)
    call MPIX_Comm_get_failed(comm, failed, ierror)
    call MPI_Group_size(failed, n, ierror)
    call check('get_failed', n == 1)
    call MPI_Comm_group(comm, world, ierror)
    call MPI_Group_translate_ranks(failed, 1, [0], world, its_rank, ierror)
    call check('who has failed', its_rank(1) == ranks - 1)
    call MPIX_Comm_failure_get_acked(comm, acknowledged, ierror)
    call MPI_Group_size(acknowledged, n, ierror)
    call check('failure_get_acked before', n == 0)
    call MPIX_Comm_ack_failed(comm, 0, n, ierror)
    call check('ack_failed of none', n == 0)
    call MPIX_Comm_ack_failed(comm, ranks, n, ierror)
    call check('ack_failed', n == 1)
    call MPIX_Comm_failure_ack(comm, ierror)
    call MPIX_Comm_failure_get_acked(comm, acknowledged, ierror)
    call MPI_Group_size(acknowledged, n, ierror)
    call check('failure_get_acked', n == 1)
    call MPI_Group_free(failed, ierror)
    call MPI_Group_free(acknowledged, ierror)
    call MPI_Group_free(world, ierror)
  end subroutine

  subroutine communicators()
    HANDLE(MPI_Comm) :: rest
    HANDLE(MPI_Comm), ASYNC :: later
    HANDLE(MPI_Request) :: request
    STATUS(status)
    integer :: n, total, its_class
    logical :: revoked
    call MPIX_Comm_is_revoked(comm, revoked, ierror)
    call check('is_revoked before', .not. revoked)
    n = 1
    call MPIX_Comm_agree(comm, n, ierror) ! all have come so far, and have acknowledged who failed
    call check('agree after a failure', ierror == MPI_SUCCESS .and. n == 1)
    call MPIX_Comm_revoke(comm, ierror)
    call PMPIX_Comm_is_revoked(comm, revoked, ierror)
    call check('is_revoked', revoked)
    call MPI_Barrier(comm, ierror)
    call MPI_Error_class(ierror, its_class, ierror)
    call check('a barrier of a revoked one', its_class == MPIX_ERR_REVOKED)
    call MPIX_Comm_shrink(comm, rest, ierror)
    call MPI_Comm_size(rest, n, ierror)
    call check('shrink', n == ranks - 1)
    call MPIX_Comm_ishrink(rest, later, request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_F_SYNC_REG(later)
    call check('ishrink', ierror == MPI_SUCCESS .and. later /= MPI_COMM_NULL)
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, later, ierror)
    call check('an allreduce of the rest', total == ranks * (ranks - 1) / 2)
    call MPI_Comm_free(later, ierror)
    call MPI_Comm_free(rest, ierror)
  end subroutine
end program
