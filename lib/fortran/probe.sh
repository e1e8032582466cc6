#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: probe.sh [--run=COMMAND] FC CC…   finds out how a Fortran compiler has to hand over the buffers of mpi_f08
# (descriptor.h), and whether it has reals of kind 10, and prints it: "c" or "own", and the flags that the library is
# compiled with. Works in the current folder, into files that begin with probe_. FC is one word of the command line, CC may
# be several. COMMAND runs what the compilers make for another processor. Fails with a sentence where neither is right.
sources=$(dirname -- "$(readlink -f -- "$0")")
run=
case $1 in
  --run=*) run=${1#*=}; shift ;;
esac
fc=$1
shift

# What C sees: the sum of n * a(n) of an array of 4-byte integers, whose rows have to be where the descriptor says.
cat >probe_look.c <<'END'
#include "descriptor.h"
int probe_look_(const descriptor *d, int *copied) {
  struct array a;
  int sum = 0;
#ifdef TUTTI_FORTRAN_EVERY_SPAN
  if ((size_t)d->span != d->elem_len) return -3;
#endif
  *copied = is_copy(d);
  if (array_of(d, &a) != kWell) return -1;
  if (a.elem_len < 4 && !(a.rank == 1 && a.elem_len == 3)) return -2;
  if (a.rank == 0) return *(int *)a.base;
  for (ptrdiff_t i = 0; i < a.dim[0].extent; i++) sum += (int)(i + 1) * (int)(*(unsigned *)(a.base + i * a.dim[0].stride) & 0xffffff);
  return sum;
}
END

# 1 or more for what is wrong, by a program that may not even be compiled.
interface() {
  printf '%s\n' 'module probe_interface' '  implicit none' '  interface' "    function probe_look(buf, copied) result(sum) $1" \
    '      implicit none' '      type(*), dimension(..) :: buf' '      integer :: copied, sum' '    end function' \
    '  end interface' '  type item' '    integer :: i, x, y' '  end type' 'end module'
}
components() {
  cat <<'END'
program probe
  use probe_interface
  implicit none
  type(item), allocatable, target :: a(:)
  type(item), pointer :: p(:)
  integer, allocatable, target :: from_zero(:)
  integer, pointer :: q(:)
  integer :: k, copied, here, sum
  integer(8) :: before, after
  logical :: known
  allocate (a(5), from_zero(0:4))
  do k = 1, 5
    a(k) = item(100 * k, k, 10 * k)
    from_zero(k - 1) = k
  end do
  before = loc(a)
  sum = probe_look(a%x, here)
  after = loc(a)
  if (sum /= 55 .or. before /= after) stop 1
  if (probe_look(a(1:5:2)%y, copied) /= 10 * (1 + 6 + 15)) stop 1
  p => a(2:5:2)
  if (probe_look(p%x, copied) /= 2 + 2 * 4) stop 1
  if (probe_look(p(2)%x, copied) /= 4) stop 1
  if (probe_look(from_zero(4:0:-2), copied) /= 5 + 2 * 3 + 3 * 1) stop 1
  if (probe_look(from_zero, copied) /= 55) stop 1
  known = here == 1 .and. copied == 0
  q(0:) => from_zero(0:4:2)
  if (probe_look(q, copied) /= 1 + 2 * 3 + 3 * 5) stop 1
  if (.not. known .or. copied /= 0) stop 2
end program
END
}
polymorphic() {
  cat <<'END'
program probe
  use probe_interface
  implicit none
  integer :: i(6) = [1, 2, 3, 4, 5, 6]
  type(item) :: t(4)
  t = [item(7, 1, 1), item(8, 1, 1), item(9, 1, 1), item(10, 1, 1)]
  if (one(i(2)) /= 2) stop 1
  if (one(t(2)) /= 8) stop 1
  if (declared(t(3)) /= 9) stop 1
  if (many(i(1:6:2)) /= 1 + 6 + 15) stop 1
  if (many(t(1:4:3)) /= 7 + 20) stop 1
contains
  integer function one(x)
    class(*), intent(in) :: x
    integer :: copied
    one = probe_look(x, copied)
  end function
  integer function declared(x)
    class(item), intent(in) :: x
    integer :: copied
    declared = probe_look(x, copied)
  end function
  integer function many(x)
    class(*), intent(in) :: x(:)
    integer :: copied
    many = probe_look(x, copied)
  end function
end program
END
}
characters() {
  cat <<'END'
program probe
  use probe_interface
  implicit none
  character(3) :: c(5) = [character(3) :: 'abc', 'bcd', 'cde', 'def', 'efg']
  integer :: copied
  if (many(c(1:5:2)) /= probe_look(c(1:5:2), copied)) stop 1
contains
  integer function many(x)
    class(*), intent(in) :: x(:)
    integer :: copied
    many = probe_look(x, copied)
  end function
end program
END
}

# Whether arrays of characters come with the length of an element, however they were declared. C sees the bytes of all.
cat >probe_characters.c <<'END'
#include "descriptor.h"
int probe_look_(const descriptor *d, int *copied) {
  struct array a;
  *copied = is_copy(d);
  if (array_of(d, &a) != kWell || number_of(d) != kCharacters) return -1;
  for (int i = 0; i < a.rank; i++) a.elem_len *= (size_t)a.dim[i].extent;
  return (int)a.elem_len;
}
END
lengths() {
  cat <<'END'
module probe_lengths
  use probe_interface
  implicit none
  type named
    integer :: i
    character(7) :: of_seven, of_many(4)
    character(:), allocatable :: deferred(:)
  end type
contains
  subroutine expect(bytes, is)
    integer, intent(in) :: bytes, is
    if (bytes /= is) stop 1
  end subroutine
  subroutine assumed(x, bytes)
    character(*) :: x(:)
    integer :: bytes, copied
    call expect(probe_look(x, copied), bytes)
    call expect(probe_look(x(2:3), copied), 2 * len(x))
  end subroutine
  subroutine explicit(x, n, length)
    integer :: n, length, copied
    character(length) :: x(n)
    call expect(probe_look(x, copied), n * length)
  end subroutine
  subroutine older(x)
    character :: x(6)
    integer :: copied
    call expect(probe_look(x, copied), 6)
  end subroutine
  function of_length(n) result(r)
    integer, intent(in) :: n
    character(n) :: r(3)
    r = 'q'
  end function
  function of_any(n) result(r)
    integer, intent(in) :: n
    character(:), allocatable :: r(:)
    allocate (character(n) :: r(3))
    r = 'q'
  end function
end module
program probe
  use probe_lengths
  implicit none
  character(10), target :: a(5)
  character(10), pointer :: p(:)
  character :: single(6)
  character(:), allocatable :: deferred(:)
  character(:), pointer :: q(:)
  character(9), allocatable :: allocated_(:, :)
  type(named) :: x(3)
  integer :: copied
  a = 'b'
  call expect(probe_look(a, copied), 50)
  call expect(probe_look(a(2:3), copied), 20)
  call expect(probe_look(a(:)(2:4), copied), 15)
  call expect(probe_look(single, copied), 6)
  allocate (character(8) :: deferred(4))
  call expect(probe_look(deferred, copied), 32)
  call expect(probe_look(deferred(2:3), copied), 16)
  call assumed(deferred, 32)
  deferred = [character(12) :: 'a', 'b', 'c']
  call expect(probe_look(deferred, copied), 36)
  call assumed(deferred, 36)
  deferred = reshape(['abc', 'def'], [2])
  call expect(probe_look(deferred, copied), 6)
  allocate (allocated_(3, 2))
  call expect(probe_look(allocated_, copied), 54)
  p => a(1:5:2)
  call expect(probe_look(p, copied), 30)
  q => a
  call expect(probe_look(q, copied), 50)
  call expect(probe_look(x%of_seven, copied), 21)
  call expect(probe_look(x(2)%of_many, copied), 28)
  allocate (character(6) :: x(1)%deferred(5))
  call expect(probe_look(x(1)%deferred, copied), 30)
  call expect(probe_look(of_length(11), copied), 33)
  call expect(probe_look(of_any(11), copied), 33)
  call expect(probe_look(['ab', 'cd'], copied), 4)
  call assumed(a, 50)
  call explicit(a, 5, 10)
  call explicit(a, 10, 5)
  call older(a(1))
end program
END
}

# Whether what RESHAPE allocates has all that belongs to its descriptor, where something else has been on the stack.
intrinsics() {
  cat <<'END'
program probe
  use probe_interface
  implicit none
  integer :: c(4) = [1, 2, 3, 4], sum
  call leave(123456789012345_8)
  call look()
  if (sum /= 1 + 4 + 9 + 16) stop 1
contains
  subroutine leave(what)
    integer(8), intent(in) :: what
    integer(8) :: junk(400)
    junk = what
    call use(junk)
  end subroutine
  subroutine use(junk)
    integer(8), intent(in) :: junk(:)
    if (junk(1) == 5) print *, junk
  end subroutine
  subroutine look()
    integer, allocatable :: d(:)
    integer :: copied
    d = reshape(c, [4])
    sum = probe_look(d, copied)
    d = pack(c, c < 4)
    if (probe_look(d, copied) /= 14) stop 1
    call look_again()
  end subroutine
  subroutine look_again()
    integer, allocatable :: d(:, :)
    integer :: copied
    d = reshape(c, [2, 2])
    if (probe_look(d(:, 1), copied) /= 5) stop 1
  end subroutine
end program
END
}

# Whether a precision of 18 digits is that of kind 10, the numbers of C's long double on x86. Compilers for one processor
# differ: for others it is a number of 16 bytes by IEEE.
printf '%s\n' 'program probe' '  if (selected_real_kind(18) /= 10) stop 10' 'end program' >probe_reals.f90
reals=
{ $fc probe_reals.f90 -o probe_reals && $run ./probe_reals; } >probe_log 2>&1
case $? in
  0) ;;
  10) reals=-DTUTTI_FORTRAN_NO_REAL10 ;;
  *) echo "$fc makes no program that runs here${run:+ by $run}: $(head -n 3 probe_log)" >&2; exit 1 ;;
esac

# The exit code of a program that calls what $looks says; 99: it is not compiled.
looks=probe_look.c
tried() {
  binding=$1 flags=$2 program=$3
  shift 3
  interface "$binding" >probe_interface.f90
  $program >probe_program.f90
  "$@" -std=gnu11 $flags "-I$sources" -c $looks -o probe_look.o >probe_log 2>&1 || return 99
  $fc probe_interface.f90 probe_program.f90 probe_look.o -o probe_program >>probe_log 2>&1 || return 99
  $run ./probe_program >>probe_log 2>&1
}

by_c='bind(C, name="probe_look_")' own=-DTUTTI_FORTRAN_OWN_DESCRIPTORS told=-DTUTTI_FORTRAN_COPIES_ARE_TOLD
characters=-DTUTTI_FORTRAN_CHARACTERS_ARE_TOLD
tried "$by_c" '' components "$@"
case $? in
  0 | 2)
    told=
    tried "$by_c" '' polymorphic "$@" || told=-DTUTTI_FORTRAN_OTHERS_ARE_WRONG
    looks=probe_characters.c
    tried "$by_c" "$characters" lengths "$@" && told="$told $characters"
    echo c $told $reals
    exit
    ;;
esac
tried '' "$own $told" components "$@"
case $? in
  0) ;;
  2) told= ;;
  *) echo "this compiler describes the buffers of mpi_f08 neither as C does nor as gfortran 9 and later" >&2; exit 1 ;;
esac
# Where all have their span, any span is believed.
tried '' "$own -DTUTTI_FORTRAN_EVERY_SPAN" intrinsics "$@" || told="$told -DTUTTI_FORTRAN_SPANS_MAY_BE_UNSET"
tried '' "$own" characters "$@" || told="$told -DTUTTI_FORTRAN_SPANS_ARE_SHORT"
looks=probe_characters.c
tried '' "$own $told $characters" lengths "$@" && told="$told $characters"
echo own $own $told $reals
