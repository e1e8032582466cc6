! SPDX-License-Identifier: BSD-3-Clause
!
! Solves A x = b by conjugate gradients on any number of ranks, for a symmetric positive definite matrix in Matrix
! Market form: cg.c in Fortran.
!
!   mpifort -O2 cg.f90 -o cg && mpirun -n 4 ./cg diffusion.mtx [tolerance, default 1e-10]
!
! Rank r owns a block of consecutive rows, and of x. Per iteration it needs the values of a few unknowns of other
! ranks (its halo), which travel while the rows that need none of them are multiplied; the two dot products of the
! pipelined form of the method are summed over all ranks while the next product runs. The answer is checked against a
! known solution, and the exit code says whether the check held.
module distributed_matrix
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only : real64, error_unit
  implicit none
  integer, parameter :: dp = real64

  type :: matrix
    integer :: n = 0                          ! unknowns of all ranks
    integer :: first = 0, rows = 0            ! mine: first + 1 to first + rows
    integer, allocatable :: start(:), column(:)  ! compressed rows; columns > rows are in the halo behind
    real(dp), allocatable :: value(:)
    integer, allocatable :: inner(:), outer(:)   ! rows without and with halo columns
    integer :: halo = 0
    integer, allocatable :: halo_columns(:)      ! global numbers, ascending
    integer, allocatable :: received(:), sent(:) ! values from and to each rank
    integer, allocatable :: send_rows(:)
  end type

  integer :: rank = 0, ranks = 1

contains

  ! Ends the job with a sentence. For what only one rank may know.
  subroutine die(text)
    character(len=*), intent(in) :: text
    write (error_unit, '(2a)') 'cg: ', text
    flush (error_unit)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  pure integer function first_row(n, r)
    integer, intent(in) :: n, r
    first_row = int(int(n, 8) * r / ranks)
  end function

  pure integer function owner(n, row)         ! row counts from 0
    integer, intent(in) :: n, row
    owner = int(int(row, 8) * ranks / n)
    do while (row < first_row(n, owner))
      owner = owner - 1
    end do
    do while (row >= first_row(n, owner + 1))
      owner = owner + 1
    end do
  end function

  ! Rank 0 reads the lower triangle; all get it, and keep what is theirs.
  subroutine read_matrix(path, n, row, column, value)
    character(len=*), intent(in) :: path
    integer, intent(out) :: n
    integer, allocatable, intent(out) :: row(:), column(:)
    real(dp), allocatable, intent(out) :: value(:)
    character(len=200) :: line
    integer :: unit, status, columns, sizes(2), i
    sizes = 0
    if (rank == 0) then
      open (newunit=unit, file=path, status='old', action='read', iostat=status)
      if (status /= 0) call die('cannot open the matrix '//path)
      read (unit, '(a)', iostat=status) line
      if (status /= 0 .or. line(1:14) /= '%%MatrixMarket') call die(path//' is no Matrix Market file')
      if (index(line, 'matrix coordinate real symmetric') == 0) &
        call die(path//' does not hold a "matrix coordinate real symmetric", which is what this program reads')
      line = '%'
      do while (line(1:1) == '%' .or. line == ' ')
        read (unit, '(a)', iostat=status) line
        if (status /= 0) call die(path//' ends before the sizes')
      end do
      read (line, *, iostat=status) sizes(1), columns, sizes(2)
      if (status /= 0 .or. sizes(1) < 1 .or. columns /= sizes(1) .or. sizes(2) < 0) &
        call die(path//': three sizes were expected, rows, as many columns, entries, and not: '//trim(line))
    end if
    call MPI_Bcast(sizes, 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    n = sizes(1)
    allocate (row(sizes(2)), column(sizes(2)), value(sizes(2)))
    if (rank == 0) then
      do i = 1, sizes(2)
        read (unit, *, iostat=status) row(i), column(i), value(i)
        if (status /= 0) call die(path//': an entry cannot be read; a row, a column and a value were expected')
        if (column(i) < 1 .or. row(i) > n .or. column(i) > row(i)) &
          call die(path//': an entry lies outside of the lower triangle')
      end do
      close (unit)
    end if
    call MPI_Bcast(row, sizes(2), MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(column, sizes(2), MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Bcast(value, sizes(2), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  end subroutine

  subroutine assemble(m, n, row, column, value)
    type(matrix), intent(out) :: m
    integer, intent(in) :: n, row(:), column(:)
    real(dp), intent(in) :: value(:)
    integer, allocatable :: next(:), place(:)
    logical, allocatable :: outside(:)
    integer :: i, r, pass
    m%n = n
    m%first = first_row(n, rank)
    m%rows = first_row(n, rank + 1) - m%first
    allocate (m%start(m%rows + 1), source=0)
    allocate (next(m%rows), source=0)
    allocate (place(n), source=0)             ! of each unknown in my vector, 0: none
    allocate (outside(m%rows), source=.false.)
    do pass = 1, 2
      do i = 1, size(row)
        call take(row(i), column(i), value(i))
        if (row(i) /= column(i)) call take(column(i), row(i), value(i))
      end do
      if (pass == 2) exit
      do r = 1, m%rows
        m%start(r + 1) = m%start(r) + next(r)
      end do
      next = 0
      allocate (m%column(m%start(m%rows + 1)), m%value(m%start(m%rows + 1)))
      m%halo_columns = pack([(i, i = 1, n)], place < 0)
      m%halo = size(m%halo_columns)
      place = 0
      place(m%first + 1:m%first + m%rows) = [(i, i = 1, m%rows)]
      place(m%halo_columns) = [(m%rows + i, i = 1, m%halo)]
    end do
    m%inner = pack([(i, i = 1, m%rows)], .not. outside)
    m%outer = pack([(i, i = 1, m%rows)], outside)
    call find_neighbours(m)
  contains
    ! First counts the entries of my rows and marks what they need; then stores them.
    subroutine take(i, j, v)
      integer, intent(in) :: i, j
      real(dp), intent(in) :: v
      integer :: mine
      mine = i - m%first
      if (mine < 1 .or. mine > m%rows) return
      next(mine) = next(mine) + 1
      if (pass == 1) then
        if (j <= m%first .or. j > m%first + m%rows) then
          place(j) = -1
          outside(mine) = .true.
        end if
      else
        m%column(m%start(mine) + next(mine)) = place(j)
        m%value(m%start(mine) + next(mine)) = v
      end if
    end subroutine
  end subroutine

  ! Whose values I need, and who needs mine.
  subroutine find_neighbours(m)
    type(matrix), intent(inout) :: m
    integer :: i, r, from(0:ranks - 1), to(0:ranks - 1)
    allocate (m%received(0:ranks - 1), source=0)
    allocate (m%sent(0:ranks - 1), source=0)
    do i = 1, m%halo
      r = owner(m%n, m%halo_columns(i) - 1)
      m%received(r) = m%received(r) + 1
    end do
    call MPI_Alltoall(m%received, 1, MPI_INTEGER, m%sent, 1, MPI_INTEGER, MPI_COMM_WORLD)
    allocate (m%send_rows(sum(m%sent)))
    from = 0
    to = 0
    do r = 1, ranks - 1
      from(r) = from(r - 1) + m%received(r - 1)
      to(r) = to(r - 1) + m%sent(r - 1)
    end do
    call MPI_Alltoallv(m%halo_columns, m%received, from, MPI_INTEGER, m%send_rows, m%sent, to, MPI_INTEGER, MPI_COMM_WORLD)
    m%send_rows = m%send_rows - m%first
  end subroutine

  subroutine multiply_rows(m, which, x, y)
    type(matrix), intent(in) :: m
    integer, intent(in) :: which(:)
    real(dp), intent(in) :: x(:)
    real(dp), intent(inout) :: y(:)
    integer :: k, i, row
    real(dp) :: total
    do k = 1, size(which)
      row = which(k)
      total = 0
      do i = m%start(row) + 1, m%start(row + 1)
        total = total + m%value(i) * x(m%column(i))
      end do
      y(row) = total
    end do
  end subroutine

  ! y = A x; x has room for the halo behind its own values. The halo travels while inner rows run.
  subroutine multiply(m, x, y)
    type(matrix), intent(in) :: m
    real(dp), asynchronous, intent(inout) :: x(:)
    real(dp), intent(inout) :: y(:)
    real(dp), asynchronous :: values(size(m%send_rows))
    type(MPI_Request) :: requests(2 * ranks)
    integer :: r, count, at
    count = 0
    at = m%rows
    do r = 0, ranks - 1
      if (m%received(r) == 0) cycle
      count = count + 1
      call MPI_Irecv(x(at + 1:at + m%received(r)), m%received(r), MPI_DOUBLE_PRECISION, r, 2, MPI_COMM_WORLD, requests(count))
      at = at + m%received(r)
    end do
    values = x(m%send_rows)
    at = 0
    do r = 0, ranks - 1
      if (m%sent(r) == 0) cycle
      count = count + 1
      call MPI_Isend(values(at + 1:at + m%sent(r)), m%sent(r), MPI_DOUBLE_PRECISION, r, 2, MPI_COMM_WORLD, requests(count))
      at = at + m%sent(r)
    end do
    call multiply_rows(m, m%inner, x, y)
    call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)
    call multiply_rows(m, m%outer, x, y)
  end subroutine

  real(dp) function norm(a)
    real(dp), intent(in) :: a(:)
    norm = sum(a * a)
    call MPI_Allreduce(MPI_IN_PLACE, norm, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    norm = sqrt(norm)
  end function

  ! A becomes D A D with ones on the diagonal.
  subroutine scale(m, d)
    type(matrix), intent(inout) :: m
    real(dp), allocatable, asynchronous, intent(out) :: d(:)
    real(dp) :: ignored(m%rows), diagonal
    integer :: row, i
    allocate (d(m%rows + m%halo), source=0._dp)
    do row = 1, m%rows
      diagonal = sum(m%value(m%start(row) + 1:m%start(row + 1)), m%column(m%start(row) + 1:m%start(row + 1)) == row)
      if (.not. diagonal > 0) call die('a positive definite matrix has positive numbers on the diagonal, this one has not')
      d(row) = 1 / sqrt(diagonal)
    end do
    call multiply(m, d, ignored)              ! brings the halo of d
    do row = 1, m%rows
      do i = m%start(row) + 1, m%start(row + 1)
        m%value(i) = m%value(i) * d(row) * d(m%column(i))
      end do
    end do
  end subroutine

  ! Scaled by the diagonal on both sides beforehand, so no preconditioner stands here.
  subroutine solve(m, b, x, tolerance, limit, iterations)
    type(matrix), intent(in) :: m
    real(dp), intent(in) :: b(:), tolerance
    real(dp), intent(inout) :: x(:)
    integer, intent(in) :: limit
    integer, intent(out) :: iterations
    real(dp), asynchronous :: r(m%rows + m%halo), w(m%rows + m%halo), mine(2), sums(2)
    real(dp), dimension(m%rows) :: q, p, s, z
    real(dp) :: length, residual, alpha, beta, gamma, gamma_before, alpha_before
    type(MPI_Request) :: request
    integer :: n
    n = m%rows
    length = norm(b)
    gamma_before = 1
    alpha_before = 1
    x = 0
    p = 0
    s = 0
    z = 0
    r(:n) = b
    call multiply(m, r, w)
    iterations = 0
    do
      mine = [sum(r(:n)**2), sum(w(:n) * r(:n))]
      call MPI_Iallreduce(mine, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, request)
      call multiply(m, w, q)                  ! while the sums travel
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      gamma = sums(1)
      residual = merge(sqrt(gamma) / max(length, tiny(length)), 0._dp, length > 0)
      if (rank == 0 .and. (mod(iterations, 20) == 0 .or. residual <= tolerance)) &
        print '(a, i4, a, es9.3)', 'iteration ', iterations, '   residual ', residual
      if (residual <= tolerance .or. iterations == limit .or. gamma /= gamma) exit
      if (iterations == 0) then
        beta = 0
        alpha = gamma / sums(2)
      else
        beta = gamma / gamma_before
        alpha = gamma / (sums(2) - beta * gamma / alpha_before)
      end if
      z = q + beta * z
      s = w(:n) + beta * s
      p = r(:n) + beta * p
      x(:n) = x(:n) + alpha * p
      r(:n) = r(:n) - alpha * s
      w(:n) = w(:n) - alpha * z
      gamma_before = gamma
      alpha_before = alpha
      iterations = iterations + 1
    end do
  end subroutine
end module

program cg
  use distributed_matrix
  implicit none
  type(matrix) :: m
  integer, allocatable :: row(:), column(:)
  real(dp), allocatable :: value(:), b(:), check(:)
  real(dp), allocatable, asynchronous :: d(:), known(:), x(:)
  real(dp) :: tolerance, started, residual, error
  integer :: n, i, iterations, status
  character(len=1000) :: path, text
  logical :: good
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() < 1 .or. command_argument_count() > 2) then
    if (rank == 0) write (error_unit, '(a)') 'usage: cg MATRIX.mtx [TOLERANCE]'
    call MPI_Finalize()
    stop 2
  end if
  started = MPI_Wtime()
  call get_command_argument(1, path)
  tolerance = 1e-10_dp
  if (command_argument_count() == 2) then
    call get_command_argument(2, text)
    read (text, *, iostat=status) tolerance
    if (status /= 0 .or. .not. tolerance > 0 .or. .not. tolerance < 1) &
      call die('the tolerance must be a number between 0 and 1, not "'//trim(text)//'"')
  end if
  call read_matrix(trim(path), n, row, column, value)
  if (rank == 0) print '(2a, i0, a, i0, a, i0, a)', trim(path), ': ', n, ' unknowns, ', size(row), ' entries, on ', ranks, ' ranks'
  call assemble(m, n, row, column, value)
  deallocate (row, column, value)

  ! A known solution, a right-hand side made of it; then D A D (x/d) = D b.
  allocate (known(m%rows + m%halo), x(m%rows + m%halo), b(m%rows), check(m%rows))
  call scale(m, d)
  known = 0
  do i = 1, m%rows
    known(i) = (1 + sin(0.05_dp * (m%first + i - 1))) / d(i)
  end do
  call multiply(m, known, b)
  call solve(m, b, x, tolerance, 20 * n + 100, iterations)

  call multiply(m, x, check)
  check = b - check
  x = x - known
  residual = norm(check) / norm(b)
  error = norm(x(:m%rows)) / norm(known(:m%rows))
  good = residual < 100 * tolerance .and. error < 1e6_dp * tolerance
  if (rank == 0) then
    print '(a, i0, a, f0.3, a, es9.3, a, es9.3)', 'solved in ', iterations, ' iterations and ', MPI_Wtime() - started, &
      ' s: true residual ', residual, ', error against the known solution ', error
    if (good) then
      print '(a)', 'The solution is right.'
    else
      print '(a)', 'THE SOLUTION IS WRONG: the residual or the error is too large.'
    end if
  end if
  call MPI_Finalize()
  if (.not. good) error stop 1
end program
