! SPDX-License-Identifier: BSD-3-Clause
! Errors of a program: what is told of them names its lines. wrong.sh has their numbers.
subroutine send_to_nobody()
  use mpi_f08
  implicit none
  integer :: a(10)
  a = 0
  call MPI_Send(a(1:10:3), 4, MPI_INTEGER, 1000, 0, MPI_COMM_WORLD)
end subroutine

subroutine wait_for_nobody()
  use mpi
  implicit none
  integer :: a, rank, ierror
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Recv(a, 1, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
end subroutine

subroutine forget()
  implicit none
  include 'mpif.h'
  integer :: comm, ierror
  call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierror)
end subroutine

subroutine put_a_section()
  use mpi_f08
  implicit none
  integer, asynchronous :: a(10), memory(10)
  type(MPI_Datatype) :: every_other
  type(MPI_Win) :: win
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_other)
  call MPI_Type_commit(every_other)
  call MPI_Win_create(memory, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_fence(0, win)
  call MPI_Put(a(1:10:5), 1, every_other, 0, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win)
end subroutine

subroutine receive_less(room)
  use mpi
  implicit none
  integer :: room, a(10), rank, ierror
  a = 0
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  if (rank == 0) call MPI_Send(a, 10, MPI_INTEGER, 1, 3, MPI_COMM_WORLD, ierror)
  if (rank == 1) call MPI_Recv(a, room, MPI_INTEGER, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
end subroutine

subroutine use_what_is_freed()
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm, same
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  same = comm
  call MPI_Comm_free(comm)
  call MPI_Barrier(same)
end subroutine

subroutine receive_twice(apart)
  use mpi_f08
  implicit none
  logical :: apart
  integer, asynchronous :: a(10), b(20)
  integer :: rank
  type(MPI_Request) :: requests(2)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  a = rank
  call MPI_Irecv(b(1:20:2), 10, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD, requests(1))
  if (apart) then
    call MPI_Irecv(b(2:20:2), 10, MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD, requests(2))
  else
    call MPI_Irecv(b(10:20), 10, MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD, requests(2))
  end if
  call MPI_Send(a, 10, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD)
  call MPI_Send(a, 10, MPI_INTEGER, 1 - rank, 5, MPI_COMM_WORLD)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
end subroutine

subroutine receive_a_component()
  use mpi_f08
  implicit none
  type item
    integer :: i, x
  end type
  type(item), allocatable, asynchronous :: a(:)
  type(MPI_Request) :: request
  allocate (a(4))
  call MPI_Irecv(a%x, 4, MPI_INTEGER, MPI_PROC_NULL, 4, MPI_COMM_WORLD, request)
end subroutine

module wrong_module
  implicit none
contains
  subroutine broadcast(all_integers)
    use mpi_f08
    logical, intent(in) :: all_integers
    integer :: a(10), rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (rank == 0 .or. all_integers) then
      call MPI_Bcast(a, 10, MPI_INTEGER, 0, MPI_COMM_WORLD)
    else
      call MPI_Bcast(a, 10, MPI_REAL, 0, MPI_COMM_WORLD)
    end if
  end subroutine
end module

program wrong
  use wrong_module
  use mpi_f08
  implicit none
  character(len=20) :: what
  integer :: rank, one
  call get_command_argument(1, what)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  one = 0
  select case (what)
  case ('types'); call broadcast(.false.)
  case ('right_types'); call broadcast(.true.)
  case ('order', 'right_order')
    if (rank == 0 .or. what == 'right_order') call MPI_Bcast(one, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 1 .and. what == 'order') call MPI_Bcast(one, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
  case ('truncated'); call receive_less(5)
  case ('right_truncated'); call receive_less(10)
  case ('handle'); call use_what_is_freed()
  case ('buffer'); call receive_twice(.false.)
  case ('right_buffer'); call receive_twice(.true.)
  case ('send'); call send_to_nobody()
  case ('wait'); call wait_for_nobody()
  case ('forget'); call forget()
  case ('section'); call put_a_section()
  case ('component'); call receive_a_component()
  case ('former'); call send_by_c_descriptor()
  end select
  call MPI_Finalize()
end program
