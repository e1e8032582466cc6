! SPDX-License-Identifier: BSD-3-Clause
! What the parts of described.F90 share: types, and what becomes of a call that has begun.
module described_module
  use mpi_f08
  use check_module
  implicit none
  type item
    integer :: i, x, c(3)
    integer, allocatable :: al(:)
  end type
  type, extends(item) :: longer
    integer :: more(4)
  end type
  type plain
    integer :: i, x
  end type
  type, extends(plain) :: more_than_plain
    integer :: more(4)
  end type
  type holder
    integer :: n
    type(plain), allocatable :: list(:)
    integer :: from_zero(0:4)
  end type
  type(MPI_Comm) :: comm
  integer, asynchronous :: got(20), new(20)
  integer :: k, code
  type(MPI_Request) :: request
contains
  ! What a send that has begun has sent; it is to be right everywhere.
  subroutine sent(what, want)
    character(len=*), intent(in) :: what
    integer, intent(in) :: want(:)
    got = -1
    call check(what//' by MPI_Isend', code == MPI_SUCCESS)
    if (code /= MPI_SUCCESS) return
    call MPI_Recv(got, size(want), MPI_INTEGER, 0, 2, comm, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(what//' by MPI_Isend', all(got(1:size(want)) == want))
  end subroutine

  ! A receive that has begun gets what it shall.
  subroutine arrives(what, n)
    character(len=*), intent(in) :: what
    integer, intent(in) :: n
    call check(what//' in MPI_Irecv', code == MPI_SUCCESS)
    if (.not. received(what, n)) return
  end subroutine

  ! Of a receive that may have been refused: whether it has begun, and is over now.
  logical function received(what, n)
    character(len=*), intent(in) :: what
    integer, intent(in) :: n
    integer :: class
    received = code == MPI_SUCCESS
    if (received) then
      call MPI_Send(new, n, MPI_INTEGER, 0, 3, comm)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    else
      call MPI_Error_class(code, class)
      call check(what//' is refused as a buffer', class == MPI_ERR_BUFFER)
    end if
  end function
end module
