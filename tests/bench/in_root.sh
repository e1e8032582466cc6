#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# in_root.sh ROOT FOLDER COMMAND…: runs a command in the root of another distribution, as Debian's debootstrap makes
# one, on this machine's processors, devices, shared memory and network. FOLDER has the same name there and here.
# Nothing that is mounted for it outlives the command. Without being root itself it wants user namespaces.
set -euo pipefail
root=$(cd "$1" && pwd) folder=$2
shift 2
private=(unshare --mount)
[ "$EUID" = 0 ] || private=(unshare --mount --map-root-user)
exec "${private[@]}" bash -c '
  set -e
  root=$1 folder=$2
  shift 2
  mount --bind "$folder" "$root/mnt"  # where the root is this machine'"'"'s own, what is mounted on /tmp would hide it
  for each in /proc /sys /dev; do mount --rbind "$each" "$root$each"; done
  mount -t tmpfs none "$root/tmp"
  mkdir -p "$root$folder"
  mount --move "$root/mnt" "$root$folder"
  exec chroot "$root" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/tmp sh -c "cd \"\$0\" && exec \"\$@\"" "$folder" "$@"
' in_root "$root" "$folder" "$@"
