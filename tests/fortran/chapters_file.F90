! SPDX-License-Identifier: BSD-3-Clause
! Files: each way to say where, each way to wait, shared pointers, views, representations of the program's own, and
! what can be asked, in each of the three interfaces.
#include "interface.h"
module chapters_file_callbacks
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: heard = 0
contains
  subroutine on_error(fh, error_code)
    USE_MPI
    INCLUDE_MPI
    HANDLE(MPI_File) :: fh
    integer :: error_code
    heard = error_code
  end subroutine

  ! The representation of the program's own: integers with all bits turned over.
  subroutine extent_of(datatype, extent, extra_state, ierror)
    USE_MPI
    INCLUDE_MPI
    HANDLE(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state, low
    integer :: ierror
    call MPI_Type_get_extent(datatype, low, extent, ierror)
  end subroutine
  subroutine turn(to, from, count)
    integer :: count
    integer :: to(count), from(count)
    to = not(from)
  end subroutine
#ifdef F08
#define MEMORY type(C_PTR), value
#define AT(memory, place) shifted(memory, place)
  function shifted(memory, place) result(array)
    type(C_PTR), intent(in) :: memory
    integer, intent(in) :: place
    integer, pointer :: array(:)
    integer, pointer :: all_of(:)
    call c_f_pointer(memory, all_of, [100000])
    array => all_of(place:)
  end function
#else
#define MEMORY integer
#define AT(memory, place) memory(place)
#endif
  subroutine reads(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    USE_MPI
    INCLUDE_MPI
#ifdef F08
    type(C_PTR), value :: userbuf, filebuf
#else
    integer :: userbuf(*), filebuf(*)
#endif
    HANDLE(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    call turn(AT(userbuf, int(position) + 1), AT(filebuf, 1), count)
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 4711)
  end subroutine
  subroutine writes(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    USE_MPI
    INCLUDE_MPI
#ifdef F08
    type(C_PTR), value :: userbuf, filebuf
#else
    integer :: userbuf(*), filebuf(*)
#endif
    HANDLE(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    call turn(AT(filebuf, 1), AT(userbuf, int(position) + 1), count)
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 4711)
  end subroutine
end module

program chapters_file
  USE_MPI
  use chapters_file_callbacks
  use check_module
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, ierror, i, n
  integer, ASYNC :: a(6), b(6)
  character(len=300) :: name
  integer(kind=MPI_OFFSET_KIND) :: mine, none
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Request) :: request
  STATUS(status)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, name)
  mine = 24 * rank
  none = 0
  call open_new()
  call at_offsets()
  call own_pointer()
  call shared_pointer()
  call split()
  call about()
  call MPI_File_close(file, ierror)
  call check('file_close', file == MPI_FILE_NULL)
  call represented()
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL, ierror)
  call MPI_Finalize(ierror)
  call finish()
contains

  subroutine open_new()
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
    call check('file_open', ierror == MPI_SUCCESS)
    call MPI_File_set_size(file, none, ierror)
  end subroutine

  subroutine fresh(round)
    integer, intent(in) :: round
    a = [(1000 * round + 10 * rank + i, i = 1, 6)]
    b = -1
  end subroutine
  subroutine is_back(what)
    character(len=*), intent(in) :: what
    call check(what, all(b == a))
    b = -1
  end subroutine
  subroutine done()
    call MPI_Wait(request, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check('count of a request', n == 6)
  end subroutine

  subroutine at_offsets()
    call fresh(1)
    call MPI_File_write_at(file, mine, a, 6, MPI_INTEGER, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check('count of write_at', n == 6)
    call MPI_File_read_at(file, mine, b, 6, MPI_INTEGER, status, ierror)
    call is_back('read_at')
    call fresh(2)
    call MPI_File_write_at_all(file, mine, a, 6, MPI_INTEGER, status, ierror)
    call MPI_File_read_at_all(file, mine, b, 6, MPI_INTEGER, status, ierror)
    call is_back('read_at_all')
    call fresh(3)
    call MPI_File_iwrite_at(file, mine, a, 6, MPI_INTEGER, request, ierror)
    call done()
    call MPI_File_iread_at(file, mine, b, 6, MPI_INTEGER, request, ierror)
    call done()
    call is_back('iread_at')
    call fresh(4)
    call MPI_File_iwrite_at_all(file, mine, a, 6, MPI_INTEGER, request, ierror)
    call done()
    call MPI_File_iread_at_all(file, mine, b, 6, MPI_INTEGER, request, ierror)
    call done()
    call is_back('iread_at_all')
  end subroutine

  subroutine own_pointer()
    integer(kind=MPI_OFFSET_KIND) :: place
    call fresh(5)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_write(file, a, 6, MPI_INTEGER, status, ierror)
    call MPI_File_get_position(file, place, ierror)
    call check('file_get_position', place == mine + 24)
    call MPI_File_seek(file, -24_MPI_OFFSET_KIND, MPI_SEEK_CUR, ierror)
    call MPI_File_read(file, b, 6, MPI_INTEGER, status, ierror)
    call is_back('read')
    call fresh(6)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_write_all(file, a, 6, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_read_all(file, b, 6, MPI_INTEGER, status, ierror)
    call is_back('read_all')
    call fresh(7)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_iwrite(file, a, 6, MPI_INTEGER, request, ierror)
    call done()
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_iread(file, b, 6, MPI_INTEGER, request, ierror)
    call done()
    call is_back('iread')
    call fresh(8)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_iwrite_all(file, a, 6, MPI_INTEGER, request, ierror)
    call done()
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_iread_all(file, b, 6, MPI_INTEGER, request, ierror)
    call done()
    call is_back('iread_all')
  end subroutine

  ! Who comes when is not known, but of ordered accesses.
  subroutine shared_pointer()
    integer(kind=MPI_OFFSET_KIND) :: place
    integer :: total, wanted
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call fresh(9)
    call MPI_File_write_ordered(file, a, 6, MPI_INTEGER, status, ierror)
    call MPI_File_get_position_shared(file, place, ierror)
    call check('file_get_position_shared', place == 24 * ranks)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call MPI_File_read_ordered(file, b, 6, MPI_INTEGER, status, ierror)
    call is_back('read_ordered')
    call MPI_Allreduce(sum(a), wanted, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call MPI_File_read_shared(file, b, 6, MPI_INTEGER, status, ierror)
    call MPI_Allreduce(sum(b), total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('read_shared', total == wanted)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call fresh(10)
    call MPI_File_write_shared(file, a, 6, MPI_INTEGER, status, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(sum(a), wanted, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call MPI_File_iread_shared(file, b, 6, MPI_INTEGER, request, ierror)
    call done()
    call MPI_Allreduce(sum(b), total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('write_shared', total == wanted)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call MPI_File_iwrite_shared(file, a, 6, MPI_INTEGER, request, ierror)
    call done()
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call fresh(11)
    call MPI_File_write_ordered_begin(file, a, 6, MPI_INTEGER, ierror)
    call MPI_File_write_ordered_end(file, a, status, ierror)
    call MPI_File_seek_shared(file, none, MPI_SEEK_SET, ierror)
    call MPI_File_read_ordered_begin(file, b, 6, MPI_INTEGER, ierror)
    call MPI_File_read_ordered_end(file, b, status, ierror)
    call is_back('read_ordered_end')
  end subroutine

  subroutine split()
    call fresh(12)
    call MPI_File_write_at_all_begin(file, mine, a, 6, MPI_INTEGER, ierror)
    call MPI_File_write_at_all_end(file, a, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    call check('count of a split write', n == 6)
    call MPI_File_read_at_all_begin(file, mine, b, 6, MPI_INTEGER, ierror)
    call MPI_File_read_at_all_end(file, b, status, ierror)
    call is_back('read_at_all_end')
    call fresh(13)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_write_all_begin(file, a, 6, MPI_INTEGER, ierror)
    call MPI_File_write_all_end(file, a, status, ierror)
    call MPI_File_seek(file, mine, MPI_SEEK_SET, ierror)
    call MPI_File_read_all_begin(file, b, 6, MPI_INTEGER, ierror)
    call MPI_File_read_all_end(file, b, status, ierror)
    call is_back('read_all_end')
  end subroutine

  subroutine about()
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Info) :: info
    HANDLE(MPI_Errhandler) :: handler, got
    HANDLE(MPI_Datatype) :: every_other, etype, filetype
    integer :: mode, code, class
    integer(kind=MPI_OFFSET_KIND) :: bytes, place
    integer(kind=MPI_ADDRESS_KIND) :: extent
    logical :: flag
    character(len=MPI_MAX_DATAREP_STRING) :: representation
    call MPI_File_get_amode(file, mode, ierror)
    call check('file_get_amode', mode == MPI_MODE_CREATE + MPI_MODE_RDWR)
    call MPI_File_get_group(file, group, ierror)
    call MPI_Group_size(group, n, ierror)
    call check('file_get_group', n == ranks)
    call MPI_Group_free(group, ierror)
    call MPI_File_preallocate(file, 4000_MPI_OFFSET_KIND, ierror)
    call MPI_File_get_size(file, bytes, ierror)
    call check('file_preallocate', bytes == 4000)
    call MPI_File_set_atomicity(file, .true., ierror)
    call MPI_File_get_atomicity(file, flag, ierror)
    call check('file_set_atomicity', flag .eqv. .true.)
    call MPI_File_set_atomicity(file, .false., ierror)
    call MPI_File_get_info(file, info, ierror)
    call MPI_File_set_info(file, info, ierror)
    call MPI_Info_free(info, ierror)
    call MPI_File_get_type_extent(file, MPI_DOUBLE_PRECISION, extent, ierror)
    call check('file_get_type_extent', extent == 8)
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, every_other, ierror)
    call MPI_Type_commit(every_other, ierror)
    call MPI_File_set_view(file, 8_MPI_OFFSET_KIND, MPI_INTEGER, every_other, 'native  ', MPI_INFO_NULL, ierror)
    call MPI_File_get_byte_offset(file, 3_MPI_OFFSET_KIND, place, ierror)
    call check('file_get_byte_offset', place == 8 + 12 + 8)
    call MPI_File_get_view(file, place, etype, filetype, representation, ierror)
    call check('file_get_view', place == 8 .and. etype == MPI_INTEGER .and. representation == 'native')
    call MPI_Type_free(filetype, ierror)
    call MPI_Type_free(every_other, ierror)
    call MPI_File_create_errhandler(on_error, handler, ierror)
    call MPI_File_set_errhandler(file, handler, ierror)
    call MPI_File_get_errhandler(file, got, ierror)
    call check('file_get_errhandler', got == handler)
    call MPI_Errhandler_free(got, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_File_call_errhandler(file, MPI_ERR_NO_SPACE, ierror)
    call check('file_call_errhandler', heard == MPI_ERR_NO_SPACE)
    call MPI_File_seek(file, -1_MPI_OFFSET_KIND, MPI_SEEK_SET, code)
    call MPI_Error_class(code, class, ierror)
    call check('an error of a call', code /= MPI_SUCCESS .and. heard == code)
    call MPI_File_sync(file, ierror)
  end subroutine

  subroutine represented()
    call MPI_Register_datarep('turned over  ', reads, writes, extent_of, 4711_MPI_ADDRESS_KIND, ierror)
    call check('register_datarep', ierror == MPI_SUCCESS)
    call open_new()
    call MPI_File_set_view(file, none, MPI_INTEGER, MPI_INTEGER, 'turned over', MPI_INFO_NULL, ierror)
    call fresh(14)
    call MPI_File_write_at(file, mine / 4, a, 6, MPI_INTEGER, status, ierror)
    call MPI_File_read_at(file, mine / 4, b, 6, MPI_INTEGER, status, ierror)
    call is_back('a representation of the own')
    call MPI_File_set_view(file, none, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
    call MPI_File_read_at(file, mine / 4, b, 6, MPI_INTEGER, status, ierror)
    call check('what is in the file', all(b == not(a)))
    call MPI_File_close(file, ierror)
  end subroutine
end program
