! SPDX-License-Identifier: BSD-3-Clause
! The older interfaces, mpi and (with -DMPIF) mpif.h: special addresses, statuses, indices, logicals, strings, arrays of
! handles, attributes of both sizes, an operation.
#ifdef MPIF
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#else
#define USE_MPI use mpi
#define INCLUDE_MPI
#endif
subroutine add_up(in, inout, length, datatype)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: length, datatype
  integer :: in(length), inout(length)
  if (datatype == MPI_INTEGER) inout = inout + in
end subroutine

subroutine on_error(comm, code)
  implicit none
  integer :: comm, code, seen_comm, seen_code
  common /seen/ seen_comm, seen_code
  seen_comm = comm
  seen_code = code
end subroutine

! Calls the predefined one, which a program may, with as many arguments as it has itself.
subroutine copy_plus_one(oldcomm, keyval, extra, value_in, value_out, flag, ierror)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: oldcomm, keyval, extra, value_in, value_out, ierror
  logical :: flag
  call MPI_DUP_FN(oldcomm, keyval, extra, value_in, value_out, flag, ierror)
  value_out = value_out + extra
end subroutine

program older
  USE_MPI
  use check_module
  implicit none
  INCLUDE_MPI
  external :: add_up, on_error, copy_plus_one
  integer :: rank, ranks, ierror
  call MPI_INIT(ierror)
  call check('MPI_Init', ierror == MPI_SUCCESS)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  call special_addresses()
  call completions()
  call logicals_and_strings()
  call handles()
  call attributes()
  call functions()
  call MPI_FINALIZE(ierror)
  call finish()
contains

  subroutine special_addresses()
    integer :: a(4), b(4), datatype, right, left, graph, i, source, weight, n, m
    integer(kind=MPI_ADDRESS_KIND) :: where
    logical :: weighted
    integer :: sources(1), destinations(1), in_weights(1), out_weights(1)
    a = rank
    call MPI_ALLREDUCE(MPI_IN_PLACE, a, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('MPI_IN_PLACE', all(a == ranks * (ranks - 1) / 2))
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    a = [(10 * rank + i, i = 1, 4)]
    call MPI_GET_ADDRESS(a(2), where, ierror)
    call MPI_TYPE_CREATE_HINDEXED(1, [2], [where], MPI_INTEGER, datatype, ierror)
    call MPI_TYPE_COMMIT(datatype, ierror)
    call MPI_SENDRECV(MPI_BOTTOM, 1, datatype, right, 0, b, 2, MPI_INTEGER, left, 0, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierror)
    call check('MPI_BOTTOM', all(b(1:2) == [10 * left + 2, 10 * left + 3]))
    call MPI_TYPE_FREE(datatype, ierror)
    sources = left
    destinations = right
    call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, ierror)
    call MPI_DIST_GRAPH_NEIGHBORS_COUNT(graph, n, m, weighted, ierror)
    call check('MPI_UNWEIGHTED', n == 1 .and. m == 1 .and. .not. weighted)
    call MPI_DIST_GRAPH_NEIGHBORS(graph, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, ierror)
    call check('neighbours', sources(1) == left .and. destinations(1) == right)
    call MPI_COMM_FREE(graph, ierror)
    in_weights = 10 + left ! both ends of an edge give it one weight
    out_weights = 10 + rank
    call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 1, sources, in_weights, 1, destinations, out_weights, &
                                        MPI_INFO_NULL, .false., graph, ierror)
    in_weights = 0
    out_weights = 0
    call MPI_DIST_GRAPH_NEIGHBORS(graph, 1, sources, in_weights, 1, destinations, out_weights, ierror)
    call check('weights', in_weights(1) == 10 + left .and. out_weights(1) == 10 + rank)
    call MPI_COMM_FREE(graph, ierror)
    call MPI_DIST_GRAPH_CREATE_ADJACENT(MPI_COMM_WORLD, 0, sources, MPI_WEIGHTS_EMPTY, 0, destinations, &
                                        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, ierror)
    call MPI_DIST_GRAPH_NEIGHBORS_COUNT(graph, source, weight, weighted, ierror)
    call check('MPI_WEIGHTS_EMPTY', source == 0 .and. weight == 0 .and. weighted)
    call MPI_COMM_FREE(graph, ierror)
  end subroutine

  subroutine completions()
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE), a(4), b(4), i, n, done, indices(4)
    logical :: flag
    logical :: seen(4)
    a = [(10 * rank + i, i = 1, 4)]
    do i = 1, 2
      call MPI_IRECV(b(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests(i), ierror)
      call MPI_ISEND(a(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests(2 + i), ierror)
    end do
    call MPI_WAITALL(4, requests, statuses, ierror)
    call check('waitall', all(b(1:2) == a(1:2)) .and. all(requests == MPI_REQUEST_NULL))
    call check('statuses', all(statuses(MPI_SOURCE, 1:2) == rank) .and. all(statuses(MPI_TAG, 1:2) == [1, 2]))
    call MPI_GET_COUNT(statuses(:, 1), MPI_INTEGER, n, ierror)
    call check('get_count', n == 1)
    do i = 1, 4
      call MPI_IRECV(b(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call MPI_SEND(a(3), 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, ierror)
    call MPI_WAITANY(4, requests, done, status, ierror)
    call check('waitany counts from 1', done == 3 .and. status(MPI_TAG) == 3 .and. requests(3) == MPI_REQUEST_NULL)
    call MPI_TESTANY(4, requests, done, flag, MPI_STATUS_IGNORE, ierror)
    call check('testany', .not. flag .and. done == MPI_UNDEFINED)
    do i = 1, 4
      if (i /= 3) call MPI_SEND(a(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, ierror)
    end do
    seen = [.false., .false., .true., .false.]
    do while (.not. all(seen))
      call MPI_WAITSOME(4, requests, n, indices, statuses, ierror)
      if (n == MPI_UNDEFINED) exit
      do i = 1, n
        call check('waitsome', statuses(MPI_TAG, i) == indices(i) .and. .not. seen(indices(i)))
        seen(indices(i)) = .true.
      end do
    end do
    call check('all of some', all(seen) .and. all(b == a))
    call MPI_WAITSOME(4, requests, n, indices, MPI_STATUSES_IGNORE, ierror)
    call check('nothing left', n == MPI_UNDEFINED)
    call MPI_WAITANY(4, requests, done, MPI_STATUS_IGNORE, ierror)
    call check('nothing left of any', done == MPI_UNDEFINED)
    call MPI_IPROBE(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status, ierror)
    call check('iprobe', flag .eqv. .false.)
  end subroutine

  subroutine logicals_and_strings()
    integer :: cart, dims(2), coords(2), info, length, i, n
    logical :: periods(2), flag
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=20) :: value
    character(len=3) :: short
    character(len=MPI_MAX_INFO_KEY) :: key
    character(len=MPI_MAX_OBJECT_NAME) :: called
    dims = [ranks, 1]
    call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., cart, ierror)
    periods = [.false., .true.]
    call MPI_CART_GET(cart, 2, dims, periods, coords, ierror)
    call check('periods', (periods(1) .eqv. .true.) .and. (periods(2) .eqv. .false.) .and. dims(1) == ranks)
    call check('values of logicals', all(transfer(periods, [1, 1]) == [1, 0]))
    call MPI_COMM_SET_NAME(cart, 'a torus  ', ierror)
    called = repeat('x', len(called))
    call MPI_COMM_GET_NAME(cart, called, length, ierror)
    call check('names are trimmed and padded', called == 'a torus' .and. length == 7)
    call MPI_COMM_SET_NAME(cart, '  indented', ierror)
    call MPI_COMM_GET_NAME(cart, called, length, ierror)
    call check('blanks before a name stay', called == '  indented' .and. length == 10)
    call MPI_COMM_FREE(cart, ierror)
    call MPI_INITIALIZED(flag, ierror)
    call check('initialized', flag .eqv. .true.)
    call MPI_GET_PROCESSOR_NAME(name, length, ierror)
    call check('processor', length == len_trim(name) .and. length > 0)
    call MPI_GET_LIBRARY_VERSION(version, length, ierror)
    call check('version', length == len_trim(version))
    call MPI_ERROR_STRING(MPI_ERR_TAG, version, length, ierror)
    call check('error string', length == len_trim(version) .and. length > 0)

    call MPI_INFO_CREATE(info, ierror)
    call MPI_INFO_SET(info, ' colour ', '  deep blue  ', ierror)
    value = repeat('x', 20)
    call MPI_INFO_GET(info, 'colour', 19, value, flag, ierror)
    call check('info', flag .and. value == 'deep blue')
    length = 20
    call MPI_INFO_GET_STRING(info, 'colour', length, value, flag, ierror)
    call check('info by string', flag .and. length == 9 .and. value == 'deep blue')
    length = 3
    call MPI_INFO_GET_STRING(info, 'colour', length, short, flag, ierror)
    call check('info cut', flag .and. length == 9 .and. short == 'dee')
    length = 0
    call MPI_INFO_GET_STRING(info, 'colour', length, short, flag, ierror)
    call check('length of an info', flag .and. length == 9 .and. short == 'dee')
    call MPI_INFO_GET_VALUELEN(info, 'colour', length, flag, ierror)
    call check('valuelen', flag .and. length == 9)
    call MPI_INFO_GET(info, 'size', 19, value, flag, ierror)
    call check('no such key', .not. flag .and. value == 'deep blue')
    call MPI_INFO_GET_NKEYS(info, n, ierror)
    do i = 0, n - 1
      call MPI_INFO_GET_NTHKEY(info, i, key, ierror)
      call check('nth key', key == 'colour')
    end do
    call MPI_INFO_FREE(info, ierror)
    call check('null', info == MPI_INFO_NULL)
  end subroutine

  subroutine handles()
    integer :: types(3), lengths(3), made, world, group, part, counts(64), places(64), many(64), i, n
    integer(kind=MPI_ADDRESS_KIND) :: offsets(3), low, extent
    integer :: a(64), b(64)
    integer :: integers(10), inner(10), n_integers, n_addresses, n_types, combiner
    integer(kind=MPI_ADDRESS_KIND) :: addresses(10)
    integer :: ranges(3, 1)
    types = [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_CHARACTER]
    lengths = [1, 2, 3]
    offsets = [0, 8, 24]
    call MPI_TYPE_CREATE_STRUCT(3, lengths, offsets, types, made, ierror)
    call MPI_TYPE_GET_EXTENT(made, low, extent, ierror)
    call check('struct', low == 0 .and. extent >= 27)
    call MPI_TYPE_GET_ENVELOPE(made, n_integers, n_addresses, n_types, combiner, ierror)
    call check('envelope', combiner == MPI_COMBINER_STRUCT .and. n_types == 3)
    call MPI_TYPE_GET_CONTENTS(made, n_integers, n_addresses, n_types, integers, addresses, inner, ierror)
    call check('contents', all(inner(1:3) == types) .and. all(integers(1:4) == [3, 1, 2, 3]))
    call MPI_TYPE_FREE(made, ierror)
    call check('freed', made == MPI_DATATYPE_NULL)
    call MPI_COMM_GROUP(MPI_COMM_WORLD, world, ierror)
    ranges(:, 1) = [ranks - 1, 0, -1]
    call MPI_GROUP_RANGE_INCL(world, 1, ranges, group, ierror)
    call MPI_GROUP_RANK(group, n, ierror)
    call check('range', n == ranks - 1 - rank)
    call MPI_COMM_CREATE(MPI_COMM_WORLD, group, part, ierror)
    call MPI_COMM_RANK(part, n, ierror)
    call check('created', n == ranks - 1 - rank)
    call MPI_COMM_FREE(part, ierror)
    call MPI_GROUP_FREE(group, ierror)
    call MPI_GROUP_FREE(world, ierror)
    counts = 1
    places = [(4 * (i - 1), i = 1, 64)]
    many = MPI_INTEGER
    a = [(100 * rank + i - 1, i = 1, 64)]
    b = -1
    call MPI_ALLTOALLW(a, counts, places, many, b, counts, places, many, MPI_COMM_WORLD, ierror)
    call check('alltoallw', all(b(1:ranks) == [(100 * i + rank, i = 0, ranks - 1)]) .and. all(b(ranks + 1:) == -1))
    call check('sum of addresses', MPI_AINT_ADD(offsets(3), offsets(2)) == 32 .and. MPI_AINT_DIFF(offsets(3), offsets(2)) == 16)
    call check('time', MPI_WTIME() > 0d0 .and. MPI_WTICK() > 0d0)
  end subroutine

  subroutine attributes()
    integer :: key, comm, short
    integer(kind=MPI_ADDRESS_KIND) :: long
    logical :: flag
    call MPI_KEYVAL_CREATE(copy_plus_one, MPI_NULL_DELETE_FN, key, 1, ierror)
    call MPI_ATTR_PUT(MPI_COMM_WORLD, key, -41, ierror)
    call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierror)
    call MPI_ATTR_GET(comm, key, short, flag, ierror)
    call check('an attribute of the older kind', flag .and. short == -40)
    call MPI_COMM_GET_ATTR(comm, key, long, flag, ierror)
    call check('the same as a long one', flag .and. long == -40)
    call MPI_COMM_FREE(comm, ierror)
    call MPI_ATTR_DELETE(MPI_COMM_WORLD, key, ierror)
    call MPI_KEYVAL_FREE(key, ierror)
    call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, short, flag, ierror)
    call check('MPI_TAG_UB', flag .and. short >= 32767)
  end subroutine

  subroutine functions()
    integer :: op, handler, a(3), b(3), class, code
    integer :: seen_comm, seen_code
    common /seen/ seen_comm, seen_code
    call MPI_OP_CREATE(add_up, .true., op, ierror)
    a = [rank, 1, 2 * rank]
    call MPI_ALLREDUCE(a, b, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call check('operation', all(b == [ranks * (ranks - 1) / 2, ranks, ranks * (ranks - 1)]))
    call MPI_OP_FREE(op, ierror)
    call MPI_COMM_CREATE_ERRHANDLER(on_error, handler, ierror)
    call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, handler, ierror)
    call MPI_ERRHANDLER_FREE(handler, ierror)
    call MPI_SEND(a, 3, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, code)
    call MPI_ERROR_CLASS(code, class, ierror)
    call check('error handler', class == MPI_ERR_RANK .and. seen_code == code .and. seen_comm == MPI_COMM_WORLD)
    call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  end subroutine
end program
