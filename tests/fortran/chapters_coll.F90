! SPDX-License-Identifier: BSD-3-Clause
! Collectives in their blocking, nonblocking and persistent forms, with each predefined operation and Fortran's
! datatypes, in each of the three interfaces.
#include "interface.h"
program chapters_coll
  USE_MPI
  use check_module
  implicit none
  INCLUDE_MPI
  integer, parameter :: most = 8
  integer :: rank, ranks, ierror, i, k
  integer, ASYNC :: one(most), each(2 * most), all_of(2 * most), two(2), got(2)
  integer :: counts(most), places(most), bytes(most), total, left, right, ones(2), firsts(2)
  HANDLE(MPI_Datatype) :: types(most)
  HANDLE(MPI_Request) :: request
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  total = ranks * (ranks - 1) / 2
  counts = 2
  places = [(2 * i, i = 0, most - 1)]
  bytes = 4 * places
  types = MPI_INTEGER
  ones = 1
  firsts = [0, 1]
  call blocking()
  call nonblocking()
  call persistent()
  call operations()
  call neighbours()
  call MPI_Finalize(ierror)
  call finish()
contains

  subroutine prepare()
    one = [(100 * rank + i, i = 1, most)]
    each = [(100 * rank + i, i = 1, 2 * most)]
    all_of = -1
  end subroutine

  subroutine done()
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  end subroutine

  ! What each of them should have made of prepare().
  subroutine all_gathered(what)
    character(len=*), intent(in) :: what
    call check(what, all(all_of(1:2 * ranks) == [((100 * k + i, i = 1, 2), k = 0, ranks - 1)]) .and. &
               all(all_of(2 * ranks + 1:) == -1))
  end subroutine
  subroutine gathered(what)
    character(len=*), intent(in) :: what
    if (rank == ranks - 1) call all_gathered(what)
    if (rank /= ranks - 1) call check(what, all(all_of == -1))
  end subroutine
  subroutine scattered(what)
    character(len=*), intent(in) :: what
    call check(what, all(all_of(1:2) == 100 * (ranks - 1) + 2 * rank + [1, 2]) .and. all(all_of(3:) == -1))
  end subroutine
  subroutine exchanged(what)
    character(len=*), intent(in) :: what
    call check(what, all(all_of(1:2 * ranks) == [((100 * k + 2 * rank + i, i = 1, 2), k = 0, ranks - 1)]))
  end subroutine
  subroutine summed(what)
    character(len=*), intent(in) :: what
    call check(what, all(all_of(1:most) == 100 * total + ranks * [(i, i = 1, most)]) .and. all(all_of(most + 1:) == -1))
  end subroutine
  subroutine scanned(what, before)
    character(len=*), intent(in) :: what
    integer, intent(in) :: before
    if (before > 0) call check(what, all(all_of(1:most) == 100 * (before * (before - 1) / 2) + before * [(i, i = 1, most)]))
  end subroutine
  subroutine reduced_parts(what)
    character(len=*), intent(in) :: what
    call check(what, all(all_of(1:2) == 100 * total + ranks * (2 * rank + [1, 2])) .and. all(all_of(3:) == -1))
  end subroutine

  subroutine blocking()
    integer :: root
    root = ranks - 1
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call prepare()
    call MPI_Bcast(one, most, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call check('bcast', all(one == 100 * root + [(i, i = 1, most)]))
    call prepare()
    call MPI_Gather(one, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call gathered('gather')
    call prepare()
    call MPI_Gatherv(one, 2, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call gathered('gatherv')
    call prepare()
    call MPI_Scatter(each, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call scattered('scatter')
    call prepare()
    call MPI_Scatterv(each, counts, places, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, ierror)
    call scattered('scatterv')
    call prepare()
    call MPI_Allgather(one, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call all_gathered('allgather')
    call prepare()
    call MPI_Allgatherv(one, 2, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call all_gathered('allgatherv')
    call prepare()
    all_of(2 * rank + 1:2 * rank + 2) = one(1:2)
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call all_gathered('allgather in place')
    call prepare()
    call MPI_Alltoall(each, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call exchanged('alltoall')
    call prepare()
    call MPI_Alltoallv(each, counts, places, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call exchanged('alltoallv')
    call prepare()
    call MPI_Alltoallw(each, counts, bytes, types, all_of, counts, bytes, types, MPI_COMM_WORLD, &
                       ierror)
    call exchanged('alltoallw')
    call prepare()
    call MPI_Reduce(one, all_of, most, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) call summed('reduce')
    call prepare()
    call MPI_Allreduce(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call summed('allreduce')
    call prepare()
    call MPI_Scan(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call scanned('scan', rank + 1)
    call prepare()
    call MPI_Exscan(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call scanned('exscan', rank)
    call prepare()
    call MPI_Reduce_scatter_block(each, all_of, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call reduced_parts('reduce_scatter_block')
    call prepare()
    call MPI_Reduce_scatter(each, all_of, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call reduced_parts('reduce_scatter')
    call prepare()
    all_of(1:most) = one
    call MPI_Reduce_local(one, all_of, most, MPI_INTEGER, MPI_SUM, ierror)
    call check('reduce_local', all(all_of(1:most) == 2 * one))
  end subroutine

  subroutine nonblocking()
    integer :: root
    root = ranks - 1
    call MPI_Ibarrier(MPI_COMM_WORLD, request, ierror)
    call done()
    call prepare()
    call MPI_Ibcast(one, most, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierror)
    call done()
    call check('ibcast', all(one == 100 * root + [(i, i = 1, most)]))
    call prepare()
    call MPI_Igather(one, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierror)
    call done()
    call gathered('igather')
    call prepare()
    call MPI_Iscatter(each, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, request, ierror)
    call done()
    call scattered('iscatter')
    call prepare()
    call MPI_Iallgatherv(one, 2, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
    call done()
    call all_gathered('iallgatherv')
    call prepare()
    call MPI_Ialltoall(each, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
    call done()
    call exchanged('ialltoall')
    call prepare()
    call MPI_Ialltoallw(each, counts, bytes, types, all_of, counts, bytes, types, MPI_COMM_WORLD, &
                        request, ierror)
    call done()
    call exchanged('ialltoallw')
    call prepare()
    call MPI_Iallreduce(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
    call done()
    call summed('iallreduce')
    call prepare()
    call MPI_Iscan(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
    call done()
    call scanned('iscan', rank + 1)
    call prepare()
    call MPI_Ireduce_scatter(each, all_of, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierror)
    call done()
    call reduced_parts('ireduce_scatter')
  end subroutine

  subroutine twice(what)
    character(len=*), intent(in) :: what
    integer :: round
    do round = 1, 2
      call prepare()
      call MPI_Start(request, ierror)
      call done()
      select case (what)
      case ('gathered'); call gathered('persistent')
      case ('scattered'); call scattered('persistent')
      case ('all_gathered'); call all_gathered('persistent')
      case ('exchanged'); call exchanged('persistent')
      case ('summed'); call summed('persistent')
      case ('summed_at_0'); if (rank == 0) call summed('persistent')
      case ('scanned_here'); call scanned('persistent', rank + 1)
      case ('scanned_before'); call scanned('persistent', rank)
      case ('reduced_parts'); call reduced_parts('persistent')
      case default; call check('what it should have made', .false.)
      end select
    end do
    call MPI_Request_free(request, ierror)
  end subroutine

  subroutine persistent()
    integer :: root
    HANDLE(MPI_Info) :: none
    root = ranks - 1
    none = MPI_INFO_NULL
    call MPI_Barrier_init(MPI_COMM_WORLD, none, request, ierror)
    call MPI_Start(request, ierror)
    call done()
    call MPI_Request_free(request, ierror)
    call MPI_Bcast_init(one, most, MPI_INTEGER, 0, MPI_COMM_WORLD, none, request, ierror)
    call prepare()
    call MPI_Start(request, ierror)
    call done()
    call check('bcast_init', all(one == [(i, i = 1, most)]))
    call MPI_Request_free(request, ierror)
    call MPI_Gather_init(one, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, none, request, ierror)
    call twice('gathered')
    call MPI_Gatherv_init(one, 2, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD, none, request, ierror)
    call twice('gathered')
    call MPI_Scatter_init(each, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, none, request, ierror)
    call twice('scattered')
    call MPI_Scatterv_init(each, counts, places, MPI_INTEGER, all_of, 2, MPI_INTEGER, root, MPI_COMM_WORLD, none, request, ierror)
    call twice('scattered')
    call MPI_Allgather_init(one, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, none, request, ierror)
    call twice('all_gathered')
    call MPI_Allgatherv_init(one, 2, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, none, request, ierror)
    call twice('all_gathered')
    call MPI_Alltoall_init(each, 2, MPI_INTEGER, all_of, 2, MPI_INTEGER, MPI_COMM_WORLD, none, request, ierror)
    call twice('exchanged')
    call MPI_Alltoallv_init(each, counts, places, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, MPI_COMM_WORLD, none, &
                            request, ierror)
    call twice('exchanged')
    call MPI_Allreduce_init(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, none, request, ierror)
    call twice('summed')
    call MPI_Reduce_init(one, all_of, most, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, none, request, ierror)
    call twice('summed_at_0')
    call MPI_Scan_init(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, none, request, ierror)
    call twice('scanned_here')
    call MPI_Exscan_init(one, all_of, most, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, none, request, ierror)
    call twice('scanned_before')
    call MPI_Reduce_scatter_block_init(each, all_of, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, none, request, ierror)
    call twice('reduced_parts')
    call MPI_Reduce_scatter_init(each, all_of, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, none, request, ierror)
    call twice('reduced_parts')
  end subroutine
  subroutine operations()
    logical :: l(2), some(2), every(2), odd(2)
    integer :: bits, n
    complex :: z, product_z
    double complex :: w, sum_w
    real :: pair(2), least(2)
    integer :: whole(2), most_of(2)
    double precision :: x(3), greatest(3)
    integer(kind=1) :: tiny_one, tiny_sum
    integer(kind=8) :: big, big_sum
    character(len=4) :: text
    l = [rank == 0, .true.]
    call MPI_Allreduce(l, some, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(l, every, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(l, odd, 2, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierror)
    call check('logicals', all(some) .and. (every(1) .eqv. ranks == 1) .and. every(2) .and. odd(1) .and. &
               (odd(2) .eqv. modulo(ranks, 2) == 1))
    call check('values of logicals', all(transfer(some, [1, 1]) == transfer([.true., .true.], [1, 1])))
    call MPI_Allreduce(ishft(1, rank), bits, 1, MPI_INTEGER, MPI_BOR, MPI_COMM_WORLD, ierror)
    call check('bor', bits == ishft(1, ranks) - 1)
    call MPI_Allreduce(ior(8, rank), bits, 1, MPI_INTEGER, MPI_BAND, MPI_COMM_WORLD, ierror)
    call check('band', bits == 8)
    z = (0., 1.)
    call MPI_Allreduce(z, product_z, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierror)
    call check('complex product', product_z == (0., 1.) ** ranks)
    w = cmplx(rank, 1, kind(w))
    call MPI_Allreduce(w, sum_w, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('double complex', sum_w == cmplx(total, ranks, kind(w)))
    pair = [real(modulo(rank + 1, ranks)), real(rank)]
    call MPI_Allreduce(pair, least, 1, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD, ierror)
    call check('minloc', all(least == [0., real(ranks - 1)]))
    whole = [modulo(rank, 3), rank]
    call MPI_Allreduce(whole, most_of, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
    n = min(ranks - 1, 2)
    call check('maxloc', all(most_of == [n, n]))
    x = [1d0 * rank, -1d0 * rank, 0.25d0]
    call MPI_Allreduce(x, greatest, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierror)
    call check('max', all(greatest == [ranks - 1d0, 0d0, 0.25d0]))
    tiny_one = 1
    call MPI_Allreduce(tiny_one, tiny_sum, 1, MPI_INTEGER1, MPI_SUM, MPI_COMM_WORLD, ierror)
    big = 4000000000_8
    call MPI_Allreduce(big, big_sum, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('short and long integers', tiny_sum == ranks .and. big_sum == ranks * big)
    call MPI_Allreduce(1_MPI_ADDRESS_KIND, big_sum, 1, MPI_AINT, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('addresses', big_sum == ranks)
    call MPI_Allreduce(1_MPI_COUNT_KIND, big_sum, 1, MPI_COUNT, MPI_SUM, MPI_COMM_WORLD, ierror)
    call check('counts', big_sum == ranks)
    text = merge('root', 'none', rank == 0)
    call MPI_Bcast(text, 4, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
    call check('characters', text == 'root')
  end subroutine

  subroutine neighbours()
    HANDLE(MPI_Comm) :: ring
    HANDLE(MPI_Info) :: none
    integer(kind=MPI_ADDRESS_KIND) :: far(2)
    none = MPI_INFO_NULL
    left = modulo(rank - 1, ranks)
    right = modulo(rank + 1, ranks)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierror)
    two = 100 * rank + [1, 2]
    far = [0, 4]
    got = -1
    call MPI_Neighbor_alltoall(two, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, ierror)
    call neighbours_sent('neighbor_alltoall')
    call MPI_Neighbor_alltoallv(two, ones, firsts, MPI_INTEGER, got, ones, firsts, MPI_INTEGER, ring, ierror)
    call neighbours_sent('neighbor_alltoallv')
    call MPI_Neighbor_alltoallw(two, ones, far, types, got, ones, far, types, &
                                ring, ierror)
    call neighbours_sent('neighbor_alltoallw')
    call MPI_Ineighbor_alltoall(two, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, request, ierror)
    call done()
    call neighbours_sent('ineighbor_alltoall')
    call MPI_Ineighbor_alltoallv(two, ones, firsts, MPI_INTEGER, got, ones, firsts, MPI_INTEGER, ring, request, ierror)
    call done()
    call neighbours_sent('ineighbor_alltoallv')
    call MPI_Neighbor_alltoallw_init(two, ones, far, types, got, ones, far, &
                                     types, ring, none, request, ierror)
    call MPI_Start(request, ierror)
    call done()
    call MPI_Request_free(request, ierror)
    call neighbours_sent('neighbor_alltoallw_init')
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, ierror)
    call check('neighbor_allgather', all(got == [left, right]))
    got = -1
    call MPI_Neighbor_allgatherv(rank, 1, MPI_INTEGER, got, ones, [1, 0], MPI_INTEGER, ring, ierror)
    call check('neighbor_allgatherv', all(got == [right, left]))
    got = -1
    call MPI_Ineighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, request, ierror)
    call done()
    call check('ineighbor_allgather', all(got == [left, right]))
    call MPI_Comm_free(ring, ierror)
  end subroutine
  subroutine neighbours_sent(what)
    character(len=*), intent(in) :: what
    call check(what, got(1) == 100 * left + 2 .and. got(2) == 100 * right + 1)
    got = -1
  end subroutine
end program
