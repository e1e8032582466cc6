#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# version.sh BUILD SOURCE VERSION: mpi.h, the library's string and `tutti info` say the same version and commit; the commit is
# git's in a clone, that of the archive in what git has packed, and nobody's elsewhere, also in a folder of another clone.
set -u
build=$1 source=$2 version=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "wrong: $*" >&2; exit 1; }
cd "$work" || exit 1

cat >version.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#if TUTTI_VERSION_MAJOR < 0 || TUTTI_VERSION_MINOR < 0 || TUTTI_VERSION_PATCH < 0
#error these are no numbers
#endif
int main(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING], own[64];
  int length;
  MPI_Get_library_version(text, &length);
  sprintf(own, "%d.%d.%d", TUTTI_VERSION_MAJOR, TUTTI_VERSION_MINOR, TUTTI_VERSION_PATCH);
  if (strcmp(own, TUTTI_VERSION) != 0) return 1;
  puts(TUTTI_VERSION);
  puts(text);
  return length != (int)strlen(text);
}
END
"$build/bin/mpicc" version.c -o version || fail "it does not compile"
./version >said || fail "the numbers of mpi.h are not its version: $(cat said)"
[ "$(sed -n 1p said)" = "$version" ] || fail "mpi.h says $(sed -n 1p said), and not $version"
"$build/bin/tutti" info >info || fail "tutti info ends with $?"
commit=$(sed -n '1s/^Tutti [^ ]*, commit //p' info)
[ "$(sed -n 1p info)" = "Tutti $version${commit:+, commit $commit}" ] || fail "tutti info begins: $(sed -n 1p info)"
case $(sed -n 2p said) in
  "Tutti $version${commit:+ ($commit)}, MPI 5.0, ABI 1.0") ;;
  *) fail "the library says $(sed -n 2p said), tutti info $(sed -n 1p info)" ;;
esac
for library in UCX PMIx hwloc libevent; do
  grep -qE "^(libraries:)? +$library [0-9][^ ]* \(compiled with [0-9][^ ]*\)$" info || fail "tutti info lacks $library: $(cat info)"
done
grep -q '^Fortran: ' info || fail "tutti info says nothing of Fortran"
for modules in "$build"/lib/tutti/fortran/*/mpi_f08.mod; do
  [ -e "$modules" ] || continue
  name=$(basename "$(dirname "$modules")")
  grep -qF " $name ($build/lib/tutti/fortran)" info || fail "tutti info lacks the modules of $name"
done
# Of another user's folder, too; a folder without modules is none.
mkdir -p own/tutti/fortran/gfortran-1 own/tutti/fortran/building.x && : >own/tutti/fortran/gfortran-1/mpi_f08.mod
XDG_DATA_HOME=$work/own "$build/bin/tutti" info >info
grep -qF "Fortran:       gfortran-1 ($work/own/tutti/fortran)" info || fail "the user's own modules are missing: $(cat info)"
! grep -q building info || fail "an unfinished folder is told as modules"

says() {  # FOLDER TEXT: that the source made for the folder has the text
  python3 "$source/lib/commit.py" "$1" "$work/made.cpp" || fail "commit.py ends with $?"
  grep -qF "kCommit = \"$2\";" made.cpp || fail "of $1 it says $(grep kCommit made.cpp), and not '$2'"
}
mkdir -p plain/packaging && cp "$source/packaging/commit.txt" plain/packaging
# In an unpacked archive the file has a commit.
case $(cat plain/packaging/commit.txt) in
  \$*) says plain "" ;;
  *) says plain "$(cut -c1-12 plain/packaging/commit.txt)"; printf '$Format:%%H$\n' >plain/packaging/commit.txt ;;
esac
command -v git >/dev/null || { echo "without git: the rest is left out"; exit 0; }
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
cp -R plain clone && cp "$source/.gitattributes" clone
in_clone() { git -C clone -c user.name=x -c user.email=x@example.org "$@"; }
in_clone init -q && in_clone add . && in_clone commit -q -m x || fail "git makes no clone"
head=$(in_clone rev-parse HEAD | cut -c1-12)
says clone "$head"
echo >>clone/packaging/commit.txt
says clone "$head with changes"
in_clone checkout -q . && mkdir clone/below packed && cp -R plain/packaging clone/below
says clone "$head"
says clone/below ""
in_clone archive HEAD | tar -x -C packed
says packed "$head"
# Made once more it stays, so that nothing is compiled for it.
touch -d 2001-01-01 made.cpp && says packed "$head" && [ made.cpp -ot plain ] || fail "what has not changed is written anew"
