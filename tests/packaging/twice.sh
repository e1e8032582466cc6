#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twice.sh SOURCE SUITE: in a fresh Debian of that release the Debian packages of one commit are built in two folders, and are
# the same, bit for bit (without their tests, which are not in them). Exit 77: not asked for (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source_dir=$(cd "${1:?usage: twice.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: twice.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything twice; TUTTI_LONG=1 asks for it"
make_fresh_root "$source_dir" $suite
for folder in /one /another/much/longer/folder; do
  say "dpkg-buildpackage in $folder"
  unpack_sources "$source_dir" $folder/tutti
  cp -R "$root$folder/tutti/packaging/debian" "$root$folder/tutti/debian"
  offline sh -c "cd $folder/tutti && dpkg-buildpackage -us -uc -b" >"$work/deb.log" 2>&1 || { tail -40 "$work/deb.log"; fail "the packages do not build"; }
done
differing=()
for deb in "$root"/one/*.deb; do
  cmp "$deb" "$root/another/much/longer/folder/${deb##*/}" || differing+=("${deb##*/}")
done
[ ${#differing[@]} = 0 ] || fail "not the same in another folder: ${differing[*]}"
say "$(ls "$root"/one/*.deb | wc -l) packages are the same"
