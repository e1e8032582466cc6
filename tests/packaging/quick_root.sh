#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# quick_root.sh SOURCE SUITE: in a fresh Debian of that release everything compiles without a warning, the tests too, and
# the quick tier passes, without network. A newer release than the developers' has a newer compiler and standard library,
# PMIx, UCX and Python. Exit 77: not asked for (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source_dir=$(cd "${1:?usage: quick_root.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: quick_root.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
may_make_root "$source_dir"
# As ./dev has them: what builds, and what the quick tests call.
listed() { sed -n "/^readonly $1=(/{:whole; /)/!{N; b whole}; s/^[^(]*(//; s/).*//; p}" "$source_dir/dev"; }
packages="$tools $(listed build_packages) $(listed quick_packages) iproute2 git"
make_root $suite $packages
install $packages
mkdir "$root/src"
git -C "$source_dir" archive HEAD | tar -x -C "$root/src"
say "building"
offline sh -ec 'cmake -S /src -B /build -G Ninja && cmake --build /build' >"$work/build.log" 2>&1 ||
  { grep -A5 -E 'error:|^FAILED' "$work/build.log" | head -60; fail "it does not build on $suite"; }
grep -A5 'warning:' "$work/build.log" | head -60 | grep . && fail "the compiler of $suite warns"
say "the quick tests"
offline ctest --test-dir /build -L quick -j "$(nproc)" --output-on-failure --no-tests=error
