# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests that want a root of their own: a fresh Debian of a release by its name, without network.
#
# Only the first run fetches packages, into TUTTI_PACKAGE_CACHE (~/.cache/tutti/packages): a root that nothing is
# installed in yet, with the packages beside it. Each run unpacks a copy of it, which goes with the run.
cache=${TUTTI_PACKAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti/packages}

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "wrong: $*" >&2; exit 1; }
say() { echo "==> $*"; }

# What the packages are built with, as debian/control of the folder SOURCE declares it; what their tests need beyond it; and what
# every such build needs.
build_depends() { sed -n '/^Build-Depends:/,/^[^ ]/p' "$1/packaging/debian/control" | sed -n '/^ /p'; }
declared_by() { build_depends "$1" | sed '/<!nocheck>/d; /<cross>/d; s/^ \([a-z0-9+.-]*\).*/\1/; s/debhelper-compat/debhelper/'; }
tested_by() { build_depends "$1" | sed -n 's/^ \([a-z0-9+.-]*\) .*<!nocheck>.*/\1/p'; }
# Of Debian's packages: nocheck leaves their tests out, nothing has them compiled and run.
tested=nocheck
# Another architecture than this machine's, of which the root has packages beside its own, with those that the sources declare
# to be built for it.
foreign=
tools="build-essential fakeroot"

may_make_root() {  # SOURCE
  [ "$(id -u)" = 0 ] || skip "only root makes a root"
  local tool
  for tool in debootstrap unshare git ip; do
    command -v $tool >/dev/null || skip "there is no $tool"
  done
  git -C "$1" rev-parse HEAD >/dev/null 2>&1 || skip "$1 is no git checkout"
  unshare --mount --net --pid --fork true 2>/dev/null || skip "namespaces are forbidden here"
}

# inside NETWORK COMMAND…: in the root, with a /proc and a /dev/shm of its own that go with the command.
inside() {
  local namespaces=(--mount --pid --ipc --fork --kill-child)
  [ "$1" = network ] || namespaces+=(--net)
  shift
  unshare "${namespaces[@]}" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root DEB_BUILD_OPTIONS="${tested:+$tested }parallel=$(nproc)" DEB_BUILD_PROFILES="$tested" \
    bash -c 'root=$1; shift
      mount -t proc proc "$root/proc"; mount -t sysfs -o ro sysfs "$root/sys"; mkdir -p "$root/dev/shm"; mount -t tmpfs tmpfs "$root/dev/shm"
      ip link set lo up 2>/dev/null; exec chroot "$root" "$@"' inside "$root" "$@"
}
offline() { inside none "$@"; }
install() { offline apt-get -q -y -o Dpkg::Use-Pty=0 install --no-download --no-install-recommends "$@" >"$work/apt.log" 2>&1 || { tail -30 "$work/apt.log"; fail "cannot install $*"; }; }

# install_declared NETWORK OPTION: what $source_dir declares that it is built with for the architecture $foreign.
install_declared() {
  mkdir -p "$root/declared"
  cp -R "$source_dir/packaging/debian" "$root/declared/"
  inside $1 apt-get -q -y -o Dpkg::Use-Pty=0 build-dep $2 --no-install-recommends -a$foreign -Pcross,nocheck /declared >"$work/apt.log" 2>&1 ||
    { tail -30 "$work/apt.log"; fail "what is declared to be built with for $foreign is not there"; }
  rm -rf "$root/declared"
}

# make_root SUITE PACKAGE…: the root $root of that release, below $work, with the packages at hand and not installed. It
# stays as $root_tar.
make_root() {
  local suite=$1 key mirror
  shift
  work=$(mktemp -d)
  root=$work/root
  trap 'rm -rf --one-file-system "$work"' EXIT
  key=$({ echo $suite "$@"; [ -z "$foreign" ] || build_depends "$source_dir"; } | sha256sum | cut -c1-16)
  root_tar=$cache/root-$key.tar
  if [ -e "$root_tar" ]; then
    mkdir "$root"
    tar -C "$root" -xf "$root_tar"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/short-lived"  # not each file on the disk before the next one
    return
  fi
  say "fetching packages of $suite into $cache"
  mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\(http[^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/debian* 2>/dev/null | head -1 || true)
  [ -n "$mirror" ] || skip "apt's lists of sources name no mirror"
  debootstrap --variant=minbase $suite "$root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -5 "$work/debootstrap.log"; skip "debootstrap could not fetch a root"; }
  [ -z "$foreign" ] || offline dpkg --add-architecture $foreign
  inside network apt-get -q update >"$work/apt.log" 2>&1
  [ -z "$foreign" ] || install_declared network --download-only
  inside network apt-get -q -y install --download-only --no-install-recommends "$@" >"$work/apt.log" 2>&1 ||
    { tail -5 "$work/apt.log"; fail "the packages cannot be fetched: is one of them misspelt in debian/control?"; }
  mkdir -p "$cache"
  tar -C "$root" --one-file-system -cf "$root_tar.part" .
  mv "$root_tar.part" "$root_tar"
}

# make_fresh_root SOURCE SUITE: the root in which packages of the folder SOURCE are made, with what they declare, $declared, and
# what the tests of them install later; one for all of these tests.
make_fresh_root() {
  may_make_root "$1"
  declared=$(declared_by "$1")
  make_root $2 $tools $declared $(tested_by "$1") lintian rpm rpmlint openmpi-bin libopenmpi-dev mpich libmpich-dev
  install $tools $declared
}
# unpack_sources SOURCE FOLDER: the last commit, into that folder of the root.
unpack_sources() {
  mkdir -p "$root$2"
  git -C "$1" archive HEAD | tar -x -C "$root$2"
}

# runs BIN: a program that its mpicc makes runs by its mpirun, in the root.
runs() {
  cat >"$root/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("of %d\n", size);
  MPI_Finalize();
  return 0;
}
END
  offline "$1/mpicc" /hello.c -o /hello
  [ "$(offline "$1/mpirun" -n 2 /hello)" = "of 2
of 2" ] || fail "$1/mpirun does not run a program"
}
