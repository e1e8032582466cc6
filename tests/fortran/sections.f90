! SPDX-License-Identifier: BSD-3-Clause
! Sections with gaps as buffers of mpi_f08: every rank, strides of both signs, pointers and allocatables, sections
! that are not sent whole, in blocking, nonblocking and persistent calls, as operands of reductions and as memory of
! one-sided operations. What lies in the gaps has to stay.
program sections
  use mpi_f08
  use check_module
  implicit none
  integer :: rank, ranks, right, left, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call check('support', MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING)
  call one_dimension()
  call many_dimensions()
  call parts_of_sections()
  call derived_types()
  call nonblocking()
  call persistent()
  call collectives()
  call reductions()
  call one_sided()
  call packed()
  call scalars_and_nothing()
  call refusals()
  call MPI_Finalize()
  call finish()
contains

  subroutine one_dimension()
    integer :: a(20), b(30)
    integer, pointer :: p(:)
    integer, allocatable, target :: c(:)
    type(MPI_Status) :: status
    integer :: n
    a = [(100 * rank + i, i = 1, 20)]
    b = -1
    call MPI_Sendrecv(a(1:20:3), 7, MPI_INTEGER, right, 1, b(2:30:4), 7, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call check('stride', all(b(2:26:4) == [(100 * left + i, i = 1, 20, 3)]) .and. count(b /= -1) == 7)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('count of a section', n == 7)
    b = -1
    call MPI_Sendrecv(a(20:1:-2), 10, MPI_INTEGER, right, 1, b(30:3:-3), 10, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call check('negative stride', all(b(30:3:-3) == [(100 * left + i, i = 20, 1, -2)]) .and. count(b /= -1) == 10)
    allocate(c(40))
    c = -1
    p => c(1:40:5)
    call MPI_Sendrecv(a, 8, MPI_INTEGER, right, 1, p, 8, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    call check('pointer', all(c(1:40:5) == [(100 * left + i, i = 1, 8)]) .and. count(c /= -1) == 8)
    c = [(rank, i = 1, 40)]
    call MPI_Sendrecv_replace(p, 8, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, status)
    call check('replaced', all(p == left) .and. count(c == rank) == merge(40, 32, ranks == 1))
  end subroutine

  subroutine many_dimensions()
    integer :: a2(6, 5), b2(6, 5), a3(4, 5, 6), b3(4, 5, 6), a7(2, 3, 2, 3, 2, 3, 2), b7(2, 3, 2, 3, 2, 3, 2)
    integer(kind=8) :: a4(3, 3, 3, 3), b4(3, 3, 3, 3)
    real :: a5(2, 3, 2, 3, 4), b5(2, 3, 2, 3, 4)
    complex :: a6(2, 2, 4, 2, 2, 3), b6(2, 2, 4, 2, 2, 3)
    integer :: n, where15(15)
    integer, allocatable :: a15(:,:,:,:,:,:,:,:,:,:,:,:,:,:,:), b15(:,:,:,:,:,:,:,:,:,:,:,:,:,:,:)
    a2 = reshape([(rank * 1000 + i, i = 1, size(a2))], shape(a2))
    b2 = -1
    call exchange(a2(2, :), 5, MPI_INTEGER, b2(4, :), 5)
    call check('a row', all(b2(4, :) == a2(2, :) + (left - rank) * 1000) .and. count(b2 /= -1) == 5)
    b2 = -1
    call exchange(a2(2:5:3, 1:5:2), 6, MPI_INTEGER, b2(1:6:5, 2:4), 6)
    call check('rank 2', all(b2(1:6:5, 2:4) == a2(2:5:3, 1:5:2) + (left - rank) * 1000) .and. count(b2 /= -1) == 6)
    b2 = -1
    call exchange(a2(2:5, 2:4), 12, MPI_INTEGER, b2(6:3:-1, 4:2:-1), 12)
    call check('rank 2 turned', all(b2(6:3:-1, 4:2:-1) == a2(2:5, 2:4) + (left - rank) * 1000) .and. count(b2 /= -1) == 12)
    a3 = reshape([(rank * 1000 + i, i = 1, size(a3))], shape(a3))
    b3 = -1
    call exchange(a3(:, 2:4, 1:6:2), 36, MPI_INTEGER, b3(:, 1:5:2, 2:4), 36)
    call check('rank 3', all(b3(:, 1:5:2, 2:4) == a3(:, 2:4, 1:6:2) + (left - rank) * 1000) .and. count(b3 /= -1) == 36)
    a4 = reshape([(rank * 1000_8 + i, i = 1, size(a4))], shape(a4))
    b4 = -1
    call exchange(a4(1:3:2, :, 2:3, 3:1:-1), 36, MPI_INTEGER8, b4(2:3, 3:1:-1, 1:3:2, :), 36)
    call check('rank 4', all(b4(2:3, 3:1:-1, 1:3:2, :) == a4(1:3:2, :, 2:3, 3:1:-1) + (left - rank) * 1000) &
               .and. count(b4 /= -1) == 36)
    a5 = reshape([(rank * 1000. + i, i = 1, size(a5))], shape(a5))
    b5 = -1
    call exchange(a5(:, 1:3:2, :, 2:3, 4:1:-2), 32, MPI_REAL, b5(:, 2:3, :, 1:3:2, 1:2), 32)
    call check('rank 5', all(b5(:, 2:3, :, 1:3:2, 1:2) == a5(:, 1:3:2, :, 2:3, 4:1:-2) + (left - rank) * 1000.) &
               .and. count(b5 /= -1) == 32)
    a6 = reshape([(cmplx(rank * 1000., i), i = 1, size(a6))], shape(a6))
    b6 = -1
    call exchange(a6(:, 1, 1:4:3, :, :, 2:3), 32, MPI_COMPLEX, b6(:, 2, 2:3, :, :, 1:3:2), 32)
    call check('rank 6', all(b6(:, 2, 2:3, :, :, 1:3:2) == a6(:, 1, 1:4:3, :, :, 2:3) + (left - rank) * 1000.) &
               .and. count(b6 /= -1) == 32)
    a7 = reshape([(rank * 1000 + i, i = 1, size(a7))], shape(a7))
    b7 = -1
    call exchange(a7(:, 1:2, :, 1:3:2, :, 3:2:-1, :), 128, MPI_INTEGER, b7(:, 2:3, :, 1:2, :, 1:3:2, :), 128)
    call check('rank 7', all(b7(:, 2:3, :, 1:2, :, 1:3:2, :) == a7(:, 1:2, :, 1:3:2, :, 3:2:-1, :) + (left - rank) * 1000) &
               .and. count(b7 /= -1) == 128)
    where15 = 1
    where15(1) = 3
    where15(8) = 3
    where15(15) = 3
    allocate(a15(3, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 3), b15(3, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 3))
    a15 = reshape([(rank * 1000 + i, i = 1, 27)], where15)
    b15 = -1
    call exchange(a15(1:3:2, :, :, :, :, :, :, 1:3:2, :, :, :, :, :, :, 1:3:2), 8, MPI_INTEGER, &
                  b15(2:3, :, :, :, :, :, :, 2:3, :, :, :, :, :, :, 2:3), 8)
    n = count(b15 /= -1)
    call check('rank 15', n == 8 .and. all(b15(2:3, 1, 1, 1, 1, 1, 1, 2:3, 1, 1, 1, 1, 1, 1, 2:3) == &
               a15(1:3:2, 1, 1, 1, 1, 1, 1, 1:3:2, 1, 1, 1, 1, 1, 1, 1:3:2) + (left - rank) * 1000))
  end subroutine

  ! What is passed on here is the section itself: an assumed-rank argument hands its descriptor on.
  subroutine exchange(out, n_out, datatype, in, n_in)
    type(*), dimension(..) :: out, in
    integer, intent(in) :: n_out, n_in
    type(MPI_Datatype), intent(in) :: datatype
    call MPI_Sendrecv(out, n_out, datatype, right, 5, in, n_in, datatype, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine

  subroutine parts_of_sections()
    integer :: a(5, 6, 4), b(5, 6, 4), n, k, want(60), got(60)
    a = reshape([(rank * 1000 + i, i = 1, size(a))], shape(a))
    do n = 0, 24
      b = -1
      call exchange(a(1:5:2, 2:6:2, 1:4:2), min(n, 18), MPI_INTEGER, b(2:4, 1:5:2, 2:4:2), min(n, 18))
      k = min(n, 18)
      want(1:18) = reshape(a(1:5:2, 2:6:2, 1:4:2) + (left - rank) * 1000, [18])
      got(1:18) = reshape(b(2:4, 1:5:2, 2:4:2), [18])
      call check('part of a section', all(got(1:k) == want(1:k)) .and. count(b /= -1) == k)
    end do
  end subroutine

  subroutine derived_types()
    type :: pair
      sequence
      integer :: first, second
    end type
    type(MPI_Datatype) :: three, twice
    integer :: a(20), b(20)
    type(pair) :: p(10), q(10)
    call MPI_Type_contiguous(3, MPI_INTEGER, three)
    call MPI_Type_commit(three)
    call MPI_Type_dup(three, twice)
    a = [(rank * 100 + i, i = 1, 20)]
    b = -1
    call exchange(a(1:20:2), 3, three, b(2:20:2), 3)
    call check('contiguous type', all(b(2:18:2) == [(left * 100 + i, i = 1, 18, 2)]) .and. count(b /= -1) == 9)
    b = -1
    call exchange(a(1:20:2), 2, twice, b(2:20:2), 2)
    call check('duplicate of a contiguous type', all(b(2:12:2) == [(left * 100 + i, i = 1, 12, 2)]) .and. count(b /= -1) == 6)
    p%first = [(rank * 100 + i, i = 1, 10)]
    p%second = [(-rank * 100 - i, i = 1, 10)]
    q = pair(0, 0)
    call exchange(p(1:9:2), 10, MPI_INTEGER, q(2:10:2), 10)
    call check('elements of two integers', all(q(2:10:2)%first == [(left * 100 + i, i = 1, 9, 2)]) .and. &
               all(q(2:10:2)%second == [(-left * 100 - i, i = 1, 9, 2)]) .and. all(q(1:9:2)%first == 0))
    call exchange(p(:)%second, 10, MPI_INTEGER, q(:)%first, 10)
    call check('a component', all(q%first == [(-left * 100 - i, i = 1, 10)]))
    call exchange(p(1:9:2), 40, MPI_BYTE, q(2:10:2), 40)
    call check('bytes', all(q(2:10:2)%first == [(left * 100 + i, i = 1, 9, 2)]))
    call MPI_Type_free(three)
    call MPI_Type_free(twice)
  end subroutine

  subroutine nonblocking()
    integer, asynchronous :: a(100, 10), b(100, 10)
    type(MPI_Request) :: requests(8)
    type(MPI_Status) :: statuses(8)
    integer :: k, n
    a = reshape([(rank * 10000 + i, i = 1, 1000)], shape(a))
    b = -1
    do k = 1, 4
      call MPI_Irecv(b(2 * k, :), 10, MPI_INTEGER, left, k, MPI_COMM_WORLD, requests(k))
    end do
    do k = 1, 4
      call MPI_Isend(a(3 * k, :), 10, MPI_INTEGER, right, k, MPI_COMM_WORLD, requests(4 + k))
    end do
    call MPI_Waitall(8, requests, statuses)
    do k = 1, 4
      call check('isend', all(b(2 * k, :) == a(3 * k, :) + (left - rank) * 10000))
      call MPI_Get_count(statuses(k), MPI_INTEGER, n)
      call check('status of irecv', statuses(k)%MPI_SOURCE == left .and. statuses(k)%MPI_TAG == k .and. n == 10)
    end do
    call check('gaps of irecv', count(b /= -1) == 40)
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_F_sync_reg(b)
  end subroutine

  subroutine persistent()
    integer, asynchronous :: a(40), b(40)
    type(MPI_Request) :: requests(2)
    integer :: k
    call MPI_Send_init(a(1:40:4), 10, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(b(2:40:4), 10, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(2))
    do k = 1, 3
      a = [(rank * 1000 + 100 * k + i, i = 1, 40)]
      b = -1
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check('persistent', all(b(2:40:4) == [(left * 1000 + 100 * k + i, i = 1, 40, 4)]) .and. count(b /= -1) == 10)
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  subroutine collectives()
    integer, asynchronous :: a(6, 4), all_of(2, 4 * 64), each(3, 64), grid(6, 4), columns(6, 128)
    integer :: counts(64), places(64), k
    type(MPI_Request) :: request
    a = merge(reshape([(i, i = 1, 24)], [6, 4]), -1, rank == 0)
    call MPI_Bcast(a(1:6:2, 1:4:3), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
    grid = reshape([(i, i = 1, 24)], [6, 4])
    call check('bcast', all(a(1:6:2, 1:4:3) == grid(1:6:2, 1:4:3)) .and. (rank == 0 .or. count(a /= -1) == 6))
    a = rank
    all_of = -1
    call MPI_Allgather(a(3, :), 4, MPI_INTEGER, all_of(2, 1:4 * ranks), 4, MPI_INTEGER, MPI_COMM_WORLD)
    do k = 0, ranks - 1
      call check('allgather', all(all_of(2, 4 * k + 1:4 * k + 4) == k))
    end do
    call check('gaps of allgather', all(all_of(1, :) == -1))
    all_of = -1
    call MPI_Iallgather(a(3, :), 4, MPI_INTEGER, all_of(1, 1:4 * ranks), 4, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do k = 0, ranks - 1
      call check('iallgather', all(all_of(1, 4 * k + 1:4 * k + 4) == k))
    end do
    ! Blocks of two columns at the root.
    all_of = -1
    if (rank == 0) then
      call MPI_Gather(a(1:2, 1:2), 4, MPI_INTEGER, each(1:3:2, 1:2 * ranks), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    else ! where these arguments mean nothing
      call MPI_Gather(a(1:2, 1:2), 4, MPI_INTEGER, each(1:3:2, 1:2 * ranks), -4, MPI_Datatype(12345), 0, MPI_COMM_WORLD)
    end if
    if (rank == 0) then
      do k = 0, ranks - 1
        call check('gather of blocks', all(each(1:3:2, 2 * k + 1:2 * k + 2) == k))
      end do
    end if
    ! Blocks of whole columns: a datatype, also where the call returns early.
    ! Blocks that do not lie alike: a copy.
    columns = -1
    call MPI_Allgather(a(1:6:2, 1), 3, MPI_INTEGER, columns(1:4:3, 1:3 * ranks), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check('allgather by a copy', all(reshape(columns(1:4:3, 1:3 * ranks), [6 * ranks]) == &
               [([(k, i = 1, 3)], k = 0, ranks - 1), (-1, i = 1, 3 * ranks)]) .and. all(columns(2:3, :) == -1))
    columns = -1
    call MPI_Iallgather(a(1:6:2, 1:2), 6, MPI_INTEGER, columns(1:6:2, 1:2 * ranks), 6, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do k = 0, ranks - 1
      call check('iallgather of columns', all(columns(1:6:2, 2 * k + 1:2 * k + 2) == k))
    end do
    call check('gaps of iallgather', count(columns /= -1) == 6 * ranks)
    counts = 1
    places = [(k - 1, k = 1, 64)]
    all_of = -1
    call MPI_Allgatherv(a(3, 1:1), 1, MPI_INTEGER, all_of(2, 1:ranks), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check('allgatherv', all(all_of(2, 1:ranks) == [(k, k = 0, ranks - 1)]) .and. all(all_of(1, :) == -1))
    all_of = -1
    each(2, 1:ranks) = [(100 * rank + k, k = 0, ranks - 1)]
    call MPI_Alltoall(each(2, 1:ranks), 1, MPI_INTEGER, all_of(1, 1:ranks), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check('alltoall', all(all_of(1, 1:ranks) == [(100 * k + rank, k = 0, ranks - 1)]))
  end subroutine

  subroutine reductions()
    integer :: a(10), b(2, 10), n
    n = ranks * (ranks - 1) / 2
    a = [(rank + i, i = 1, 10)]
    b = -1
    call MPI_Allreduce(a(1:10:3), b(2, 1:4), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('allreduce', all(b(2, 1:4) == n + ranks * [1, 4, 7, 10]) .and. all(b(1, :) == -1))
    b(1, :) = a
    call MPI_Allreduce(MPI_IN_PLACE, b(1, :), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('allreduce in place', all(b(1, :) == n + ranks * [(i, i = 1, 10)]))
    call MPI_Reduce_local(a(1:10:9), b(1, 1:10:9), 2, MPI_INTEGER, MPI_MAX)
    call check('reduce_local', all(b(1, 1:10:9) == n + ranks * [1, 10]) .or. ranks == 1)
  end subroutine

  subroutine one_sided()
    type(MPI_Win) :: win
    integer, asynchronous :: memory(20), a(20)
    integer(MPI_ADDRESS_KIND) :: bytes
    bytes = 80
    memory = -1
    a = [(rank * 100 + i, i = 1, 20)]
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:20:4), 5, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 5, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check('put', all(memory(3:7) == [(left * 100 + i, i = 1, 20, 4)]) .and. count(memory /= -1) == 5)
    a = -1
    call MPI_Get(a(2:20:4), 5, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 5, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check('get', all(a(2:20:4) == [(rank * 100 + i, i = 1, 20, 4)]) .and. count(a /= -1) == 5)
    memory = 0
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(a(2:20:4), 5, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 5, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    if (rank == 0) call check('accumulate', all(memory(1:5) == [(ranks * i + 100 * (ranks * (ranks - 1) / 2), i = 1, 20, 4)]))
    call MPI_Win_free(win)
  end subroutine

  subroutine packed()
    integer :: a(12), b(12), room(12), place
    integer(MPI_ADDRESS_KIND) :: room_bytes, far
    a = [(i, i = 1, 12)]
    b = -1
    place = 0
    call MPI_Pack(a(1:12:2), 6, MPI_INTEGER, room, 48, place, MPI_COMM_SELF)
    call check('pack', place == 24 .and. all(room(1:6) == [(i, i = 1, 12, 2)]))
    place = 0
    call MPI_Unpack(room, 48, place, b(2:12:2), 6, MPI_INTEGER, MPI_COMM_SELF)
    call check('unpack', all(b(2:12:2) == [(i, i = 1, 12, 2)]) .and. all(b(1:11:2) == -1))
    far = 0
    call MPI_Pack_external_size('external32', 6, MPI_INTEGER, room_bytes)
    call MPI_Pack_external('external32', a(1:12:2), 6, MPI_INTEGER, room, room_bytes, far)
    call check('pack_external', room_bytes == 24 .and. far == 24)
    far = 0
    b = -1
    call MPI_Unpack_external('external32', room, room_bytes, far, b(1:12:2), 6, MPI_INTEGER)
    call check('unpack_external', all(b(1:11:2) == [(i, i = 1, 12, 2)]))
  end subroutine

  subroutine scalars_and_nothing()
    integer :: a, b, empty(0), some(10), size_of
    double precision :: d(5)
    character(len=7) :: text, other
    integer(MPI_COUNT_KIND) :: long_count
    a = rank
    call exchange(a, 1, MPI_INTEGER, b, 1)
    call check('scalar', b == left)
    call exchange(empty, 0, MPI_INTEGER, some(5:4), 0)
    call exchange(some(1:0:2), 0, MPI_INTEGER, some(3:1:2), 0)
    text = 'rank'//achar(48 + rank)
    call exchange(text, 5, MPI_CHARACTER, other, 5)
    call check('characters', other(1:5) == 'rank'//achar(48 + left))
    call MPI_Sizeof(d(1:5:2), size_of)
    call check('sizeof', size_of == 8)
    call MPI_Sizeof(a, size_of)
    call check('sizeof of an integer', size_of == 4)
    long_count = 1
    call MPI_Sendrecv(a, long_count, MPI_INTEGER, right, 9, b, long_count, MPI_INTEGER, left, 9, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check('large count', b == left)
  end subroutine

  subroutine refusals()
    integer :: a(10), code, class
    type(MPI_Comm) :: comm
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    a = 0
    call MPI_Send(a(1:10:2), 6, MPI_INTEGER, rank, 0, comm, code)
    call MPI_Error_class(code, class)
    call check('too many elements', class == MPI_ERR_COUNT)
    call MPI_Comm_free(comm)
  end subroutine
end program
