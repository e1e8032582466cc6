#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# processes.sh BUILD TEST [FAN_OUT]
# Runs one test of the launcher with real processes on this machine, from a build tree. The tests are
# the functions test_… of the *_tests.sh beside it. With a fan-out daemons start one another (launch.fan_out); 1: each
# has started the next one.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
wanted=$2
fan_out=${3:-}

. "$here/../fault_bound.sh"
. "$here/../idle_bound.sh"
. "$here/harness.sh"
for tests in "$here"/*_tests.sh; do . "$tests"; done
declare -F "test_$wanted" >/dev/null || fail "there is no such test"
"test_$wanted"
