#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# arm64.sh SOURCE SUITE: in a fresh Debian of that release for this machine, with what packaging/debian/control declares for
# crossing and nothing else, the Debian packages are made for arm64, without network. They hold what those for this machine hold,
# of arm64 alone, and are installed; a program in C and one in Fortran, which their wrappers make, run by their mpirun, in an
# emulator. TUTTI_KEEP_PACKAGES names a folder that gets them. Exit 77: not asked for (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source_dir=$(cd "${1:?usage: arm64.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: arm64.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
may_make_root "$source_dir"
[ "$(dpkg --print-architecture)" != arm64 ] || skip "this machine is of arm64, where fresh_debs.sh makes these packages"
foreign=arm64
make_root $suite $tools crossbuild-essential-$foreign lintian
install $tools crossbuild-essential-$foreign
install_declared none --no-download
unpack_sources "$source_dir" /src
cp -R "$root/src/packaging/debian" "$root/src/debian"
say "dpkg-buildpackage for arm64"
offline sh -c 'cd /src && dpkg-buildpackage -aarm64 -Pcross,nocheck -us -uc -b' >"$work/deb.log" 2>&1 ||
  { grep -A8 'CMake Error' "$work/deb.log" || tail -40 "$work/deb.log"; fail "the Debian packages do not build for arm64"; }
# What dpkg's own tools say of crossing is no fault.
grep -A5 -E '^[^ ]+:[0-9]+:[0-9]+: warning:|^cc1(plus)?: |^Warning: ' "$work/deb.log" && fail "the cross compiler warns"

. "$(dirname "$0")/debs.sh"
debs_hold_what_they_should
for part in $parts; do
  said=$(dpkg-deb -f "$root/${part}"_*.deb Architecture)
  [ "$said" = arm64 ] || [ $part = tutti-doc ] || fail "$part is a package for $said"
done
while read -r file; do
  machine=$({ readelf -h "$file" 2>/dev/null || true; } | sed -n 's/^ *Machine: *//p' | sort -u)
  [ -z "$machine" ] || [ "$machine" = AArch64 ] || fail "${file#"$work/unpacked/"} is of $machine"
done < <(find "$work/unpacked" -type f)
grep -rlI aarch64-linux-gnu-g "$work/unpacked" | grep . && fail "these name the compiler of another machine"
install lintian
offline sh -c 'lintian --fail-on error,warning /tutti_*.changes' || fail "lintian finds something"
[ -z "${TUTTI_KEEP_PACKAGES:-}" ] || { mkdir -p "$TUTTI_KEEP_PACKAGES/$suite" && cp "$root"/tutti*_arm64.deb "$TUTTI_KEEP_PACKAGES/$suite"; }

say "installed, and run in an emulator"
offline sh -c 'dpkg -i /tutti_*.deb /tutti-lib_*.deb' >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; fail "the packages are not installed"; }
# The others want compilers of arm64, which would drive out this machine's.
for part in tutti-dev tutti-fortran-dev; do dpkg-deb -x "$root/${part}"_*.deb "$root"; done
emulated=qemu-aarch64
says() {  # WHAT COMMAND…
  local expected=$1
  shift
  [ "$(offline "$@" 2>&1)" = "$expected" ] || { offline "$@" || true; fail "$* does not print '$expected'"; }
}
offline $emulated /usr/lib/tutti/bin/tutti info >"$work/info" || fail "tutti info fails"
grep -q 'PMIx .*compiled with' "$work/info" || { cat "$work/info"; fail "tutti info does not name what it has loaded"; }
cat >"$root/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, size, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  MPI_Finalize();
  return 0;
}
END
offline env TUTTI_CC=aarch64-linux-gnu-gcc /usr/lib/tutti/bin/mpicc /hello.c -o /hello
for ranks in 1 2 4; do
  says "$ranks ranks, sum $((ranks * (ranks - 1) / 2))" $emulated /usr/lib/tutti/bin/mpirun -n $ranks $emulated /hello
done
# Sections, components and pointers of arrays, in mpi_f08.
for name in sections large; do
  offline env TUTTI_FC=aarch64-linux-gnu-gfortran /usr/lib/tutti/bin/mpifort /src/tests/fortran/{check,$name}.f90 -o /$name
  for ranks in 1 3; do
    offline $emulated /usr/lib/tutti/bin/mpirun -n $ranks $emulated /$name >"$work/said" 2>&1 || { cat "$work/said"; fail "$name.f90 fails on $ranks ranks"; }
    ! grep wrong: "$work/said" || fail "$name.f90 is wrong on $ranks ranks"
  done
done
offline dpkg --purge tutti:arm64 tutti-lib:arm64 >"$work/apt.log" 2>&1 || { tail -5 "$work/apt.log"; fail "the packages cannot be purged"; }
say "the packages for arm64 are right"
