#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A CMake project of a user's finds the Fortran of this installation, by FindMPI and by its own package, and runs.
# usage: find_package.sh BUILD_TREE SOURCE_TREE WORK_FOLDER COMPILER CMAKE
build=$1 source=$2 work=$3 compiler=$4 cmake=$5
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1
DESTDIR= "$cmake" --install "$build" --prefix "$work/installed" >install.log 2>&1 || { tail install.log; exit 1; }
PATH=$work/installed/bin:$PATH
export PATH
"$cmake" -S "$source/tests/fortran/find_package" -B user "-DSOURCES=$source/tests/fortran" \
  "-DCMAKE_Fortran_COMPILER=$compiler" "-DCMAKE_PREFIX_PATH=$work/installed" >configure.log 2>&1 ||
  { tail -n 30 configure.log; exit 1; }
grep MPI_Fortran_ configure.log
"$cmake" --build user >build.log 2>&1 || { tail -n 30 build.log; exit 1; }
for program in by_find_mpi by_tutti; do
  mpirun -n 2 "user/$program" || exit 1
done
PKG_CONFIG_PATH=$(dirname "$(find "$work/installed" -name tutti-fort.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs tutti-fort) || exit 1
[ -r "$(pkg-config --variable=fmoddir tutti-fort)/mpi_f08.mod" ] || { echo "pkg-config's fmoddir has no modules"; exit 1; }
"$compiler" "$source/tests/fortran/check.f90" "$source/tests/fortran/callbacks.f90" -J "$work" -o by_pkg_config $flags &&
  mpirun -n 2 ./by_pkg_config && rm -rf "$work"
