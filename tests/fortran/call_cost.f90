! SPDX-License-Identifier: BSD-3-Clause
! What a call by mpi_f08 costs more than the same from C, for buffers without gaps: at most 10 ns a call, or where the
! processor is slower one and a half times what MPI_Comm_rank, or what MPI_Send to MPI_PROC_NULL costs from C, by the 10th
! percentile of many short batches, which nothing else on the machine has disturbed, in the best of the tries of some
! seconds: a virtual machine is slow for as long as its neighbours are busy. Batches of C and of Fortran take turns. A
! second buffer may cost a third of that again: each has a descriptor of its own.
program call_cost
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    real(C_DOUBLE) function c_batch(which) bind(C)
      import
      integer(C_INT), value :: which
    end function
  end interface
  integer, parameter :: batches = 1000, calls = 200, kinds = 6
  double precision, parameter :: seconds_of_tries = 8
  character(len=12), parameter :: names(kinds) = ['rank        ', 'send        ', 'receive     ', 'bcast       ', &
                                                  'allreduce   ', 'isend, wait ']
  integer, parameter :: calls_of(kinds) = [1, 1, 1, 1, 1, 2], buffers_of(kinds) = [0, 1, 1, 1, 2, 1]
  double precision :: of_c(batches), of_fortran(batches), more, bound, allowed, began
  integer :: which, i
  logical :: good
  bound = 10
  call MPI_Init()
  do which = 1, kinds
    began = MPI_Wtime()
    good = .false.
    do while (.not. good .and. MPI_Wtime() - began < seconds_of_tries)
      do i = 1, batches
        of_c(i) = c_batch(which)
        of_fortran(i) = fortran_batch(which)
      end do
      if (which == 1) bound = max(bound, 1.5d0 * tenth_percentile(of_c))
      if (which == 2) bound = max(bound, tenth_percentile(of_c))
      allowed = bound * (1 + max(0, buffers_of(which) - 1) / 3d0)
      more = (tenth_percentile(of_fortran) - tenth_percentile(of_c)) / calls_of(which)
      good = more <= allowed
    end do
    print '(a, 2f8.1, " ns, ", f5.1, " more a call")', names(which), tenth_percentile(of_c), tenth_percentile(of_fortran), more
    if (.not. good) print '(3a, f0.1, a)', 'wrong: ', trim(names(which)), ' costs more than ', allowed, ' ns each time'
  end do
  call MPI_Finalize()
contains
  double precision function fortran_batch(which) result(took)
    integer, intent(in) :: which
    double precision, asynchronous :: out(8), in(8)
    double precision :: begin
    integer :: rank, k
    type(MPI_Request) :: request
    out = 0
    begin = MPI_Wtime()
    do k = 1, calls
      select case (which)
      case (1); call MPI_Comm_rank(MPI_COMM_WORLD, rank)
      case (2); call MPI_Send(out, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
      case (3); call MPI_Recv(in, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      case (4); call MPI_Bcast(out, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_SELF)
      case (5); call MPI_Allreduce(out, in, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_SELF)
      case (6)
        call MPI_Isend(out, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      end select
    end do
    took = (MPI_Wtime() - begin) / calls * 1d9
  end function


  double precision function tenth_percentile(times) result(time)
    double precision, intent(in) :: times(:)
    double precision :: sorted(size(times)), next
    integer :: n, at
    sorted = times
    do n = 2, size(sorted)
      next = sorted(n)
      at = n - 1
      do while (at > 0)
        if (sorted(at) <= next) exit
        sorted(at + 1) = sorted(at)
        at = at - 1
      end do
      sorted(at + 1) = next
    end do
    time = sorted(size(sorted) / 10)
  end function
end program
