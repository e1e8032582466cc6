#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BUILD_FOLDER: installs, moves the installation, and builds the project in this folder
# against it in four ways: CMake's FindMPI with mpicc on the PATH, find_package(Tutti), pkg-config, Meson.
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
check_hello "find_package(Tutti), MPI::MPI_C" "$work/by package/hello_mpi_c"
check_hello "find_package(Tutti), MPI::MPI_CXX" "$work/by package/hello_mpi_cxx"

say "pkg-config"
pc=$(find "$prefix" -name tutti.pc)
# The path has a space, which pkg-config escapes for a shell.
eval "set -- $(PKG_CONFIG_PATH="${pc%/*}" pkg-config --cflags --libs tutti)"
must cc "$here/hello.c" -o "$work/by_pc" "$@"
check_hello pkg-config "$work/by_pc"
# Under the names that build systems look for.
names=$(dirname "$pc")/../tutti/pkgconfig
for name in mpi mpi-c mpi-cxx ompi-c ompi-cxx; do
  eval "set -- $(PKG_CONFIG_PATH="$names" pkg-config --cflags --libs $name)"
  must cc "$here/hello.c" -o "$work/by_$name" "$@"
done
check_hello "pkg-config mpi-c" "$work/by_mpi-c"

# Meson takes ompi-c.pc before anything; here one that is another MPI's lies where pkg-config looks by itself.
if command -v meson >/dev/null && command -v ninja >/dev/null; then
  mkdir "$work/meson" "$work/others"
  cp "$here/hello.c" "$here/meson.build" "$work/meson"
  printf 'Name: ompi-c\nDescription: another MPI\nVersion: 9\nLibs: -lanother_mpi\n' >"$work/others/ompi-c.pc"
  say "Meson, by the PATH"
  (cd "$work/meson" && export PATH="$prefix/bin:$PATH" PKG_CONFIG_LIBDIR="$work/none" && must meson setup by_path && must ninja -C by_path)
  check_hello "Meson, by the PATH" "$work/meson/by_path/hello"
  say "Meson, beside another MPI"
  (cd "$work/meson" && export PATH="$prefix/bin:$PATH" PKG_CONFIG_LIBDIR="$work/others" PKG_CONFIG_PATH="$names" &&
    must meson setup by_pc && must ninja -C by_pc)
  check_hello "Meson, beside another MPI" "$work/meson/by_pc/hello"
fi

say "mpicc and mpicxx"
must "$prefix/bin/mpicc" "$here/hello.c" -o "$work/by_mpicc"
check_hello mpicc "$work/by_mpicc"
must "$prefix/bin/mpicxx" -x c++ "$here/hello.c" -o "$work/by_mpicxx"
check_hello mpicxx "$work/by_mpicxx"
