#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpifort: its -show forms, whose compiler it calls, what it says where there are no modules, and that
# `tutti fortran` then makes them.   usage: wrapper.sh BUILD_TREE
bin=$1/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset TUTTI_FC OMPI_FC MPICH_FC
export XDG_DATA_HOME="$work/data"
must() { "$@" >out 2>&1 || { cat out; echo "failed: $*"; exit 1; }; }
must_say() { grep -q -- "$1" out || { cat out; echo "does not say '$1': $2"; exit 1; }; }

for name in mpifort mpif77 mpif90; do
  must "$bin/$name" -show
  must_say -lmpifort_abi "$name -show"
  must_say -lmpi_abi "$name -show"
done
must "$bin/mpifort" -showme:libs
must_say 'mpifort_abi mpi_abi' -showme:libs
for variable in TUTTI_FC OMPI_FC MPICH_FC; do
  must env "$variable=/nowhere/$variable -O1" "$bin/mpifort" -show a.f90
  must_say "/nowhere/$variable -O1 " "$variable"
done
must env OMPI_FC=no MPICH_FC=no TUTTI_FC=yes "$bin/mpifort" -show
must_say '^yes ' 'TUTTI_FC goes first'
must env TUTTI_FC=no "$bin/mpifort" -fc=yes -show
must_say '^yes ' '-fc= goes before all'
if "$bin/mpifort" -fc=/nowhere/fc a.f90 >out 2>&1; then echo "compiled by nothing"; exit 1; fi
must_say "there is no compiler '/nowhere/fc'" 'a compiler that is not there'

for option in -fdefault-integer-8 -i8; do
  if "$bin/mpifort" $option -c a.f90 >out 2>&1; then echo "compiled for long integers"; exit 1; fi
  must_say "mpifort: $option makes INTEGER 8 bytes long" 'long integers'
done

# REAL may have another size, with a word about it. The compiler is none: what is said comes first.
for option in -fdefault-real-8 -freal-4-real-8 -r8; do
  "$bin/mpifort" -fc=/nowhere/fc $option -fdefault-double-8 -c a.f90 >out 2>&1
  must_say "mpifort: warning: $option changes the size of REAL, and MPI_REAL stands for 4 bytes: use MPI_REAL8" 'long reals'
  must "$bin/mpifort" $option -show -c a.f90
  if grep -q warning out; then echo "-show warns"; exit 1; fi
done
"$bin/mpifort" -fc=/nowhere/fc -fdefault-double-8 -c a.f90 >out 2>&1
if grep -q warning out; then echo "warns of DOUBLE PRECISION of 8 bytes"; exit 1; fi

# What a compiler says that programs of other times make it say.
cat >said.f <<'END'
      program said
      implicit none
      include 'mpif.h'
      integer i, e
      real x
      call mpi_send(i, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, e)
      call mpi_send(x, 1, MPI_REAL, 0, 0, MPI_COMM_WORLD, e)
      call mpi_type_extent(MPI_REAL, i, e)
      end
END
if [ -n "$("$bin/mpifort" -fc=gfortran -showme:modules)" ]; then
  if "$bin/mpifort" -fc=gfortran -c said.f >out 2>&1; then echo "arguments of two types compile"; exit 1; fi
  must_say 'mpifort: .* let through by -fallow-argument-mismatch' 'arguments of two types'
  if "$bin/mpifort" -fc=gfortran -fallow-argument-mismatch said.f >out 2>&1; then echo "linked with names of MPI-1"; exit 1; fi
  must_say 'mpifort: MPI_TYPE_EXTENT was removed from MPI in 2012; MPI_TYPE_GET_EXTENT' 'names of MPI-1'
  # mpif.h by the letter of each standard, and without a word on what a program does not use of it.
  printf '%s\n' '      program h' "      include 'mpif.h'" '      integer i' '      call mpi_init(i)' '      call mpi_finalize(i)' \
    '      end' >h.f
  for standard in f95 f2003 f2008 f2018 gnu legacy; do
    must "$bin/mpifort" -fc=gfortran -std=$standard -Wall -c h.f
    if grep -q 'unused' out; then head -n 5 out; echo "mpif.h: unused, with -std=$standard"; exit 1; fi
  done
fi

# A compiler that nobody has built for: one that calls itself otherwise.
fortran=$(command -v gfortran) || { echo "no gfortran: the rest is left out"; exit 77; }
cat >other <<EOF
#!/bin/sh
case \$1 in --version) echo 'GNU Fortran (other) 99.1'; exit ;; -dumpversion) echo 99; exit ;; esac
exec $fortran "\$@"
EOF
chmod +x other
printf '%s\n' 'program p' '  use mpi_f08' '  call MPI_Init()' '  call MPI_Finalize()' 'end program' >p.f90
if "$bin/mpifort" -fc="$work/other" p.f90 >out 2>&1; then echo "compiled without modules"; exit 1; fi
must_say "tutti fortran --fc='$work/other'" 'no modules'
# What a version of libmpifort_abi.so.1 has built is no good any more.
mkdir -p data/tutti/fortran/gfortran-99
touch data/tutti/fortran/gfortran-99/mpi_f08.mod data/tutti/fortran/gfortran-99/libmpifort_abi.so
if "$bin/mpifort" -fc="$work/other" p.f90 >out 2>&1; then echo "compiled with modules of an earlier version"; exit 1; fi
must_say "tutti fortran --fc='$work/other'" 'modules of an earlier version'
must "$bin/tutti" fortran --fc="$work/other" --to=somewhere
must_say "done; mpifort -fc=$work/other finds it" 'tutti fortran --to'
must "$bin/mpifort" -fc="$work/other" -showme:modules
must_say "^$(readlink -f somewhere)/gfortran-99$" 'where mpifort finds what is elsewhere'
must "$bin/mpifort" -fc="$work/other" p.f90 -o p
must ldd ./p
must_say "$(readlink -f somewhere)/gfortran-99/libmpifort_abi.so.2" 'the library of its own'
must "$bin/mpirun" -n 2 ./p
if "$bin/tutti" fortran --fc=/nowhere/fc >out 2>&1; then echo "built by nothing"; exit 1; fi
must_say "there is no Fortran compiler '/nowhere/fc'" 'tutti fortran without a compiler'
if "$bin/tutti" fortran --fc="$work/other -fdefault-integer-8" >out 2>&1; then echo "built for long integers"; exit 1; fi
must_say 'INTEGER has not 4 bytes' 'long integers'
# flang by either of its names.
printf '%s\n' '#!/bin/sh' "echo 'flang-new version 16.0.6'" >flang-new-16
chmod +x flang-new-16
if PATH=$work:$PATH "$bin/tutti" fortran --fc=flang-16 >out 2>&1; then echo "built by flang 16"; exit 1; fi
must_say 'flang 16 cannot pass the buffers of mpi_f08' 'flang-new-16 by the name flang-16'
if PATH=$work:$PATH "$bin/mpifort" -fc=flang-16 -c p.f90 >out 2>&1; then echo "compiled by flang 16"; exit 1; fi
must_say "build them, in a minute, by: tutti fortran --fc='flang-new-16'" 'mpifort with flang-new-16 by the name flang-16'
if "$bin/tutti" fortran --nonsense >out 2>&1; then echo "took nonsense"; exit 1; fi
must_say "there is no option '--nonsense'" 'an unknown option'
