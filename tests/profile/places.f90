! SPDX-License-Identifier: BSD-3-Clause
! What the page of mpirun --profile says of a program in Fortran: its lines, and its regions. Rank 0 comes late to the calls.
program places
  use mpi_f08
  implicit none
  integer :: rank, step
  real(8) :: until, local, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  local = 1
  do step = 1, 20
    call tutti_region_begin('assembly')
    until = MPI_Wtime() + 0.01d0
    do while (rank == 0 .and. MPI_Wtime() < until)
    end do
    call MPI_Allreduce(local, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD) ! late
    call tutti_region_end()
    call MPI_Barrier(MPI_COMM_WORLD) ! in time
  end do
  call MPI_Finalize()
end program places
