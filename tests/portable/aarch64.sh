#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Cross-compiles library, launcher and tests for aarch64 against the root that AARCH64_SYSROOT names (sysroot.sh makes
# one), and runs under qemu the unit tests of base, coll, exec and contract, those of the binary interface, and programs
# on one to four ranks, which the emulated mpirun starts. That proves nothing of the order of memory: qemu runs on a
# machine of stricter order, and those arguments stand beside the code.
# usage: aarch64.sh SOURCE [BUILD]   (BUILD is kept; without it the tree is a temporary one)
# Exit 77: not asked for (TUTTI_LONG=1), or not possible here.
set -euo pipefail
source=$1
skip() { echo "skipped: $*"; exit 77; }
[ "${TUTTI_LONG:-}" = 1 ] || skip "it compiles everything; TUTTI_LONG=1 asks for it"
[ -n "${AARCH64_SYSROOT:-}" ] || skip "AARCH64_SYSROOT names no root of aarch64: tests/portable/sysroot.sh FOLDER makes one"
[ -d "$AARCH64_SYSROOT/usr/include" ] || skip "AARCH64_SYSROOT names $AARCH64_SYSROOT, which is no root to compile against"
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$tool" >/dev/null || skip "$tool is missing (Debian: g++-aarch64-linux-gnu, qemu-user)"
done
build=${2:-}
if [ -z "$build" ]; then
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
fi
cmake -S "$source" -B "$build" -G Ninja --toolchain "$source/tests/portable/aarch64.cmake" >"$build.configured" ||
  { cat "$build.configured"; rm -f "$build.configured"; exit 1; }
rm -f "$build.configured"
cmake --build "$build" -j "${TUTTI_JOBS:-2}" | tail -n 20
for made in lib/libmpi_abi.so.1 bin/mpirun; do
  aarch64-linux-gnu-readelf -h "$build/$made" | grep -q 'Machine:.*AArch64' || { echo "$made is not of aarch64"; exit 1; }
done
# Emulation takes ten times as long: the limits are for that. Some tests of the interface start compilers
# or programs without it, and are not among these.
cd "$build"
ctest --output-on-failure --timeout 1500 -j 2 -R '^(unit|coll|exec|types|abi)\.|^contract\.deadlock$' \
  -E '^unit\.(layers|tiers|tidy)|^abi\.(version|loaded_late|find_package|sanitizers|type_tags|fatal|interposed)' --no-tests=error
emulated=(qemu-aarch64 -L "$AARCH64_SYSROOT")
said=$(mktemp)
# runs NAME RANKS OPTION…: a program of tests/programs/ ends well.
runs() {
  timeout 300 "${emulated[@]}" bin/mpirun -n "$2" "${@:3}" "${emulated[@]}" "tests/programs/program.$1" >"$said" 2>&1 ||
    { echo "wrong: program.$1 on $2 ranks ${*:3}, exit code $?:"; cat "$said"; exit 1; }
}
for name in p2p.order p2p.completion p2p.partitioned coll.everything coll.requests coll.persistent rma.fence rma.pscw \
  rma.lock rma.atomics datatype.usage op.predefined comm.communicators file.views env.environment progress.overlap; do
  for ranks in 1 2 3 4; do runs "$name" $ranks; done
  runs "$name" 3 --set transport.shared_memory=off
  echo "ok: program.$name on 1 to 4 ranks, and on 3 by messages"
done
rm -f "$said"
