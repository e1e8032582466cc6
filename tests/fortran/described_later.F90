! SPDX-License-Identifier: BSD-3-Clause
! Components of arrays as buffers of calls whose operations last longer than they: what sends is right, what receives is
! right or refused, and what the refusal tells to pass instead, the component of the first element, is right with each
! compiler: a part of described.F90.
#include "described.h"
module described_later
  use described_module
  implicit none
  integer, parameter :: n = 5, tens(n) = [10, 20, 30, 40, 50]
contains
  subroutine fill_plain(a)
    type(plain), intent(out) :: a(:)
    a = [(plain(k, 10 * k), k = 1, size(a))]
  end subroutine

  ! Whether it is the compiler's copy or not. Arrays from 0 may look like copies, and are none.
  subroutine sends_that_last()
    type(plain), allocatable :: a(:), square(:, :)
    integer, asynchronous, allocatable :: zero(:), zeros(:, :)
    complex, allocatable :: z(:)
    integer :: later(n)
    real :: parts(2)
    allocate (a(0:n - 1), square(2, 2), zero(0:n - 1), zeros(0:1, 0:1), z(2))
    call fill_plain(a)
    square%x = reshape([1, 2, 3, 4], [2, 2])
    LATER_SEND(a%x, n)
    call sent('a component', tens)
    LATER_SEND(a(0:n - 1:4)%x, 2)
    call sent('a component of a section', [10, 50])
    LATER_SEND(square%x, 4)
    call sent('a component of a square', [1, 2, 3, 4])
    zero = tens
    zeros = reshape([5, 6, 7, 8], [2, 2])
    LATER_SEND(zero, n)
    call sent('an array from 0', tens)
    LATER_SEND(zero, 2)
    call sent('some of an array from 0', [10, 20])
    LATER_SEND(zeros, 4)
    call sent('a square from 0', [5, 6, 7, 8])
    call MPI_Iallgather(a%x, n, MPI_INTEGER, later, n, MPI_INTEGER, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('MPI_Iallgather of a component', all(later == tens))
    call MPI_Iallreduce(zero, later, n, MPI_INTEGER, MPI_SUM, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('MPI_Iallreduce of an array from 0', all(later == tens))
    z = [(1., 2.), (3., 4.)]
    call MPI_Isend(z%re, 2, MPI_REAL, 0, 2, comm, request)
    call MPI_Recv(parts, 2, MPI_REAL, 0, 2, comm, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('MPI_Isend of %re', all(parts == [1., 3.]))
    call put_a_component(a)
    call more_than_is_kept()
    call check('bounds of what was sent', lbound(a, 1) == 0 .and. ubound(zeros, 2) == 1)
    deallocate (a, square, zero, zeros, z)
  end subroutine

  ! So much is read from the buffer when it is received, and no earlier. Until then the compiler's copy is gone, and
  ! another one of the same size takes its place.
  subroutine more_than_is_kept()
    integer, parameter :: much = 400000
    type(plain), allocatable :: a(:), other(:)
    integer, allocatable :: zero(:), there(:)
    allocate (a(much), other(much), zero(0:much - 1), there(much))
    call fill_plain(a)
    other = plain(0, 0)
    zero = a%i
    LATER_SEND(a%x, much)
    call write_over(other%x, much)
    call MPI_Recv(there, much, MPI_INTEGER, 0, 2, comm, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('MPI_Isend of a long component', all(there == a%x))
    LATER_SEND(zero, much)
    call MPI_Recv(there, much, MPI_INTEGER, 0, 2, comm, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('MPI_Isend of a long array from 0', all(there == a%i))
    deallocate (a, other, zero, there)
  end subroutine
  subroutine write_over(memory, many)
    integer, intent(in) :: many
    integer, intent(inout) :: memory(many)
    memory(many) = -1
  end subroutine

  subroutine put_a_component(a)
    type(plain), intent(in) :: a(:)
    integer, asynchronous :: memory(n)
    integer :: code, class
    type(MPI_Win) :: win
    memory = 0
    call MPI_Win_create(memory, int(4 * n, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, comm, win)
    call MPI_Win_fence(0, win)
    ! What is short leaves with the call. With --check=strict it is told that a copy of the compiler's is gone by then.
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Put(a%x, n, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER, win)
    call MPI_Win_fence(0, win, code)
    call check('MPI_Put of a component', all(memory == tens))
    call MPI_Error_class(code, class)
    call check('the fence after it', class == MPI_SUCCESS .or. class == MPI_ERR_BUFFER)
    call MPI_Win_free(win)
  end subroutine

  ! Either it is right, or an error has told that the buffer is none.
  subroutine right_or_refused(what, is_right)
    character(len=*), intent(in) :: what
    logical, intent(in) :: is_right
    integer :: class
    call MPI_Error_class(code, class)
    call check(what//' is right or refused', merge(is_right, class == MPI_ERR_BUFFER, code == MPI_SUCCESS))
  end subroutine

  subroutine receives_that_last(rank)
    integer, intent(in) :: rank
    type(plain), allocatable, asynchronous :: a(:)
    integer, asynchronous :: memory(n)
    type(MPI_Win) :: win
    type(MPI_File) :: file
    allocate (a(n))
    memory = new(1:n)
    call fill_plain(a)
    call MPI_Recv_init(a%x, n, MPI_INTEGER, 0, 3, comm, request, code)
    if (code == MPI_SUCCESS) then
      call MPI_Start(request)
      call MPI_Send(new, n, MPI_INTEGER, 0, 3, comm)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_Request_free(request)
    end if
    call right_or_refused('MPI_Recv_init into a component', all(a%x == memory))
    call fill_plain(a)
    call MPI_Iallgather(memory, n, MPI_INTEGER, a%x, n, MPI_INTEGER, comm, request, code)
    if (code == MPI_SUCCESS) call MPI_Wait(request, MPI_STATUS_IGNORE)
    call right_or_refused('MPI_Iallgather into a component', all(a%x == memory))
    call fill_plain(a)
    call MPI_Win_create(memory, int(4 * n, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, comm, win)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_fence(0, win)
    call MPI_Get(a%x, n, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER, win, code)
    call MPI_Win_fence(0, win)
    call right_or_refused('MPI_Get into a component', all(a%x == memory))
    call MPI_Win_free(win)
    call MPI_Win_create(a%x, int(4 * n, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, comm, win, code)
    call right_or_refused('a component as a window', .false.)
    call open_file(rank, file)
    call fill_plain(a)
    call MPI_File_iread_at(file, 0_MPI_OFFSET_KIND, a%x, n, MPI_INTEGER, request, code)
    if (code == MPI_SUCCESS) call MPI_Wait(request, MPI_STATUS_IGNORE)
    call right_or_refused('MPI_File_iread_at into a component', all(a%x == memory))
    call fill_plain(a)
    call MPI_File_read_at_all_begin(file, 0_MPI_OFFSET_KIND, a%x, n, MPI_INTEGER, code)
    if (code == MPI_SUCCESS) call MPI_File_read_at_all_end(file, a%x, MPI_STATUS_IGNORE)
    call right_or_refused('MPI_File_read_at_all_begin into a component', all(a%x == memory))
    call MPI_File_close(file)
    call check('nothing beside what may have come', all(a%i == [(k, k = 1, n)]))
    deallocate (a)
  end subroutine

  ! A file of its own, in which there is what comes.
  subroutine open_file(rank, file)
    integer, intent(in) :: rank
    type(MPI_File), intent(out) :: file
    character(len=60) :: name
    integer :: ticks
    call system_clock(ticks)
    write (name, '(a,i0,a,i0)') 'described.', rank, '.', ticks
    call MPI_File_open(comm, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, new, n, MPI_INTEGER, MPI_STATUS_IGNORE)
  end subroutine

  ! An INTEGER in each place of an array whose elements lie `bytes` from each other.
  type(MPI_Datatype) function each(bytes, of)
    integer(MPI_ADDRESS_KIND), intent(in) :: bytes
    type(MPI_Datatype), intent(in) :: of
    call MPI_Type_create_resized(of, 0_MPI_ADDRESS_KIND, bytes, each)
    call MPI_Type_commit(each)
  end function

  subroutine arrive_at(what, is_right)
    character(len=*), intent(in) :: what
    logical, intent(in) :: is_right
    call check(what//' by its first element', is_right)
  end subroutine

  subroutine first_elements(rank)
    integer, intent(in) :: rank
    type(item), allocatable, asynchronous :: a(:)
    integer(MPI_ADDRESS_KIND) :: first, second
    type(MPI_Datatype) :: one
    type(MPI_File) :: file
    allocate (a(0:n - 1))
    do k = 1, n
      a(k - 1)%i = k
      a(k - 1)%x = 10 * k
      a(k - 1)%c = 100 * k + [1, 2, 3]
    end do
    call MPI_Get_address(a(0)%x, first)
    call MPI_Get_address(a(1)%x, second)
    one = each(second - first, MPI_INTEGER)
    call MPI_Isend(a(0)%x, n, one, 0, 2, comm, request, code)
    call sent('the first element of a component', tens)
    call MPI_Irecv(a(0)%x, n, one, 0, 3, comm, request, code)
    call arrives('the first element of a component', n)
    call arrive_at('a component', all(a%x == new(1:n)))
    call MPI_Irecv(a(0)%c(2), n, one, 0, 3, comm, request, code)
    call arrives('an element of a component', n)
    call arrive_at('elements of a component', all(a%c(2) == new(1:n)) .and. all(a%c(3) == [(100 * k + 3, k = 1, n)]))
    a%x = 0
    call persistent_and_window(a, one)
    call open_file(rank, file)
    call MPI_File_iread_at(file, 0_MPI_OFFSET_KIND, a(0)%x, n, one, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call arrive_at('MPI_File_iread_at into a component', all(a%x == new(1:n)))
    call MPI_File_close(file)
    call MPI_Type_free(one)
    a%x = 0
    one = each(2 * (second - first), MPI_INTEGER)
    call MPI_Irecv(a(0)%x, 3, one, 0, 3, comm, request, code)
    call arrives('every second element', 3)
    call arrive_at('a section of a component', all(a%x == [101, 0, 102, 0, 103]))
    call MPI_Type_free(one)
    call check('nothing beside the elements', all(a%i == [(k, k = 1, n)]) .and. lbound(a, 1) == 0)
    deallocate (a)
    call first_of_others()
  end subroutine

  subroutine persistent_and_window(a, one)
    type(item), intent(inout), asynchronous, target :: a(0:)
    type(MPI_Datatype), intent(in) :: one
    integer, asynchronous :: memory(n)
    type(MPI_Win) :: win
    call MPI_Recv_init(a(0)%x, n, one, 0, 3, comm, request, code)
    call MPI_Start(request)
    call MPI_Send(new, n, MPI_INTEGER, 0, 3, comm)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Request_free(request)
    call arrive_at('MPI_Recv_init into a component', all(a%x == new(1:n)))
    memory = tens
    call MPI_Win_create(memory, int(4 * n, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, comm, win)
    call MPI_Win_fence(0, win)
    call MPI_Get(a(0)%x, n, one, 0, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
    call arrive_at('MPI_Get into a component', all(a%x == tens))
  end subroutine

  ! Of complex numbers, of an array that is a component itself, of a polymorphic array, of a pointer.
  subroutine first_of_others()
    complex, allocatable, asynchronous :: z(:)
    type(holder), asynchronous, target :: h
    class(plain), allocatable, asynchronous :: list(:)
    type(plain), pointer :: p(:)
    integer, pointer :: q(:)
    type(MPI_Datatype) :: one
    real :: parts(2)
    allocate (z(0:1), h%list(0:2), list(3))
    z = (0., 5.)
    parts = [1., 2.]
    one = each(8_MPI_ADDRESS_KIND, MPI_REAL)
    call MPI_Irecv(z(0)%re, 2, one, 0, 3, comm, request)
    call MPI_Send(parts, 2, MPI_REAL, 0, 3, comm)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call arrive_at('%re', all(z == [(1., 5.), (2., 5.)]))
    call MPI_Irecv(z(0)%im, 2, one, 0, 3, comm, request)
    call MPI_Send(parts, 2, MPI_REAL, 0, 3, comm)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call arrive_at('%im', all(z == [(1., 1.), (2., 2.)]))
    call MPI_Type_free(one)
    one = each(int(storage_size(h%list) / 8, MPI_ADDRESS_KIND), MPI_INTEGER)
    call fill_plain(h%list)
    call MPI_Irecv(h%list(0)%x, 3, one, 0, 3, comm, request, code)
    call arrives('the first element of an array in a component', 3)
    call arrive_at('a component of a component', all(h%list%x == new(1:3)) .and. all(h%list%i == [1, 2, 3]))
    do k = 1, 3
      list(k)%i = k
    end do
    call MPI_Irecv(list(1)%x, 3, one, 0, 3, comm, request, code)
    call arrives('the first element of a polymorphic array', 3)
    call arrive_at('a component of class(t)', all(list%x == new(1:3)) .and. all(list%i == [1, 2, 3]))
    p => h%list
    call fill_plain(p)
    call MPI_Irecv(p(0)%x, 3, one, 0, 3, comm, request, code)
    call arrives('the first element of a pointer', 3)
    call arrive_at('a component of a pointer', all(h%list%x == new(1:3)))
    h%list%x = 0
    q => h%list%x
    call by_first_of_pointer(q, one)
    call arrive_at('a pointer to components', all(h%list%x == new(1:3)) .and. all(h%list%i == [1, 2, 3]))
    call MPI_Type_free(one)
    deallocate (z, h%list, list)
  end subroutine

  ! Here the compiler does not know what the pointer points to.
  subroutine by_first_of_pointer(q, one)
    integer, pointer, intent(in) :: q(:)
    type(MPI_Datatype), intent(in) :: one
    call MPI_Irecv(q(1), 3, one, 0, 3, comm, request, code)
    call arrives('the first element of a pointer to components', 3)
  end subroutine

  ! Parts of each text of an array are like components.
  subroutine substrings()
    character(len=4), allocatable :: text(:)
    character(len=2) :: parts(3), others(3)
    allocate (text(0:2))
    text = ['abcd', 'efgh', 'ijkl']
    others = ['12', '34', '56']
    call MPI_Sendrecv(text(:)(2:3), 6, MPI_CHARACTER, 0, 1, parts, 6, MPI_CHARACTER, 0, 1, comm, MPI_STATUS_IGNORE)
    call check('parts of texts', all(parts == ['bc', 'fg', 'jk']))
    call MPI_Sendrecv(others, 6, MPI_CHARACTER, 0, 1, text(:)(2:3), 6, MPI_CHARACTER, 0, 1, comm, MPI_STATUS_IGNORE)
    call check('into parts of texts', all(text == ['a12d', 'e34h', 'i56l']))
    call MPI_Isend(text(:)(3:4), 6, MPI_CHARACTER, 0, 1, comm, request)
    call MPI_Recv(parts, 6, MPI_CHARACTER, 0, 1, comm, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check('parts of texts by MPI_Isend', all(parts == ['2d', '4h', '6l']))
    call check('bounds of the texts', lbound(text, 1) == 0 .and. ubound(text, 1) == 2)
    deallocate (text)
  end subroutine

  ! One element is where it is, and of nothing there is no copy.
  subroutine single_elements()
    type(plain), allocatable, asynchronous :: a(:)
    allocate (a(n))
    call fill_plain(a)
    LATER_RECEIVE(a(3)%x, 1)
    call arrives('one element of a component', 1)
    call check('one element of a component has come', all(a%x == [10, 20, 101, 40, 50]))
    LATER_RECEIVE(a(2:1)%x, 0)
    call arrives('no element of a component', 0)
    LATER_RECEIVE(a%x, 0)
    call arrives('nothing for a component', 0)
    LATER_SEND(a(2:1)%x, 0)
    call sent('no element of a component', [integer ::])
    call check('the others stay', all(a%x == [10, 20, 101, 40, 50]))
    deallocate (a)
  end subroutine
end module
