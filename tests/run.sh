#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs tests of a tree, and says before ctest's closing line which took longest. Where nothing but tests that a clock
# judges (tests/tiers.cmake) have failed, the machine may have been taken away for a moment: they are tried once more,
# alone, and that it was so is said. The exit code is ctest's.
# usage: run.sh TREE [CTEST ARG…]
set -euo pipefail
tree=$1
here=$(dirname "$0")

# Whether each test that failed when ctest ran last is of those that a clock judges.
only_clocks_failed() {
  local judged failed
  failed=$(sed 's/^[0-9]*://' "$tree/Testing/Temporary/LastTestsFailed.log")
  judged=$(ctest --test-dir "$tree" -N -L '^clock$' | sed -n 's/^ *Test *#[0-9]*: //p')
  [ -n "$judged" ] && [ -n "$failed" ] && ! grep -qvxF "$judged" <<<"$failed"
}

cores=$(nproc)
status=0
# Two slots for each core (tests/tiers.cmake).
ctest --test-dir "$tree" -j $((cores > 2 ? 2 * cores : 4)) --output-on-failure --no-tests=error "${@:2}" |
  python3 "$here/slowest.py" || status=$?
if [ $status = 8 ] && only_clocks_failed; then
  echo "tests: a clock judges all that failed, and something else may have had the processor: once more"
  exec ctest --test-dir "$tree" --rerun-failed --output-on-failure
fi
exit $status
