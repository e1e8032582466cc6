! SPDX-License-Identifier: BSD-3-Clause
! One-sided communication: windows of each kind, their memory as C_PTR and as an address, each synchronisation, atomic
! operations, attributes, names and error handlers, in each of the three interfaces.
#include "interface.h"
module chapters_rma_callbacks
  implicit none
  integer :: deleted = 0, heard = 0, heard_of = 0
contains
  subroutine delete_attribute(win, win_keyval, attribute_val, extra_state, ierror)
    USE_MPI
    INCLUDE_MPI
    HANDLE(MPI_Win) :: win
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (win /= MPI_WIN_NULL .and. win_keyval /= MPI_KEYVAL_INVALID) deleted = deleted + int(attribute_val + extra_state)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_error(win, error_code)
    USE_MPI
    INCLUDE_MPI
    HANDLE(MPI_Win) :: win
    integer :: error_code
    heard = error_code
    if (win /= MPI_WIN_NULL) heard_of = heard_of + 1
  end subroutine
end module

program chapters_rma
  USE_MPI
  use chapters_rma_callbacks
  use check_module
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, right, left, ierror, i
  integer(kind=MPI_ADDRESS_KIND), parameter :: first = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  right = modulo(rank + 1, ranks)
  left = modulo(rank - 1, ranks)
  call allocated()
  call shared()
  call atomic()
  call general()
  call dynamic()
  call about()
  call plain_memory()
  call MPI_Finalize(ierror)
  call finish()
contains

#ifdef MPIF
  ! mpif.h has no form with C_PTR: the address is a number.
  subroutine c_memory(address, array, n)
    integer(kind=MPI_ADDRESS_KIND) :: address
    integer, pointer :: array(:)
    integer :: n
    call c_f_pointer(transfer(address, c_null_ptr), array, [n])
  end subroutine
#define C_MEMORY integer(kind=MPI_ADDRESS_KIND)
#else
  subroutine c_memory(address, array, n)
    type(C_PTR) :: address
    integer, pointer :: array(:)
    integer :: n
    call c_f_pointer(address, array, [n])
  end subroutine
#define C_MEMORY type(C_PTR)
#endif

  subroutine allocated()
    HANDLE(MPI_Win) :: win
    C_MEMORY :: where
    integer, pointer :: mine(:)
    integer, ASYNC :: a(4), got(4), sum(4)
    HANDLE(MPI_Request) :: request
    call MPI_Win_allocate(40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, where, win, ierror)
    call c_memory(where, mine, 10)
    mine = [(100 * rank + i, i = 1, 10)]
    a = [(1000 * rank + i, i = 1, 4)]
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierror)
    call MPI_Put(a, 4, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check('put', all(mine == [100 * rank + [1, 2], 1000 * left + [1, 2, 3, 4], 100 * rank + [7, 8, 9, 10]]))
    call MPI_Get(got, 4, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    call check('get', all(got == a))
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win, ierror)
    call MPI_Get_accumulate(a, 4, MPI_INTEGER, sum, 4, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win, &
                            ierror)
    call MPI_Win_flush(right, win, ierror)
    call check('get_accumulate', all(sum == a))
    call MPI_Win_unlock(right, win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    call MPI_Rget_accumulate(a, 4, MPI_INTEGER, got, 4, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_NO_OP, win, &
                             request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check('rget_accumulate', all(got == 2 * a))
    call MPI_Raccumulate(a, 4, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Win_flush_local(right, win, ierror)
    call MPI_Win_flush_all(win, ierror)
    call MPI_Win_flush_local_all(win, ierror)
    call MPI_Win_sync(win, ierror)
    call MPI_Rget(got, 4, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check('raccumulate', all(got == 3 * a))
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Win_free(win, ierror)
    call check('win_free', win == MPI_WIN_NULL)
  end subroutine

  subroutine shared()
    HANDLE(MPI_Comm) :: node
    HANDLE(MPI_Win) :: win
    C_MEMORY :: where, theirs
    integer, pointer :: mine(:), others(:)
    integer(kind=MPI_ADDRESS_KIND) :: bytes
    integer :: unit, n, me, other
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node, ierror)
    call MPI_Comm_size(node, n, ierror)
    call MPI_Comm_rank(node, me, ierror)
    call MPI_Win_allocate_shared(int(4 * (me + 1), MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, node, where, win, ierror)
    call c_memory(where, mine, me + 1)
    call MPI_Win_lock_all(MPI_MODE_NOCHECK, win, ierror)
    mine = me + 1
    call MPI_Win_sync(win, ierror)
    call MPI_Barrier(node, ierror)
    call MPI_Win_sync(win, ierror)
    other = modulo(me + 1, n)
    call MPI_Win_shared_query(win, other, bytes, unit, theirs, ierror)
    call c_memory(theirs, others, other + 1)
    call check('win_shared_query', bytes == 4 * (other + 1) .and. unit == 4 .and. all(others == other + 1))
    call MPI_Win_shared_query(win, MPI_PROC_NULL, bytes, unit, theirs, ierror)
    call c_memory(theirs, others, 1)
    call check('the lowest rank with memory', bytes == 4 .and. others(1) == 1)
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Win_free(win, ierror)
    call MPI_Comm_free(node, ierror)
  end subroutine

  subroutine atomic()
    HANDLE(MPI_Win) :: win
    integer, ASYNC :: counter(2)
    integer :: before, found, sum, turn
    counter = 0
    call MPI_Win_create(counter, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    call MPI_Fetch_and_op(1, before, MPI_INTEGER, 0, first, MPI_SUM, win, ierror)
    call MPI_Win_flush(0, win, ierror)
    call MPI_F_sync_reg(before)
    call MPI_Allreduce(before, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('fetch_and_op', sum == ranks * (ranks - 1) / 2)
    ! Each in its turn.
    turn = -1
    do while (turn /= rank)
      call MPI_Compare_and_swap(rank + 1, rank, found, MPI_INTEGER, 0, 1_MPI_ADDRESS_KIND, win, ierror)
      call MPI_Win_flush(0, win, ierror)
      call MPI_F_sync_reg(found)
      turn = found
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Fetch_and_op(0, before, MPI_INTEGER, 0, 1_MPI_ADDRESS_KIND, MPI_NO_OP, win, ierror)
    call MPI_Win_flush(0, win, ierror)
    call MPI_F_sync_reg(before)
    call check('compare_and_swap', before == ranks)
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine general()
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_Group) :: world, to, from, same
    integer, ASYNC :: memory(4)
    integer :: a, answer
    logical :: flag
    memory = -1
    a = 10 * rank
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_get_group(win, world, ierror)
    call MPI_Comm_group(MPI_COMM_WORLD, same, ierror)
    call MPI_Group_compare(world, same, answer, ierror)
    call check('win_get_group', answer == MPI_IDENT)
    call MPI_Group_free(same, ierror)
    call MPI_Group_incl(world, 1, [right], to, ierror)
    call MPI_Group_incl(world, 1, [left], from, ierror)
    do i = 1, 2
      call MPI_Win_post(from, 0, win, ierror)
      call MPI_Win_start(to, 0, win, ierror)
      call MPI_Put(a, 1, MPI_INTEGER, right, int(i, MPI_ADDRESS_KIND), 1, MPI_INTEGER, win, ierror)
      call MPI_Win_complete(win, ierror)
      if (i == 1) then
        call MPI_Win_wait(win, ierror)
      else
        flag = .false.
        do while (.not. flag)
          call MPI_Win_test(win, flag, ierror)
        end do
      end if
      call check('post and start', memory(i + 1) == 10 * left)
    end do
    call MPI_Group_free(to, ierror)
    call MPI_Group_free(from, ierror)
    call MPI_Group_free(world, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine dynamic()
    HANDLE(MPI_Win) :: win
    integer, ASYNC :: memory(3)
    integer(kind=MPI_ADDRESS_KIND) :: mine, theirs
    integer :: a
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    memory = -1
    call MPI_Win_attach(win, memory, 12_MPI_ADDRESS_KIND, ierror)
    call MPI_Get_address(memory(2), mine, ierror)
    call MPI_Sendrecv(mine, 1, MPI_AINT, left, 0, theirs, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    a = rank
    call MPI_Win_fence(0, win, ierror)
    call MPI_Put(a, 1, MPI_INTEGER, right, theirs, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check('a dynamic window', all(memory == [-1, left, -1]))
    call MPI_Win_detach(win, memory, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine about()
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_Errhandler) :: handler, got
    HANDLE(MPI_Info) :: info
    integer, ASYNC :: memory(4)
    integer :: key, length, code, class
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_set_name(win, 'a window  ', ierror)
    call MPI_Win_get_name(win, name, length, ierror)
    call check('win_get_name', name == 'a window' .and. length == 8)
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, key, 5_MPI_ADDRESS_KIND, ierror)
    call MPI_Win_set_attr(win, key, 37_MPI_ADDRESS_KIND, ierror)
    call MPI_Win_get_attr(win, key, value, flag, ierror)
    call check('win_get_attr', flag .and. value == 37)
    call MPI_Win_delete_attr(win, key, ierror)
    call check('win_delete_attr', deleted == 42)
    call MPI_Win_set_attr(win, key, 1_MPI_ADDRESS_KIND, ierror)
    call MPI_Win_free_keyval(key, ierror)
    call MPI_Win_get_info(win, info, ierror)
    call MPI_Win_set_info(win, info, ierror)
    call MPI_Info_free(info, ierror)
    call MPI_Win_create_errhandler(on_error, handler, ierror)
    call MPI_Win_set_errhandler(win, handler, ierror)
    call MPI_Win_get_errhandler(win, got, ierror)
    call check('win_get_errhandler', got == handler)
    call MPI_Errhandler_free(got, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE, ierror)
    call check('win_call_errhandler', heard == MPI_ERR_RMA_RANGE .and. heard_of == 1)
    call MPI_Put(memory, 1, MPI_INTEGER, ranks, first, 1, MPI_INTEGER, win, code)
    call MPI_Error_class(code, class, ierror)
    call check('an error of a call', class == MPI_ERR_RANK .and. heard == code .and. heard_of == 2)
    call MPI_Win_free(win, ierror)
    call check('deleted with the window', deleted == 48)
  end subroutine

  subroutine plain_memory()
    C_MEMORY :: where
    integer, pointer :: some(:)
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, where, ierror)
    call c_memory(where, some, 100)
    some = [(i, i = 1, 100)]
    call MPI_Bcast(some, 100, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call check('alloc_mem', sum(some) == 5050)
    call MPI_Free_mem(some, ierror)
    call check('free_mem', ierror == MPI_SUCCESS)
  end subroutine
end program
