#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# small_shm.sh SIZE fits|full COMMAND…
# Runs a job where /dev/shm has this size, and UCX its own choice of transports. The job must end well, leave
# nothing there, and say nothing if it fits; else once that its messages go over UCX. Exit 77: this machine
# forbids namespaces.
set -uo pipefail
private=(unshare --mount --propagation unchanged --ipc --pid --fork --kill-child --mount-proc)
if [ "${IN_SMALL_SHM:-}" != 1 ]; then
  "${private[@]}" true 2>/dev/null || { echo "skipped: namespaces are not allowed here"; exit 77; }
  IN_SMALL_SHM=1 exec "${private[@]}" "$0" "$@"
fi
size=$1 how=$2
shift 2
# Private first, so that nobody else sees the new one.
mount --make-private /dev/shm && mount -t tmpfs -o "size=$size" none /dev/shm ||
  { echo "skipped: /dev/shm cannot be mounted here"; exit 77; }
unset ${!UCX_@}

fail() { printf 'small_shm: %s; the job said:\n%s\n' "$1" "$said" >&2; exit 1; }
said=$("$@" 2>&1 >/dev/null </dev/null)
code=$?
said=$(grep -v "^tutti: [0-9]* ranks share [0-9]* cores on " <<<"$said")
[ $code = 0 ] || fail "exit code $code"
full='^tutti: \[rank 0 on [^ ]*\] messages on this node go over UCX: /dev/shm has no [0-9]* KiB for them ([^()]*); a larger one, as docker.s --shm-size gives, makes them faster$'
case $how in
  fits) [ -z "$said" ] || fail "something was said" ;;
  full) [ "$(grep -c '' <<<"$said")" = 1 ] && grep -q "$full" <<<"$said" || fail "not the one sentence" ;;
  *) fail "what is '$how'?" ;;
esac
[ -z "$(ls -A /dev/shm)" ] || fail "left in /dev/shm: $(ls -A /dev/shm)"
