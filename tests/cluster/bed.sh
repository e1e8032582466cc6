#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bed.sh CPU,… NODES FOLDER FOLDER COMMAND…
# Runs a command on node1 of a cluster of so many nodes (nodes.sh), node i with the i-th CPU for itself, as
# far as there are some. Of what is below /tmp only the two folders are there. The cluster is gone when
# the command ends. Exit 77: this machine forbids namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "bed: $*" >&2; exit 1; }
. "$here/nodes.sh"

IFS=, read -ra cpus <<<"$1"
count=$2
build=$3 source_dir=$4
enter_the_bed "$@"
shift 4
for ((i = 0; i < count; ++i)); do
  names+=("node$((i + 1))")
  cpu_of_node+=(["$((i + 1))"]="${cpus[i % ${#cpus[@]}]}")
done
cd "$build"  # the caller may stand where no node has anything
nodes_up "${names[@]}"
taskset -c "${cpus[0]}" true || fail "CPU ${cpus[0]} is not allowed here"
pid=$(cat "$bed/pid.node1")
exec taskset -c "${cpus[0]}" nsenter --target "$pid" --all --root --wdns="$PWD" "$@"
