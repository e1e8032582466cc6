#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What compilers hand over for a component of an array, a%x, in whichever way a procedure declares its argument: for
# docs/fortran.md, which says so. A compiler that hands over the memory needs no refusal of it any more.
# usage: handed_over.sh CC COMPILER...
cc=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
# The first field of each compiler's descriptors is the address.
echo 'void look_(void **descriptor, long *base) { *base = (long)*descriptor; }' >look.c
$cc -c look.c -o look.o || exit 1

# "the memory"; "the memory, moved": the array is at another place afterwards; "another place" of the array; "a copy".
handed_over() {
  cat >program.f90 <<END
program p
  implicit none
  interface
    subroutine look(b, base) $2
      implicit none
      $1 :: b
      integer(8) :: base
    end subroutine
  end interface
  type item
    integer :: i, x, y
  end type
  type(item), allocatable, target, asynchronous :: a(:)
  integer(8) :: before, after, base
  allocate (a(5))
  before = loc(a)
  call look(a%x, base)
  after = loc(a)
  if (base == before + 4 .and. before == after) then
    print "(a)", 'the memory'
  else if (base == before + 4) then
    print "(a)", 'the memory, moved'
  else if (base >= before .and. base < before + 60) then
    print "(a)", 'another place'
  else
    print "(a)", 'a copy'
  end if
  stop ! without freeing an array that has been moved
end program
END
  $compiler program.f90 look.o -o program >log 2>&1 && ./program 2>log || head -n 3 log
}
failed=0 tried=0
expect() {
  said=$(handed_over "$1" "$2")
  [ "$said" = "$3" ] || { echo "$compiler, $1 $2: $said (it was: $3)"; failed=1; }
}
c='bind(C, name="look_")'
for compiler; do
  command -v "$compiler" >/dev/null || continue
  case $compiler in
    gfortran) version=$(gfortran -dumpversion) && version=gfortran-${version%%.*} ;;
    *) version=$compiler ;;
  esac
  case $version in
    gfortran-11) by_c='another place' class='another place' ;;
    gfortran-12 | gfortran-13) by_c='the memory, moved' class='another place' ;;
    gfortran-14) by_c='the memory, moved' class='a copy' ;;
    flang*) by_c='the memory' class='the memory' ;;
    *) continue ;;
  esac
  own='a copy' typed='a copy'
  case $version in flang*) own='the memory' typed='the memory' ;; esac
  for more in '' ', asynchronous' ', intent(in)' ', intent(inout), asynchronous' ', target' ', optional'; do
    expect "type(*), dimension(..)$more" '' "$own"
    expect "type(*), dimension(..)$more" "$c" "$by_c"
  done
  expect 'type(*), dimension(..), contiguous' '' 'a copy'
  expect 'class(*), dimension(..), asynchronous' '' "$class"
  expect 'integer, dimension(:), asynchronous' '' "$typed"
  tried=1
done
[ $tried = 1 ] || exit 77
exit $failed
