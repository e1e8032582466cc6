! SPDX-License-Identifier: BSD-3-Clause
! What mpi_f08 knows of arrays: their length and their kind. Wrong calls, of which strict tells, and right ones that come
! near. On two ranks; wrong.sh says what is told.
module arrays
  use mpi_f08
  implicit none
  integer :: rank
contains
  subroutine swap_integers(a, n) ! of assumed size: nothing is known
    integer :: a(*), n
    if (rank == 0) call MPI_Send(a, n, MPI_INTEGER, 1, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a, n, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine swap_as_of_one(a, n) ! as older procedures declare arrays of any size
    integer :: a(1), n
    if (rank == 0) call MPI_Send(a, n, MPI_INTEGER, 1, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a, n, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine swap_of_shape(a)
    integer :: a(:, :)
    if (rank == 0) call MPI_Send(a, size(a), MPI_INTEGER, 1, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a, size(a), MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine

  subroutine send_more()
    integer :: a(5), b(8)
    a = rank
    if (rank == 0) call MPI_Send(a, 8, MPI_INTEGER, 1, 0, MPI_COMM_WORLD) ! LINE send_more
    if (rank == 1) call MPI_Recv(b, 8, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine receive_more()
    integer :: a(8), b(5)
    a = rank
    if (rank == 0) call MPI_Send(a, 5, MPI_INTEGER, 1, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(b(2:), 5, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine reduce_more()
    real :: a(3, 2), b(7)
    a = rank
    call MPI_Allreduce(a, b, 7, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  end subroutine
  subroutine post_more()
    integer, asynchronous :: b(5)
    type(MPI_Request) :: request
    call MPI_Irecv(b, 6, MPI_INTEGER, 1 - rank, 0, MPI_COMM_WORLD, request)
  end subroutine
  subroutine span_more() ! by a datatype that reaches farther than its elements
    integer :: a(10)
    type(MPI_Datatype) :: every_other
    call MPI_Type_vector(6, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    call MPI_Bcast(a, 1, every_other, 0, MPI_COMM_WORLD)
  end subroutine
  subroutine shorter_kind()
    double precision :: a(4)
    a = rank
    if (rank == 0) call MPI_Send(a, 4, MPI_REAL, 1, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(a, 4, MPI_REAL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine integer_kind()
    integer(8) :: a(4)
    a = rank
    call MPI_Bcast(a, 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
  end subroutine
  subroutine words_more()
    character(len=5) :: words(3)
    character(len=16) :: one
    words = 'abcde'
    if (rank == 0) call MPI_Send(words, 16, MPI_CHARACTER, 1, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Recv(one, 16, MPI_CHARACTER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine
  subroutine words_of_any_length(length)
    integer :: length
    character(len=:), allocatable :: words(:)
    allocate (character(len=length) :: words(4))
    words = 'ab'
    call words_of_shape(words, 4 * length + 1)
  end subroutine
  subroutine words_of_shape(words, n)
    character(len=*) :: words(:)
    integer :: n
    call MPI_Bcast(words, n, MPI_CHARACTER, 0, MPI_COMM_WORLD)
  end subroutine
  subroutine older_words(words, n)
    character :: words(*)
    integer :: n
    call MPI_Bcast(words, n, MPI_CHARACTER, 0, MPI_COMM_WORLD)
  end subroutine
  subroutine older_single(words, n)
    character(len=1) :: words(1)
    integer :: n
    call MPI_Bcast(words, n, MPI_CHARACTER, 0, MPI_COMM_WORLD)
  end subroutine

  subroutine blocks_beyond() ! by a displacement
    integer :: a(2), b(4)
    a = rank
    call MPI_Gatherv(a, 2, MPI_INTEGER, b, [2, 2], [0, 3], MPI_INTEGER, 0, MPI_COMM_WORLD)
  end subroutine
  subroutine blocks_more() ! one for each rank
    integer :: a(3), b(10)
    call gather_into(a, b(1:5))
  end subroutine
  subroutine gather_into(a, b)
    integer, asynchronous :: a(:), b(:)
    type(MPI_Request) :: request
    a = rank
    call MPI_Iallgather(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  subroutine right()
    integer :: a(10), matrix(3, 4), one, empty(0)
    integer(8) :: wide(4)
    double precision :: doubles(4)
    complex :: numbers(4)
    character(len=5) :: words(3)
    character(len=:), allocatable :: deferred(:)
    logical :: truths(4)
    type(MPI_Datatype) :: every_other
    integer, allocatable :: from_zero(:)
    a = rank
    matrix = rank
    one = rank
    wide = rank
    doubles = rank
    numbers = rank
    words = 'abcde'
    truths = .true.
    allocate (from_zero(0:9))
    from_zero = rank
    call MPI_Bcast(a, 10, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(a(4:), 7, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(a(1), 10, MPI_INTEGER, 0, MPI_COMM_WORLD) ! the first element for all
    call MPI_Bcast(a(1:1), 10, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(one, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(empty, 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(matrix, 12, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(matrix(:, 2:3), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(from_zero, 10, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(wide, 4, MPI_INTEGER8, 0, MPI_COMM_WORLD)
    call MPI_Bcast(wide, 32, MPI_BYTE, 0, MPI_COMM_WORLD)
    call MPI_Bcast(wide, 2, MPI_BYTE, 0, MPI_COMM_WORLD)
    call MPI_Bcast(wide, 8, MPI_INTEGER, 0, MPI_COMM_WORLD) ! each as two
    call MPI_Bcast(doubles, 4, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    call MPI_Bcast(doubles, 4, MPI_REAL8, 0, MPI_COMM_WORLD)
    call MPI_Bcast(doubles, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD)
    call MPI_Bcast(numbers, 4, MPI_COMPLEX, 0, MPI_COMM_WORLD)
    call MPI_Bcast(numbers, 8, MPI_REAL, 0, MPI_COMM_WORLD)
    call MPI_Bcast(words, 15, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(words(2:3), 10, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(words(1), 15, MPI_CHARACTER, 0, MPI_COMM_WORLD) ! the first for all
    call MPI_Bcast(words(1:1), 15, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(words, 15, MPI_BYTE, 0, MPI_COMM_WORLD)
    call older_words(words(1), 15)
    call older_single(words(1), 15)
    call words_of_shape(words, 15)
    call words_of_shape(words(:)(2:4), 9)
    allocate (character(len=rank + 6) :: deferred(2))
    deferred = 'xyz'
    call MPI_Bcast(deferred, 12, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    deferred = [character(len=9) :: 'x', 'yz']
    call words_of_shape(deferred, 18)
    call MPI_Bcast(truths, 4, MPI_LOGICAL, 0, MPI_COMM_WORLD)
    call MPI_Type_vector(5, 1, 2, MPI_INTEGER, every_other)
    call MPI_Type_commit(every_other)
    call MPI_Bcast(a(1:9), 1, every_other, 0, MPI_COMM_WORLD)
    call MPI_Type_free(every_other)
    if (rank == 0) call MPI_Reduce(MPI_IN_PLACE, a, 10, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Reduce(a, matrix(:, 1), 10, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD) ! not received here
    call MPI_Allreduce(MPI_IN_PLACE, a, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Gatherv(a, 5, MPI_INTEGER, matrix, [5, 5], [0, 7], MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Gatherv(a, 5 - rank, MPI_INTEGER, matrix(1, 2), [5, 4], [0, 5], MPI_INTEGER, 0, MPI_COMM_WORLD) ! for all behind it
    call MPI_Allgather(a, 3, MPI_INTEGER, matrix, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Allgather(one, 4, MPI_BYTE, wide, 4, MPI_BYTE, MPI_COMM_WORLD)
    if (rank == 0) call MPI_Gather(a(1:5), 5, MPI_INTEGER, matrix, 5, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 1) call MPI_Gather(a, 5, MPI_INTEGER, wide, 5, MPI_INTEGER, 0, MPI_COMM_WORLD) ! not received here
    call swap_integers(a, 10)
    call swap_integers(a(3), 8)
    call swap_as_of_one(a, 10)
    call swap_of_shape(matrix)
    call swap_of_shape(matrix(1:2, 1:3))
  end subroutine
end module

program wrong_arrays
  use arrays
  implicit none
  character(len=20) :: what
  call get_command_argument(1, what)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  select case (what)
  case ('send_more'); call send_more()
  case ('receive_more'); call receive_more()
  case ('reduce_more'); call reduce_more()
  case ('post_more'); call post_more()
  case ('span_more'); call span_more()
  case ('shorter_kind'); call shorter_kind()
  case ('integer_kind'); call integer_kind()
  case ('words_more'); call words_more()
  case ('words_of_any_length'); call words_of_any_length(7)
  case ('blocks_beyond'); call blocks_beyond()
  case ('blocks_more'); call blocks_more()
  case default; call right()
  end select
  call MPI_Finalize()
end program
