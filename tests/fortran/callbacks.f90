! SPDX-License-Identifier: BSD-3-Clause
! Functions of the program that MPI calls, by mpi_f08: operations that do and do not commute, error handlers of each
! kind of object, attributes with copies and deletions, generalized requests.
module callbacks_module
  use mpi_f08
  use, intrinsic :: iso_c_binding
  use check_module
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0, last_error = 0, queries = 0, frees = 0, cancels = 0
  integer :: last_of = -1
  logical :: right_type = .true.
contains

  subroutine add_pairs(invec, inoutvec, len, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
    right_type = right_type .and. datatype == MPI_INTEGER
  end subroutine

  ! "a then b" of maps x -> factor * x + summand, which does not commute.
  subroutine compose(invec, inoutvec, len, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer(8), pointer :: a(:,:), b(:,:)
    integer :: i
    call c_f_pointer(invec, a, [2_8, len])
    call c_f_pointer(inoutvec, b, [2_8, len])
    do i = 1, int(len)
      b(2, i) = modulo(b(1, i) * a(2, i) + b(2, i), 1009_8)
      b(1, i) = modulo(b(1, i) * a(1, i), 1009_8)
    end do
    right_type = right_type .and. datatype /= MPI_INTEGER8
  end subroutine

  subroutine on_comm_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    errors = errors + 1
    last_error = error_code
    last_of = comm%MPI_VAL
  end subroutine

  subroutine forgive(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    error_code = merge(MPI_SUCCESS, MPI_ERR_OTHER, comm /= MPI_COMM_NULL)
  end subroutine

  subroutine on_win_error(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    errors = errors + 10
    last_error = error_code
    last_of = win%MPI_VAL
  end subroutine

  subroutine copy_attribute(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = attribute_val_in < 5000000000_8
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, oldcomm /= MPI_COMM_NULL .and. comm_keyval /= MPI_KEYVAL_INVALID)
  end subroutine

  subroutine refuse_copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    flag = .false.
    ierror = merge(MPI_ERR_KEYVAL, MPI_SUCCESS, extra_state == 7)
  end subroutine

  subroutine delete_attribute(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 7 .and. attribute_val >= 4000000000_8)
  end subroutine

  subroutine copy_of_type(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: type_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = 2 * attribute_val_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    status%MPI_SOURCE = 17
    status%MPI_TAG = int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 5)
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancels = cancels + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use callbacks_module
  implicit none
  integer :: rank, ranks
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call operations()
  call error_handlers()
  call attributes()
  call requests()
  call indices_of_failures()
  call many_operations()
  call MPI_Finalize()
  call finish()
contains

  subroutine operations()
    type(MPI_Op) :: op, composed
    type(MPI_Datatype) :: pair
    integer :: a(1000), b(1000), i
    integer(8) :: map(2, 10), got(2, 10), want(2)
    logical :: commutes
    call MPI_Op_create(add_pairs, .true., op)
    call MPI_Op_commutative(op, commutes)
    call check('commutes', commutes)
    a = [(rank + i, i = 1, 1000)]
    call MPI_Allreduce(a, b, 1000, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check('operation', all(b == [(ranks * (ranks - 1) / 2 + ranks * i, i = 1, 1000)]) .and. right_type)
    b = 0
    call MPI_Allreduce(a(1:1000:7), b(1:1000:7), 143, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check('operation on a section', all(b(1:1000:7) == [(ranks * (ranks - 1) / 2 + ranks * i, i = 1, 1000, 7)]) &
               .and. right_type)
    call MPI_Op_free(op)
    call check('freed', op == MPI_OP_NULL)
    call MPI_Type_contiguous(2, MPI_INTEGER8, pair)
    call MPI_Type_commit(pair)
    call MPI_Op_create_c(compose, .false., composed)
    call MPI_Op_commutative(composed, commutes)
    call check('does not commute', .not. commutes)
    do i = 1, 10
      map(:, i) = [2_8 + rank, 3_8 * rank + i]
    end do
    call MPI_Allreduce(map, got, 10_MPI_COUNT_KIND, pair, composed, MPI_COMM_WORLD)
    want = [2_8, 1_8]
    do i = 1, ranks - 1
      want(2) = modulo((2_8 + i) * want(2) + 3_8 * i + 1, 1009_8)
      want(1) = modulo((2_8 + i) * want(1), 1009_8)
    end do
    call check('order of operands', all(got(:, 1) == want) .and. right_type)
    call MPI_Op_free(composed)
    call MPI_Type_free(pair)
  end subroutine

  ! Made and freed more often than there are functions in the pool.
  subroutine many_operations()
    type(MPI_Op) :: op
    integer :: i
    do i = 1, 1000
      call MPI_Op_create(add_pairs, .true., op)
      call MPI_Op_free(op)
    end do
  end subroutine

  subroutine error_handlers()
    type(MPI_Errhandler) :: handler, got
    type(MPI_Comm) :: comm
    type(MPI_Win) :: win
    integer :: code
    integer(MPI_ADDRESS_KIND) :: bytes
    integer, asynchronous :: memory(4)
    type(MPI_Request) :: request
    logical :: flag
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_create_errhandler(on_comm_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Comm_get_errhandler(comm, got)
    call check('same handler', got == handler)
    call MPI_Errhandler_free(handler)
    call MPI_Errhandler_free(got)
    call MPI_Send(memory, 1, MPI_INTEGER, ranks, 0, comm, code)
    call check('handler of a communicator', errors == 1 .and. last_error == code .and. last_of == comm%MPI_VAL)
    call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER)
    call check('called', errors == 2 .and. last_error == MPI_ERR_OTHER)
    call MPI_Comm_create_errhandler(forgive, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Send(memory, 1, MPI_INTEGER, ranks, 0, comm, code)
    call check('code that the handler leaves', code == MPI_SUCCESS)
    request = MPI_REQUEST_NULL
    call MPI_Isend(memory(1:4:2), 3, MPI_INTEGER, 0, 0, comm, request, code)
    call check('refused and forgiven', code == MPI_SUCCESS .and. request == MPI_REQUEST_NULL)
    call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, flag, MPI_STATUS_IGNORE)
    call check('what is refused is not sent', .not. flag)
    call MPI_Comm_free(comm)
    errors = 0
    bytes = 16
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_create_errhandler(on_win_error, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Win_call_errhandler(win, MPI_ERR_WIN)
    call check('handler of a window', errors == 10 .and. last_error == MPI_ERR_WIN .and. last_of == win%MPI_VAL)
    call MPI_Win_free(win)
  end subroutine

  subroutine attributes()
    integer :: key, plain, of_type, none, refused, code, class
    integer(MPI_ADDRESS_KIND) :: extra, value
    type(MPI_Comm) :: first, second
    type(MPI_Datatype) :: one, two
    type(MPI_Win) :: win
    integer, asynchronous :: memory(8)
    integer(MPI_ADDRESS_KIND) :: bytes, where
    logical :: flag
    extra = 7
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, extra)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, plain, extra)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, none, extra)
    call MPI_Comm_dup(MPI_COMM_WORLD, first)
    call MPI_Comm_get_attr(first, key, value, flag)
    call check('no attribute yet', .not. flag)
    value = 4000000000_8
    call MPI_Comm_set_attr(first, key, value)
    call MPI_Comm_set_attr(first, plain, -5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(first, none, 3_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(first, second)
    call MPI_Comm_get_attr(second, key, value, flag)
    call check('copied', flag .and. value == 4000000007_8 .and. copies == 1)
    call MPI_Comm_get_attr(second, plain, value, flag)
    call check('copied by MPI_COMM_DUP_FN', flag .and. value == -5)
    call MPI_Comm_get_attr(second, none, value, flag)
    call check('not copied', .not. flag)
    call MPI_Comm_delete_attr(first, key)
    call check('deleted', deletions == 1)
    call MPI_Comm_free(second)
    call check('deleted with its communicator', deletions == 2)
    call MPI_Comm_set_attr(first, key, 5000000000_8)
    call MPI_Comm_dup(first, second)
    call MPI_Comm_get_attr(second, key, value, flag)
    call check('copy refused', .not. flag .and. copies == 2)
    call MPI_Comm_free(second)
    call MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN)
    call MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, refused, extra)
    call MPI_Comm_set_attr(first, refused, 1_MPI_ADDRESS_KIND)
    second = MPI_COMM_WORLD
    call MPI_Comm_dup(first, second, code)
    call MPI_Error_class(code, class)
    call check('no duplicate where a copy fails', class == MPI_ERR_KEYVAL .and. second == MPI_COMM_NULL)
    call MPI_Comm_free_keyval(refused)
    call MPI_Comm_free(first)
    call MPI_Comm_free_keyval(key)
    call check('invalid', key == MPI_KEYVAL_INVALID .and. deletions == 3)
    call MPI_Comm_free_keyval(plain)
    call MPI_Comm_free_keyval(none)

    call MPI_Type_create_keyval(copy_of_type, MPI_TYPE_NULL_DELETE_FN, of_type, extra)
    call MPI_Type_contiguous(4, MPI_REAL, one)
    call MPI_Type_set_attr(one, of_type, 21_MPI_ADDRESS_KIND)
    call MPI_Type_dup(one, two)
    call MPI_Type_get_attr(two, of_type, value, flag)
    call check('attribute of a type', flag .and. value == 42)
    call MPI_Type_free(one)
    call MPI_Type_free(two)
    call MPI_Type_free_keyval(of_type)

    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check('MPI_TAG_UB', flag .and. value >= 32767 .and. value <= huge(1))
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, flag)
    call check('MPI_WTIME_IS_GLOBAL', flag .and. (value == 0 .or. value == 1))
    bytes = 32
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Get_address(memory, where)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
    call check('MPI_WIN_BASE', flag .and. value == where)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call check('MPI_WIN_SIZE', flag .and. value == 32)
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
    call check('MPI_WIN_DISP_UNIT', flag .and. value == 4)
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag)
    call check('MPI_WIN_CREATE_FLAVOR', flag .and. value == MPI_WIN_FLAVOR_CREATE)
    call MPI_Win_free(win)
  end subroutine

  ! Left out where the library has none yet.
  subroutine requests()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: code, n
    logical :: flag
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Grequest_start(query, release, cancel, 9_MPI_ADDRESS_KIND, request, code)
    if (code == MPI_SUCCESS) then
      call MPI_Test(request, flag, status)
      call check('not complete', .not. flag)
      call MPI_Cancel(request)
      call check('cancel', cancels == 9)
      call MPI_Grequest_complete(request)
      call MPI_Wait(request, status)
      call MPI_Get_count(status, MPI_INTEGER, n)
      call check('query', queries == 1 .and. status%MPI_SOURCE == 17 .and. status%MPI_TAG == 9 .and. n == 5)
      call check('free', frees == 9 .and. request == MPI_REQUEST_NULL)
    end if
  end subroutine

  ! Indices count from 1 also where a request has failed, and where a call is refused they say that there is none, whatever
  ! an error handler leaves.
  subroutine indices_of_failures()
    type(MPI_Request) :: request(1)
    type(MPI_Errhandler) :: handler
    integer, asynchronous :: one(1)
    integer :: two(2), code, n, indices(2), class
    two = 0
    call MPI_Irecv(one, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request(1))
    call MPI_Send(two, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, code)
    indices = -7
    call MPI_Waitsome(1, request, n, indices, MPI_STATUSES_IGNORE, code)
    call MPI_Error_class(code, class)
    call check('index of a failure', class == MPI_ERR_IN_STATUS .and. n == 1 .and. indices(1) == 1 .and. indices(2) == -7)
    call MPI_Irecv(one, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request(1))
    call MPI_Send(two, 2, MPI_INTEGER, 0, 1, MPI_COMM_SELF, code)
    call MPI_Waitany(1, request, n, MPI_STATUS_IGNORE, code)
    call MPI_Error_class(code, class)
    call check('the one that failed', class == MPI_ERR_TRUNCATE .and. n == 1)
    call MPI_Comm_create_errhandler(forgive, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
    n = huge(n)
    call MPI_Waitsome(-1, request, n, indices, MPI_STATUSES_IGNORE, code)
    call check('count of a refused call', code == MPI_SUCCESS .and. n == 0 .and. indices(2) == -7)
    call MPI_Waitany(-1, request, n, MPI_STATUS_IGNORE, code)
    call check('index of a refused call', code == MPI_SUCCESS .and. n == MPI_UNDEFINED)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Errhandler_free(handler)
  end subroutine
end program
