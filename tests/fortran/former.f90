! SPDX-License-Identifier: BSD-3-Clause
! A call as an object file has it that was compiled with modules of former times: by C's descriptor.
subroutine send_by_c_descriptor()
  implicit none
  interface
    subroutine send(buf, count, datatype, dest, tag, comm, ierror) bind(C, name="mpi_send_f08ts_")
      type(*), dimension(..), intent(in) :: buf
      integer, intent(in) :: count, datatype, dest, tag, comm
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  include 'mpif.h'
  integer :: a(4)
  a = 0
  call send(a, 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  print '(a)', 'sent'
end subroutine
