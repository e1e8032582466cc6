#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clang.sh SOURCE: clang, version 16 or newer, compiles library, launcher and tests without a warning, and the unit and
# abi tests of that build pass. Exit 77: not asked for (TUTTI_LONG=1), or there is none.
set -euo pipefail
source_dir=$(cd "${1:?usage: clang.sh SOURCE}" && pwd)
[ "${TUTTI_LONG:-}" = 1 ] || { echo "skipped: it compiles everything; TUTTI_LONG=1 asks for it"; exit 77; }
version=
for candidate in 20 19 18 17 16; do
  if command -v clang++-$candidate >/dev/null; then version=-$candidate; break; fi
done
if [ -z "$version" ] && command -v clang++ >/dev/null; then
  [ "$(clang++ -dumpversion | cut -d. -f1)" -lt 16 ] || version=" "
fi
[ -n "$version" ] || { echo "skipped: there is no clang of version 16 or newer"; exit 77; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
CC=clang${version# } CXX=clang++${version# } cmake -S "$source_dir" -B "$build" -G Ninja >"$build/log"
cmake --build "$build" --target all -j "$(nproc)" >"$build/log" 2>&1 || { grep -A5 'error:' "$build/log" | head -60; exit 1; }
if grep -A5 'warning:' "$build/log" | head -60 | grep .; then
  echo "wrong: clang++${version# } warns"
  exit 1
fi
ctest --test-dir "$build" -L '^(unit|abi)$' -j "$(nproc)" --output-on-failure --no-tests=error
