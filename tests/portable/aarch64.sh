#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Cross-compiles library, launcher and tests for aarch64 against the root that AARCH64_SYSROOT names (without it sysroot.sh
# makes one below TUTTI_PACKAGE_CACHE, ~/.cache/tutti/packages, the first time), and runs under qemu the unit tests of base,
# coll, exec and contract, those of the binary interface, and programs in C and Fortran on one to four ranks, which the
# emulated mpirun starts. That proves nothing of the order of memory: qemu runs on a machine of stricter order, and those
# arguments stand beside the code.
# usage: aarch64.sh SOURCE [BUILD]   (BUILD is kept; without it the tree is a temporary one)
# Exit 77: not asked for (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source=$1
skip() { echo "skipped: $*"; exit 77; }
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$tool" >/dev/null || skip "$tool is missing (Debian: g++-aarch64-linux-gnu, qemu-user)"
done
if [ -z "${AARCH64_SYSROOT:-}" ]; then
  here=$(dirname "$0")
  folder=${TUTTI_PACKAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti/packages}
  AARCH64_SYSROOT=$folder/aarch64-$(sha256sum <"$here/sysroot.sh" | cut -c1-16)
  if [ ! -d "$AARCH64_SYSROOT" ]; then
    [ "$(id -u)" = 0 ] || skip "only root makes a root of aarch64; AARCH64_SYSROOT may name one"
    mkdir -p "$folder"
    rm -rf "$AARCH64_SYSROOT.part"
    sh "$here/sysroot.sh" "$AARCH64_SYSROOT.part" >"$AARCH64_SYSROOT.log" 2>&1 ||
      { tail -5 "$AARCH64_SYSROOT.log"; skip "sysroot.sh could not make a root of aarch64"; }
    rm -f "$AARCH64_SYSROOT.log"
    mv "$AARCH64_SYSROOT.part" "$AARCH64_SYSROOT"
  fi
  export AARCH64_SYSROOT
fi
# No program takes the first for a setting, and the second makes tests longer that are long enough in an emulator.
unset TUTTI_PACKAGE_CACHE TUTTI_LONG
[ -d "$AARCH64_SYSROOT/usr/include" ] || skip "AARCH64_SYSROOT names $AARCH64_SYSROOT, which is no root to compile against"
build=${2:-}
if [ -z "$build" ]; then
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
fi
cmake -S "$source" -B "$build" -G Ninja --toolchain "$source/tests/portable/aarch64.cmake" >"$build.configured" ||
  { cat "$build.configured"; rm -f "$build.configured"; exit 1; }
rm -f "$build.configured"
cmake --build "$build" -j "${TUTTI_JOBS:-2}" | tail -n 20
for made in lib/libmpi_abi.so.1 bin/mpirun; do
  aarch64-linux-gnu-readelf -h "$build/$made" | grep -q 'Machine:.*AArch64' || { echo "$made is not of aarch64"; exit 1; }
done
# Emulation takes ten times as long: the limits are for that, and the long tier is left out. Not among these are tests of the
# interface that start compilers or programs without it, and those of two things that qemu keeps from a program: whose a
# connection is, by the kernel's sock_diag, and in /proc the signals that another thread blocks, which qemu does by itself.
cd "$build"
ctest --output-on-failure --timeout 1500 -j 2 -LE '^long$' -R '^(unit|coll|exec|types|abi)\.|^contract\.deadlock$' \
  -E '^unit\.(layers|tiers|tidy|peer_owner|own_threads)|^abi\.(version|loaded_late|find_package|sanitizers|type_tags|fatal|interposed)' --no-tests=error
emulated=(qemu-aarch64 -L "$AARCH64_SYSROOT")
said=$(mktemp)
# runs NAME RANKS WORD…: a program below tests/ ends well; the words are options of mpirun, or behind -- its own arguments.
runs() {
  local name=$1 ranks=$2 options=()
  shift 2
  while [ $# -gt 0 ]; do
    [ "$1" != -- ] || { shift; break; }
    options+=("$1")
    shift
  done
  timeout 300 "${emulated[@]}" bin/mpirun -n "$ranks" ${options[@]+"${options[@]}"} "${emulated[@]}" "tests/$name" "$@" >"$said" 2>&1 &&
    ! grep -q 'wrong:' "$said" || { echo "wrong: $name on $ranks ranks ${options[*]+${options[*]}}:"; cat "$said"; exit 1; }
}
for name in p2p.order p2p.completion p2p.partitioned coll.everything coll.requests coll.persistent rma.fence rma.pscw \
  rma.lock rma.atomics datatype.usage op.predefined comm.communicators file.views env.environment progress.overlap; do
  for ranks in 1 2 3 4; do runs programs/program."$name" $ranks; done
  runs programs/program."$name" 3 --set transport.shared_memory=off
  echo "ok: program.$name on 1 to 4 ranks, and on 3 by messages"
done
# Its compiler describes arrays by itself, and has another kind of long numbers than x86's.
if [ -e tests/fortran/fortran.sections ]; then
  for name in calls.mpif calls.mpi calls.mpi_f08 sections sections_later described callbacks older older_mpif mixed large dense fixed_form \
    chapters_{comm,type,p2p,coll,rma,file}_{f08,mpi,mpif}; do
    for ranks in 1 3; do runs fortran/fortran."$name" $ranks -- "$PWD/$name.data"; done
    echo "ok: fortran.$name on 1 and 3 ranks"
  done
else
  echo "Fortran is left out: there is no aarch64-linux-gnu-gfortran (Debian: gfortran-aarch64-linux-gnu)"
fi
rm -f "$said"
