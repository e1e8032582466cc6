! SPDX-License-Identifier: BSD-3-Clause
! A program that starts more of itself, with arguments, by both calls; strings of commands and arguments are what
! Fortran has of its own here. Where the library starts no processes yet, it says so by its error.
program spawn
  use mpi_f08
  use check_module
  implicit none
  type(MPI_Comm) :: parent, children
  integer :: rank, ranks, code, class, n, codes(3), told
  character(len=500) :: self, first, second
  character(len=30) :: arguments(3), tables(2, 3)
  character(len=500) :: commands(2)
  call MPI_Init()
  call MPI_Comm_get_parent(parent, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(0, self)
  if (code == MPI_SUCCESS .and. parent /= MPI_COMM_NULL) then
    call get_command_argument(1, first)
    call get_command_argument(2, second)
    told = 0
    if (command_argument_count() == 0) told = 1
    if (command_argument_count() == 2 .and. first == 'one word' .and. second == 'two') told = 10
    if (command_argument_count() == 1 .and. first == 'alone') told = 100
    call MPI_Reduce(told, n, 1, MPI_INTEGER, MPI_SUM, 0, parent)
    call MPI_Comm_disconnect(parent)
    call MPI_Finalize()
    stop
  end if
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  arguments = ['one word', '  two   ', '        ']
  call MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, code)
  call MPI_Error_class(code, class)
  if (class == MPI_ERR_UNSUPPORTED_OPERATION) then
    if (rank == 0) print '(a)', 'no spawn yet'
    call MPI_Finalize()
    stop
  end if
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call check('started', code == MPI_SUCCESS .and. all(codes(1:2) == MPI_SUCCESS))
  call MPI_Comm_remote_size(children, n)
  call check('two more', n == 2)
  call hear('arguments', 20)
  call MPI_Comm_spawn('  '//self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE)
  call hear('no arguments', 1)
  commands = self
  tables = ' '
  tables(1, 1) = 'one word'
  tables(1, 2) = '  two'
  tables(2, 1) = 'alone'
  call MPI_Comm_spawn_multiple(2, commands, tables, [1, 2], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, children, codes)
  call check('started several', all(codes == MPI_SUCCESS))
  call hear('tables of arguments', 210)
  call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, &
                               children, MPI_ERRCODES_IGNORE)
  call hear('no tables', 2)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  children = MPI_COMM_WORLD
  codes = MPI_SUCCESS
  call MPI_Comm_spawn('/no/such/program', MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, code)
  call MPI_Error_class(code, class)
  call check('no such program', class == MPI_ERR_SPAWN .and. children == MPI_COMM_NULL .and. all(codes(1:2) /= MPI_SUCCESS))
  call MPI_Finalize()
  call finish()
contains
  subroutine hear(what, wanted)
    character(len=*), intent(in) :: what
    integer, intent(in) :: wanted
    integer :: nothing, all_told
    nothing = 0
    all_told = 0
    call MPI_Reduce(nothing, all_told, 1, MPI_INTEGER, MPI_SUM, merge(MPI_ROOT, MPI_PROC_NULL, rank == 0), children)
    if (rank == 0) call check(what, all_told == wanted)
    call MPI_Comm_disconnect(children)
  end subroutine
end program
