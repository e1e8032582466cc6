#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# quick_root.sh SOURCE SUITE: in a fresh Debian of that release, without network, dpkg-buildpackage compiles everything without a
# warning, the tests too, and the quick tier passes, all of it by an ordinary user: what those do who build packages for a
# distribution. A newer release than the developers' has a newer compiler and standard library, PMIx, UCX and Python.
# Exit 77: not asked for (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source_dir=$(cd "${1:?usage: quick_root.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: quick_root.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
make_fresh_root "$source_dir" $suite
install $(tested_by "$source_dir")
tested=
unpack_sources "$source_dir" /packages/src
cp -R "$root/packages/src/packaging/debian" "$root/packages/src/debian"
say "dpkg-buildpackage, with the quick tests, by an ordinary user"
offline sh -c 'useradd --create-home builder && chown -R builder: /packages'
offline setpriv --reuid=builder --regid=builder --clear-groups env HOME=/nonexistent \
  sh -c 'cd /packages/src && dpkg-buildpackage -us -uc -b' >"$work/deb.log" 2>&1 ||
  { grep -E 'error:|^FAILED|\(Failed\)|\(Timeout\)' "$work/deb.log"; tail -40 "$work/deb.log"; fail "the packages do not build on $suite"; }
grep -A5 'warning:' "$work/deb.log" | head -60 | grep . && fail "the compiler of $suite warns"
grep '% tests passed' "$work/deb.log" || fail "the packages run no tests"
