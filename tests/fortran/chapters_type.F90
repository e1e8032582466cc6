! SPDX-License-Identifier: BSD-3-Clause
! Datatypes: each constructor by what a message of it moves, what can be asked of them, and packing, in each of the
! three interfaces.
#include "interface.h"
program chapters_type
  USE_MPI
  use check_module
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, ierror, i
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call constructors()
  call arrays()
  call addresses()
  call what_they_are()
  call of_a_precision()
  call packed()
  call elements()
  call MPI_Finalize(ierror)
  call finish()
contains

  ! What one element of the datatype takes out of 1, 2, 3, ..., in the order of the message; and frees it.
  subroutine takes(what, datatype, wanted)
    character(len=*), intent(in) :: what
    HANDLE(MPI_Datatype) :: datatype
    integer, intent(in) :: wanted(:)
    integer :: a(60), b(60), n
    STATUS(status)
    a = [(i, i = 1, 60)]
    b = -1
    call MPI_Type_commit(datatype, ierror)
    call MPI_Sendrecv(a, 1, datatype, rank, 3, b, 60, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check(what, n == size(wanted))
    if (n == size(wanted)) call check(what, all(b(1:n) == wanted))
    call MPI_Type_free(datatype, ierror)
  end subroutine

  subroutine constructors()
    HANDLE(MPI_Datatype) :: t, u
    integer(kind=MPI_ADDRESS_KIND) :: at(3), low, extent
    call MPI_Type_contiguous(3, MPI_INTEGER, t, ierror)
    call takes('type_contiguous', t, [1, 2, 3])
    call MPI_Type_vector(3, 2, 5, MPI_INTEGER, t, ierror)
    call takes('type_vector', t, [1, 2, 6, 7, 11, 12])
    call MPI_Type_create_hvector(3, 1, 4 * 7_MPI_ADDRESS_KIND, MPI_INTEGER, t, ierror)
    call takes('type_create_hvector', t, [1, 8, 15])
    call MPI_Type_indexed(3, [1, 0, 2], [9, 3, 4], MPI_INTEGER, t, ierror)
    call takes('type_indexed', t, [10, 5, 6])
    at = 4 * [20, 10, 0]
    call MPI_Type_create_hindexed(3, [2, 1, 1], at, MPI_INTEGER, t, ierror)
    call takes('type_create_hindexed', t, [21, 22, 11, 1])
    call MPI_Type_create_indexed_block(3, 2, [4, 8, 0], MPI_INTEGER, t, ierror)
    call takes('type_create_indexed_block', t, [5, 6, 9, 10, 1, 2])
    at = 4 * [4, 8, 0]
    call MPI_Type_create_hindexed_block(3, 2, at, MPI_INTEGER, t, ierror)
    call takes('type_create_hindexed_block', t, [5, 6, 9, 10, 1, 2])
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, u, ierror)
    at = 4 * [0, 10, 20]
    call MPI_Type_create_struct(3, [1, 2, 1], at, [MPI_INTEGER, u, MPI_INTEGER], t, ierror)
    call takes('type_create_struct', t, [1, 11, 13, 14, 16, 21])
    call MPI_Type_create_resized(u, -8_MPI_ADDRESS_KIND, 40_MPI_ADDRESS_KIND, t, ierror)
    call MPI_Type_get_extent(t, low, extent, ierror)
    call check('type_create_resized', low == -8 .and. extent == 40)
    call MPI_Type_get_true_extent(t, low, extent, ierror)
    call check('type_get_true_extent', low == 0 .and. extent == 12)
    call MPI_Type_free(u, ierror)
    call MPI_Type_contiguous(2, t, u, ierror)
    call MPI_Type_free(t, ierror)
    call takes('contiguous of a resized one', u, [1, 3, 11, 13])
    call MPI_Type_vector(2, 1, 3, MPI_INTEGER, u, ierror)
    call MPI_Type_dup(u, t, ierror)
    call MPI_Type_free(u, ierror)
    call takes('type_dup', t, [1, 4])
  end subroutine

  subroutine arrays()
    HANDLE(MPI_Datatype) :: t
    integer :: n
    ! Columns 2 and 3 of rows 2 to 4 of a 5 x 4 array, in either order.
    call MPI_Type_create_subarray(2, [5, 4], [3, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, t, ierror)
    call takes('type_create_subarray', t, [7, 8, 9, 12, 13, 14])
    call MPI_Type_create_subarray(2, [5, 4], [3, 2], [1, 1], MPI_ORDER_C, MPI_INTEGER, t, ierror)
    call takes('type_create_subarray in the order of C', t, [6, 7, 10, 11, 14, 15])
    ! Every other block of two of seven, of process 1 of two.
    call MPI_Type_create_darray(2, 1, 1, [7], [MPI_DISTRIBUTE_CYCLIC], [2], [2], MPI_ORDER_FORTRAN, MPI_INTEGER, t, ierror)
    call takes('type_create_darray', t, [3, 4, 7])
    call MPI_Type_create_darray(4, 2, 2, [4, 5], [MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK], &
                                [MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG], [2, 2], MPI_ORDER_FORTRAN, MPI_INTEGER, &
                                t, ierror)
    call MPI_Type_size(t, n, ierror)
    call check('blocks of an array', n == 4 * 2 * 3)
    call takes('type_create_darray by blocks', t, [3, 4, 7, 8, 11, 12])
  end subroutine

  subroutine addresses()
    HANDLE(MPI_Datatype) :: t
    integer :: a
    double precision :: b(3)
    integer(kind=MPI_ADDRESS_KIND) :: at(2)
    call MPI_Get_address(a, at(1), ierror)
    call MPI_Get_address(b, at(2), ierror)
    call check('get_address', MPI_Aint_add(at(1), MPI_Aint_diff(at(2), at(1))) == at(2))
    call MPI_Type_create_struct(2, [1, 3], at, [MPI_INTEGER, MPI_DOUBLE_PRECISION], t, ierror)
    call MPI_Type_commit(t, ierror)
    a = 7 + rank
    b = [1d0, 2d0, 3d0]
    call MPI_Bcast(MPI_BOTTOM, 1, t, 0, MPI_COMM_WORLD, ierror)
    call MPI_F_sync_reg(a)
    call MPI_F_sync_reg(b)
    call check('MPI_BOTTOM', a == 7 .and. all(b == [1d0, 2d0, 3d0]))
    call MPI_Type_free(t, ierror)
  end subroutine

  subroutine what_they_are()
    HANDLE(MPI_Datatype) :: t, pair
    integer :: n, length, combiner, counts(3), key
    integer(kind=MPI_COUNT_KIND) :: size_x, low_x, extent_x
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call check('other names', MPI_C_COMPLEX == MPI_C_FLOAT_COMPLEX .and. MPI_LONG_LONG_INT == MPI_LONG_LONG)
    call MPI_Type_vector(3, 2, 5, MPI_INTEGER, t, ierror)
    call MPI_Type_size(t, n, ierror)
    call MPI_Type_size_x(t, size_x, ierror)
    call check('type_size', n == 24 .and. size_x == 24)
    call MPI_Type_get_extent_x(t, low_x, extent_x, ierror)
    call check('type_get_extent_x', low_x == 0 .and. extent_x == 48)
    call MPI_Type_get_true_extent_x(t, low_x, extent_x, ierror)
    call check('type_get_true_extent_x', low_x == 0 .and. extent_x == 48)
    call MPI_Type_get_envelope(t, counts(1), counts(2), counts(3), combiner, ierror)
    call check('type_get_envelope', all(counts == [3, 0, 1]) .and. combiner == MPI_COMBINER_VECTOR)
    call MPI_Type_set_name(t, 'pairs   ', ierror)
    call MPI_Type_get_name(t, name, length, ierror)
    call check('type_get_name', name == 'pairs' .and. length == 5)
    call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, length, ierror)
    call check('name of a predefined one', name == 'MPI_DOUBLE_PRECISION')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_set_attr(t, key, -9_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_get_attr(t, key, value, flag, ierror)
    call check('type_get_attr', flag .and. value == -9)
    call MPI_Type_delete_attr(t, key, ierror)
    call MPI_Type_get_attr(t, key, value, flag, ierror)
    call check('type_delete_attr', .not. flag)
    call MPI_Type_free_keyval(key, ierror)
    call MPI_Type_free(t, ierror)
    call MPI_Type_get_value_index(MPI_DOUBLE_PRECISION, MPI_INTEGER, pair, ierror)
    call check('type_get_value_index', ierror == MPI_SUCCESS)
    call MPI_Type_size(MPI_2INTEGER, n, ierror)
    call check('size of a pair', n == 8)
    call MPI_Type_size(MPI_2DOUBLE_PRECISION, n, ierror)
    call check('size of a pair of doubles', n == 16)
  end subroutine

  subroutine of_a_precision()
    HANDLE(MPI_Datatype) :: t, again
    integer, parameter :: long = selected_real_kind(15, 300), short = selected_int_kind(4)
    ! Kind 10 or 16; not every compiler has one of them.
    integer, parameter :: digits = merge(18, 15, selected_real_kind(18) > 0), longest = selected_real_kind(digits)
    real(kind=longest) :: a, sum_a
    complex(kind=longest) :: b, sum_b
    real(kind=long) :: x, sum_x
    complex(kind=long) :: z, sum_z
    integer(kind=short) :: k, sum_k
    integer :: n, combiner, counts(3), arguments(2)
    integer(kind=MPI_ADDRESS_KIND) :: none(1)
    HANDLE(MPI_Datatype) :: nothing(1)
    call MPI_Type_create_f90_real(15, 300, t, ierror)
    call MPI_Type_create_f90_real(15, 300, again, ierror)
    call check('the same datatype', t == again)
    call MPI_Type_size(t, n, ierror)
    call check('type_create_f90_real', n == 8)
    x = rank + 0.5_long
    call MPI_Allreduce(x, sum_x, 1, t, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('sum of reals', sum_x == ranks * (ranks - 1) / 2 + ranks * 0.5_long)
    call MPI_Type_get_envelope(t, counts(1), counts(2), counts(3), combiner, ierror)
    call check('envelope of a real', combiner == MPI_COMBINER_F90_REAL .and. all(counts == [2, 0, 0]))
    call MPI_Type_get_contents(t, 2, 0, 0, arguments, none, nothing, ierror)
    call check('contents of a real', all(arguments == [15, 300]))
    call MPI_Type_create_f90_complex(15, 300, t, ierror)
    z = cmplx(rank, -rank, long)
    call MPI_Allreduce(z, sum_z, 1, t, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('type_create_f90_complex', sum_z == cmplx(1, -1, long) * (ranks * (ranks - 1) / 2))
    call MPI_Type_create_f90_integer(4, t, ierror)
    k = int(rank + 1, short)
    call MPI_Allreduce(k, sum_k, 1, t, MPI_MAX, MPI_COMM_WORLD, ierror)
    call check('type_create_f90_integer', sum_k == ranks)
    call MPI_Type_create_f90_real(6, MPI_UNDEFINED, t, ierror)
    call MPI_Type_size(t, n, ierror)
    call check('any range', n == 4)
    call MPI_Type_create_f90_real(digits, MPI_UNDEFINED, t, ierror)
    a = rank + 0.5_longest
    call MPI_Allreduce(a, sum_a, 1, t, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('sum of long reals', sum_a == ranks * (ranks - 1) / 2 + ranks * 0.5_longest)
    call MPI_Type_create_f90_complex(digits, MPI_UNDEFINED, t, ierror)
    b = cmplx(rank, -rank, longest)
    call MPI_Allreduce(b, sum_b, 1, t, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('sum of long complex numbers', sum_b == cmplx(1, -1, longest) * (ranks * (ranks - 1) / 2))
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, t, ierror)
    call MPI_Type_size(t, n, ierror)
    call check('type_match_size', n == 8)
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, t, ierror)
    call MPI_Allreduce(k, sum_k, 1, t, MPI_MAX, MPI_COMM_WORLD, ierror)
    call check('integers of two bytes', sum_k == ranks)
#ifndef MPIF
    call MPI_Sizeof(z, n, ierror)
    call check('sizeof', n == 16)
    call MPI_Sizeof(k, n, ierror)
    call check('sizeof of a short one', n == 2)
#endif
  end subroutine

  subroutine packed()
    integer :: n, place, a(4), b(4)
    double precision :: x, y
    character(len=100) :: room
    integer(kind=MPI_ADDRESS_KIND) :: far, bytes
    a = [(i, i = 1, 4)]
    b = 0
    x = 2.5d0
    y = 0
    place = 0
    call MPI_Pack_size(4, MPI_INTEGER, MPI_COMM_WORLD, n, ierror)
    call check('pack_size', n >= 16 .and. n <= 100)
    call MPI_Pack(a, 4, MPI_INTEGER, room, 100, place, MPI_COMM_WORLD, ierror)
    call MPI_Pack(x, 1, MPI_DOUBLE_PRECISION, room, 100, place, MPI_COMM_WORLD, ierror)
    n = place
    call MPI_Sendrecv_replace(room, n, MPI_PACKED, modulo(rank + 1, ranks), 4, modulo(rank - 1, ranks), 4, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierror)
    place = 0
    call MPI_Unpack(room, n, place, b, 4, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Unpack(room, n, place, y, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
    call check('pack', all(b == a) .and. y == x .and. place == n)
    far = 0
    call MPI_Pack_external_size('external32', 1, MPI_INTEGER, bytes, ierror)
    call MPI_Pack_external('external32', 258, 1, MPI_INTEGER, room, bytes, far, ierror)
    call check('pack_external', bytes == 4 .and. far == 4 .and. room(1:4) == achar(0)//achar(0)//achar(1)//achar(2))
    far = 0
    call MPI_Unpack_external('external32', room, bytes, far, n, 1, MPI_INTEGER, ierror)
    call check('unpack_external', n == 258)
  end subroutine

  subroutine elements()
    HANDLE(MPI_Datatype) :: pair
    integer :: a(8), n
    integer(kind=MPI_COUNT_KIND) :: many
    STATUS(status)
    logical :: flag
    a = 0
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierror)
    call MPI_Type_commit(pair, ierror)
    call MPI_Sendrecv(a, 3, MPI_INTEGER, rank, 0, a(5), 2, pair, rank, 0, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, pair, n, ierror)
    call check('half an element', n == MPI_UNDEFINED)
    call MPI_Get_elements(status, pair, n, ierror)
    call MPI_Get_elements_x(status, pair, many, ierror)
    call check('get_elements', n == 3 .and. many == 3)
    call MPI_Status_set_elements(status, pair, 5, ierror)
    call MPI_Get_elements(status, pair, n, ierror)
    call check('status_set_elements', n == 5)
    many = 6
    call MPI_Status_set_elements_x(status, pair, many, ierror)
    call MPI_Get_count(status, pair, n, ierror)
    call check('status_set_elements_x', n == 3)
    call MPI_Status_set_cancelled(status, .true., ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call check('status_set_cancelled', flag .eqv. .true.)
    call MPI_Status_set_source(status, 5, ierror)
    call MPI_Status_set_tag(status, 6, ierror)
    call MPI_Status_set_error(status, 7, ierror)
    call check('status_set_*', STATUS_SOURCE(status) == 5 .and. STATUS_TAG(status) == 6 .and. STATUS_ERROR(status) == 7)
    call MPI_Status_get_source(status, n, ierror)
    call check('status_get_source', n == 5)
    call MPI_Status_get_tag(status, n, ierror)
    call check('status_get_tag', n == 6)
    call MPI_Status_get_error(status, n, ierror)
    call check('status_get_error', n == 7)
    call MPI_Type_free(pair, ierror)
  end subroutine
end program
