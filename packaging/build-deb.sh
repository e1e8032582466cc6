#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build-deb.sh [FOLDER]: makes the Debian packages of the last commit in FOLDER (build/deb).
# dpkg-buildpackage wants debian/ at the top of the sources, hence the copy.
set -euo pipefail
from=$PWD
cd "$(dirname "$0")/.."
fail() { echo "build-deb.sh: $*" >&2; exit 1; }

[ $# -le 1 ] || fail "there is one argument, the folder to build in; given were $#: $*"
folder=${1:-$PWD/build/deb}
[ "${folder#/}" != "$folder" ] || folder=$from/$folder
for tool in dpkg-buildpackage dh git; do
  command -v $tool >/dev/null ||
    fail "there is no $tool; install what packaging/README.md names"
done
commit=$(git rev-parse --short HEAD) || fail "$PWD is not a git checkout; build from a clone"
git diff --quiet HEAD || echo "build-deb.sh: uncommitted changes are left out; building $commit" >&2

version=$(sed -n 's/^project(tutti VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
[ "$version" = "$packaged" ] ||
  fail "CMakeLists.txt says version $version, packaging/debian/changelog $packaged; make them agree"

tree=$folder/tutti-$version
# Only what an earlier run left: the folder may be anything that the user names.
rm -rf "$tree" "$folder"/tutti*_"$version"_*.{deb,changes,buildinfo}
mkdir -p "$tree"
git archive HEAD | tar -x -C "$tree"
cp -R packaging/debian "$tree/debian"
# debhelper gives a build an empty home; ccache's folder is in the real one.
export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
# The tests are run by ./dev test, and take longer to compile than what is packaged.
export DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS:-}" DEB_BUILD_PROFILES=nocheck
cd "$tree"
dpkg-buildpackage -us -uc -b
ls -l "$folder"/*.deb
