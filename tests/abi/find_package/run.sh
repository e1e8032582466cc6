#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BUILD_FOLDER: installs, moves the installation, and builds the project in this folder
# against it in three ways: CMake's FindMPI with mpicc on the PATH, find_package(Tutti), pkg-config.
# Runs the program as a job of one, and of two if the launcher is installed.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TUTTI_CC TUTTI_CXX LD_LIBRARY_PATH CMAKE_PREFIX_PATH MPI_HOME || true

say() { echo "==> $*"; }
must() {
  "$@" >"$work/log" 2>&1 && return
  cat "$work/log"
  echo "failed: $*"
  exit 1
}

must cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved here"
prefix="$work/moved here"

run_hello() {
  said=$(timeout 60 "$@") || { echo "failed ($?): $*"; exit 1; }
  echo "$said"
}
check_hello() {
  say "$1: runs as a job of one"
  run_hello "$2" | grep -qx 'rank 0 of 1' || { echo "no greeting from $2"; exit 1; }
  [ -x "$prefix/bin/mpiexec" ] || return 0
  say "$1: runs on two ranks"
  [ "$(run_hello "$prefix/bin/mpiexec" -n 2 "$2" | sort | tr '\n' ' ')" = 'rank 0 of 2 rank 1 of 2 ' ] ||
    { echo "no greeting from two ranks"; exit 1; }
}

say "FindMPI, by the PATH"
# What built Tutti is here; make need not be.
command -v ninja >/dev/null && export CMAKE_GENERATOR=Ninja
PATH="$prefix/bin:$PATH" must cmake -S "$here" -B "$work/by path" -DHOW=MPI
grep -h '^MPI_C_INCLUDE\|^MPI_C_HEADER\|^MPIEXEC_EXEC\|^MPI_mpi_abi_LIBRARY' "$work/by path/CMakeCache.txt"
grep -q "^MPI_mpi_abi_LIBRARY:FILEPATH=$prefix/" "$work/by path/CMakeCache.txt" ||
  { echo "FindMPI found another library"; exit 1; }
if [ -x "$prefix/bin/mpiexec" ]; then
  grep -q "^MPIEXEC_EXECUTABLE:FILEPATH=$prefix/bin/mpiexec" "$work/by path/CMakeCache.txt" ||
    { echo "FindMPI found another mpiexec"; exit 1; }
fi
must cmake --build "$work/by path"
check_hello "FindMPI, C" "$work/by path/hello_c"
check_hello "FindMPI, C++" "$work/by path/hello_cxx"

say "find_package(Tutti)"
must cmake -S "$here" -B "$work/by package" -DHOW=Tutti "-DCMAKE_PREFIX_PATH=$prefix"
must cmake --build "$work/by package"
check_hello "find_package(Tutti)" "$work/by package/hello_c"

say "pkg-config"
pc=$(find "$prefix" -name tutti.pc)
# The path has a space, which pkg-config escapes for a shell.
eval "set -- $(PKG_CONFIG_PATH="${pc%/*}" pkg-config --cflags --libs tutti)"
must cc "$here/hello.c" -o "$work/by_pc" "$@"
check_hello pkg-config "$work/by_pc"

say "mpicc and mpicxx"
must "$prefix/bin/mpicc" "$here/hello.c" -o "$work/by_mpicc"
check_hello mpicc "$work/by_mpicc"
must "$prefix/bin/mpicxx" -x c++ "$here/hello.c" -o "$work/by_mpicxx"
check_hello mpicxx "$work/by_mpicxx"
