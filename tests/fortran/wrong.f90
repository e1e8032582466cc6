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
  call MPI_Put(a(1:10:2), 1, every_other, 0, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win)
end subroutine

program wrong
  use mpi_f08
  implicit none
  character(len=20) :: what
  call get_command_argument(1, what)
  call MPI_Init()
  select case (what)
  case ('send'); call send_to_nobody()
  case ('wait'); call wait_for_nobody()
  case ('forget'); call forget()
  case ('section'); call put_a_section()
  end select
  call MPI_Finalize()
end program
