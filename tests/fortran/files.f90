! SPDX-License-Identifier: BSD-3-Clause
! Files from mpi_f08: sections with gaps written and read, views, offsets, strings, split collective and nonblocking
! calls. Where the library has no files yet, it says so by its error, and nothing more is asked.
program files
  use mpi_f08
  use check_module
  implicit none
  integer :: rank, ranks, code, class, i, n, amode
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Datatype) :: view, etype, filetype
  integer, asynchronous :: a(20), b(20), grid(6, 5), got(6, 5)
  integer(MPI_OFFSET_KIND) :: offset, bytes
  character(len=200) :: name
  character(len=MPI_MAX_DATAREP_STRING) :: representation
  logical :: atomic
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, name)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_File_open(MPI_COMM_WORLD, name, ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, code)
  call MPI_Error_class(code, class)
  if (class == MPI_ERR_UNSUPPORTED_OPERATION) then
    if (rank == 0) print '(a)', 'no files yet'
    call MPI_Finalize()
    stop
  end if
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call check('open', code == MPI_SUCCESS)
  call MPI_File_set_size(file, 0_MPI_OFFSET_KIND)
  call MPI_File_get_amode(file, amode)
  call check('amode', iand(amode, MPI_MODE_RDWR) /= 0)

  a = [(100 * rank + i, i = 1, 20)]
  offset = 40_MPI_OFFSET_KIND * rank
  call MPI_File_write_at(file, offset, a(1:20:2), 10, MPI_INTEGER, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check('written', n == 10)
  call MPI_File_sync(file)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_get_size(file, bytes)
  call check('size', bytes == 40 * ranks)
  b = -1
  call MPI_File_read_at_all(file, offset, b(20:2:-2), 10, MPI_INTEGER, status)
  call check('read', all(b(20:2:-2) == a(1:20:2)) .and. all(b(1:19:2) == -1))
  b = -1
  call MPI_File_iread_at(file, offset, b(1:19:2), 10, MPI_INTEGER, request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check('iread', n == 10 .and. all(b(1:19:2) == a(1:20:2)) .and. all(b(2:20:2) == -1))

  ! Every ranks-th integer is mine.
  call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND * ranks, view)
  call MPI_Type_commit(view)
  call MPI_File_set_view(file, 4_MPI_OFFSET_KIND * rank, MPI_INTEGER, view, 'native', MPI_INFO_NULL)
  call MPI_File_get_view(file, offset, etype, filetype, representation)
  call check('view', offset == 4 * rank .and. etype == MPI_INTEGER .and. representation == 'native')
  grid = reshape([(1000 * rank + i, i = 1, 30)], [6, 5])
  call MPI_File_write_all_begin(file, grid(1:6:3, 1:5:2), 6, MPI_INTEGER)
  call MPI_File_write_all_end(file, grid(1:6:3, 1:5:2), status)
  call MPI_File_get_position(file, offset)
  call check('position', offset == 6)
  call MPI_File_seek(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
  got = -1
  call MPI_File_read_all(file, got(2:3, 3:5), 6, MPI_INTEGER, MPI_STATUS_IGNORE)
  call check('by a view', all(got(2:3, 3:5) == grid(1:6:3, 1:5:2)) .and. count(got /= -1) == 6)
  call MPI_Type_free(view)
  call MPI_File_get_atomicity(file, atomic)
  call check('atomicity', .not. atomic)
  call MPI_File_close(file)
  call check('closed', file == MPI_FILE_NULL)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) call MPI_File_delete(name, MPI_INFO_NULL)
  call MPI_File_open(MPI_COMM_SELF, trim(name)//'.none', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
  call MPI_Error_class(code, class)
  call check('no such file', class == MPI_ERR_NO_SUCH_FILE)
  call MPI_Finalize()
  call finish()
end program
