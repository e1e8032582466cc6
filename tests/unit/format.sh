#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# format.sh SOURCE [--mend]: holds that each C and C++ source is as .clang-format says, or makes it so. Exit 77: there is
# no clang-format 19, the one version whose opinion counts. What stands in lib/table/ goes into mpi.h as it is, whose
# declarations the standard's own notation decides.
set -euo pipefail
cd "$1"
tool=$(command -v clang-format-19) || { echo "skipped: no clang-format-19 is installed"; exit 77; }
mode=(--dry-run -Werror)
[ "${2:-}" != --mend ] || mode=(-i)
files=$(find launcher lib runtime tests conf \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cc' \) -type f ! -path 'lib/table/*' | sort)
[ "$(wc -l <<<"$files")" -ge 500 ] || { echo "wrong: only these sources are here: $files"; exit 1; }
xargs -P "$(nproc)" -n 40 "$tool" "${mode[@]}" <<<"$files" || {
  echo "wrong: these sources are not as .clang-format says; tests/unit/format.sh . --mend makes them so"
  exit 1
}
echo "$(wc -l <<<"$files") sources are as .clang-format says"
