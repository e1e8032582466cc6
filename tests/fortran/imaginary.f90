! SPDX-License-Identifier: BSD-3-Clause
! %im as a buffer, at which gfortran 12 and 13 stop with an internal error.
program imaginary
  use mpi_f08
  use check_module
  implicit none
  complex, allocatable :: z(:)
  complex :: fixed(4)
  real :: part(4)
  integer :: k
  call MPI_Init()
  allocate (z(0:3))
  z = [((1., 10.) * k, k = 1, 4)]
  fixed = z
  call MPI_Sendrecv(z%im, 4, MPI_REAL, 0, 1, part, 4, MPI_REAL, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  call check('%im', all(part == [10., 20., 30., 40.]))
  call MPI_Bcast(z%im, 4, MPI_REAL, 0, MPI_COMM_SELF)
  call check('MPI_Bcast of %im', all(z == fixed) .and. lbound(z, 1) == 0)
  part = [5., 6., 7., 8.]
  call MPI_Sendrecv(part, 2, MPI_REAL, 0, 1, fixed(1:4:2)%im, 2, MPI_REAL, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  call check('into %im', all(aimag(fixed) == [5., 20., 6., 40.]) .and. all(real(fixed) == [1., 2., 3., 4.]))
  deallocate (z)
  call MPI_Finalize()
  call finish()
end program
