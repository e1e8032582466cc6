#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds library and modules for another Fortran compiler by `tutti fortran`, and the test programs by mpifort, and
# runs these on two ranks.   usage: compiler.sh BUILD_TREE COMPILER [PROGRAM]...
bin=$1/bin compiler=$2
shift 2
sources=$(dirname -- "$(readlink -f -- "$0")")
command -v -- "${compiler%% *}" >/dev/null || { echo "there is no $compiler here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset TUTTI_FC OMPI_FC MPICH_FC
export XDG_DATA_HOME="$work/data"
"$bin/tutti" fortran --fc="$compiler" >built 2>&1 || { cat built; exit 1; }
cat built
untold=
! grep -q 'does not tell copies' built || untold=untold
mpifort() { "$bin/mpifort" "-fc=$compiler" "$@"; }

# What gfortran wants where a procedure of mpif.h has arguments of different types; others only warn.
lenient=
printf '%s\n' 'program p' 'end program' >p.f90
! mpifort -fallow-argument-mismatch -c p.f90 -o p.o >/dev/null 2>&1 || lenient=-fallow-argument-mismatch
failed=0
program() {
  name=$1 arguments=$2
  shift 2
  mkdir -p "$name" && cd "$name" || exit 1
  objects=
  for source; do
    case $source in
      -*) continue ;;
      *.c) "$bin/mpicc" -c "$sources/$source" -o "$source.o" >log 2>&1 ;;
      *) mpifort $flags -c "$sources/$source" -o "$source.o" >log 2>&1 ;;
    esac || {
      # gfortran 12 and 13 know no %im here.
      ! { [ "$name" = imaginary ] && grep -q 'internal compiler error' log; } || { echo "$name: left out"; cd ..; return; }
      # flang 19 has no procedures of the program's own with arguments of assumed rank.
      ! grep -q 'not yet implemented' log || { grep -o 'not yet implemented.*' log | sed "s/^/$name: left out: /"; cd ..; return; }
      echo "$name: $source is not compiled:"
      grep -i -A4 error log | head -n 12
      failed=1
      cd ..
      return
    }
    objects="$objects $source.o"
  done
  if mpifort $objects -o program >log 2>&1; then
    if timeout 60 "$bin/mpirun" -n 2 ./program $arguments >log 2>&1 && ! grep -q wrong: log; then
      echo "$name: right"
    else
      echo "$name: fails:" && head -n 12 log
      failed=1
    fi
  else
    echo "$name: is not linked:" && tail -n 8 log
    failed=1
  fi
  cd ..
}
wanted() {
  [ -z "$only" ] && return
  case " $only " in *" $1 "*) ;; *) return 1 ;; esac
}
only=$*
for name in sections callbacks large dense; do
  flags=
  wanted $name && program $name '' check.f90 $name.f90
done
flags=
wanted sections_later && program sections_later '' check.f90 sections_later.f90 sections_c.c
flags="-cpp -O2"
wanted described &&
  program described "$untold" check.f90 described_module.F90 described_objects.F90 described_later.F90 described.F90
flags=
wanted imaginary && program imaginary '' check.f90 imaginary.f90
flags=$lenient
wanted mixed && program mixed '' check.f90 mixed.f90 mixed_mpi.f90 mixed_mpif.f90 mixed_c.c
flags=
wanted files && program files "$work/files.data" check.f90 files.f90
wanted spawn && program spawn '' check.f90 spawn.f90
wanted tools && program tools '' check.f90 tools.f90 tools_c.c
wanted fixed_form && program fixed_form '' fixed_form.f
flags=$lenient
wanted fronts && program fronts '' fronts.f
for chapter in comm type p2p coll rma file; do
  for interface in F08 MPI MPIF; do
    flags="-cpp -D$interface -I$sources"
    [ $interface != MPIF ] || flags="$flags $lenient"
    wanted chapters_$chapter &&
      program "chapters_$chapter.$interface" "$work/chapters.$interface.data" check.f90 chapters_$chapter.F90
  done
done
exit $failed
