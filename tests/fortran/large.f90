! SPDX-License-Identifier: BSD-3-Clause
! Counts and displacements of the large kinds, in procedures of mpi_f08 that have both: messages, collectives with
! arrays of them, datatypes and what they tell of themselves, packing, buffers, windows and files; on sections, too.
program large
  use mpi_f08
  use, intrinsic :: iso_c_binding
  use check_module
  implicit none
  integer, parameter :: ck = MPI_COUNT_KIND, ak = MPI_ADDRESS_KIND
  integer :: rank, ranks, i, k
  type(C_PTR) :: where
  integer(ck), parameter :: one = 1, two = 2
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call messages()
  call collectives()
  call datatypes()
  call partitions()
  call others()
  call MPI_Finalize()
  call finish()
contains

  subroutine messages()
    integer, asynchronous :: a(10), b(10)
    integer(ck) :: n
    integer :: right, left
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status
    right = modulo(rank + 1, ranks)
    left = modulo(rank - 1, ranks)
    a = [(100 * rank + i, i = 1, 10)]
    b = -1
    call MPI_Irecv(b(1:10:2), 5_ck, MPI_INTEGER, left, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a(2:10:2), 5_ck, MPI_INTEGER, right, 0, MPI_COMM_WORLD, requests(2))
    call MPI_Wait(requests(1), status)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('isend and irecv', n == 5 .and. all(b(1:10:2) == 100 * left + [2, 4, 6, 8, 10]) .and. all(b(2:10:2) == -1))
    call MPI_Get_elements(status, MPI_INTEGER, n)
    call check('get_elements', n == 5)
    call MPI_Status_set_elements(status, MPI_INTEGER, 5000000000_ck)
    call MPI_Get_elements(status, MPI_INTEGER, n)
    call check('more elements than an INTEGER counts', n == 5000000000_ck)
    call MPI_Get_count(status, MPI_INTEGER, i)
    call check('and what an INTEGER says of them', i == MPI_UNDEFINED)
    call MPI_Sendrecv_replace(a, 10_ck, MPI_INTEGER, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check('sendrecv_replace', all(a == [(100 * left + i, i = 1, 10)]))
  end subroutine

  subroutine collectives()
    integer, asynchronous :: a(2, 16), b(2, 16)
    integer(ck) :: counts(8)
    integer(ak) :: places(8), bytes(8)
    type(MPI_Datatype) :: types(8)
    type(MPI_Request) :: request
    counts = 2
    places = [(2 * k, k = 0, 7)]
    bytes = 4 * places
    types = MPI_INTEGER
    a = -1
    a(1, :) = [(100 * rank + i, i = 1, 16)]
    b = -1
    call MPI_Alltoallv(a(1, :), counts, places, MPI_INTEGER, b(2, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call exchanged('alltoallv', b)
    call MPI_Ialltoallv(a(1, :), counts, places, MPI_INTEGER, b(2, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call exchanged('ialltoallv', b)
    call MPI_Alltoallw(a(1, :), counts, bytes, types, b(2, :), counts, bytes, types, MPI_COMM_WORLD)
    call exchanged('alltoallw', b)
    call MPI_Ialltoallw(a(1, :), counts, bytes, types, b(2, :), counts, bytes, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call exchanged('ialltoallw', b)
    call MPI_Allgatherv(a(1, 1:2), two, MPI_INTEGER, b(2, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check('allgatherv', all(b(2, 1:2 * ranks) == [((100 * k + i, i = 1, 2), k = 0, ranks - 1)]) .and. all(b(1, :) == -1))
    b = -1
    call MPI_Scatterv(a(1, :), counts, places, MPI_INTEGER, b(1, 1:2), two, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check('scatterv', all(b(1, 1:2) == 2 * rank + [1, 2]) .and. count(b /= -1) == 2)
    b = -1
    call MPI_Reduce_scatter(a(1, 1:2 * ranks), b(1, 1:2), counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check('reduce_scatter', all(b(1, 1:2) == 100 * (ranks * (ranks - 1) / 2) + ranks * (2 * rank + [1, 2])))
    b = -1
    call MPI_Iallreduce(a(1, 1:4), b(1, 1:4), 4_ck, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('iallreduce', all(b(1, 1:4) == 100 * (ranks - 1) + [1, 2, 3, 4]) .and. count(b /= -1) == 4)
  end subroutine

  subroutine exchanged(what, b)
    character(len=*), intent(in) :: what
    integer :: b(2, 16)
    call check(what, all(b(2, 1:2 * ranks) == [((100 * k + 2 * rank + i, i = 1, 2), k = 0, ranks - 1)]) .and. all(b(1, :) == -1))
    b = -1
  end subroutine

  subroutine datatypes()
    type(MPI_Datatype) :: t, inner(4)
    integer(ck) :: lengths(3), at(3), low, extent, n, ni, na, nl, nd, large_counts(10), position, room_bytes
    integer :: combiner, a(20), b(20), room(20), integers(10)
    integer(ak) :: addresses(10)
    lengths = [1, 2, 1]
    at = [40, 0, 20]
    a = [(i, i = 1, 20)]
    call MPI_Type_create_struct(3_ck, lengths, at, [MPI_INTEGER, MPI_INTEGER, MPI_INTEGER], t)
    call takes('type_create_struct', t, [11, 1, 2, 6])
    call MPI_Type_create_hindexed(3_ck, lengths, at, MPI_INTEGER, t)
    call takes('type_create_hindexed', t, [11, 1, 2, 6])
    call MPI_Type_indexed(3_ck, lengths, at / 4, MPI_INTEGER, t)
    call takes('type_indexed', t, [11, 1, 2, 6])
    call MPI_Type_create_hvector(3_ck, 1_ck, 24_ck, MPI_INTEGER, t)
    call takes('type_create_hvector', t, [1, 7, 13])
    call MPI_Type_create_subarray(2, [5_ck, 4_ck], [2_ck, 2_ck], [1_ck, 1_ck], MPI_ORDER_FORTRAN, MPI_INTEGER, t)
    call takes('type_create_subarray', t, [7, 8, 12, 13])
    call MPI_Type_vector(3_ck, 2_ck, 5_ck, MPI_INTEGER, t)
    call MPI_Type_get_envelope(t, ni, na, nl, nd, combiner)
    call check('type_get_envelope', combiner == MPI_COMBINER_VECTOR .and. ni + nl == 3 .and. na == 0 .and. nd == 1)
    integers = -1
    large_counts = -1
    call MPI_Type_get_contents(t, ni, na, nl, nd, integers, addresses, large_counts, inner)
    call check('type_get_contents', inner(1) == MPI_INTEGER .and. sum(integers(1:ni)) + sum(large_counts(1:nl)) == 10)
    call MPI_Type_size(t, n)
    call MPI_Type_get_extent(t, low, extent)
    call check('type_size and extent', n == 24 .and. low == 0 .and. extent == 48)
    call MPI_Type_free(t)
    call MPI_Type_contiguous(3000000000_ck, MPI_INTEGER, t)
    call MPI_Type_size(t, n)
    call check('3 * 10**9 elements', n == 12000000000_ck)
    call MPI_Type_size(t, i)
    call check('too many for an INTEGER', i == MPI_UNDEFINED)
    call MPI_Type_free(t)
    position = 0
    call MPI_Pack_size(5_ck, MPI_INTEGER, MPI_COMM_SELF, room_bytes)
    call MPI_Pack(a(1:9:2), 5_ck, MPI_INTEGER, room, 80_ck, position, MPI_COMM_SELF)
    call check('pack', position == 20 .and. room_bytes >= 20)
    position = 0
    b = -1
    call MPI_Unpack(room, 80_ck, position, b(2:10:2), 5_ck, MPI_INTEGER, MPI_COMM_SELF)
    call check('unpack', all(b(2:10:2) == [1, 3, 5, 7, 9]) .and. count(b /= -1) == 5)
  end subroutine

  subroutine takes(what, datatype, wanted)
    character(len=*), intent(in) :: what
    type(MPI_Datatype) :: datatype
    integer, intent(in) :: wanted(:)
    integer :: a(20), b(20)
    type(MPI_Status) :: status
    integer(ck) :: n
    a = [(i, i = 1, 20)]
    call MPI_Type_commit(datatype)
    call MPI_Sendrecv(a, one, datatype, rank, 3, b, 20_ck, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check(what, n == size(wanted))
    if (n == size(wanted)) call check(what, all(b(1:n) == wanted))
    call MPI_Type_free(datatype)
  end subroutine

  logical function is_at(what)
    integer :: what(:)
    integer(ak) :: place
    call MPI_Get_address(what, place)
    is_at = place == transfer(where, place)
  end function

  subroutine partitions()
    integer, asynchronous :: a(4, 3), b(4, 3)
    type(MPI_Request) :: requests(2)
    a = reshape([(100 * rank + i, i = 1, 12)], [4, 3])
    b = -1
    call MPI_Psend_init(a(1:4:3, :), 3, two, MPI_INTEGER, modulo(rank + 1, ranks), 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(b(2:3, :), 3, two, MPI_INTEGER, modulo(rank - 1, ranks), 4, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    call MPI_Startall(2, requests)
    call MPI_Pready_range(0, 2, requests(1))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check('partitions', all(b(2:3, :) == a(1:4:3, :) + 100 * (modulo(rank - 1, ranks) - rank)) .and. count(b /= -1) == 6)
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  subroutine others()
    integer, asynchronous :: memory(8), a(8), room(100)
    integer, target, asynchronous :: buffer(400)
    type(MPI_Win) :: win
    integer(ck) :: bytes
    integer(ak) :: disp_bytes
    integer :: right
    right = modulo(rank + 1, ranks)
    memory = -1
    a = [(100 * rank + i, i = 1, 8)]
    disp_bytes = 32
    call MPI_Win_create(memory, disp_bytes, 4_ak, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1:8:3), 3_ck, MPI_INTEGER, right, 2_ak, 3_ck, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check('put', all(memory(3:5) == 100 * modulo(rank - 1, ranks) + [1, 4, 7]) .and. count(memory /= -1) == 3)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Accumulate(a, 2_ck, MPI_INTEGER, right, 2_ak, 2_ck, MPI_INTEGER, MPI_REPLACE, win)
    call MPI_Win_fence(0, win)
    call check('accumulate', all(memory(3:5) == 100 * modulo(rank - 1, ranks) + [1, 2, 7]))
    call MPI_Win_free(win)
    call MPI_Buffer_attach(buffer, 1600_ck)
    call MPI_Bsend(a, 2_ck, MPI_INTEGER, rank, 1, MPI_COMM_WORLD)
    call MPI_Recv(room, 2_ck, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(where, bytes)
    call check('buffer_detach', bytes == 1600 .and. is_at(buffer) .and. all(room(1:2) == a(1:2)))
    call MPI_Comm_attach_buffer(MPI_COMM_WORLD, buffer, 1600_ck)
    call MPI_Comm_flush_buffer(MPI_COMM_WORLD)
    call MPI_Comm_detach_buffer(MPI_COMM_WORLD, where, bytes)
    call check('comm_detach_buffer', bytes == 1600 .and. is_at(buffer))
  end subroutine
end program
