#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# header_alone.sh INCLUDE_FOLDER: mpi.h compiles by itself, and mpi-ext.h, twice in one file, without a warning, in
# every dialect, with each compiler that is here.
set -u
include=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf '#include <mpi-ext.h>\n#include <mpi.h>\n#include <mpi-ext.h>\nint (*r)(MPI_Comm) = MPIX_Comm_revoke;\nMPI_Status s;\nint (*f)(MPI_Comm, int *) = MPI_Comm_rank;\n' >"$work/a.c"
cp "$work/a.c" "$work/a.cpp"
bad=0 done=0
try() {
  compiler=$1
  shift
  command -v "$compiler" >/dev/null || return 0
  done=$((done + 1))
  "$compiler" -Wall -Wextra -pedantic -Werror -I"$include" "$@" -o "$work/a.o" && return 0
  echo "mpi.h does not compile: $compiler $*"
  bad=$((bad + 1))
}
for compiler in gcc clang; do
  for dialect in c99 c11 c17 gnu17; do try $compiler -std=$dialect -c "$work/a.c"; done
  # C89 has no 64-bit integer of its own, MPI has.
  try $compiler -std=c89 -Wno-long-long -c "$work/a.c"
done
for compiler in g++ clang++; do
  for dialect in c++11 c++17 c++20 gnu++20; do try $compiler -std=$dialect -c "$work/a.cpp"; done
done
echo "$done compilations, $bad failed"
[ $done -gt 0 ] && [ $bad = 0 ]
