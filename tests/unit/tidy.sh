#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tidy.sh changed|all SOURCE BUILD
# Runs clang-tidy, with the list in .clang-tidy, over launcher, runtime and lib: over all of it, or over
# what differs from the upstream branch (where that has everything, or there is none: from the last
# commit but one). Exit 77: there is no clang-tidy, or no history to compare with.
set -euo pipefail
which=$1 source=$2 build=$3
tidy=$(command -v clang-tidy || command -v clang-tidy-14) || { echo "skipped: no clang-tidy is installed"; exit 77; }
cd "$source"
. tests/unit/changed.sh

if [ "$which" = all ]; then
  files=$(find "${folders[@]}" -name '*.cpp' | sort)
else
  names=$(changed) || { echo "skipped: this is no clone with a history"; exit 77; }
  files=$(sources_of <<<"$names" | sort -u)
fi
[ -n "$files" ] || { echo "nothing has changed that clang-tidy reads"; exit 0; }
echo "$(wc -l <<<"$files") files"
mapfile -t flags < <(flags_of "$source" "$build")
[ ${#flags[@]} -gt 0 ] || { echo "$build/compile_commands.json does not tell how these are compiled" >&2; exit 1; }
# What it says on the error stream is how many warnings it has kept for itself.
xargs -P "$(nproc)" -I '{}' "$tidy" --quiet '{}' -- -std=c++20 "${flags[@]}" <<<"$files" 2>/dev/null
