#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/run.sh tries a test once more that a clock judges and that failed, if no other did: in a tree of made-up tests.
# usage: run_twice.sh SOURCE
set -euo pipefail
run=$1/tests/run.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# made_up NAME LABEL COMMAND: a test of the tree.
made_up() {
  printf 'add_test(%s bash -c [[%s]])\nset_tests_properties(%s PROPERTIES LABELS "%s")\n' "$1" "$3" "$1" "$2" \
    >>"$tree/CTestTestfile.cmake"
}
# ends CODE WHAT ARG…: run.sh ends so with these arguments, each disturbed test being new.
ends() {
  local code=0
  rm -f "$tree/disturbed"
  "$run" "$tree" "${@:3}" >"$tree/said" 2>&1 || code=$?
  [ $code = "$1" ] || { echo "wrong: $2: exit code $code, not $1"; cat "$tree/said"; exit 1; }
}
says() { grep -q "$1" "$tree/said" || { echo "wrong: not said: $1"; cat "$tree/said"; exit 1; }; }
never_says() { ! grep -q "$1" "$tree/said" || { echo "wrong: said: $1"; cat "$tree/said"; exit 1; }; }

made_up right quick true
made_up wrong quick false
made_up clock.disturbed 'quick;clock' "[ -e $tree/disturbed ] || { touch $tree/disturbed; false; }"
made_up clock.wrong 'quick;clock' false
made_up not.clock.disturbed quick "[ -e $tree/disturbed ] || { touch $tree/disturbed; false; }"

ends 0 'all are right' -R '^right$'
never_says 'once more'
ends 0 'a clock was disturbed' -R '^(right|clock.disturbed)$'
says 'once more'
says '100% tests passed, 0 tests failed out of 1$'
ends 8 'one is wrong by the clock' -R '^(clock.disturbed|clock.wrong)$'
says 'once more'
ends 8 'one that no clock judges is wrong' -R '^(wrong|clock.disturbed)$'
never_says 'once more'
ends 8 'one that no clock judges was disturbed' -R '^not.clock.disturbed$'
never_says 'once more'
ends 8 'there is no such test' -R '^none$'
echo "ok: what a clock judges is tried twice, and nothing else"
