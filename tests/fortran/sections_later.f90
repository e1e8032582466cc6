! SPDX-License-Identifier: BSD-3-Clause
! Sections with gaps of which no datatype can be made, in calls that return before they are done: operands of
! reductions, blocks that do not lie alike, datatypes with gaps of their own. Whoever completes the request, and in
! whatever way, finds the data in the section and nothing else changed.
program sections_later
  use mpi_f08
  use check_module
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine c_waits(request) bind(C)
      import
      integer(C_INT) :: request
    end subroutine
    type(C_PTR) function c_last_integer_of_a_page() bind(C)
      import
    end function
  end interface
  integer :: rank, ranks, right, left, i, k, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  total = ranks * (ranks - 1) / 2
  call reductions()
  call scattered_reductions()
  call ways_to_complete()
  call persistent()
  call blocks()
  call types_of_each_rank()
  call types_in_place()
  call derived_types()
  call gaps_are_the_programs()
  call partitions()
  call freed_early()
  call others()
  call windows()
  call split_accesses()
  call refusals()
  call MPI_Finalize()
  call finish()
contains

  subroutine reductions()
    integer, asynchronous :: a(3, 8), b(4, 8), c(8), d(2, 20)
    type(MPI_Request) :: request(4)
    integer :: in_order
    a = reshape([(100 * rank + i, i = 1, 24)], [3, 8])
    b = -1
    c = -1
    d = -1
    call MPI_Iallreduce(a(2, :), b(3, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1))
    call MPI_Ireduce(a(1, 1:8:2), d(1, 1:4), 4, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, request(2))
    call MPI_Iscan(a(1:3:2, 1:4), d(2, 1:8), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(3))
    call MPI_Iexscan(a(3, 8:1:-1), c, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(4))
    call MPI_Waitall(4, request, MPI_STATUSES_IGNORE)
    call check('iallreduce', all(b(3, :) == ranks * [(3 * i - 1, i = 1, 8)] + 100 * total))
    call check('gaps of iallreduce', count(b == -1) == 24)
    if (rank == 0) then
      call check('ireduce', all(d(1, 1:4) == 100 * (ranks - 1) + [1, 7, 13, 19]))
    else
      call check('ireduce elsewhere', all(d(1, :) == -1))
    end if
    in_order = 100 * (rank * (rank + 1) / 2)
    call check('iscan', all(d(2, 1:8) == in_order + (rank + 1) * [1, 3, 4, 6, 7, 9, 10, 12]) .and. all(d(:, 9:) == -1))
    if (rank > 0) then
      call check('iexscan', all(c == 100 * (rank * (rank - 1) / 2) + rank * [(3 * i, i = 8, 1, -1)]))
    else
      call check('iexscan at the first', all(c == -1))
    end if
    b(2, :) = [(rank + i, i = 1, 8)]
    call MPI_Iallreduce(MPI_IN_PLACE, b(2, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1))
    call MPI_Wait(request(1), MPI_STATUS_IGNORE)
    call check('iallreduce in place', all(b(2, :) == total + ranks * [(i, i = 1, 8)]))
    ! Fewer elements than the section has: what is behind them may be used meanwhile.
    b = -1
    call MPI_Iallreduce(a(1, :), b(1, :), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1))
    b(1, 4:8) = 77
    call MPI_Wait(request(1), MPI_STATUS_IGNORE)
    call check('a part', all(b(1, 1:3) == ranks * [1, 4, 7] + 100 * total) .and. all(b(1, 4:8) == 77))
  end subroutine

  subroutine scattered_reductions()
    integer, asynchronous :: a(2, 64), b(3, 4)
    integer :: counts(64)
    type(MPI_Request) :: request
    a = -5
    a(2, 1:2 * ranks) = [(rank + i, i = 1, 2 * ranks)]
    b = -1
    call MPI_Ireduce_scatter_block(a(2, 1:2 * ranks), b(2, 1:2), 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('ireduce_scatter_block', all(b(2, 1:2) == total + ranks * [2 * rank + 1, 2 * rank + 2]) .and. count(b /= -1) == 2)
    counts = 2
    b = -1
    call MPI_Ireduce_scatter(a(2, 1:2 * ranks), b(3, 3:4), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('ireduce_scatter', all(b(3, 3:4) == total + ranks * [2 * rank + 1, 2 * rank + 2]) .and. count(b /= -1) == 2)
    b = -1
    call MPI_Reduce_scatter(a(2, 1:2 * ranks), b(3, 3:4), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('reduce_scatter', all(b(3, 3:4) == total + ranks * [2 * rank + 1, 2 * rank + 2]) .and. count(b /= -1) == 2)
  end subroutine

  subroutine ways_to_complete()
    integer, asynchronous :: a(2, 5), b(2, 5)
    integer :: way, index, n, indices(1)
    logical :: flag
    type(MPI_Request) :: requests(1)
    type(MPI_Status) :: status, statuses(1)
    a = reshape([(10 * rank + i, i = 1, 10)], [2, 5])
    do way = 1, 12
      b = -way
      call MPI_Iallreduce(a(1, :), b(2, :), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
      flag = .false.
      select case (way)
      case (1); call MPI_Wait(requests(1), status)
      case (2)
        do while (.not. flag)
          call MPI_Test(requests(1), flag, status)
        end do
      case (3); call MPI_Waitall(1, requests, statuses)
      case (4); call MPI_Waitany(1, requests, index, status)
      case (5); call MPI_Waitsome(1, requests, n, indices, statuses)
      case (6)
        do while (.not. flag)
          call MPI_Testall(1, requests, flag, MPI_STATUSES_IGNORE)
        end do
      case (7)
        do while (.not. flag)
          call MPI_Testany(1, requests, index, flag, MPI_STATUS_IGNORE)
        end do
      case (8)
        n = 0
        do while (n == 0)
          call MPI_Testsome(1, requests, n, indices, MPI_STATUSES_IGNORE)
        end do
      case (9)
        do while (.not. flag)
          call MPI_Request_get_status(requests(1), flag, status)
        end do
        call check('before the request is gone', all(b(2, :) == 10 * total + ranks * [1, 3, 5, 7, 9]))
        b(2, :) = 4 ! which the program may do now
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
        call check('written back once', all(b(2, :) == 4))
        b(2, :) = 10 * total + ranks * [1, 3, 5, 7, 9]
      case (10); call c_waits(requests(1)%MPI_VAL)
      case (11); call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
      case (12)
        do while (.not. flag)
          call MPI_Request_get_status_all(1, requests, flag, statuses)
        end do
        call check('seen by request_get_status_all', all(b(2, :) == 10 * total + ranks * [1, 3, 5, 7, 9]))
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      end select
      call check('data of each way', all(b(2, :) == 10 * total + ranks * [1, 3, 5, 7, 9]) .and. all(b(1, :) == -way))
      call check('null after each way', requests(1) == MPI_REQUEST_NULL)
    end do
  end subroutine

  subroutine persistent()
    integer, asynchronous :: a(3, 6), b(2, 6), c(20), d(20)
    type(MPI_Request) :: reduce, pair(2)
    type(MPI_Datatype) :: every_other
    logical :: flag
    call MPI_Allreduce_init(a(2, :), b(1, :), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, reduce)
    do k = 1, 4
      a = 0
      a(2, :) = [(k * 100 + rank + i, i = 1, 6)]
      b = -k
      call MPI_Start(reduce)
      if (k == 3) then
        flag = .false.
        do while (.not. flag)
          call MPI_Test(reduce, flag, MPI_STATUS_IGNORE)
        end do
      else
        call MPI_Wait(reduce, MPI_STATUS_IGNORE)
      end if
      call check('allreduce_init', all(b(1, :) == total + ranks * [(k * 100 + i, i = 1, 6)]) .and. all(b(2, :) == -k))
    end do
    call MPI_Request_free(reduce)

    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    call MPI_Send_init(c(1:19:2), 1, every_other, right, 6, MPI_COMM_WORLD, pair(1))
    call MPI_Recv_init(d(2:20:2), 1, every_other, left, 6, MPI_COMM_WORLD, pair(2))
    call MPI_Type_free(every_other)
    do k = 1, 3
      c = [(1000 * rank + 10 * k + i, i = 1, 20)]
      d = -1
      call MPI_Startall(2, pair)
      call MPI_Waitall(2, pair, MPI_STATUSES_IGNORE)
      call check('persistent messages', all(d(2:10:4) == 1000 * left + 10 * k + [1, 5, 9]) .and. count(d /= -1) == 3)
    end do
    call MPI_Request_free(pair(1))
    call MPI_Request_free(pair(2))
  end subroutine

  subroutine blocks()
    integer, asynchronous :: a(6, 2), columns(6, 128), mine(2, 64), theirs(2, 64)
    integer :: counts(64), places(64)
    type(MPI_Request) :: request
    a = rank
    columns = -1
    call MPI_Iallgather(a(1:6:2, 1), 3, MPI_INTEGER, columns(1:4:3, 1:3 * ranks), 3, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('iallgather of blocks that lie across columns', all(reshape(columns(1:4:3, 1:3 * ranks), [6 * ranks]) == &
               [([(k, i = 1, 3)], k = 0, ranks - 1), (-1, i = 1, 3 * ranks)]) .and. all(columns(2:3, :) == -1))
    counts = 2
    places = [(2 * (ranks - k), k = 1, 64)]
    mine = -1
    theirs = -1
    mine(2, 1:2 * ranks) = [((100 * rank + k, i = 1, 2), k = ranks - 1, 0, -1)]
    call MPI_Ialltoallv(mine(2, 1:2 * ranks), counts, places, MPI_INTEGER, theirs(1, 1:2 * ranks), counts, places, &
                        MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('ialltoallv', all(theirs(1, 1:2 * ranks) == [((100 * k + rank, i = 1, 2), k = ranks - 1, 0, -1)]) .and. &
               all(theirs(2, :) == -1))
    counts = 1
    places = [(k, k = 0, 63)]
    theirs = -1
    call MPI_Igatherv(a(2, :), 1, MPI_INTEGER, theirs(2, 1:ranks), counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('igatherv', all(theirs(1, :) == -1) .and. (rank > 0 .or. all(theirs(2, 1:ranks) == [(k, k = 0, ranks - 1)])))
    mine(1, 1:2 * ranks) = [((50 * k + i, i = 1, 2), k = 0, ranks - 1)]
    theirs = -1
    counts = 2
    places = [(2 * (k - 1), k = 1, 64)]
    call MPI_Iscatterv(mine(1, 1:2 * ranks), counts, places, MPI_INTEGER, theirs(2, 1:2), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                       request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('iscatterv', all(theirs(2, 1:2) == 50 * rank + [1, 2]) .and. count(theirs /= -1) == 2)
  end subroutine

  ! Displacements count the bytes of the section as if it had no gaps.
  ! Beside MPI_IN_PLACE the types of what is sent stand for nothing, and need not be as many as the ranks.
  subroutine types_in_place()
    type(MPI_Datatype), pointer :: one(:)
    type(MPI_Datatype) :: types(64)
    type(MPI_Request) :: request
    integer, asynchronous :: b(64)
    integer :: counts(64), places(64)
    call c_f_pointer(c_last_integer_of_a_page(), one, [1])
    one(1) = MPI_DATATYPE_NULL
    types = MPI_INTEGER
    counts = 1
    places = [(4 * k, k = 0, 63)]
    b = [(100 * rank + k, k = 0, 63)]
    call MPI_Alltoallw(MPI_IN_PLACE, counts, places, one, b, counts, places, types, MPI_COMM_WORLD)
    call check('alltoallw in place', all(b(1:ranks) == [(100 * k + rank, k = 0, ranks - 1)]))
    b = [(100 * rank + k, k = 0, 63)]
    call MPI_Ialltoallw(MPI_IN_PLACE, counts, places, one, b, counts, places, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('ialltoallw in place', all(b(1:ranks) == [(100 * k + rank, k = 0, ranks - 1)]))
  end subroutine

  subroutine types_of_each_rank()
    integer, asynchronous :: a(2, 64), b(2, 64)
    integer :: counts(64), places(64), sources(1), destinations(1)
    integer(MPI_ADDRESS_KIND) :: far(64)
    type(MPI_Datatype) :: types(64)
    type(MPI_Request) :: request
    type(MPI_Comm) :: ring
    a = -1
    a(1, 1:ranks) = [(100 * rank + k, k = 0, ranks - 1)]
    b = -1
    counts = 1
    places = [(4 * k, k = 0, 63)]
    types = MPI_INTEGER
    call MPI_Ialltoallw(a(1, 1:ranks), counts, places, types, b(2, 1:ranks), counts, places, types, MPI_COMM_WORLD, request)
    types = MPI_DATATYPE_NULL
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('ialltoallw', all(b(2, 1:ranks) == [(100 * k + rank, k = 0, ranks - 1)]) .and. all(b(1, :) == -1))
    types = MPI_INTEGER
    b = -1
    call MPI_Alltoallw(a(1, 1:ranks), counts, places, types, b(1, 1:ranks), counts, places, types, MPI_COMM_WORLD)
    call check('alltoallw', all(b(1, 1:ranks) == [(100 * k + rank, k = 0, ranks - 1)]) .and. all(b(2, :) == -1))
    call MPI_Alltoallw_init(a(1, 1:ranks), counts, places, types, b(2, 1:ranks), counts, places, types, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, request)
    do k = 1, 2
      a(1, 1:ranks) = [(1000 * k + 100 * rank + i, i = 0, ranks - 1)]
      b = -1
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check('alltoallw_init', all(b(2, 1:ranks) == [(1000 * k + 100 * i + rank, i = 0, ranks - 1)]) .and. all(b(1, :) == -1))
    end do
    call MPI_Request_free(request)
    sources = left
    destinations = right
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring)
    far = 4
    b = -1
    call MPI_Ineighbor_alltoallw(a(1, 1:2), counts, far, types, b(2, 1:2), counts, far, types, ring, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (ranks > 1) call check('ineighbor_alltoallw', b(2, 2) == 2000 + 100 * left + 1 .and. count(b /= -1) == 1)
    call MPI_Comm_free(ring)
  end subroutine

  subroutine derived_types()
    integer, asynchronous :: a(40), b(40)
    type(MPI_Datatype) :: every_other
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    integer :: n, taken(12)
    taken = [1, 3, 7, 9, 13, 15, 17, 19, 23, 25, 29, 31]
    call MPI_Type_vector(3, 2, 3, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    a = [(100 * rank + i, i = 1, 40)]
    b = -1
    call MPI_Irecv(b(1:39:2), 2, every_other, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a(2:40:2), 2, every_other, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call MPI_Get_count(statuses(1), MPI_INTEGER, n)
    ! Elements 1 2 . 4 5 . 7 8 and then, from the 9th on, the same again.
    call check('derived type with gaps', n == 12 .and. count(b /= -1) == 12 .and. &
               all(b(taken) == 100 * left + 1 + taken))
    b = -1
    call MPI_Isendrecv(a(2:40:2), 1, every_other, right, 1, b(1:39:2), 1, every_other, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check('isendrecv', count(b /= -1) == 6 .and. all(b([1, 3, 7, 9, 13, 15]) == 100 * left + 1 + [1, 3, 7, 9, 13, 15]))
    b = [(100 * rank + i, i = 1, 40)]
    call MPI_Isendrecv_replace(b(1:39:2), 1, every_other, right, 1, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check('isendrecv_replace', all(b([1, 3, 7, 9, 13, 15]) == 100 * left + [1, 3, 7, 9, 13, 15]) .and. &
               all(b(2:40:2) == [(100 * rank + i, i = 2, 40, 2)]) .and. b(5) == 100 * rank + 5)
    b = -1
    call MPI_Isend(a(2:40:2), 1, every_other, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(b(2:40:2), 1, every_other, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check('nobody', all(b == -1))
    call MPI_Type_free(every_other)
  end subroutine

  ! Between the elements of the datatype the program may write while the operation goes on.
  subroutine gaps_are_the_programs()
    integer, asynchronous :: a(40), b(40)
    type(MPI_Datatype) :: every_other
    type(MPI_Request) :: request
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    a = [(100 * rank + i, i = 1, 40)]
    b = -1
    call MPI_Irecv(b(1:39:2), 1, every_other, left, 9, MPI_COMM_WORLD, request)
    b(3:7:4) = 55
    call MPI_Send(a, 3, MPI_INTEGER, right, 9, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('received between gaps', all(b([1, 5, 9]) == 100 * left + [1, 2, 3]))
    call check('written into gaps', all(b(3:7:4) == 55) .and. count(b == -1) == 35)
    call MPI_Type_free(every_other)
  end subroutine

  ! Partitions that lie across columns, and such whose datatype has gaps: one is sent as it is when it is handed over, and
  ! is in its place, and the program's, when it is said to have come.
  subroutine partitions()
    integer, asynchronous :: a(5, 6), b(5, 6), c(0:47), d(0:47)
    type(MPI_Datatype) :: every_other
    type(MPI_Request) :: requests(2)
    integer :: round, k
    logical :: flag
    call MPI_Psend_init(a(1:5:2, :), 9, 2_MPI_COUNT_KIND, MPI_INTEGER, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(b(2:4, :), 9, 2_MPI_COUNT_KIND, MPI_INTEGER, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do round = 1, 3
      a = -7
      b = -1
      call MPI_Startall(2, requests)
      a(1:5:2, :) = reshape([(1000 * rank + 100 * round + i, i = 1, 18)], [3, 6])
      call MPI_Pready(8, requests(1))
      call MPI_Pready_list(2, [3, 4], requests(1))
      call MPI_Pready_range(0, 2, requests(1))
      call MPI_Pready_range(5, 7, requests(1))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check('partitions across columns', count(b == -1) == 12 .and. &
                 all(reshape(b(2:4, :), [18]) == [(1000 * left + 100 * round + i, i = 1, 18)]))
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))

    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    ! Three partitions of 2 elements of it: of a section 0 . 2 3 . 5, 6 . 8 9 . 11 and 12 . 14 15 . 17.
    call MPI_Psend_init(c(0::2), 3, 2_MPI_COUNT_KIND, every_other, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(d(1::2), 3, 2_MPI_COUNT_KIND, every_other, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    call MPI_Type_free(every_other)
    do round = 1, 3
      c = -7
      d = -1
      call MPI_Startall(2, requests)
      do k = 2, 0, -1
        c(12 * k:12 * k + 10:2) = [(1000 * rank + 100 * round + 6 * k + i, i = 0, 5)]
        call MPI_Pready(k, requests(1))
      end do
      do k = 0, 2
        flag = .false.
        do while (.not. flag)
          call MPI_Parrived(requests(2), k, flag)
        end do
        call MPI_F_sync_reg(d)
        call check('a partition that has come', all(d(12 * k + [1, 5, 7, 11]) == 1000 * left + 100 * round + 6 * k + [0, 2, 3, 5]))
        d(12 * k + 5) = 4 ! the program's again
      end do
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check('written back once', all(d(5:29:12) == 4) .and. count(d == -1) == 36)
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  ! The request is freed before its message comes; what is received is in place when a later message has come, too.
  subroutine freed_early()
    integer, asynchronous :: a(20), b(20)
    type(MPI_Datatype) :: every_other
    type(MPI_Request) :: request
    integer :: token, n
    token = 0
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    do n = 1, 2
      a = [(100 * rank + i, i = 1, 20)]
      b = -1
      if (n == 1) then
        call MPI_Irecv(b(1:19:2), 1, every_other, left, 1, MPI_COMM_WORLD, request)
      else
        call MPI_Recv_init(b(1:19:2), 1, every_other, left, 1, MPI_COMM_WORLD, request)
        call MPI_Start(request)
      end if
      call MPI_Request_free(request)
      call MPI_Barrier(MPI_COMM_WORLD)
      call MPI_Send(a(1:19:2), 1, every_other, right, 1, MPI_COMM_WORLD)
      call MPI_Sendrecv_replace(token, 1, MPI_INTEGER, right, 2, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_F_sync_reg(b)
      call check('freed early', all(b([1, 5, 9]) == 100 * left + [1, 5, 9]) .and. count(b /= -1) == 3)
    end do
    call MPI_Type_free(every_other)
  end subroutine

  subroutine others()
    integer, asynchronous :: a(20), b(20), memory(20)
    integer(MPI_ADDRESS_KIND) :: bytes
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    type(MPI_Datatype) :: every_other
    integer :: place, room(2, 20)
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    a = [(100 * rank + i, i = 1, 20)]
    b = -1
    memory = -1
    bytes = 80
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_lock_all(0, win)
    call MPI_Rput(a(2:20:2), 1, every_other, right, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_flush(right, win)
    call MPI_Rget(b(2:20:2), 1, every_other, right, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_unlock_all(win)
    call check('rput and rget', all(b([2, 6, 10]) == 100 * rank + [2, 6, 10]) .and. count(b /= -1) == 3)
    call MPI_Win_free(win)
    call MPI_Type_free(every_other)
    room = 0
    place = 0
    call MPI_Pack(a(1:6:2), 3, MPI_INTEGER, room(1, :), 80, place, MPI_COMM_SELF)
    call check('packed into a section', place == 12 .and. all(room(1, 1:3) == 100 * rank + [1, 3, 5]) .and. all(room(2, :) == 0))
    b = -1
    place = 0
    call MPI_Unpack(room(1, :), 80, place, b(1:6:2), 3, MPI_INTEGER, MPI_COMM_SELF)
    call check('unpacked from a section', all(b(1:6:2) == 100 * rank + [1, 3, 5]) .and. count(b /= -1) == 3)
  end subroutine

  ! Operations without a request, short and long ones, of each way to complete them.
  subroutine windows()
    integer, parameter :: lengths(2) = [3, 20000]
    integer :: n, way, l
    integer, allocatable, asynchronous :: a(:), b(:), c(:), memory(:)
    integer, allocatable :: taken(:), others(:)
    integer(MPI_ADDRESS_KIND) :: here
    type(MPI_Win) :: win
    type(MPI_Datatype) :: every_other
    type(MPI_Group) :: everybody
    here = 0
    call MPI_Comm_group(MPI_COMM_WORLD, everybody)
    do l = 1, 2
      n = lengths(l)
      call MPI_Type_vector(n, 1, 2, MPI_INTEGER, every_other)
      call MPI_Type_commit(every_other)
      allocate(a(4 * n), b(4 * n), c(4 * n), memory(n))
      taken = [(4 * i - 2, i = 1, n)] ! of the section from 2 on with stride 2 every other element
      others = [(100 * rank + i, i = 1, n)]
      call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND * n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
      do way = 1, 5
        a = -7
        a(taken) = others
        b = -1
        c = -2
        memory = -1
        call MPI_Barrier(MPI_COMM_WORLD)
        call opens(way, win, everybody)
        call MPI_Put(a(2:4 * n:2), 1, every_other, right, here, n, MPI_INTEGER, win)
        call completes(way, win, everybody)
        call check('put', all(memory == 100 * left + [(i, i = 1, n)]))
        call opens(way, win, everybody)
        call MPI_Get(b(2:4 * n:2), 1, every_other, right, here, n, MPI_INTEGER, win)
        call completes(way, win, everybody)
        call MPI_F_sync_reg(b)
        call check('get', all(b(taken) == others) .and. count(b /= -1) == n)
        call opens(way, win, everybody)
        call MPI_Accumulate(a(2:4 * n:2), 1, every_other, right, here, n, MPI_INTEGER, MPI_SUM, win)
        call completes(way, win, everybody)
        call check('accumulate', all(memory == 2 * (100 * left + [(i, i = 1, n)])))
        call opens(way, win, everybody)
        call MPI_Get_accumulate(a(2:4 * n:2), 1, every_other, c(2:4 * n:2), 1, every_other, right, here, n, MPI_INTEGER, &
                                MPI_SUM, win)
        call completes(way, win, everybody)
        call MPI_F_sync_reg(c)
        call check('get_accumulate', all(c(taken) == 2 * others) .and. count(c /= -2) == n .and. &
                   all(memory == 3 * (100 * left + [(i, i = 1, n)])))
      end do
      call MPI_Win_free(win)
      call MPI_Type_free(every_other)
      deallocate(a, b, c, memory)
    end do
    call MPI_Group_free(everybody)
  end subroutine

  subroutine opens(way, win, everybody)
    integer, intent(in) :: way
    type(MPI_Win), intent(in) :: win
    type(MPI_Group), intent(in) :: everybody
    ! A lock waits for nobody who still looks at what the operation before has left in its memory.
    if (way > 2) call MPI_Barrier(MPI_COMM_WORLD)
    select case (way)
    case (1); call MPI_Win_fence(0, win)
    case (2)
      call MPI_Win_post(everybody, 0, win)
      call MPI_Win_start(everybody, 0, win)
    case (3); call MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win)
    case default; call MPI_Win_lock_all(0, win)
    end select
  end subroutine

  ! Everybody's operations are complete here and there.
  subroutine completes(way, win, everybody)
    integer, intent(in) :: way
    type(MPI_Win), intent(in) :: win
    type(MPI_Group), intent(in) :: everybody
    select case (way)
    case (1); call MPI_Win_fence(0, win)
    case (2)
      call MPI_Win_complete(win)
      call MPI_Win_wait(win)
    case (3); call MPI_Win_unlock(right, win)
    case (4)
      call MPI_Win_flush_local(right, win)
      call MPI_Win_unlock_all(win)
    case (5)
      call MPI_Win_flush_all(win)
      call MPI_Win_unlock_all(win)
    end select
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine split_accesses()
    integer, asynchronous :: a(40), b(40)
    type(MPI_Datatype) :: every_other
    type(MPI_File) :: file
    type(MPI_Status) :: status
    integer(MPI_OFFSET_KIND) :: place
    integer :: n
    character(len=40) :: name
    call MPI_Type_vector(3, 2, 3, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    call system_clock(n) ! other runs of this test may go on in the same folder
    call MPI_Bcast(n, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    write (name, '(a,i0,a,i0)') 'sections_later.', ranks, '.', n
    call MPI_File_open(MPI_COMM_WORLD, trim(name), &
                       MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    a = [(100 * rank + i, i = 1, 40)]
    b = -1
    place = 24_MPI_OFFSET_KIND * rank
    call MPI_File_write_at_all_begin(file, place, a(2:40:2), 1, every_other)
    call MPI_File_write_at_all_end(file, a(2:40:2), status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('split write', n == 6)
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    place = 24_MPI_OFFSET_KIND * right
    call MPI_File_read_at_all_begin(file, place, b(1:39:2), 1, every_other)
    call MPI_File_read_at_all_end(file, b(1:39:2), status)
    call MPI_F_sync_reg(b)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('split read', n == 6 .and. count(b /= -1) == 6 .and. &
               all(b([1, 3, 7, 9, 13, 15]) == 100 * right + [2, 4, 8, 10, 14, 16]))
    call MPI_File_close(file)
    call MPI_Type_free(every_other)
  end subroutine

  ! What is wrong, or can be no copy, is refused with a sentence.
  subroutine refusals()
    integer, asynchronous :: a(20), b(20), memory(20)
    integer(MPI_ADDRESS_KIND) :: bytes
    type(MPI_Win) :: win
    type(MPI_Datatype) :: every_other
    type(MPI_Request) :: request
    type(MPI_Comm) :: comm
    integer :: code
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    a = 0
    memory = 0
    call MPI_Iallreduce(a(1:10:2), b, 6, MPI_INTEGER, MPI_SUM, comm, request, code)
    call says('iallreduce of too many', code, MPI_ERR_COUNT, 'fewer elements')
    call MPI_Allreduce(a, b(1:10:3), 5, MPI_INTEGER, MPI_SUM, comm, code)
    call says('allreduce of too many', code, MPI_ERR_COUNT, 'fewer elements')
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    call MPI_Isend(a(1:10:2), 2, every_other, rank, 0, comm, request, code)
    call says('isend of too many', code, MPI_ERR_COUNT, 'fewer elements')
    call MPI_Psend_init(a(1:20:2), 3, 1_MPI_COUNT_KIND, every_other, rank, 0, comm, MPI_INFO_NULL, request, code)
    call says('partitions of too many', code, MPI_ERR_COUNT, 'fewer elements')
    bytes = 80
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, comm, win)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:20:5), 1, every_other, rank, 0_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win, code)
    call says('put of too many', code, MPI_ERR_COUNT, 'fewer elements')
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
    call MPI_Type_free(every_other)
    call MPI_Comm_free(comm)
  end subroutine

  subroutine says(what, code, class, text)
    character(len=*), intent(in) :: what, text
    integer, intent(in) :: code, class
    character(len=MPI_MAX_ERROR_STRING) :: sentence
    integer :: its_class, length
    call MPI_Error_class(code, its_class)
    call MPI_Error_string(code, sentence, length)
    call check(what, its_class == class .and. index(sentence, text) > 0 .and. length == len_trim(sentence))
  end subroutine
end program
