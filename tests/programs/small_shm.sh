#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# small_shm.sh SIZE fits|full|by_messages|filled|refused COMMAND…
# Runs a job where /dev/shm has this size, and UCX its own choice of transports. The job must end well, leave
# nothing there, and say nothing if it fits; else once that its messages go over UCX, or, where those have
# room, that some collectives go by messages. Where it has been filled up behind MPI_Init, once that messages
# go through other memory, and perhaps once that collectives go by messages; and where other memory is
# refused, it must end, and say why. Exit 77: this machine forbids namespaces.
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
hooks=${UCX_MEM_MMAP_HOOK_MODE:-}  # which is the sanitizers' matter
unset ${!UCX_@}
[ -z "$hooks" ] || export UCX_MEM_MMAP_HOOK_MODE=$hooks

fail() { printf 'small_shm: %s; the job said:\n%s\n' "$1" "$said" >&2; exit 1; }
said=$("$@" 2>&1 >/dev/null </dev/null)
code=$?
[ $code != 77 ] || { echo "$said"; exit 77; }
if [ "$how" = refused ]; then
  [ $code != 0 ] || fail "exit code 0"
else
  [ $code = 0 ] || fail "exit code $code"
fi
full='^tutti: \[rank 0 on [^ ]*\] messages on this node go over UCX: /dev/shm has no [0-9]* KiB for them ([^()]*); a larger one, as docker.s --shm-size gives, makes them faster$'
filled='^tutti: \[rank [0-9]* on [^ ]*\] /dev/shm has filled up ([^()]*): some messages on this node go through other memory$'
by_messages='^tutti: \[rank [0-9]* on [^ ]*\] some collectives on this node go by messages: /dev/shm has no [0-9]* KiB for them '
refused='a message to rank [0-9]* on the same node cannot leave: /dev/shm has filled up, [0-9]* KiB for the two are not there ([^()]*), and not all ranks here may share memory outside of it; '
case $how in
  fits) [ -z "$said" ] || fail "something was said" ;;
  by_messages)
    [ "$(grep -c '' <<<"$said")" = 1 ] && grep -q "$by_messages" <<<"$said" || fail "not the one sentence"
    ;;
  full) [ "$(grep -c '' <<<"$said")" = 1 ] && grep -q "$full" <<<"$said" || fail "not the one sentence" ;;
  filled)
    [ "$(grep -c "$filled" <<<"$said")" = 1 ] || fail "it is not said once"
    others=$(grep -v "$filled" <<<"$said")
    [ -z "$others" ] || { [ "$(grep -c '' <<<"$others")" = 1 ] && grep -q "$by_messages" <<<"$others"; } ||
      fail "something else was said"
    ;;
  refused) grep -q "$refused" <<<"$said" || fail "not the reason" ;;
  *) fail "what is '$how'?" ;;
esac
[ "$how" != refused ] || rm -f /dev/shm/filler
[ -z "$(ls -A /dev/shm)" ] || fail "left in /dev/shm: $(ls -A /dev/shm)"
