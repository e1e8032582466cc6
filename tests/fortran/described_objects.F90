! SPDX-License-Identifier: BSD-3-Clause
! Buffers that are polymorphic, have vector subscripts, or are expressions: a part of described.F90.
#include "described.h"
module described_objects
  use described_module
  implicit none
contains
  subroutine polymorphic()
    integer :: i(6)
    type(plain) :: t(4)
    type(more_than_plain) :: m
    character(len=4) :: c(3)
    class(plain), allocatable :: list(:), one
    class(*), allocatable :: anything(:)
    i = [1, 2, 3, 4, 5, 6]
    t = [(plain(k, 10 * k), k = 1, 4)]
    call scalar(i(2), 1)
    call check('class(*)', got(1) == 2)
    call scalar(t(2), 2)
    call check('class(*) of a type', all(got(1:2) == [2, 20]))
    m = more_than_plain(7, 8, [9, 10, 11, 12])
    call scalar(m, 6)
    call check('class(*) of an extended type', all(got(1:6) == [7, 8, 9, 10, 11, 12]))
    call declared(t(3), 2)
    call check('class(t)', all(got(1:2) == [3, 30]))
    call declared(m, 6)
    call check('class(t) of an extended type', all(got(1:6) == [7, 8, 9, 10, 11, 12]))
    call many(i, 6)
    call check('an array of class(*)', all(got(1:6) == [1, 2, 3, 4, 5, 6]))
    call many(i(1:6:2), 3)
    call check('a section of class(*)', all(got(1:3) == [1, 3, 5]))
    call many(t(1:4:3), 4)
    call check('a section of class(*) of a type', all(got(1:4) == [1, 10, 4, 40]))
    call into_many(i(2:6:2), 3)
    call check('into a section of class(*)', all(i == [1, 101, 3, 102, 5, 103]))
    c = ['abcd', 'efgh', 'ijkl']
    call many(c, 3)
    call check('characters of class(*)', all(transfer(got(1:3), c) == c))
    allocate (one, source=t(4))
    SEND(one, 2)
    call check('an allocatable of class(t)', all(got(1:2) == [4, 40]))
    allocate (list(0:3), source=t)
    SEND(list, 8)
    call check('an allocatable array of class(t)', all(got(1:8) == [1, 10, 2, 20, 3, 30, 4, 40]))
    SEND(list%x, 4)
    call check('a component of class(t)', all(got(1:4) == [10, 20, 30, 40]))
    RECEIVE(list%x, 4)
    call check('into a component of class(t)', all(list%x == new(1:4)) .and. all(list%i == [1, 2, 3, 4]))
    RECEIVE(list(0:3:3), 4)
    call check('into a section of class(t)', all([list(0)%i, list(0)%x, list(3)%i, list(3)%x] == new(1:4)))
    call check('bounds of the array of class(t)', lbound(list, 1) == 0 .and. ubound(list, 1) == 3)
    allocate (anything(0:5), source=i)
    SEND(anything, 6)
    call check('an allocatable array of class(*)', all(got(1:6) == i))
    deallocate (list, anything)
    call longer_than_declared()
  end subroutine

  ! The descriptor may not tell how long these are; then the call is refused.
  subroutine longer_than_declared()
    class(plain), allocatable :: list(:)
    integer(MPI_ADDRESS_KIND) :: at, first
    type(MPI_Win) :: win
    integer :: class
    allocate (list(3), source=[(more_than_plain(k, 2 * k, [3, 4, 5, 6]), k = 1, 3)])
    got = -1
    call MPI_Sendrecv(list, 18, MPI_INTEGER, 0, 1, got, 18, MPI_INTEGER, 0, 1, comm, MPI_STATUS_IGNORE, code)
    if (code == MPI_SUCCESS) then
      call check('an array of an extended type', all(got(1:18) == [1, 2, 3, 4, 5, 6, 2, 4, 3, 4, 5, 6, 3, 6, 3, 4, 5, 6]))
    else
      call MPI_Error_class(code, class)
      call check('an array of an extended type is refused', class == MPI_ERR_BUFFER)
    end if
    SEND(list%x, 3)
    call check('a component of an extended type', all(got(1:3) == [2, 4, 6]))
    ! Where the first one begins is known, and that there is none.
    call MPI_Get_address(list, at, code)
    call MPI_Get_address(list(1), first)
    call check('the address of an array of an extended type', code == MPI_SUCCESS .and. at == first)
    call MPI_Win_create(list(1:0), 0_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, comm, win, code)
    call check('a window of nothing of an extended type', code == MPI_SUCCESS)
    if (code == MPI_SUCCESS) call MPI_Win_free(win)
  end subroutine

  subroutine scalar(x, n)
    class(*), intent(in) :: x
    integer, intent(in) :: n
    SEND(x, n)
    select type (x)
    type is (integer)
      got(1) = -1
      SEND(x, n)
    class is (plain)
      got(1) = -1
      SEND(x, n)
    end select
  end subroutine

  subroutine declared(x, n)
    class(plain), intent(in) :: x
    integer, intent(in) :: n
    SEND(x, n)
  end subroutine

  subroutine many(x, n)
    class(*), intent(in) :: x(:)
    integer, intent(in) :: n
    got = -1
    SEND(x, n)
    select type (x)
    type is (integer)
      call check('as in select type', all(got(1:n) == x))
      got = -1
      SEND(x, n)
      LATER_SEND(x, n)
      call sent('in select type', x)
    end select
  end subroutine

  subroutine into_many(x, n)
    class(*), intent(inout), asynchronous :: x(:)
    integer, intent(in) :: n
    RECEIVE(x, n)
    LATER_RECEIVE(x, n)
    call arrives('class(*)', n)
  end subroutine

  subroutine vector_subscripts()
    integer :: a(10, 10), v(3)
    a = reshape([(k, k = 1, 100)], [10, 10])
    v = [7, 2, 9]
    SEND(a(v, 1), 3)
    call check('a vector subscript', all(got(1:3) == v))
    SEND(a(2, v), 3)
    call check('a vector subscript of a row', all(got(1:3) == 2 + 10 * (v - 1)))
    SEND(a(v, v(1:2)), 6)
    call check('two vector subscripts', all(got(1:6) == [60 + v, 10 + v]))
    call check('the array stays', all(a(:, 1) == [(k, k = 1, 10)]) .and. all(v == [7, 2, 9]))
  end subroutine

  subroutine expressions()
    integer :: a(4)
    a = [1, 2, 3, 4]
    SEND(a + 1, 4)
    call check('an expression', all(got(1:4) == [2, 3, 4, 5]))
    SEND((a(4:1:-1)), 4)
    call check('a section in parentheses', all(got(1:4) == [4, 3, 2, 1]))
    SEND(42, 1)
    call check('a constant', got(1) == 42)
    SEND(reshape(a, [2, 2]), 4)
    call check('the result of a function', all(got(1:4) == a))
  end subroutine
end module
