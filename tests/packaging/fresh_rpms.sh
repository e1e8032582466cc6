#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fresh_rpms.sh SOURCE SUITE: the RPM, in a fresh Debian of that release with what packaging/debian/control declares, without
# network: made, checked, and installed into a database of its own. Exit 77: not asked for (TUTTI_LONG=1), or not possible
# here.
set -euo pipefail
source_dir=$(cd "${1:?usage: fresh_rpms.sh SOURCE SUITE}" && pwd)
suite=${2:?usage: fresh_rpms.sh SOURCE SUITE}
. "$(dirname "$0")/root.sh"
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
make_fresh_root "$source_dir" $suite
unpack_sources "$source_dir" /src
say "rpmbuild and rpmlint"
install rpm rpmlint
version=$(sed -n 's/^Version: *//p' "$source_dir/packaging/tutti.spec")
mkdir -p "$root/rpm/SOURCES"
git -C "$source_dir" archive --prefix="tutti-$version/" -o "$root/rpm/SOURCES/tutti-$version.tar.gz" HEAD
offline rpmbuild --nodeps --define '_topdir /rpm' -bb /src/packaging/tutti.spec >"$work/rpm.log" 2>&1 || { tail -40 "$work/rpm.log"; fail "the RPM does not build"; }
offline sh -c 'rpmlint /rpm/RPMS/*/*.rpm' >"$work/rpmlint.log" 2>&1 || true
# A prefix of its own, without ldconfig, with a run path on purpose; and what a distribution adds: signature, packager.
meant='library-without-ldconfig|rpath-in-buildconfig|non-versioned-file-in-library-package|missing-hash-section'
meant="$meant|no-signature|no-packager-tag|no-group-tag|bad-manual-page-folder .*tutti.yaml"
# By Fedora's conventions pages of MPI's functions are in a folder of the implementation's, and Python is told where its modules are.
meant="$meant|invalid-locale-man-dir|no-dependency-on python"
# Of rpmlint 2: its dictionary lacks the field's words; and Debian's rpm writes no dependencies on libraries, nor
# symbols apart.
meant="$meant|spelling-error|no-library-dependency-for|no-binary"
grep ': E: ' "$work/rpmlint.log" | grep -Ev ": E: ($meant)" && fail "rpmlint finds errors"
. "$(dirname "$0")/rpms.sh"
rpms_stand_as_fedora_has_them

say "beside Open MPI and MPICH"
install openmpi-bin libopenmpi-dev mpich libmpich-dev
offline sh -c 'rpm -qlp /rpm/RPMS/*/*.rpm' | sort >"$work/rpm.files"
offline sh -c 'dpkg -L openmpi-bin libopenmpi-dev mpich libmpich-dev' | sort >"$work/other.files"
comm -12 "$work/rpm.files" "$work/other.files" | while read -r both; do
  [ -d "$root$both" ] || fail "the RPM and another MPI's package both have $both"
done
say "the RPM is right"
