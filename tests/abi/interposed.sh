#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# interposed.sh PROGRAM LINKED_PROGRAM TOOL_LIBRARY: a tool counts a program's own calls and none of
# the library's, preloaded or linked in; without it nothing is printed.
program=$1 linked=$2 tool=$3
expected="tool: 3 sends, 2 allreduces"
bad=0
same() {
  [ "$2" = "$3" ] || { printf 'wrong: %s: expected "%s", got "%s"\n' "$1" "$2" "$3"; bad=1; }
}
same "without a tool" "" "$(timeout 60 "$program" || echo failed)"
same preloaded "$expected" "$(LD_PRELOAD="$tool${LD_PRELOAD:+:$LD_PRELOAD}" timeout 60 "$program" || echo failed)"
same "linked in" "$expected" "$(timeout 60 "$linked" || echo failed)"
exit $bad
