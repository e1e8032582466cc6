#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# wrappers.sh BUILD_FOLDER: what mpicc and mpicxx print, pass on and refuse; also from a path with a
# space, through a symbolic link, and from the PATH.
set -u
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0 done=0

# expect WHAT EXPECTED ACTUAL
expect() {
  done=$((done + 1))
  [ "$2" = "$3" ] && return
  bad=$((bad + 1))
  printf 'wrong: %s\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3"
}
refused() {
  done=$((done + 1))
  if said=$("$@" 2>&1 >/dev/null); then
    bad=$((bad + 1)); echo "wrong: not refused: $*"
  elif [ -z "$said" ]; then
    bad=$((bad + 1)); echo "wrong: refused without a word: $*"
  fi
}

unset TUTTI_CC TUTTI_CXX OMPI_CC OMPI_CXX MPICH_CC MPICH_CXX I_MPI_CC I_MPI_CXX OMPI_FC MPICH_FC MPICH_F90 I_MPI_FC I_MPI_F90
real=$(readlink -f "$build")
include=-I$real/include
libs="-L$real/lib -Wl,-rpath,$real/lib -Wl,--enable-new-dtags -lmpi_abi"
mpicc=$build/bin/mpicc
expect "-show" "cc $include $libs" "$($mpicc -show)"
expect "-showme" "cc $include $libs" "$($mpicc -showme)"
expect "-show of a compilation" "cc $include -c a.c -O2" "$($mpicc -show -c a.c -O2)"
expect "-show of a link" "cc $include a.o -o a $libs" "$($mpicc -show a.o -o a)"
for option in -c -E -S -M -MM -fsyntax-only; do
  expect "-show $option" "cc $include $option a.c" "$($mpicc -show $option a.c)"
  for before in -Xlinker -Xassembler -Xpreprocessor; do
    expect "-show $before $option" "cc $include a.c $before $option -o a $libs" "$($mpicc -show a.c $before $option -o a)"
  done
done
expect "-Xlinker with a form of ours" "cc $include -c a.c -Xlinker -link-info" "$($mpicc -show -c a.c -Xlinker -link-info)"
expect "-Xlinker in front of -c" "cc $include -Xlinker -E -c a.c" "$($mpicc -show -Xlinker -E -c a.c)"
expect "-showme:compile" "$include" "$($mpicc -showme:compile)"
expect "-showme:link" "$libs" "$($mpicc -showme:link)"
expect "-showme:incdirs" "$real/include" "$($mpicc -showme:incdirs)"
expect "-showme:libdirs" "$real/lib" "$($mpicc -showme:libdirs)"
expect "-showme:libs" "mpi_abi" "$($mpicc -showme:libs)"
expect "--showme:libs" "mpi_abi" "$($mpicc --showme:libs)"
expect "-compile-info" "cc $include" "$($mpicc -compile-info)"
expect "-link-info" "cc $libs" "$($mpicc -link-info)"
expect "-compile_info" "cc $include" "$($mpicc -compile_info)"
expect "-link_info" "cc $libs" "$($mpicc -link_info)"
case $($mpicc -showme:version) in
  "mpicc: Tutti "[0-9]*.*) done=$((done + 1)) ;;
  *) expect "-showme:version" "mpicc: Tutti N.N.N" "$($mpicc -showme:version)" ;;
esac
expect "--version" "$(cc --version)" "$($mpicc --version)"
expect "-dumpmachine" "$(cc -dumpmachine)" "$($mpicc -dumpmachine)"
expect "mpicxx" "c++ $include $libs" "$($build/bin/mpicxx -show)"
expect "mpic++" "c++ $include $libs" "$($build/bin/mpic++ -show)"
expect "TUTTI_CC" "ccache gcc $include -c a.c" "$(TUTTI_CC='ccache gcc' $mpicc -show -c a.c)"
expect "TUTTI_CXX" "clang++ $include -c a.cc" "$(TUTTI_CXX=clang++ $build/bin/mpicxx -show -c a.cc)"
expect "TUTTI_CC and mpicxx" "c++ $include" "$(TUTTI_CC=nocc $build/bin/mpicxx -compile-info)"
expect "arguments with spaces" "cc $include -c '-DA=\"b c\"' 'd e.c'" "$($mpicc -show -c '-DA="b c"' 'd e.c')"
defaults="-Wl,$real/lib/tutti/sanitizers.o"
expect "linking with -fsanitize" "cc $include -fsanitize=address a.c $defaults $libs" "$($mpicc -show -fsanitize=address a.c)"
expect "compiling with -fsanitize" "cc $include -fsanitize=address -c a.c" "$($mpicc -show -fsanitize=address -c a.c)"
expect "-fsanitize in TUTTI_CC" "cc -fsanitize=thread $include a.o $defaults $libs" \
  "$(TUTTI_CC='cc -fsanitize=thread' $mpicc -show a.o)"
expect "--show" "cc $include -c a.c" "$($mpicc --show -c a.c)"
expect "-showme:command" "cc" "$($mpicc -showme:command)"
expect "--showme:command of another" "ccache gcc" "$(TUTTI_CC='ccache gcc' $mpicc --showme:command)"
expect "-cc=" "clang $include -c a.c" "$($mpicc -cc=clang -show -c a.c)"
expect "-cc= behind" "clang $include -c a.c" "$(TUTTI_CC=gcc $mpicc -show -c a.c -cc=clang)"
expect "-cxx=" "clang++ $include -c a.cc" "$($build/bin/mpicxx -cxx=clang++ -show -c a.cc)"
expect "-CC= of mpiCC" "clang++ $include -c a.cc" "$($build/bin/mpiCC -CC=clang++ -show -c a.cc)"
for variable in OMPI_CC MPICH_CC I_MPI_CC; do
  expect "$variable" "clang $include -c a.c" "$(env $variable=clang $mpicc -show -c a.c)"
  expect "$variable and TUTTI_CC" "gcc $include -c a.c" "$(env $variable=clang TUTTI_CC=gcc $mpicc -show -c a.c)"
done
for variable in OMPI_CXX MPICH_CXX I_MPI_CXX; do
  expect "$variable" "clang++ $include -c a.cc" "$(env $variable=clang++ $build/bin/mpicxx -show -c a.cc)"
done
for name in mpicc_abi mpicc-abi; do
  expect "$name" "cc $include $libs" "$($build/bin/$name -show)"
done
for name in mpiCC mpicxx_abi mpicxx-abi; do
  expect "$name" "c++ $include $libs" "$($build/bin/$name -show)"
done
for option in -mpi-abi -mt_mpi -link_mpi=opt; do
  expect "$option" "cc $include -c a.c" "$($mpicc $option -show -c a.c)"
done
if [ -x "$build/bin/mpifort" ]; then
  for name in mpifort mpif90 mpif77 mpifort_abi mpifort-abi; do
    expect "-showme:command of $name" "nofc" "$($build/bin/$name -fc=nofc -showme:command)"
  done
  for variable in OMPI_FC MPICH_FC MPICH_F90 I_MPI_FC I_MPI_F90; do
    expect "$variable" "nofc" "$(env $variable=nofc $build/bin/mpifort -showme:command)"
    expect "$variable and TUTTI_FC" "ourfc" "$(env $variable=nofc TUTTI_FC=ourfc $build/bin/mpifort -showme:command)"
  done
fi
for option in -help -showme:help --showme:help; do
  case $($mpicc $option) in
    "usage: mpicc "*"-cc=COMMAND"*"mpicc(1)"*) done=$((done + 1)) ;;
    *) expect "$option" "usage: mpicc …" "$($mpicc $option)" ;;
  esac
done
expect "--help" "$(cc --help)" "$($mpicc --help)"
refused $mpicc --showme:nothing
refused $mpicc --showmes
refused $mpicc -cc=no-such-compiler -c a.c
refused $mpicc -showme:nothing
refused $mpicc -showme:
refused $mpicc -showmes
refused $mpicc -show-me
refused env TUTTI_CC=no-such-compiler $mpicc -c a.c
refused $mpicc "$work/no-such-file.c" -o "$work/a"

ln -s "$real/bin/mpicc" "$work/linked"
expect "through a link" "$include" "$("$work/linked" -showme:compile)"
expect "from the PATH" "$include" "$(PATH=$real/bin:$PATH; mpicc -showme:compile)"
expect "by sh" "$include" "$(cd "$real/bin" && sh mpicc -showme:compile)"

mkdir -p "$work/a b/bin" "$work/a b/lib"
cp "$real/bin/mpicc" "$work/a b/bin/"
cp -r "$real/include" "$work/a b/"
expect "moved to a path with a space" "-I\"$work/a b/include\"" "$("$work/a b/bin/mpicc" -showme:compile)"
printf '#include <mpi.h>\nint main(void) { return MPI_VERSION - 5; }\n' >"$work/a.c"
"$work/a b/bin/mpicc" -c "$work/a.c" -o "$work/a.o"
expect "compiling from there" 0 $?
echo "$done checks, $bad wrong"
[ $bad = 0 ]
