#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sanitized.sh thread|address [label regex]
# Runs the tests that suit a sanitizer in the tree that `./dev test` built with it. Exit 77: no tree.
# Without TUTTI_LONG=1, which `./dev test --all` sets, only those that are quick or middle in that tree.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
sanitizer=$1
case $sanitizer in
  thread)  tree=$source_dir/build-tsan ;;
  address) tree=$source_dir/build-asan ;;
  *) echo "sanitized.sh: '$sanitizer' is no sanitizer; it may be thread or address" >&2; exit 2 ;;
esac
labels=${2:-"^(unit|sanitized?)$"}
if [ ! -e "$tree/build.ninja" ]; then
  echo "skipped: $tree is not built; './dev test' builds it"
  exit 77
fi

suppressions=$source_dir/tests/suppressions
# UCX, PMIx and libevent are not instrumented and keep memory until exit, so leaks are not looked for.
# A test asks for more memory than there is, and expects to be refused.
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:abort_on_error=0:detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export TSAN_OPTIONS="allocator_may_return_null=1:suppressions=$suppressions/thread.supp:halt_on_error=0:exitcode=66:history_size=4${TSAN_OPTIONS:+:$TSAN_OPTIONS}"

# A program's end is not delayed, which a job's may not be; its last second is not where races hide.
export TSAN_OPTIONS="atexit_sleep_ms=0:$TSAN_OPTIONS"

# UCX's hooks into mmap call into the sanitizer after a thread's end.
export UCX_MEM_MMAP_HOOK_MODE=none

# ThreadSanitizer cannot map its shadow where the kernel randomises many address bits.
without_aslr=()
if [ "$sanitizer" = thread ] && setarch "$(uname -m)" -R true 2>/dev/null; then
  without_aslr=(setarch "$(uname -m)" -R)
fi
tiers=()
if [ "${TUTTI_LONG:-}" != 1 ]; then
  tiers=(-L '^(quick|middle)$')
  # Of the ways by which tests of the engine send messages, the two that have code of their own for threads.
  [ "$sanitizer" != thread ] || export GTEST_FILTER="-*/loopback:*/tcp:*/shared_copying"
fi
exec ${without_aslr[@]+"${without_aslr[@]}"} ctest --test-dir "$tree" -L "$labels" \
  ${tiers[@]+"${tiers[@]}"} -j 4 --output-on-failure --no-tests=error
