! SPDX-License-Identifier: BSD-3-Clause
! C and Fortran in one program (mixed_c.c): handles, statuses and attributes go from one to the other, and all three
! interfaces of Fortran are used side by side.
module mixed_module
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(C_INT) function c_sees_comm(comm, ranks) bind(C)
      import
      integer(C_INT), value :: comm, ranks
    end function
    integer(C_INT) function c_sees_attribute(comm, key, value) bind(C)
      import
      integer(C_INT), value :: comm, key
      integer(C_INTPTR_T), value :: value
    end function
    integer(C_INTPTR_T) function c_sets_attribute(comm, key) bind(C)
      import
      integer(C_INT), value :: comm, key
    end function
    integer(C_INT) function c_knows_logicals(is, is_not) bind(C)
      import
      integer(C_INT), value :: is, is_not
    end function
    integer(C_INT) function c_makes_key() bind(C)
      import
    end function
    integer(C_INT) function c_makes_type() bind(C)
      import
    end function
    integer(C_INT) function c_makes_op() bind(C)
      import
    end function
    integer(C_INT) function c_receives(comm, f_status, f08_status) bind(C)
      import
      integer(C_INT), value :: comm
      integer(C_INT) :: f_status(8), f08_status(8)
    end function
    integer(C_INT) function c_sees_status(f_status, source, tag, count) bind(C)
      import
      integer(C_INT) :: f_status(8)
      integer(C_INT), value :: source, tag, count
    end function
    integer(C_INT) function c_knows_no_status(ignore, ignore_all) bind(C)
      import
      type(*) :: ignore, ignore_all(*)
    end function
    integer(C_INT) function c_converts_statuses(comm) bind(C)
      import
      integer(C_INT), value :: comm
    end function
    integer(C_INT) function c_uses_functions(op, errhandler, ranks) bind(C)
      import
      integer(C_INT), value :: op, errhandler, ranks
    end function
    integer(C_INT) function c_calls_fortran(comm) bind(C)
      import
      integer(C_INT), value :: comm
    end function
  end interface
  integer :: heard = 0
contains
  subroutine add(invec, inoutvec, length, datatype)
    use mpi_f08
    type(C_PTR), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [length])
    call c_f_pointer(inoutvec, b, [length])
    if (datatype == MPI_INTEGER .or. datatype == MPI_INT) b = a + b
  end subroutine
  subroutine on_error(comm, error_code)
    use mpi_f08
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm /= MPI_COMM_NULL .and. error_code /= MPI_SUCCESS) heard = heard + 1
  end subroutine
end module

program mixed
  use mpi_f08
  use mixed_module
  use check_module
  implicit none
  integer :: rank, ranks, key, total, status_array(MPI_STATUS_SIZE), n
  integer(MPI_ADDRESS_KIND) :: value
  type(MPI_Comm) :: comm
  type(MPI_Status) :: status
  type(MPI_Datatype) :: datatype
  type(MPI_Op) :: op
  logical :: flag
  logical :: is, is_not
  integer :: a(4), b(4)
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
  call check('a communicator in C', c_sees_comm(comm%MPI_VAL, ranks) == 1)

  is = .false.
  is_not = .true.
  call MPI_Abi_get_fortran_booleans(4, is, is_not, flag)
  call check('logicals as MPI knows them', flag .and. is .and. .not. is_not)
  call check('logicals in C', c_knows_logicals(transfer(.true., 1), transfer(.false., 1)) == 1)

  ! Arguments that MPI 4.1 has brought, by their names.
  call MPI_Status_set_error(status=status, err=7)
  call MPI_Status_get_error(status=status, err=n)
  call MPI_Request_get_status_any(count=1, array_of_requests=[MPI_REQUEST_NULL], index=key, flag=flag, status=status)
  call check('arguments by their names', n == 7 .and. flag .and. key == MPI_UNDEFINED)

  ! What Fortran sets, C finds behind an address; what C sets is an address, which Fortran gets as a number.
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, key, 123456789012_8)
  call check('set by Fortran', c_sees_attribute(comm%MPI_VAL, key, 123456789012_8) == 1)
  value = c_sets_attribute(comm%MPI_VAL, key)
  block
    integer(MPI_ADDRESS_KIND) :: got
    call MPI_Comm_get_attr(comm, key, got, flag)
    call check('set by C', flag .and. got == value)
    call MPI_Comm_free_keyval(key)
    key = c_makes_key()
    call MPI_Comm_set_attr(comm, key, -3_MPI_ADDRESS_KIND)
    call check('key of C', c_sees_attribute(comm%MPI_VAL, key, -3_8) == 1)
    call MPI_Comm_get_attr(comm, key, got, flag)
    call check('key of C, read by Fortran', flag .and. got == -3)
    call MPI_Comm_delete_attr(comm, key)
    call MPI_Comm_free_keyval(key)
  end block

  ! A datatype and an operation of C.
  datatype%MPI_VAL = c_makes_type()
  op%MPI_VAL = c_makes_op()
  a = [1, 2, 3, 4] + rank
  b = 0
  call MPI_Allreduce(a, b, 4, MPI_INTEGER, op, comm)
  call check('operation of C', all(b == ieor_of_all()))
  call MPI_Op_free(op)
  call MPI_Sendrecv(a, 1, datatype, rank, 0, b, 2, MPI_INTEGER, rank, 0, comm, status)
  call check('datatype of C', all(b(1:2) == [1, 3] + rank))
  call MPI_Type_free(datatype)

  ! Statuses in all directions.
  call MPI_Sendrecv(a, 3, MPI_INTEGER, rank, 8, b, 4, MPI_INTEGER, rank, 8, comm, status)
  call MPI_Status_f082f(status, status_array)
  call check('status to C', c_sees_status(status_array, rank, 8, 3) == 1)
  call MPI_Send(a, 2, MPI_INTEGER, rank, 9, comm)
  block
    integer :: of_f08(MPI_STATUS_SIZE)
    call check('received by C', c_receives(comm%MPI_VAL, status_array, of_f08) == 1)
    call MPI_Status_f2f08(status_array, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check('status of C', status%MPI_SOURCE == rank .and. status%MPI_TAG == 9 .and. n == 2)
    call check('both ways', all(of_f08(1:3) == status_array(1:3)) .and. status_array(MPI_TAG) == 9)
  end block

  call check('statuses by all six ways', c_converts_statuses(comm%MPI_VAL) == 1)
  block
    type(MPI_Op) :: own_op
    type(MPI_Errhandler) :: own_handler
    call MPI_Op_create(add, .true., own_op)
    call MPI_Comm_create_errhandler(on_error, own_handler)
    call check('functions of Fortran used by C', c_uses_functions(own_op%MPI_VAL, own_handler%MPI_VAL, ranks) == 1)
    call check('the error handler was called', heard == 1)
    call MPI_Op_free(own_op)
    call MPI_Errhandler_free(own_handler)
  end block
  call check('no status in C', c_knows_no_status(MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE) == 1)
  call older_half(comm%MPI_VAL, total)
  call check('use mpi', total == ranks)
  call oldest_half(comm%MPI_VAL, total)
  call check('mpif.h', total == ranks)
  call older_hands_on(MPI_IN_PLACE, MPI_STATUS_IGNORE, comm%MPI_VAL, total, flag)
  call check('handed on to mpi', total == ranks .and. flag)
  call oldest_hands_on(MPI_IN_PLACE, MPI_STATUS_IGNORE, comm%MPI_VAL, total, flag)
  call check('handed on to mpif.h', total == ranks .and. flag)
  call check('a procedure called from C', c_calls_fortran(comm%MPI_VAL) == ranks)
  call MPI_Comm_free(comm)
  call check('comparisons', comm == MPI_COMM_NULL .and. comm /= MPI_COMM_WORLD .and. .not. MPI_INFO_NULL /= MPI_INFO_NULL)
  call MPI_Finalize()
  call finish()
contains
  function ieor_of_all() result(x)
    integer :: x(4), k
    x = 0
    do k = 0, ranks - 1
      x = ieor(x, [1, 2, 3, 4] + k)
    end do
  end function
end program
