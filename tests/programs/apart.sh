#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# apart.sh HOW COMMAND…
# Runs a command, a rank or all of mpirun, as a container of its own may have it:
#   processes  with a /dev/shm of its own; it sees the processes of the others
#   folder     with a /dev/shm and a view of processes of its own; it sees the folders of the others
#   nothing    with neither, and with the job's folder hidden
#   readonly   with a /dev/shm that takes no file
# Exit 77: this machine forbids namespaces.
set -uo pipefail
how=$1
shift
private=(unshare --mount --propagation private)
[ "$how" = processes ] || [ "$how" = readonly ] || private+=(--pid --fork --kill-child --mount-proc)
"${private[@]}" true 2>/dev/null || { echo "skipped: namespaces are not allowed here"; exit 77; }
mounts="mount -t tmpfs none /dev/shm"
[ "$how" != readonly ] || mounts="mount -t tmpfs -o ro none /dev/shm"
[ "$how" != nothing ] || mounts+=' && mount -t tmpfs none "$TUTTI_JOB_FOLDER"'
exec "${private[@]}" sh -c "$mounts || exit 77; exec \"\$@\"" sh "$@"
