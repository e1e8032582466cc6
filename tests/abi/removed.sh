#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# removed.sh INCLUDE_FOLDER: mpi.h with what Fortran needs and with what MPI 3.0 removed, in an old and a new
# dialect and with each compiler that is here, without a warning; under TUTTI_LONG=1 in every dialect, with other versions,
# too. Without -DMPI_COMPATIBILITY=1 each removed name is an error that says what to use instead; a program's own replacement
# of such a name is left alone.
set -u
include=$1
here=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0 done=0

compiles() {
  done=$((done + 1))
  "$@" -Wall -Wextra -pedantic -Werror -I"$include" -c -o "$work/a.o" && return 0
  echo "wrong: does not compile: $*"
  bad=$((bad + 1))
}

# refused COMPILER FILE NAME INSTEAD: the message has the name, its replacement and the option.
refused() {
  done=$((done + 1))
  if said=$("$1" -I"$include" -c "$2" -o "$work/a.o" 2>&1); then
    echo "wrong: $1 accepts $3"
    bad=$((bad + 1))
    return
  fi
  line=$(printf '%s\n' "$said" | grep "error:.*$3")
  case $line in
    *"MPI 3.0 removed it; use $4, or compile with -DMPI_COMPATIBILITY=1"*) ;;
    *) echo "wrong: of $3, $1 says: $said"; bad=$((bad + 1)) ;;
  esac
}

compilers="gcc clang g++ clang++" of_c="c99 gnu17" of_cxx="c++11 gnu++20"
[ "${TUTTI_LONG:-}" != 1 ] || compilers="$compilers clang-16 clang++-16" of_c="$of_c c11 c17" of_cxx="$of_cxx c++14 c++17 c++20"
for compiler in $compilers; do
  command -v $compiler >/dev/null || continue
  case $compiler in
    *++*) dialects=$of_cxx language=c++ ;;
    *) dialects=$of_c language=c ;;
  esac
  for dialect in $dialects; do
    compiles $compiler -x $language -std=$dialect "$here/conversions.c"
    compiles $compiler -x $language -std=$dialect -DMPI_ABI_Fint="long" -DMPI_COMPATIBILITY=0 "$here/conversions.c"
    compiles $compiler -x $language -std=$dialect -DMPI_COMPATIBILITY=1 "$here/removed.c"
  done
  if [ $language = c ]; then
    compiles $compiler -std=c89 -Wno-long-long "$here/conversions.c"
    compiles $compiler -std=c89 -Wno-long-long -DMPI_COMPATIBILITY=1 "$here/removed.c"
  fi
  # A use as a call, as an address, as a type and as a constant; NAME INSTEAD USE.
  while read -r name instead use; do
    printf '#include <mpi.h>\n%s\n' "$use" >"$work/a.c"
    cp "$work/a.c" "$work/a.cpp"
    case $language in c) file=$work/a.c ;; *) file=$work/a.cpp ;; esac
    refused $compiler "$file" "$name" "$instead"
  done <<'END'
MPI_Address MPI_Get_address int f(int *i, MPI_Aint *a) { return MPI_Address(i, a); }
PMPI_Address MPI_Get_address int f(int *i, MPI_Aint *a) { return PMPI_Address(i, a); }
MPI_Type_struct MPI_Type_create_struct int (*f)(int, int *, MPI_Aint *, MPI_Datatype *, MPI_Datatype *) = MPI_Type_struct;
MPI_Type_hvector MPI_Type_create_hvector int f(MPI_Datatype *t) { return MPI_Type_hvector(1, 1, 8, MPI_INT, t); }
MPI_Type_hindexed MPI_Type_create_hindexed int f(int *l, MPI_Aint *a, MPI_Datatype *t) { return MPI_Type_hindexed(1, l, a, MPI_INT, t); }
MPI_Type_extent MPI_Type_get_extent int f(MPI_Aint *a) { return MPI_Type_extent(MPI_INT, a); }
MPI_Type_lb MPI_Type_get_extent int f(MPI_Aint *a) { return MPI_Type_lb(MPI_INT, a); }
MPI_Type_ub MPI_Type_get_extent int f(MPI_Aint *a) { return MPI_Type_ub(MPI_INT, a); }
MPI_Errhandler_create MPI_Comm_create_errhandler int f(MPI_Comm_errhandler_function *h, MPI_Errhandler *e) { return MPI_Errhandler_create(h, e); }
MPI_Errhandler_get MPI_Comm_get_errhandler int f(MPI_Errhandler *e) { return MPI_Errhandler_get(MPI_COMM_WORLD, e); }
MPI_Errhandler_set MPI_Comm_set_errhandler int f(MPI_Errhandler e) { return MPI_Errhandler_set(MPI_COMM_WORLD, e); }
MPI_Handler_function MPI_Comm_errhandler_function MPI_Handler_function *f = 0;
MPI_UB MPI_Type_create_resized MPI_Datatype f(void) { return MPI_UB; }
MPI_LB MPI_Type_create_resized MPI_Datatype f(void) { return MPI_LB; }
MPI_COMBINER_STRUCT_INTEGER MPI_COMBINER_STRUCT int f(void) { return MPI_COMBINER_STRUCT_INTEGER; }
END
done

# A program's own names for what it misses, before mpi.h as after it.
cat >"$work/own.c" <<'END'
#define MPI_Type_extent own_extent
#include <mpi.h>
#undef MPI_Address
#define MPI_Address MPI_Get_address
static int own_extent(MPI_Datatype type, MPI_Aint *extent) {
  MPI_Aint lb;
  return MPI_Type_get_extent(type, &lb, extent);
}
int f(int *i, MPI_Aint *a);
int f(int *i, MPI_Aint *a) { return MPI_Address(i, a) + MPI_Type_extent(MPI_INT, a); }
END
compiles cc "$work/own.c"
compiles cc -DMPI_Address=MPI_Get_address "$work/own.c"
echo "$done compilations, $bad wrong"
[ $bad = 0 ]
