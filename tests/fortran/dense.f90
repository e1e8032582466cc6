! SPDX-License-Identifier: BSD-3-Clause
! A dense system on a grid of processes, as ScaLAPACK has it: the matrix in blocks that go round the grid both ways, LU
! with partial pivoting, rows and columns of the grid as communicators, rows of the matrix as sections with gaps,
! pivots by MPI_MAXLOC, norms by an operation of the program's own, and the matrix put together by datatypes of
! distributed arrays.
module dense_module
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: dp = kind(1d0)

  ! A sum of squares as scale**2 * squares, which does not overflow.
  type, bind(C) :: scaled
    real(C_DOUBLE) :: scale, squares
    integer(C_INT) :: elements
  end type

  ! Where the elements of one dimension are: blocks of `block` go round `processes`.
  type :: cyclic
    integer :: n, block, processes, me
  contains
    procedure :: owner, place, number, global
  end type
contains
  elemental integer function owner(this, i)
    class(cyclic), intent(in) :: this
    integer, intent(in) :: i
    owner = modulo((i - 1) / this%block, this%processes)
  end function
  elemental integer function place(this, i)
    class(cyclic), intent(in) :: this
    integer, intent(in) :: i
    place = (i - 1) / this%block / this%processes * this%block + modulo(i - 1, this%block) + 1
  end function
  ! How many of 1 to `up_to` are here.
  integer function number(this, up_to)
    class(cyclic), intent(in) :: this
    integer, intent(in) :: up_to
    integer :: i
    number = count([(this%owner(i) == this%me, i = 1, up_to)])
  end function
  integer function global(this, l)
    class(cyclic), intent(in) :: this
    integer, intent(in) :: l
    global = ((l - 1) / this%block * this%processes + this%me) * this%block + modulo(l - 1, this%block) + 1
  end function

  subroutine add_scaled(invec, inoutvec, length, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer :: length
    type(MPI_Datatype) :: datatype
    type(scaled), pointer :: a(:), b(:)
    integer :: i
    if (datatype == MPI_DATATYPE_NULL) return
    call c_f_pointer(invec, a, [length])
    call c_f_pointer(inoutvec, b, [length])
    do i = 1, length
      b(i)%elements = b(i)%elements + a(i)%elements
      if (a(i)%scale > b(i)%scale) then
        b(i)%squares = a(i)%squares + b(i)%squares * (b(i)%scale / a(i)%scale) ** 2
        b(i)%scale = a(i)%scale
      else if (b(i)%scale > 0) then
        b(i)%squares = b(i)%squares + a(i)%squares * (a(i)%scale / b(i)%scale) ** 2
      end if
    end do
  end subroutine
end module

program dense
  use dense_module
  use check_module
  implicit none
  integer, parameter :: n = 45, block_rows = 4, block_columns = 3
  integer :: rank, ranks, dims(2), coords(2), i, j, k, l, pivots(n), rows, columns
  type(MPI_Comm) :: grid, across, down ! all processes of my row of the grid, and of my column
  type(cyclic) :: r, c
  real(dp), allocatable, asynchronous :: a(:,:)
  real(dp) :: whole(n, n), factors(n, n), norm
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .false., grid)
  call MPI_Cart_coords(grid, rank, 2, coords)
  call MPI_Cart_sub(grid, [.false., .true.], across)
  call MPI_Comm_split(grid, coords(2), coords(1), down)
  r = cyclic(n, block_rows, dims(1), coords(1))
  c = cyclic(n, block_columns, dims(2), coords(2))
  rows = r%number(n)
  columns = c%number(n)
  ! Longer than it need be, so that its columns have gaps between them.
  allocate(a(rows + 3, columns + 1))
  a = -huge(1d0)
  do concurrent (i = 1:n, j = 1:n)
    whole(i, j) = modulo(real(37 * i * i + 101 * j * i + 13 * j, dp), 211d0) - 100d0
  end do
  do j = 1, columns
    do i = 1, rows
      a(i, j) = whole(r%global(i), c%global(j))
    end do
  end do
  call check_norm()
  call factorize()
  call collect(factors)
  call check_factors()
  call MPI_Comm_free(across)
  call MPI_Comm_free(down)
  call MPI_Comm_free(grid)
  call MPI_Finalize()
  call finish()
contains

  subroutine check_norm()
    type(scaled) :: mine(2), all_of(2)
    type(MPI_Datatype) :: unresized, datatype
    type(MPI_Op) :: op
    integer(MPI_ADDRESS_KIND) :: at(4)
    call MPI_Get_address(mine(1)%scale, at(1))
    call MPI_Get_address(mine(1)%squares, at(2))
    call MPI_Get_address(mine(1)%elements, at(3))
    call MPI_Get_address(mine(2)%scale, at(4))
    at = at - at(1)
    call MPI_Type_create_struct(3, [1, 1, 1], at(1:3), [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_INTEGER], unresized)
    call MPI_Type_create_resized(unresized, 0_MPI_ADDRESS_KIND, at(4), datatype)
    call MPI_Type_free(unresized)
    call MPI_Type_commit(datatype)
    call MPI_Op_create(add_scaled, .true., op)
    mine(1) = scaled(0, 0, rows * columns)
    mine(1)%scale = maxval(abs(a(1:rows, 1:columns)))
    if (mine(1)%scale > 0) mine(1)%squares = sum((a(1:rows, 1:columns) / mine(1)%scale) ** 2)
    mine(2) = scaled(1, rank, 1)
    call MPI_Allreduce(mine, all_of, 2, datatype, op, grid)
    norm = all_of(1)%scale * sqrt(all_of(1)%squares)
    call check('elements', all_of(1)%elements == n * n .and. all_of(2)%elements == ranks)
    call check('norm', abs(norm - norm2(whole)) < 1d-10 * norm)
    call check('a second sum', abs(all_of(2)%squares - ranks * (ranks - 1) / 2) < 1d-12)
    call MPI_Op_free(op)
    call MPI_Type_free(datatype)
  end subroutine

  ! The first place here of the global indices from `i` on.
  integer function first_from(dimension, i)
    type(cyclic), intent(in) :: dimension
    integer, intent(in) :: i
    first_from = dimension%number(i - 1) + 1
  end function

  subroutine factorize()
    real(dp) :: best(2), found(2), pivot
    real(dp), asynchronous :: row(columns + 1), column(rows + 1)
    type(MPI_Request) :: requests(2)
    integer :: from_row, from_column, at_row, at_column
    do k = 1, n
      at_column = c%place(k)
      ! The pivot: in the processes that have column k, then told across.
      if (c%owner(k) == c%me) then
        best = [-1d0, real(n + 1, dp)]
        do i = first_from(r, k), rows
          if (abs(a(i, at_column)) > best(1)) best = [abs(a(i, at_column)), real(r%global(i), dp)]
        end do
        call MPI_Allreduce(best, found, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, down)
        pivots(k) = nint(found(2))
      end if
      call MPI_Bcast(pivots(k), 1, MPI_INTEGER, c%owner(k), across)
      call swap_rows(k, pivots(k))
      ! What is right of the pivot goes down, what is below it is divided by it and goes across.
      from_column = first_from(c, k + 1)
      from_row = first_from(r, k + 1)
      at_row = r%place(k)
      pivot = 0
      if (c%owner(k) == c%me) then
        if (r%owner(k) == r%me) pivot = a(at_row, at_column)
        call MPI_Bcast(pivot, 1, MPI_DOUBLE_PRECISION, r%owner(k), down)
        a(from_row:rows, at_column) = a(from_row:rows, at_column) / pivot
        column(from_row:rows) = a(from_row:rows, at_column)
      end if
      if (r%owner(k) == r%me) then
        call MPI_Ibcast(a(at_row, from_column:columns), columns - from_column + 1, MPI_DOUBLE_PRECISION, r%owner(k), down, &
                        requests(1))
      else
        call MPI_Ibcast(row(from_column:columns), columns - from_column + 1, MPI_DOUBLE_PRECISION, r%owner(k), down, requests(1))
      end if
      call MPI_Ibcast(column(from_row:rows), rows - from_row + 1, MPI_DOUBLE_PRECISION, c%owner(k), across, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      if (r%owner(k) == r%me) row(from_column:columns) = a(at_row, from_column:columns)
      do j = from_column, columns
        a(from_row:rows, j) = a(from_row:rows, j) - column(from_row:rows) * row(j)
      end do
    end do
  end subroutine

  subroutine swap_rows(one, other)
    integer, intent(in) :: one, other
    real(dp) :: kept(columns)
    integer :: mine, peer
    if (one == other) return
    if (r%owner(one) == r%owner(other)) then
      if (r%owner(one) /= r%me) return
      kept = a(r%place(one), 1:columns)
      a(r%place(one), 1:columns) = a(r%place(other), 1:columns)
      a(r%place(other), 1:columns) = kept
    else if (r%owner(one) == r%me .or. r%owner(other) == r%me) then
      mine = r%place(merge(one, other, r%owner(one) == r%me))
      peer = r%owner(merge(other, one, r%owner(one) == r%me))
      call MPI_Sendrecv_replace(a(mine, 1:columns), columns, MPI_DOUBLE_PRECISION, peer, 1, peer, 1, down, MPI_STATUS_IGNORE)
    end if
  end subroutine

  ! The blocks of all processes in their places, at the first one.
  subroutine collect(matrix)
    real(dp), intent(inout), asynchronous :: matrix(n, n)
    type(MPI_Request) :: requests(0:ranks)
    type(MPI_Datatype) :: blocks
    call MPI_Isend(a(1:rows, 1:columns), rows * columns, MPI_DOUBLE_PRECISION, 0, 2, grid, requests(ranks))
    if (rank == 0) then
      do l = 0, ranks - 1
        call MPI_Type_create_darray(ranks, l, 2, [n, n], [MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC], &
                                    [block_rows, block_columns], dims, MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, blocks)
        call MPI_Type_commit(blocks)
        call MPI_Irecv(matrix, 1, blocks, l, 2, grid, requests(l))
        call MPI_Type_free(blocks)
      end do
      call MPI_Waitall(ranks + 1, requests, MPI_STATUSES_IGNORE)
    else
      call MPI_Wait(requests(ranks), MPI_STATUS_IGNORE)
    end if
    call MPI_F_sync_reg(matrix)
  end subroutine

  ! L times U is the matrix with its rows in another order; and each process says the same of the order.
  subroutine check_factors()
    integer :: lowest(n), highest(n)
    real(dp) :: product(n, n), moved(n, n), kept(n)
    call MPI_Allreduce(pivots, lowest, n, MPI_INTEGER, MPI_MIN, grid)
    call MPI_Allreduce(pivots, highest, n, MPI_INTEGER, MPI_MAX, grid)
    call check('one order of rows', all(lowest == highest))
    call check('what is behind the rows and columns stays', all(a(rows + 1:, :) < 0) .and. all(a(:, columns + 1) < 0))
    if (rank /= 0) return
    moved = whole
    do k = 1, n
      kept = moved(k, :)
      moved(k, :) = moved(pivots(k), :)
      moved(pivots(k), :) = kept
    end do
    do j = 1, n
      do i = 1, n
        product(i, j) = dot_product(factors(i, 1:min(i - 1, j)), factors(1:min(i - 1, j), j))
        if (i <= j) product(i, j) = product(i, j) + factors(i, j)
      end do
    end do
    call check('L times U', maxval(abs(product - moved)) < 1d-10 * norm)
  end subroutine
end program
