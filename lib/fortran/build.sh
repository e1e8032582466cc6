#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What `tutti fortran` runs: builds the Fortran library and modules for a compiler, from the sources beside this file.
# usage: build.sh MPICC [--fc=COMMAND] [--cc=COMMAND] [--to=FOLDER | --system]

include=$("$1" -showme:incdirs) && libdir=$("$1" -showme:libdirs) || exit 1
mpifort=$(dirname -- "$1")/mpifort
shift
sources=$(dirname -- "$(readlink -f -- "$0")")
fc=${TUTTI_FC:-gfortran} cc=${TUTTI_CC:-cc}
own=${XDG_DATA_HOME:-${HOME:-/nowhere}/.local/share}/tutti/fortran
to=$own

fail() {
  echo "tutti fortran: $*" >&2
  exit 1
}

for argument; do
  case $argument in
    --fc=*) fc=${argument#*=} ;;
    --cc=*) cc=${argument#*=} ;;
    --to=*) to=${argument#*=} ;;
    --system) to=$libdir/tutti/fortran ;;
    -h | --help)
      echo "Usage: tutti fortran [--fc=COMMAND] [--cc=COMMAND] [--to=FOLDER | --system]"
      echo "Builds library and modules of MPI for a Fortran compiler, which mpifort then finds. See tutti(1)."
      exit ;;
    *)
      echo "tutti fortran: there is no option '$argument'; it may be --fc=COMMAND, --cc=COMMAND, --to=FOLDER or --system" >&2
      exit 2
      ;;
  esac
done

# The commands may have options of their own. Some distributions call flang by its name of old.
case $fc in
  flang-[0-9]*) command -v -- "${fc%% *}" >/dev/null || fc=flang-new-${fc#flang-} ;;
esac
name=$(sh "$sources/compiler.sh" $fc) || fail "there is no Fortran compiler '$fc'; name one with --fc=COMMAND"
case $name in
  flang-16) fail "flang 16 cannot pass the buffers of mpi_f08, which are of assumed rank; flang 19 can" ;;
esac
command -v -- ${cc%% *} >/dev/null || fail "there is no C compiler '$cc', which builds a part; name one with --cc=COMMAND"
case $to in
  /*) ;;
  *) to=$PWD/$to ;;
esac
folder=$to/$name
mkdir -p "$folder" || fail "cannot make the folder $folder; --to=FOLDER names another one"
work=$(mktemp -d "$folder/building.XXXXXX") || fail "cannot write into $folder; --to=FOLDER names another one"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1

# The header that tells C of this compiler's descriptors lies with the compiler.
binding=
for place in "$($fc -print-file-name=include 2>/dev/null)" \
             "$(dirname -- "$(readlink -f -- "$(command -v -- ${fc%% *})")")/../include/flang"; do
  [ ! -r "$place/ISO_Fortran_binding.h" ] || { binding=$place; break; }
done

described=$(sh "$sources/probe.sh" "$fc" $cc ${binding:+"-I$binding"} 2>probe.log) ||
  fail "$name cannot be used with mpi_f08: $(head -n 5 probe.log)"
flags=${described#"${described%% *}"} whose=${described%% *}
case $flags in
  *OWN_DESCRIPTORS*COPIES_ARE_TOLD*) ;;
  *OWN_DESCRIPTORS*)
    echo "tutti fortran: note: $name does not tell copies of components (a%x) from arrays: of mpi_f08, pass neither them nor pointers to them to calls that receive and do not block, are persistent, or expose memory; $name -Warray-temporaries names the lines" >&2
    ;;
esac

printf '%s\n' '      program p' '      integer i, j' '      parameter (i = 4/kind(1), j = 1/i)' '      end' >integer.f
$fc -c integer.f -o integer.o >integer.log 2>&1 ||
  fail "INTEGER has not 4 bytes with '$fc', or it compiles nothing; MPI's handles are 4 bytes long, so leave out -fdefault-integer-8 or the like:
$(head -n 5 integer.log)"

# What this compiler's logicals are as integers.
printf '%s\n' 'program p' '  print *, transfer(.true., 1), transfer(.false., 1)' 'end program' >logical.f90
values=$($fc logical.f90 -o logical 2>logical.log && ./logical) ||
  fail "'$fc' makes no program that runs:
$(head -n 5 logical.log)"
set -- $values

echo "tutti fortran: building for $name in $folder"
(
  for part in callbacks conversion section section_type procedures; do
    $cc -std=gnu11 -O2 -fPIC "-DTUTTI_FORTRAN_TRUE=$1" "-DTUTTI_FORTRAN_FALSE=$2" $flags ${binding:+"-I$binding"} "-I$include" \
      "-I$sources" -c "$sources/$part.c" -o $part.o >$part.log 2>&1 ||
      { grep -E 'error|ISO_Fortran' $part.log | head -n 20 >&2; fail "$cc cannot compile $part.c for $name"; }
  done
) &
parts_in_c=$!
for source in tutti_mpi_types.f90 "$whose/mpi.f90" "$whose/mpi_f08.f90" mpi_ext.f90 mpi_f08_ext.f90; do
  module=${source##*/}
  $fc -O2 -fPIC -c "$sources/$source" -o "$module.o" >"$module.log" 2>&1 ||
    { head -n 20 "$module.log" >&2; fail "$name cannot compile $module"; }
done
wait $parts_in_c || exit 1
$cc -shared -o libmpifort_abi.so.2 -Wl,-soname,libmpifort_abi.so.2 "-Wl,--version-script=$sources/exports.map" \
  callbacks.o conversion.o section.o section_type.o procedures.o ./*.f90.o \
  "-L$libdir" "-Wl,-rpath,$libdir" -Wl,--enable-new-dtags -lmpi_abi || fail "cannot link libmpifort_abi.so.2 for $name"
ln -s libmpifort_abi.so.2 libmpifort_abi.so
mv -f libmpifort_abi.so.2 libmpifort_abi.so tutti_mpi_types.mod mpi.mod mpi_f08.mod mpi_ext.mod mpi_f08_ext.mod \
  "$folder/" ||
  fail "cannot write into $folder"

# mpifort looks for links to other folders first.
elsewhere=$own/elsewhere/$name
rm -f "$elsewhere" 2>/dev/null
found=$("$mpifort" "-fc=$fc" -showme:modules 2>/dev/null)
if [ ! "$found" -ef "$folder" ] && mkdir -p "$own/elsewhere" 2>/dev/null; then
  ln -s "$folder" "$elsewhere" 2>/dev/null
  found=$("$mpifort" "-fc=$fc" -showme:modules 2>/dev/null)
fi
if [ "$found" -ef "$folder" ]; then
  echo "tutti fortran: done; mpifort -fc=${fc%% *} finds it"
else
  echo "tutti fortran: done, but mpifort does not find it there: the link $elsewhere to it, by which it would, cannot be made; leave out --to, or let XDG_DATA_HOME name a folder that you may write to" >&2
  exit 1
fi
