! SPDX-License-Identifier: BSD-3-Clause
! Buffers that compilers describe in ways of their own, in blocking calls and in others: components of arrays and
! sections of them, %re, allocatable components, pointers with offsets and other lower bounds, polymorphic objects,
! vector subscripts. All of them arrive, and the array stays where it is; a call that does not block may refuse a
! buffer of which the compiler makes a copy, with an error.
#include "described.h"
program described
  use described_module
  use described_objects
  use described_later
  implicit none
  character(len=8) :: argument
  logical :: copies_are_told
  integer :: rank
  call get_command_argument(1, argument)
  copies_are_told = argument /= 'untold'
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  new = [(100 + k, k = 1, 20)]
  call components()
  call components_of_pointers()
  call components_in_depth()
  call parts_of_complex()
  call lower_bounds()
  call left_behind(-7777777777777777_8)
  call allocated_by_functions(.true.)
  call left_behind(64_8)
  call allocated_by_functions(.false.)
  call left_behind(64_8)
  call not_allocated()
  call polymorphic()
  call vector_subscripts()
  call expressions()
  call addresses()
  call sends_that_last()
  if (copies_are_told) call receives_that_last(rank)
  call first_elements(rank)
  call single_elements()
  call substrings()
  call MPI_Comm_free(comm)
  call MPI_Finalize()
  call finish()
contains
  subroutine fill(a)
    type(item), intent(inout) :: a(:)
    do k = 1, size(a)
      a(k)%i = k
      a(k)%x = 10 * k
      a(k)%c = 100 * k + [1, 2, 3]
    end do
  end subroutine

  subroutine components()
    type(item), allocatable, target :: a(:)
    type(item) :: fixed(5)
    type(plain), allocatable :: square(:, :)
    integer(MPI_ADDRESS_KIND) :: before, after
    allocate (a(-1:3), square(3, 0:2))
    call fill(a)
    call fill(fixed)
    call MPI_Get_address(a(-1), before)
    SEND(a%x, 5)
    call check('a component', all(got(1:5) == [10, 20, 30, 40, 50]))
    RECEIVE(a%x, 5)
    call check('into a component', all(a%x == new(1:5)) .and. all(a%i == [1, 2, 3, 4, 5]))
    a%x = 0
    RECEIVE(a%x, 2)
    call check('into some of a component', all(a%x == [101, 102, 0, 0, 0]))
    call fill(a)
    call MPI_Bcast(a%x, 5, MPI_INTEGER, 0, comm)
    call check('MPI_Bcast of a component', all(a%x == [10, 20, 30, 40, 50]))
    SEND(a(-1:3:2)%x, 3)
    call check('a section of a component', all(got(1:3) == [10, 30, 50]))
    RECEIVE(a(3:-1:-2)%x, 3)
    call check('into a section of a component', all(a%x == [103, 20, 102, 40, 101]))
    SEND(a%c(2), 5)
    call check('elements of a component', all(got(1:5) == [102, 202, 302, 402, 502]))
    SEND(a(1)%c(1:3:2), 2)
    call check('a component''s section', all(got(1:2) == [301, 303]))
    SEND(fixed%x, 5)
    call check('a component of a fixed array', all(got(1:5) == [10, 20, 30, 40, 50]))
    RECEIVE(fixed(2:4)%x, 3)
    call check('into a component of a fixed array', all(fixed%x == [10, 101, 102, 103, 50]))
    square%x = reshape([(k, k = 1, 9)], [3, 3])
    SEND(square%x, 9)
    call check('a component of a square', all(got(1:9) == [(k, k = 1, 9)]))
    RECEIVE(square(1:3:2, 0:2:2)%x, 4)
    call check('into a component of a square', all(square%x == reshape([101, 2, 102, 4, 5, 6, 103, 8, 104], [3, 3])))
    if (copies_are_told) then
      call fill(a)
      LATER_SEND(a%x, 5)
      call sent('a component', [10, 20, 30, 40, 50])
      LATER_SEND(fixed(1:5:4)%x, 2)
      call sent('a component of a section', [10, 50])
      LATER_RECEIVE(a%x, 5)
      if (received('a component', 5)) call check('MPI_Irecv into a component', all(a%x == new(1:5)))
      call check('nothing beside a component', all(a%i == [1, 2, 3, 4, 5]))
      LATER_RECEIVE(fixed(1:5:2)%x, 3)
      if (received('a fixed component', 3)) call check('MPI_Irecv into a fixed component', all(fixed(1:5:2)%x == new(1:3)))
      LATER_RECEIVE(square%x, 9)
      if (received('a square component', 9)) call check('MPI_Irecv into a square component', all(square(:, 0)%x == new(1:3)))
      call persistent(a)
    end if
    call MPI_Get_address(a(-1), after)
    call check('the array stays where it is', before == after .and. lbound(a, 1) == -1 .and. ubound(a, 1) == 3)
    deallocate (a, square)
  end subroutine

  subroutine persistent(a)
    type(item), intent(inout), target :: a(:)
    integer :: class
    call MPI_Send_init(a%x, 5, MPI_INTEGER, 0, 2, comm, request, code)
    if (code == MPI_SUCCESS) then
      call fill(a)
      call MPI_Start(request)
      call MPI_Recv(got, 5, MPI_INTEGER, 0, 2, comm, MPI_STATUS_IGNORE)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check('MPI_Send_init of a component', all(got(1:5) == [10, 20, 30, 40, 50]))
      call MPI_Request_free(request)
    else
      call MPI_Error_class(code, class)
      call check('MPI_Send_init of a component is refused', class == MPI_ERR_BUFFER)
    end if
  end subroutine

  subroutine components_of_pointers()
    type(item), allocatable, target :: a(:)
    type(item), pointer :: p(:)
    integer, pointer :: q(:)
    allocate (a(6))
    call fill(a)
    p => a(2:6:2)
    SEND(p%x, 3)
    call check('a component of a pointer', all(got(1:3) == [20, 40, 60]))
    RECEIVE(p%x, 3)
    call check('into a component of a pointer', all(a%x == [10, 101, 30, 102, 50, 103]))
    call check('the pointer stays', associated(p, a(2:6:2)))
    q => a%c(3)
    SEND(q, 6)
    call check('a pointer to a component', all(got(1:6) == [103, 203, 303, 403, 503, 603]))
    RECEIVE(q(2:6:2), 3)
    call check('into a pointer to a component', all(a%c(3) == [103, 101, 303, 102, 503, 103]))
    if (copies_are_told) call by_pointer(q)
    deallocate (a)
  end subroutine

  ! Here the compiler does not know what the pointer points to, and its descriptor may not tell.
  subroutine by_pointer(q)
    integer, pointer, intent(in) :: q(:)
    LATER_RECEIVE(q, 6)
    if (received('a pointer to components', 6)) call check('into a pointer to components', all(q == new(1:6)))
    LATER_RECEIVE(q(1:6:5), 2)
    if (received('a section of a pointer to components', 2)) &
      call check('into a section of a pointer to components', all(q == [101, 102, 103, 104, 105, 102]))
  end subroutine

  ! What the descriptors of the next procedure have where nothing is set.
  subroutine left_behind(what)
    integer(8), intent(in) :: what
    integer(8) :: junk(400)
    junk = what
    call use_junk(junk)
  end subroutine
  subroutine use_junk(junk)
    integer(8), intent(in) :: junk(:)
    if (junk(1) == 5) print *, junk
  end subroutine

  ! Some compilers leave out a part of such an array's descriptor; where what is there instead may be true, it may be refused.
  subroutine allocated_by_functions(surely)
    logical, intent(in) :: surely
    integer, allocatable :: a(:, :), b(:), c(:)
    type(plain), allocatable :: t(:)
    integer :: numbers(4)
    numbers = [1, 2, 3, 4]
    a = reshape(numbers, [2, 2])
    LATER_SEND(a, 4)
    call sent_or_refused('an array by RESHAPE', surely, numbers)
    LATER_SEND(a(2, :), 2)
    call sent_or_refused('a row of it', surely, [2, 4])
    b = pack(numbers, numbers > 1)
    LATER_SEND(b, 3)
    call sent_or_refused('an array by PACK', surely, [2, 3, 4])
    c = matmul(a, [1, 1])
    LATER_SEND(c, 2)
    call sent_or_refused('an array by MATMUL', surely, [4, 6])
    t = pack([(plain(k, -k), k = 1, 3)], [.true., .false., .true.])
    LATER_SEND(t, 4)
    call sent_or_refused('an array of a type by PACK', surely, [1, -1, 3, -3])
  end subroutine

  subroutine sent_or_refused(what, surely, want)
    character(len=*), intent(in) :: what
    logical, intent(in) :: surely
    integer, intent(in) :: want(:)
    integer :: class
    call MPI_Error_class(code, class)
    if (surely .or. class /= MPI_ERR_BUFFER) call sent(what, want)
  end subroutine

  ! What is not there may be the buffer of nothing.
  subroutine not_allocated()
    integer, allocatable :: a(:), b(:, :)
    type(plain), allocatable :: t(:)
    integer, pointer :: p(:)
    nullify (p)
    SEND(a, 0)
    SEND(b, 0)
    SEND(t, 0)
    SEND(p, 0)
    LATER_SEND(t, 0)
    call sent('nothing', [integer ::])
    LATER_RECEIVE(b, 0)
    call arrives('nothing', 0)
  end subroutine

  subroutine components_in_depth()
    type(item), target :: a(3)
    type(holder) :: h
    do k = 1, 3
      allocate (a(k)%al(-1:4))
      a(k)%al = 10 * k + [1, 2, 3, 4, 5, 6]
    end do
    SEND(a(2)%al, 6)
    call check('an allocatable component', all(got(1:6) == [21, 22, 23, 24, 25, 26]))
    RECEIVE(a(2)%al(0:4:2), 3)
    call check('into a section of it', all(a(2)%al == [21, 101, 23, 102, 25, 103]))
    LATER_RECEIVE(a(3)%al, 6)
    call arrives('an allocatable component', 6)
    call check('an allocatable component has come', all(a(3)%al == new(1:6)))
    call check('its bounds', lbound(a(3)%al, 1) == -1 .and. ubound(a(2)%al, 1) == 4)
    allocate (h%list(0:2))
    h%list = [plain(1, 10), plain(2, 20), plain(3, 30)]
    SEND(h%list%x, 3)
    call check('a component of a component', all(got(1:3) == [10, 20, 30]))
    RECEIVE(h%list%x, 3)
    call check('into a component of a component', all(h%list%x == new(1:3)) .and. all(h%list%i == [1, 2, 3]))
    LATER_RECEIVE(h%from_zero, 5)
    call arrives('a component from 0', 5)
    call check('a component from 0 has come', all(h%from_zero == new(1:5)))
    deallocate (h%list)
  end subroutine

  subroutine parts_of_complex()
    complex, allocatable :: z(:)
    real :: part(4), more(4)
    allocate (z(0:3))
    z = [((1., 10.) * k, k = 1, 4)]
    call MPI_Sendrecv(z%re, 4, MPI_REAL, 0, 1, part, 4, MPI_REAL, 0, 1, comm, MPI_STATUS_IGNORE)
    call check('%re', all(part == [1., 2., 3., 4.]))
    more = [5., 6., 7., 8.]
    call MPI_Sendrecv(more, 2, MPI_REAL, 0, 1, z(0:3:2)%re, 2, MPI_REAL, 0, 1, comm, MPI_STATUS_IGNORE)
    call check('into %re', all(z%re == [5., 2., 6., 4.]) .and. all(z%im == [10., 20., 30., 40.]))
    call check('bounds of the complex array', lbound(z, 1) == 0)
    deallocate (z)
  end subroutine

  ! None of these is a copy.
  subroutine lower_bounds()
    integer, asynchronous, allocatable, target :: zero(:), halo(:, :)
    integer, asynchronous :: automatic(0:4)
    integer, pointer :: p(:)
    allocate (zero(0:4), halo(0:3, 0:2))
    LATER_RECEIVE(zero, 5)
    call check('an allocatable from 0', got_all(zero, 5))
    LATER_RECEIVE(automatic, 5)
    call check('an array from 0', got_all(automatic, 5))
    LATER_RECEIVE(automatic(0:4), 5)
    call check('a section from 0', got_all(automatic, 5))
    LATER_RECEIVE(halo, 12)
    call check('two dimensions from 0', got_all(halo, 12))
    halo = 0
    LATER_RECEIVE(halo(1:2, 0), 2)
    call arrives('a column of a halo', 2)
    call check('a column of a halo has come', all(halo(:, 0) == [0, 101, 102, 0]))
    LATER_RECEIVE(halo(0, :), 3)
    call arrives('a row of a halo', 3)
    call check('a row of a halo has come', all(halo(0, :) == [101, 102, 103]))
    p(0:) => zero(0:4:2)
    zero = 0
    LATER_RECEIVE(p, 3)
    call arrives('a pointer from 0', 3)
    call check('a pointer from 0 has come', all(zero == [101, 0, 102, 0, 103]))
    p(0:) => zero
    LATER_RECEIVE(p, 5)
    call check('a pointer from 0 without gaps', got_all(zero, 5))
    call by_dummy(zero, zero, zero, automatic, 5)
    associate (b => zero(0:4:4))
      zero = 0
      LATER_RECEIVE(b, 2)
      call arrives('an associate name', 2)
      call check('an associate name has come', all(zero == [101, 0, 0, 0, 102]))
    end associate
    call check('bounds from 0', lbound(zero, 1) == 0 .and. lbound(p, 1) == 0 .and. lbound(halo, 2) == 0)
  end subroutine

  subroutine by_dummy(shape, explicit, alloc, assumed_size, n)
    integer, intent(in) :: n
    integer, asynchronous :: shape(0:), explicit(0:n - 1), assumed_size(0:*)
    integer, allocatable, asynchronous :: alloc(:)
    LATER_RECEIVE(shape, 5)
    call check('an assumed shape from 0', got_all(shape, 5))
    LATER_RECEIVE(explicit, 5)
    call check('an explicit shape from 0', got_all(explicit, 5))
    LATER_RECEIVE(alloc, 5)
    call check('an allocatable dummy from 0', got_all(alloc, 5))
    LATER_RECEIVE(assumed_size, 5)
    call arrives('an assumed size from 0', 5)
#ifndef __flang__
    call passed_on(shape)
#endif
  end subroutine

#ifndef __flang__ /* whose version 19 has no such procedures */
  subroutine passed_on(any)
    type(*), dimension(..), asynchronous :: any
    LATER_RECEIVE(any, 5)
    call arrives('an assumed rank', 5)
  end subroutine
#endif

  logical function got_all(a, n)
    integer, intent(in) :: n
    integer :: a(n)
    got_all = code == MPI_SUCCESS
    if (.not. got_all) return
    got_all = received('it', n)
    SEND(a, n)
    got_all = got_all .and. all(got(1:n) == new(1:n))
  end function

  ! Of a component they are right, or refused.
  subroutine addresses()
    type(plain), allocatable, target :: a(:)
    integer(MPI_ADDRESS_KIND) :: first, address
    integer :: class
    if (.not. copies_are_told) return
    allocate (a(4))
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Get_address(a(1)%x, first)
    call MPI_Get_address(a%x, address, code)
    call MPI_Error_class(code, class)
    call check('the address of a component', class == MPI_ERR_BUFFER .or. address == first)
  end subroutine
end program
