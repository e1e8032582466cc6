#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch_messages.sh BUILD [NODES [RANKS [FAN_OUT]]]
# How many messages mpirun and its daemons send each other on a cluster of nodes that are namespaces (nodes.sh), with so
# many ranks on each: what 'mpirun -v' tells of a program that does nothing, and of ones of MPI that take one step more
# each (steps.cpp).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
count=${2:-4} ranks=${3:-2} fan_out=${4:-32}
fail() { echo "launch_messages: $*" >&2; exit 1; }
. "$here/nodes.sh"
enter_the_bed "$@"

cd "$bed"
names=() hosts=
for ((n = 1; n <= count; ++n)); do
  names+=("node$n")
  hosts+=${hosts:+,}node$n:$ranks
done
nodes_up "${names[@]}"
for program in true "$build/tests/cluster/steps" "$build/tests/cluster/steps barrier" "$build/tests/cluster/steps alltoall"; do
  # What ranks would say with -v would be messages, too. All nodes take this machine's cores for theirs: ranks are told to give them away while they wait.
  in_node node1 "$build/bin/mpirun" -v -x TUTTI_LOG_LEVEL=note --set wait.spins=1 --set launch.fan_out="$fan_out" \
    --host "$hosts" $program \
    </dev/null >out 2>&1 || fail "$program: $(cat out)"
  echo "$(basename "${program%% *}")${program#"${program%% *}"}: $(sed -n 's/.*between daemons: //p' out)"
done
