! SPDX-License-Identifier: BSD-3-Clause
! Groups, communicators of both kinds, topologies, infos, errors and sessions, in each of the three interfaces.
#include "interface.h"
program chapters_comm
  USE_MPI
  use check_module
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, ierror, i
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call groups()
  call communicators()
  call intercommunicators()
  call grids()
  call graphs()
  call infos()
  call errors()
  call environment()
  call MPI_Finalize(ierror)
  call sessions()
  call finish()
contains

  subroutine groups()
    HANDLE(MPI_Group) :: world, a, b, both, common, rest
    integer :: n, n2, theirs(8), answer, ranges(3, 2)
    integer :: mine(8)
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
    call MPI_Group_size(world, n, ierror)
    call check('group_size', n == ranks)
    call MPI_Group_incl(world, 1, [ranks - 1], a, ierror)
    call MPI_Group_excl(world, 1, [ranks - 1], b, ierror)
    call MPI_Group_size(b, n, ierror)
    call check('group_excl', n == ranks - 1)
    call MPI_Group_union(a, b, both, ierror)
    call MPI_Group_compare(both, world, answer, ierror)
    call check('group_union', answer == merge(MPI_IDENT, MPI_SIMILAR, ranks == 1))
    call MPI_Group_intersection(world, a, common, ierror)
    call MPI_Group_compare(common, a, answer, ierror)
    call check('group_intersection', answer == MPI_IDENT)
    call MPI_Group_difference(world, a, rest, ierror)
    call MPI_Group_compare(rest, b, answer, ierror)
    call check('group_difference', answer == MPI_IDENT)
    if (ranks == 1) call check('empty', rest == MPI_GROUP_EMPTY)
    mine = [(modulo(i - 1, ranks), i = 1, 8)]
    call MPI_Group_translate_ranks(world, 8, mine, a, theirs, ierror)
    call check('group_translate_ranks', all(theirs == merge(0, MPI_UNDEFINED, mine == ranks - 1)))
    call MPI_Group_rank(a, n, ierror)
    call check('group_rank', n == merge(0, MPI_UNDEFINED, rank == ranks - 1))
    call MPI_Group_free(both, ierror)
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_excl(world, 1, ranges, both, ierror)
    call MPI_Group_size(both, n, ierror)
    call check('group_range_excl', n == ranks / 2)
    call MPI_Group_free(both, ierror)
    ranges(:, 1) = [0, ranks - 1, 2]
    ranges(:, 2) = [1, ranks - 1, 2]
    call MPI_Group_range_incl(world, merge(2, 1, ranks > 1), ranges, both, ierror)
    call MPI_Group_rank(both, n2, ierror)
    call check('group_range_incl', n2 == merge(rank / 2, (ranks + 1) / 2 + rank / 2, modulo(rank, 2) == 0))
    call MPI_Group_free(both, ierror)
    call check('freed', both == MPI_GROUP_NULL)
    call MPI_Group_free(a, ierror)
    call MPI_Group_free(b, ierror)
    if (common /= MPI_GROUP_EMPTY) call MPI_Group_free(common, ierror)
    if (rest /= MPI_GROUP_EMPTY) call MPI_Group_free(rest, ierror)
    call MPI_Group_free(world, ierror)
  end subroutine

  subroutine communicators()
    HANDLE(MPI_Comm) :: half, twin, node, later
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Request) :: request
    HANDLE(MPI_Info) :: info
    integer :: n, r, answer, length
    logical :: flag
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, half, ierror)
    call MPI_Comm_size(half, n, ierror)
    call MPI_Comm_rank(half, r, ierror)
    call check('comm_split', n == (ranks + 1 - modulo(rank, 2)) / 2 .and. r == n - 1 - rank / 2)
    call MPI_Comm_split(MPI_COMM_WORLD, merge(MPI_UNDEFINED, 3, rank == 0), 0, twin, ierror)
    call check('comm_split to nobody', (twin == MPI_COMM_NULL) .eqv. (rank == 0))
    if (rank > 0) call MPI_Comm_free(twin, ierror)
    call MPI_Info_create(info, ierror)
    call MPI_Comm_dup_with_info(half, info, twin, ierror)
    call MPI_Info_free(info, ierror)
    call MPI_Comm_compare(half, twin, answer, ierror)
    call check('comm_compare', answer == MPI_CONGRUENT)
    call MPI_Comm_compare(half, half, answer, ierror)
    call check('comm_compare with itself', answer == MPI_IDENT)
    call MPI_Comm_test_inter(twin, flag, ierror)
    call check('comm_test_inter', .not. flag)
    call MPI_Comm_free(twin, ierror)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, ierror)
    call MPI_Comm_size(node, n, ierror)
    call check('comm_split_type', n >= 1 .and. n <= ranks)
    call MPI_Comm_set_name(node, 'the node', ierror)
    call MPI_Comm_idup(node, later, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Comm_get_name(node, name, length, ierror)
    call check('comm_get_name', name == 'the node' .and. length == 8)
    call MPI_Comm_get_name(later, name, length, ierror)
    call check('a copy has no name', length == 0 .and. name == ' ')
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
    call check('name of the world', name == 'MPI_COMM_WORLD' .and. length == 14)
    call MPI_Barrier(later, ierror)
    call MPI_Comm_free(later, ierror)
    call MPI_Comm_idup_with_info(node, MPI_INFO_NULL, later, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Comm_free(later, ierror)
    call MPI_Comm_get_info(node, info, ierror)
    call MPI_Comm_set_info(node, info, ierror)
    call MPI_Info_free(info, ierror)
    call MPI_Comm_free(node, ierror)
    call MPI_Comm_group(half, group, ierror)
    call MPI_Comm_create_group(MPI_COMM_WORLD, group, 5 + modulo(rank, 2), twin, ierror)
    call MPI_Comm_compare(half, twin, answer, ierror)
    call check('comm_create_group', answer == MPI_CONGRUENT)
    call MPI_Comm_disconnect(twin, ierror)
    call check('comm_disconnect', twin == MPI_COMM_NULL)
    call MPI_Group_free(group, ierror)
    call MPI_Comm_free(half, ierror)
  end subroutine

  subroutine intercommunicators()
    HANDLE(MPI_Comm) :: half, inter, merged
    HANDLE(MPI_Group) :: others
    integer :: side, n, m, r, sum
    logical :: flag
    if (ranks < 2) return
    side = modulo(rank, 2)
    call MPI_Comm_split(MPI_COMM_WORLD, side, rank, half, ierror)
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 12, inter, ierror)
    call MPI_Comm_test_inter(inter, flag, ierror)
    call MPI_Comm_remote_size(inter, n, ierror)
    call check('intercomm_create', flag .and. n == (ranks + side) / 2)
    call MPI_Comm_remote_group(inter, others, ierror)
    call MPI_Group_size(others, m, ierror)
    call check('comm_remote_group', m == n)
    call MPI_Group_free(others, ierror)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, inter, ierror)
    call check('allreduce between', sum == merge((ranks / 2) ** 2, (ranks + 1) / 2 * ((ranks + 1) / 2 - 1), side == 0))
    call MPI_Intercomm_merge(inter, side == 1, merged, ierror)
    call MPI_Comm_rank(merged, r, ierror)
    call check('intercomm_merge', r == merge(rank / 2, (ranks + 1) / 2 + rank / 2, side == 0))
    call MPI_Comm_free(merged, ierror)
    call MPI_Comm_free(inter, ierror)
    call MPI_Comm_free(half, ierror)
  end subroutine

  subroutine grids()
    HANDLE(MPI_Comm) :: grid, row
    integer :: dims(2), got(2), coords(2), n, r, status, from, to, place, newrank, mine
    logical :: periods(2), now(2)
    integer :: all_of(0:3)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, ierror)
    call check('dims_create', product(dims) == ranks .and. dims(1) >= dims(2))
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, ierror)
    call MPI_Topo_test(grid, status, ierror)
    call check('topo_test', status == MPI_CART)
    call MPI_Cartdim_get(grid, n, ierror)
    call check('cartdim_get', n == 2)
    call MPI_Cart_get(grid, 2, got, now, coords, ierror)
    call check('cart_get', all(got == dims) .and. (now(1) .eqv. .true.) .and. (now(2) .eqv. .false.))
    call MPI_Cart_rank(grid, coords, place, ierror)
    call check('cart_rank', place == rank)
    call MPI_Cart_coords(grid, ranks - 1, 2, coords, ierror)
    call check('cart_coords', all(coords == dims - 1))
    call MPI_Cart_coords(grid, rank, 2, coords, ierror)
    call MPI_Cart_shift(grid, 0, 1, from, to, ierror)
    call check('cart_shift', from == modulo(coords(1) - 1, dims(1)) * dims(2) + coords(2) .and. &
               to == modulo(coords(1) + 1, dims(1)) * dims(2) + coords(2))
    call MPI_Cart_shift(grid, 1, 1, from, to, ierror)
    call check('cart_shift at the edge', from == merge(MPI_PROC_NULL, rank - 1, coords(2) == 0) .and. &
               to == merge(MPI_PROC_NULL, rank + 1, coords(2) == dims(2) - 1))
    call MPI_Cart_sub(grid, [.false., .true.], row, ierror)
    call MPI_Comm_size(row, n, ierror)
    call MPI_Comm_rank(row, r, ierror)
    call check('cart_sub', n == dims(2) .and. r == coords(2))
    call MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, newrank, ierror)
    call check('cart_map', newrank >= 0 .and. newrank < ranks)
    mine = 10 * rank
    all_of = -1
    call MPI_Neighbor_allgather(mine, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, grid, ierror)
    call MPI_Cart_shift(grid, 0, 1, from, to, ierror)
    call check('neighbor_allgather', all_of(0) == 10 * from .and. all_of(1) == 10 * to)
    call MPI_Cart_shift(grid, 1, 1, from, to, ierror)
    call check('neighbor_allgather at the edge', all_of(2) == merge(-1, 10 * from, from == MPI_PROC_NULL) .and. &
               all_of(3) == merge(-1, 10 * to, to == MPI_PROC_NULL))
    call MPI_Comm_free(row, ierror)
    call MPI_Comm_free(grid, ierror)
  end subroutine

  subroutine graphs()
    HANDLE(MPI_Comm) :: ring
    integer :: index(8), edges(16), nodes, n, got_index(8), got_edges(16), newrank, status, neighbours(2), sources(1), degrees(1)
    integer :: all_of(2), left, right, first, second, weights(1)
    if (ranks < 3) return
    index(1:ranks) = [(2 * i, i = 1, ranks)]
    edges(1:2 * ranks) = [(modulo(i - 2, ranks), modulo(i, ranks), i = 1, ranks)]
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, .false., ring, ierror)
    call MPI_Topo_test(ring, status, ierror)
    call MPI_Graphdims_get(ring, nodes, n, ierror)
    call check('graphdims_get', status == MPI_GRAPH .and. nodes == ranks .and. n == 2 * ranks)
    call MPI_Graph_get(ring, ranks, 2 * ranks, got_index, got_edges, ierror)
    call check('graph_get', all(got_index(1:ranks) == index(1:ranks)) .and. all(got_edges(1:n) == edges(1:n)))
    call MPI_Graph_neighbors_count(ring, rank, n, ierror)
    call MPI_Graph_neighbors(ring, rank, 2, neighbours, ierror)
    left = modulo(rank - 1, ranks)
    right = modulo(rank + 1, ranks)
    call check('graph_neighbors', n == 2 .and. all(neighbours == [left, right]))
    call MPI_Graph_map(MPI_COMM_WORLD, ranks, index, edges, newrank, ierror)
    call check('graph_map', newrank >= 0 .and. newrank < ranks)
    call MPI_Comm_free(ring, ierror)
    sources = rank
    degrees = 2
    weights = 1
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, [left, right], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
                               ring, ierror)
    all_of = -1
    call MPI_Neighbor_alltoall([rank, 100 + rank], 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, ring, ierror)
    ! What came from the right was for its left, and the other way round; in which order, the library chooses.
    first = merge(1, 2, all_of(1) < 100)
    second = 3 - first
    call check('dist_graph_create', all_of(first) == right .and. all_of(second) == 100 + left)
    call MPI_Comm_free(ring, ierror)
  end subroutine

  subroutine infos()
    HANDLE(MPI_Info) :: info, twin
    integer :: n, length
    logical :: flag
    character(len=12) :: value
    character(len=4) :: short
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'first', 'one', ierror)
    call MPI_Info_set(info, 'second', 'two words', ierror)
    call MPI_Info_dup(info, twin, ierror)
    call MPI_Info_delete(info, 'first', ierror)
    call MPI_Info_get_nkeys(info, n, ierror)
    call check('info_delete', n == 1)
    call MPI_Info_get_nkeys(twin, n, ierror)
    call check('info_dup', n == 2)
    short = '????'
    call MPI_Info_get(twin, 'second', 4, short, flag, ierror)
    call check('info_get cut', flag .and. short == 'two ')
    value = repeat('?', 12)
    call MPI_Info_get(twin, 'second', 12, value, flag, ierror)
    call check('info_get padded', flag .and. value == 'two words   ')
    call MPI_Info_get_valuelen(twin, 'third', length, flag, ierror)
    call check('no such key', .not. flag)
    call MPI_Info_free(info, ierror)
    call MPI_Info_free(twin, ierror)
    call MPI_Info_create_env(info, ierror)
    call MPI_Info_get_nkeys(info, n, ierror)
    call check('info_create_env', n >= 0)
    call MPI_Info_free(info, ierror)
    call MPI_Get_hw_resource_info(info, ierror)
    if (info /= MPI_INFO_NULL) call MPI_Info_free(info, ierror)
  end subroutine

  subroutine errors()
    integer :: class, code, length, of_code
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Add_error_class(class, ierror)
    call MPI_Add_error_code(class, code, ierror)
    call MPI_Add_error_string(code, 'what went wrong  ', ierror)
    call MPI_Error_class(code, of_code, ierror)
    call check('add_error_code', of_code == class .and. class > MPI_ERR_LASTCODE)
    text = repeat('?', len(text))
    call MPI_Error_string(code, text, length, ierror)
    call check('add_error_string', text == 'what went wrong' .and. length == 15)
    call MPI_Remove_error_string(code, ierror)
    call MPI_Remove_error_code(code, ierror)
    call MPI_Remove_error_class(class, ierror)
    call check('remove_error_class', ierror == MPI_SUCCESS)
  end subroutine

  subroutine environment()
    integer :: version, subversion, level
    logical :: flag
    call MPI_Get_version(version, subversion, ierror)
    call check('get_version', version == MPI_VERSION .and. subversion == MPI_SUBVERSION .and. version == 5)
    call MPI_Query_thread(level, ierror)
    call check('query_thread', level >= MPI_THREAD_SINGLE .and. level <= MPI_THREAD_MULTIPLE)
    call MPI_Is_thread_main(flag, ierror)
    call check('is_thread_main', flag)
    call MPI_Finalized(flag, ierror)
    call check('finalized', .not. flag)
    call MPI_Pcontrol(1)
    call MPI_Abi_get_version(version, subversion, ierror)
    call check('abi_get_version', version == 1)
  end subroutine

  ! After the world has ended.
  subroutine sessions()
    HANDLE(MPI_Session) :: session
    HANDLE(MPI_Group) :: group
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Info) :: info
    integer :: n, length, m
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    character(len=5) :: short
    logical :: flag, found
    call MPI_Finalized(flag, ierror)
    call check('finalized', flag)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, ierror)
    call MPI_Session_get_info(session, info, ierror)
    call MPI_Info_free(info, ierror)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, ierror)
    found = .false.
    do i = 0, n - 1
      length = 0
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierror)
      m = length
      length = len(name)
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierror)
      call check('length of a process set', length == m .and. len_trim(name) == m)
      found = found .or. name == 'mpi://WORLD'
      length = 5
      short = '?????'
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, short, ierror)
      call check('a name that is cut', length == m .and. short == name(1:5))
    end do
    call check('session_get_nth_pset', found)
    call MPI_Session_get_pset_info(session, 'mpi://SELF ', info, ierror)
    call MPI_Info_get(info, 'mpi_size', 5, short, flag, ierror)
    call check('session_get_pset_info', flag .and. short == '1')
    call MPI_Info_free(info, ierror)
    call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierror)
    call MPI_Comm_create_from_group(group, 'a tag  ', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
    call MPI_Comm_size(comm, n, ierror)
    call check('comm_create_from_group', n == ranks)
    call MPI_Comm_free(comm, ierror)
    call MPI_Group_free(group, ierror)
    call MPI_Session_finalize(session, ierror)
    call check('session_finalize', session == MPI_SESSION_NULL .and. ierror == MPI_SUCCESS)
  end subroutine
end program
