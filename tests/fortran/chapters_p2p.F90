! SPDX-License-Identifier: BSD-3-Clause
! Messages: the modes, buffers, probes that take a message out, cancelled and persistent ones, partitions, in each of
! the three interfaces.
#include "interface.h"
program chapters_p2p
  USE_MPI
  use check_module
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, right, left, ierror, i
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  right = modulo(rank + 1, ranks)
  left = modulo(rank - 1, ranks)
  call modes()
  call automatic()
  call probes()
  call cancelled()
  call persistent()
  call partitioned()
  call statuses_of_some()
  call MPI_Finalize(ierror)
  call finish()
contains

  subroutine modes()
    integer, ASYNC :: a(4), b(4), room(200)
    integer :: n
    HANDLE(MPI_Request) :: requests(5)
    STATUSES(got, 5)
    a = [(10 * rank + i, i = 1, 4)]
    call MPI_Buffer_attach(room, 800, ierror)
    do i = 1, 4
      call MPI_Irecv(b(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Bsend(a(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, ierror)
    call MPI_Ssend(a(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, ierror)
    call MPI_Rsend(a(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, ierror)
    call MPI_Send(a(4), 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, ierror)
    call MPI_Waitall(4, requests, got, ierror)
    call check('each mode', all(b == [(10 * left + i, i = 1, 4)]))
    do i = 1, 4
      call check('status of each', ITH_SOURCE(got, i) == left .and. ITH_TAG(got, i) == i)
    end do
    call MPI_Buffer_flush(ierror)
    b = -1
    call MPI_Irecv(b(1), 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Irecv(b(2), 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Ibsend(a(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Irsend(a(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(4), ierror)
    call MPI_Buffer_iflush(requests(5), ierror)
    call MPI_Waitall(5, requests, MPI_STATUSES_IGNORE, ierror)
    call check('each nonblocking mode', all(b(1:2) == 10 * left + [1, 2]))
    call MPI_Issend(a(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Recv(b(3), 1, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    call check('issend', b(3) == 10 * left + 3)
    call detach(room, n)
    call check('buffer_detach', n == 800)
  end subroutine

  subroutine detach(room, n)
#ifdef F08
    use, intrinsic :: iso_c_binding
    integer, target, asynchronous :: room(:)
    integer, intent(out) :: n
    type(C_PTR) :: where
    call MPI_Buffer_detach(where, n)
    call check('address of the buffer', c_associated(where, c_loc(room)))
#else
    integer :: room(:), n
    call MPI_Buffer_detach(room, n, ierror)
#endif
  end subroutine

  ! What is detached when MPI_BUFFER_AUTOMATIC was attached is that, by its address in Fortran (section 3.6); in the older
  ! interfaces the argument is not used.
  subroutine automatic()
    use, intrinsic :: iso_c_binding
    integer, ASYNC :: a(2), b(2)
    integer :: n, of
    type(C_PTR) :: where
    do of = 1, 2
      if (of == 1) call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, ierror)
      if (of == 2) call MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0, ierror)
      a = [rank, of]
      call MPI_Bsend(a, 2, MPI_INTEGER, right, of, MPI_COMM_WORLD, ierror)
      call MPI_Recv(b, 2, MPI_INTEGER, left, of, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call check('bsend from an automatic buffer', all(b == [left, of]))
      where = c_null_ptr
#ifdef F08
      if (of == 1) call MPI_Buffer_detach(where, n, ierror)
      if (of == 2) call MPI_Comm_detach_buffer(MPI_COMM_WORLD, where, n, ierror)
#else
      if (of == 1) call MPI_Buffer_detach(b, n, ierror)
      if (of == 2) call MPI_Comm_detach_buffer(MPI_COMM_WORLD, b, n, ierror)
      where = c_loc(MPI_BUFFER_AUTOMATIC)
#endif
      call check('an automatic buffer is detached', c_associated(where, c_loc(MPI_BUFFER_AUTOMATIC)))
      call check('nothing is written elsewhere', all(b == [left, of]))
    end do
  end subroutine

  subroutine probes()
    integer, ASYNC :: a(6), b(6)
    integer :: n
    logical :: flag
    HANDLE(MPI_Message) :: message
    HANDLE(MPI_Request) :: request, sent(3)
    STATUS(status)
    a = [(100 * rank + i, i = 1, 6)]
    b = -1
    do i = 1, 3
      call MPI_Isend(a, 2 * i, MPI_INTEGER, right, 20 + i, MPI_COMM_WORLD, sent(i), ierror)
    end do
    call MPI_Probe(left, 22, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check('probe', n == 4 .and. STATUS_SOURCE(status) == left .and. STATUS_TAG(status) == 22)
    call MPI_Mprobe(MPI_ANY_SOURCE, 23, MPI_COMM_WORLD, message, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check('mprobe', n == 6 .and. message /= MPI_MESSAGE_NULL)
    call MPI_Mrecv(b, 6, MPI_INTEGER, message, status, ierror)
    call check('mrecv', all(b == [(100 * left + i, i = 1, 6)]) .and. message == MPI_MESSAGE_NULL .and. STATUS_TAG(status) == 23)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(left, 21, MPI_COMM_WORLD, flag, message, status, ierror)
    end do
    b = -1
    call MPI_Imrecv(b, 6, MPI_INTEGER, message, request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check('imrecv', n == 2 .and. all(b(1:2) == 100 * left + [1, 2]) .and. message == MPI_MESSAGE_NULL)
    call MPI_Recv(b, 6, MPI_INTEGER, left, 22, MPI_COMM_WORLD, status, ierror)
    call MPI_Waitall(3, sent, MPI_STATUSES_IGNORE, ierror)
    call MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, message, status, ierror)
    call check('no process', message == MPI_MESSAGE_NO_PROC .and. STATUS_SOURCE(status) == MPI_PROC_NULL)
    call MPI_Mrecv(b, 6, MPI_INTEGER, message, status, ierror)
    call check('from no process', message == MPI_MESSAGE_NULL)
    call MPI_Improbe(left, 99, MPI_COMM_WORLD, flag, message, status, ierror)
    call check('nothing there', .not. flag)
  end subroutine

  subroutine cancelled()
    integer :: a
    logical :: flag
    HANDLE(MPI_Request) :: request
    STATUS(status)
    call MPI_Irecv(a, 1, MPI_INTEGER, left, 77, MPI_COMM_WORLD, request, ierror)
    call MPI_Request_get_status(request, flag, status, ierror)
    call check('request_get_status', flag .eqv. .false.)
    call MPI_Cancel(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call check('cancelled', flag .eqv. .true.)
  end subroutine

  subroutine persistent()
    integer, ASYNC :: a(4), b(4), room(200)
    integer :: n, round
    HANDLE(MPI_Request) :: requests(8)
    call MPI_Buffer_attach(room, 800, ierror)
    do i = 1, 4
      call MPI_Recv_init(b(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call MPI_Send_init(a(1), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(5), ierror)
    call MPI_Ssend_init(a(2), 1, MPI_INTEGER, right, 2, MPI_COMM_WORLD, requests(6), ierror)
    call MPI_Bsend_init(a(3), 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(7), ierror)
    call MPI_Rsend_init(a(4), 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(8), ierror)
    do round = 1, 3
      a = [(100 * round + 10 * rank + i, i = 1, 4)]
      b = -1
      call MPI_Startall(4, requests, ierror)
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
      do i = 5, 8
        call MPI_Start(requests(i), ierror)
      end do
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierror)
      call check('persistent', all(b == [(100 * round + 10 * left + i, i = 1, 4)]) .and. all_there(requests))
    end do
    do i = 1, 8
      call MPI_Request_free(requests(i), ierror)
    end do
    call check('request_free', requests(8) == MPI_REQUEST_NULL)
    call detach(room, n)
  end subroutine

  logical function all_there(requests)
    HANDLE(MPI_Request) :: requests(8)
    integer :: k
    all_there = .true.
    do k = 1, 8
      if (requests(k) == MPI_REQUEST_NULL) all_there = .false.
    end do
  end function

  subroutine partitioned()
    integer, ASYNC :: a(2, 6), b(2, 6)
    integer :: round
    logical :: flag
    HANDLE(MPI_Request) :: requests(2)
#ifdef MPIF
    call MPI_Psend_init(a, 6, 2, MPI_INTEGER, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
#else /* which have counts of both kinds */
    call MPI_Psend_init(a, 6, 2_MPI_COUNT_KIND, MPI_INTEGER, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
#endif
    call MPI_Precv_init(b, 6, 2, MPI_INTEGER, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierror)
    do round = 1, 2
      a = reshape([(1000 * round + 100 * rank + i, i = 1, 12)], [2, 6])
      b = -1
      call MPI_Startall(2, requests, ierror)
      call MPI_Pready(0, requests(1), ierror)
      call MPI_Pready_range(1, 3, requests(1), ierror)
      call MPI_Pready_list(2, [5, 4], requests(1), ierror)
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(requests(2), 5, flag, ierror)
      end do
      call MPI_F_sync_reg(b)
      call check('parrived', all(b(:, 6) == 1000 * round + 100 * left + [11, 12]))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
      call check('partitions', all(b == reshape([(1000 * round + 100 * left + i, i = 1, 12)], [2, 6])))
    end do
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  end subroutine

  subroutine statuses_of_some()
    integer, ASYNC :: a(3), b(3)
    integer :: n, index, indices(3)
    logical :: flag
    HANDLE(MPI_Request) :: requests(3)
    STATUSES(got, 3)
    STATUS(status)
    a = rank
    do i = 1, 3
      call MPI_Irecv(b(i), 1, MPI_INTEGER, left, 30 + i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call MPI_Send(a, 1, MPI_INTEGER, right, 32, MPI_COMM_WORLD, ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_any(3, requests, index, flag, status, ierror)
    end do
    call check('request_get_status_any', index == 2 .and. STATUS_TAG(status) == 32)
    call MPI_Request_get_status_some(3, requests, n, indices, got, ierror)
    call check('request_get_status_some', n == 1 .and. indices(1) == 2 .and. ITH_TAG(got, 1) == 32)
    call MPI_Request_get_status_all(3, requests, flag, got, ierror)
    call check('request_get_status_all', .not. flag)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Send(a, 1, MPI_INTEGER, right, 31, MPI_COMM_WORLD, ierror)
    call MPI_Send(a, 1, MPI_INTEGER, right, 33, MPI_COMM_WORLD, ierror)
    call MPI_Waitall(3, requests, got, ierror)
    call check('in the order of the requests', ITH_TAG(got, 1) == 31 .and. ITH_TAG(got, 3) == 33)
    call check('their data', all(b == left))
  end subroutine
end program
