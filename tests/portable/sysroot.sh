#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes a root of aarch64 to compile against: the packages that the build needs, unpacked and not installed, so that
# nothing of that architecture has to run. It takes the distribution and the mirror of the machine that it runs on.
# usage: sysroot.sh FOLDER   (as root, since debootstrap wants it; the folder must not exist yet)
set -eu
root=${1:?usage: sysroot.sh FOLDER}
[ ! -e "$root" ] || { echo "sysroot.sh: $root exists already: remove it, or name another folder" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "sysroot.sh: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/debian* 2>/dev/null |
  sed -nE 's/^(URIs:|deb( +\[[^]]*\])?) +([^ ]+).*/\3/p' | head -n 1)
packages=libstdc++-12-dev,libucx-dev,libpmix-dev,libhwloc-dev,libevent-dev,libyaml-cpp-dev,libfmt-dev,libdw-dev,libgtest-dev,libbenchmark-dev,libgfortran5
# shellcheck disable=SC2086 # Without a mirror debootstrap takes its own.
debootstrap --foreign --arch=arm64 --variant=minbase --include="$packages" "$release" "$root" $mirror
for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
# A link to an absolute path means one inside of the root.
find "$root" -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -sm --relative-to="$(dirname "$link")" "$root$(readlink "$link")")" "$link"
done
rm -rf "$root/debootstrap" "$root"/var/cache/apt/archives/*.deb
echo "$root is ready: AARCH64_SYSROOT=$root cmake --toolchain tests/portable/aarch64.cmake …"
