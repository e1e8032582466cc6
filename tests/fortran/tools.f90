! SPDX-License-Identifier: BSD-3-Clause
! Tools that replace procedures: in C (tools_c.c), which sees the calls of all interfaces, and in Fortran by the
! specific names of each interface. Calls with the prefix PMPI pass by all of them.
module tools_module
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: barriers = 0, sizes = 0
  interface
    integer(C_INT) function reductions_seen() bind(C)
      import
    end function
    integer(C_INT) function sends_seen() bind(C)
      import
    end function
  end interface
end module

subroutine MPI_Barrier_f08(comm, ierror)
  use mpi_f08, only : MPI_Comm, PMPI_Barrier
  use tools_module
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine

subroutine MPI_Comm_size(comm, size, ierror)
  use tools_module
  implicit none
  integer :: comm, size, ierror
  external :: PMPI_Comm_size
  sizes = sizes + 1
  call PMPI_Comm_size(comm, size, ierror)
end subroutine

subroutine older_calls()
  use mpi
  implicit none
  integer :: ierror, n, total
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierror)
  call MPI_Allreduce(n, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call PMPI_Allreduce(n, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call PMPI_Comm_size(MPI_COMM_WORLD, n, ierror)
end subroutine

program tools
  use mpi_f08
  use tools_module
  use check_module
  implicit none
  integer :: n, total, a(10)
  call MPI_Init()
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD)
  call PMPI_Barrier(MPI_COMM_WORLD)
  call check('a tool in Fortran for mpi_f08', barriers == 2)
  call older_calls()
  call check('a tool in Fortran for mpi', sizes == 1)
  n = 1
  call MPI_Allreduce(n, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  a = 0
  call MPI_Allreduce(MPI_IN_PLACE, a(1:10:2), 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call PMPI_Allreduce(n, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check('a tool in C', reductions_seen() == 3)
  call MPI_Send(a(1:10:2), 5, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  call PMPI_Send(a, 5, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  call check('a tool for calls with a descriptor', sends_seen() == 1)
  call MPI_Finalize()
  call finish()
end program
