#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch_times.sh BUILD [NODES [TURNS]]
# How long a job takes on a cluster of nodes that are namespaces (nodes.sh), by Tutti and by Open MPI's mpirun, in turns:
# launch of a program that does nothing, a whole program of MPI, in it the first barrier and the first all-to-all, the end
# by Ctrl-C, and the end by the death of node2's daemon, both until the last rank is gone. Prints medians, in milliseconds, and of an even number
# of turns the slower one in the middle.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
count=${2:-16} turns=${3:-5}
fail() { echo "launch_times: $*" >&2; exit 1; }
. "$here/nodes.sh"
enter_the_bed "$@"

cd "$bed"
command -v mpirun.openmpi >/dev/null || fail "there is no Open MPI to compare with (openmpi-bin, libopenmpi-dev)"
"$build/bin/mpicc" -O1 "$here/launch_times.c" -o tt_tutti
mpicc.openmpi -O1 "$here/launch_times.c" -o tt_ompi
names=() hosts=
for ((n = 1; n <= count; ++n)); do
  names+=("node$n")
  hosts+=${hosts:+,}node$n:2
done
nodes_up "${names[@]}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# run WHICH COMMAND…: the launcher's command line on node1. All nodes take this machine's cores for theirs: ranks of
# Open MPI are told to give them away while they wait, those of Tutti notice.
run() {
  local which=$1
  shift
  case $which in
    flat) in_node node1 "$build/bin/mpirun" --host $hosts "$@" ;;
    tree) in_node node1 "$build/bin/mpirun" --set launch.fan_out=2 --host $hosts "$@" ;;
    ompi) in_node node1 mpirun.openmpi --host $hosts --map-by node --bind-to none -mca mpi_yield_when_idle 1 "$@" ;;
  esac
}
program() { if [ "$1" = ompi ]; then echo "$bed/tt_ompi"; else echo "$bed/tt_tutti"; fi; }
now() { echo $((${EPOCHREALTIME/[.,]/} / 100)); }  # tenths of a millisecond
tell() { echo "$1 $2 $(($3 / 10)).$(($3 % 10))" >>"$bed/times"; }
measure() {
  local which=$1 begin=
  begin=$(now)
  run "$which" true </dev/null >out 2>&1 || fail "$which: $(cat out)"
  tell "$which" launch $(($(now) - begin))
  begin=$(now)
  run "$which" "$(program "$which")" </dev/null >out 2>&1 || fail "$which: $(cat out)"
  tell "$which" program $(($(now) - begin))
  grep -E '^[0-9.]+ [0-9.]+$' out | while read -r barrier alltoall; do
    echo "$which barrier $barrier" >>"$bed/times"
    echo "$which alltoall $alltoall" >>"$bed/times"
  done
}
# How long it takes from the harm until the launcher and all ranks are gone.
measure_end() {
  local which=$1 what=$2 begin each
  : >out
  run "$which" "$(program "$which")" stay </dev/null >out 2>&1 &
  local launched=$!
  for ((each = 0; each < 600 && $(grep -c ready out) < 2 * count; ++each)); do sleep 0.1; done
  [ "$(grep -c ready out)" = $((2 * count)) ] || fail "$which: $(cat out)"
  begin=$(now)
  if [ "$what" = interrupt ]; then
    in_node node1 pkill -INT -o "^mpirun"
  else
    in_node node2 pkill -KILL -o -x 'tuttid|orted'
  fi
  for ((each = 0; each < 1500; ++each)); do
    pgrep '^tt_|^mpirun' >/dev/null || break
    sleep 0.02
  done
  # After half a minute it has not ended: that is what the figure says.
  tell "$which" "$what" $(($(now) - begin))
  pkill -KILL '^tt_|^mpirun' || true
  pkill -KILL 'orted|tuttid' || true
  wait "$launched" || true
  sleep 0.5
}
for ((turn = 0; turn < turns; ++turn)); do
  for which in flat tree ompi; do
    measure $which
    measure_end $which interrupt
    measure_end $which daemon
  done
done
echo "$count nodes, $((2 * count)) ranks; medians of $turns turns, in milliseconds (flat: launch.fan_out=32; tree: 2)"
for what in launch program barrier alltoall interrupt daemon; do
  for which in flat tree ompi; do
    sort -k3 -n times | awk -v w=$which -v t=$what '$1 == w && $2 == t {all[n++] = $3}
      END {printf "%s %s %s (%s to %s)\n", t, w, all[int(n / 2)], all[0], all[n - 1]}'
  done
done
