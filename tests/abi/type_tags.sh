#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# type_tags.sh INCLUDE_FOLDER SOURCE: no compiler that is here warns of right calls, in an old and a new
# dialect (under TUTTI_LONG=1: in any, and by other versions); and clang, where it is asked by -DMPI_ABI_TYPE_TAGS=1, warns of
# each wrong one in the source, and of no right one that is not excepted there.
set -u
include=$1 source=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp "$source" "$work/a.c"
cp "$source" "$work/a.cpp"
bad=0 done=0
compiles() {  # compiles COMPILER OPTION…
  by=$1
  shift
  "$by" -Wall -Wextra -pedantic -Werror -I"$include" -fsyntax-only "$@" 2>"$work/said"
}
fail() { echo "$*"; cat "$work/said"; bad=$((bad + 1)); }
try() {  # try COMPILER FILE DIALECT OPTION…
  with=$1 file=$2 dialect=$3
  shift 3
  command -v "$with" >/dev/null || return 0
  : >"$work/empty.${file##*.}"
  "$with" -std="$dialect" -fsyntax-only "$work/empty.${file##*.}" 2>/dev/null || return 0  # it is older than that
  done=$((done + 1))
  compiles "$with" -std="$dialect" "$@" "$work/$file" || fail "warned of what is right: $with -std=$dialect $*"
  case $with in clang*) ;; *) return 0 ;; esac
  compiles "$with" -std="$dialect" "$@" -DTAGS -DMPI_ABI_TYPE_TAGS=1 "$work/$file" ||
    fail "warned of what is right: $with -std=$dialect $* -DMPI_ABI_TYPE_TAGS=1"
  compiles "$with" -std="$dialect" "$@" -Wno-error -DTAGS -DMPI_ABI_TYPE_TAGS=1 -DWRONG "$work/$file"
  [ "$(grep -c 'warning: .*Wtype-safety' "$work/said")" = 8 ] || fail "not warned of eight wrong calls: $with -std=$dialect"
}
compilers="gcc clang" of_c=c2x of_cxx=c++11
[ "${TUTTI_LONG:-}" != 1 ] || compilers="$compilers gcc-16 clang-16 gcc-19 clang-19" of_c="c99 c17 c2x c23" of_cxx="c++11 c++17 c++23"
for compiler in $compilers; do
  try $compiler a.c c89 -Wno-long-long
  for dialect in $of_c; do try $compiler a.c $dialect; done
done
for compiler in $compilers; do
  compiler=$(echo "$compiler" | sed 's/^gcc/g++/; s/^clang/clang++/')
  for dialect in $of_cxx; do try $compiler a.cpp $dialect; done
done
echo "$done dialects, $bad failures"
[ $done -gt 0 ] && [ $bad = 0 ]
