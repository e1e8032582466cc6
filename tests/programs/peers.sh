#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# peers.sh mpich|openmpi [regex of FOLDER/NAME] [ranks…]
# Runs the test programs against the distribution's other MPIs, to test the tests: a program that a
# peer fails is wrong, or says why it is TUTTI_ONLY or NOT_<PEER> in its first lines.
set -uo pipefail
cd "$(dirname "$0")"
peer=${1:?mpich or openmpi}
wanted=${2:-.}
shift $(($# < 2 ? $# : 2))
case $peer in
  mpich) launch=(mpiexec.mpich) ;;
  openmpi) launch=(mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none
                   --mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0) ;;
  *) echo "peers.sh: '$peer' may be mpich or openmpi" >&2; exit 2 ;;
esac
folder=${TMPDIR:-/tmp}/tutti-peers-$(id -u)/$peer
mkdir -p "$folder"
failed=0
while read -r path rest; do
  [[ $path =~ $wanted ]] || continue
  if [[ $rest == *TUTTI_ONLY* ]] || grep -q "NOT_${peer^^}" "$path.cpp"; then echo "left out  $path"; continue; fi
  ranks=("$@")
  [ ${#ranks[@]} -gt 0 ] || read -ra ranks <<<"$(sed 's/.*RANKS \([0-9 ]*\).*/\1/' <<<"$rest")"
  binary=$folder/${path//\//.}
  if [ ! "$binary" -nt "$path.cpp" ] || [ ! "$binary" -nt check.hpp ]; then
    "mpicxx.$peer" -std=c++17 -O1 -g -Wall -Wextra -I. "$path.cpp" -o "$binary" -pthread ||
      { echo "COMPILE   $path"; failed=1; continue; }
  fi
  for n in "${ranks[@]}"; do
    start=$(date +%s%N)
    timeout "${PEER_TIMEOUT:-60}" "${launch[@]}" -n "$n" "$binary" >"$binary.log" 2>&1 </dev/null
    status=$?
    [ $status = 0 ] && word=passed || { word="FAILED $status"; failed=1; }
    printf '%-9s %s n=%s %d ms\n' "$word" "$path" "$n" $((($(date +%s%N) - start) / 1000000))
    [ $status = 0 ] || head -c 1500 "$binary.log"
  done
done < <(sed -n 's/^add_mpi_program(\([^ ]*\) \(.*\))$/\1 \2/p' CMakeLists.txt)
exit $failed
