#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# quiet.sh COMMAND…
# Runs a job that must end well and say nothing on its standard error. Exit 77:
# it said so.
set -uo pipefail
said=$("$@" 2>&1 >/dev/null </dev/null)
code=$?
if [ $code != 0 ] || [ -n "$said" ]; then
  printf 'quiet: exit code %s; the job said:\n%s\n' "$code" "$said" >&2
  [ $code = 77 ] && exit 77 || exit 1
fi
