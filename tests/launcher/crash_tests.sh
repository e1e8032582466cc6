# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. A program's own crash: what is told of it, once for the job, and that it ends as it would have
# ended without anybody who tells.
crashes=$build/tests/launcher/crashes
crashes_source=$(dirname "${BASH_SOURCE[0]}")/crashes.c
line() { echo "crashes.c:$(grep -n "LINE $1 " "$crashes_source" | cut -d: -f1)"; }

# crash_of RANKS WAY SIGNAL: rank 1 ends by it, and one report is there.
crash_of() {
  launch -n "$1" "$crashes" "$2"
  expect_code $((128 + $3))
  said_once "was killed by signal $3"
  said_once "crashed: "
  ! grep -q "Caught signal\|backtrace\|\.so\.0+0x" err || fail "UCX tells its own"
  nothing_is_left
}
behind_barrier() {
  said_once "outside of MPI; the latest call was MPI_Barrier() on MPI_COMM_WORLD (2 ranks) at $(line barrier), in main()"
}

test_crash_says_where_by_library() {
  crash_of 2 null 11
  said "tutti: error: rank 1 on $(hostname) (process "
  said ") crashed: signal 11 (Segmentation fault): nothing is mapped at address 0x0"
  said "  at $(line writes), in writes()"
  said "  called at $(line null), in crash()"
  said "  called at $(line crash), in main()"
  ! grep -q "libc\|_start" err || fail "what is before main() is told"
  behind_barrier
}

test_crash_of_each_kind_by_library() {
  crash_of 2 abort 6
  said "signal 6 (Aborted): it called abort()"
  said "  called at $(line abort), in crash()"
  behind_barrier
  crash_of 2 divide 8
  said "integer division by zero"
  said "  at $(line divide), in crash()"
  crash_of 2 illegal 4
  said "  at $(line illegal), in crash()"
  crash_of 2 bus 7
  said "a file that is mapped has become shorter"
  said "  at $(line bus), in bus()"
  crash_of 2 jump 11
  said "it went to address 0x0, where no code is"
  said "  at $(line jump), in crash()"
  crash_of 2 sent 11
  said "it sent that to itself"
}

test_crash_of_a_full_stack_by_library() {
  crash_of 2 stack 11
  said "the stack is full, at address 0x"
  said "more of it)"
  said "$(line fills), in fills()"
}

test_crash_inside_a_call_by_library() {
  crash_of 2 callback 11
  said "  at $(line writes), in writes()"
  said "  called at $(line reduces), in reduces()"
  said "  called at $(line callback), in main()"
  said "  in MPI_Allreduce(1 of MPI_INT, a user's operation) on MPI_COMM_WORLD (2 ranks) at $(line callback)"
  crash_of 2 in_call 11
  said "  called at $(line in_call), in crash()"
  said "  in MPI_Send(1000 of MPI_INT, to 0, tag 7) on MPI_COMM_WORLD (2 ranks) at $(line in_call)"
}

test_crash_in_another_thread_by_library() {
  crash_of 2 thread 11
  said "  called at $(line thread), in in_thread()"
  said "in a thread that has not called MPI; the latest call of others was MPI_Barrier()"
}

test_crash_before_init_by_library() {
  launch -n 1 "$crashes" before
  expect_code 139
  said "  called at $(line before), in main()"
}

# A program that the rank has run, and that crashes before it, is not what is told.
test_crash_behind_that_of_a_helper_by_library() {
  crash_of 2 helper 11
  said "  called at $(line helper), in crash()"
  behind_barrier
}

test_crash_of_all_is_told_once_by_library() {
  crash_of 4 all 11
  said_once "  called at $(line null), in crash()"
}

# Without debug information there are functions, without symbols places in the file.
test_crash_without_lines_by_library() {
  local whole=$crashes
  crashes=$work/plain
  strip -g -o "$crashes" "$whole"
  crash_of 2 null 11
  said "writes()+0x"
  strip -o "$crashes" "$whole"
  crash_of 2 null 11
  said "at plain+0x"
  # Behind a shell, whose exit code is all that mpirun hears of.
  launch -n 2 sh -c "$whole null; exit \$?"
  expect_code 139
  said_once "  at $(line writes), in writes()"
}

# Handlers of a program, children that are no ranks, and who asks UCX for its own words.
test_crash_that_others_handle_by_library() {
  launch -n 2 "$crashes" handler
  expect_code 11
  printed mine
  ! grep -q "crashed:" err || fail "the program's own handler is not left alone"
  for way in ignored child; do
    launch -n 2 "$crashes" $way
    expect_code 0
    ! grep -q . err || fail "$way: something is said"
  done
  launch -n 2 -x UCX_ERROR_SIGNALS=SEGV "$crashes" null
  expect_code 139
  said "Caught signal 11"
  ! grep -q "crashed:" err || fail "both tell"
  nothing_is_left
}

# Nobody of ours has started it: what is safe to be said by the process itself.
test_crash_without_a_launcher_by_library() {
  code=0
  "$crashes" before >out 2>err || code=$?
  expect_code 139
  said_once "crashed: signal 11 (Segmentation fault), address 0x0"
  said "  at 0x"
  said " of the file $(readlink -f "$crashes")"
}

# A core file has the registers of the fault, as if nobody had handled it.
test_crash_leaves_its_core_by_library() {
  local pattern
  pattern=$(cat /proc/sys/kernel/core_pattern)
  [ "${pattern%%.*}" = core ] && command -v gdb >/dev/null || exit 77
  ulimit -c unlimited
  crash_of 2 null 11
  said "core dumped"
  gdb -batch -ex "print \$_siginfo._sifields._sigfault.si_addr" -ex where "$crashes" core* >where 2>&1
  rm -f core*
  grep -q "^\$1 = (void \*) 0x0" where || { cat where; fail "the core lacks the address"; }
  grep -q "^#0 .*writes.*crashes.c" where || { cat where; fail "the core has other frames"; }
}

# Daemons look where the program is, and the job tells one report.
test_crash_on_several_nodes_by_library() {
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >shell && chmod +x shell
  launch --set launch.rsh=./shell -H localhost:1,a.invalid:1,b.invalid:2 -n 4 "$crashes" all
  expect_code 139
  said_once "crashed: signal 11"
  said_once "  called at $(line null), in crash()"
  launch --set launch.rsh=./shell -H localhost:1,a.invalid:1 -n 2 "$crashes" null
  expect_code 139
  said "rank 1 on a.invalid (process "
  behind_barrier
  nothing_is_left
}

# The daemon answers meanwhile, and the job's end is not that of a daemon which is silent.
test_crash_whose_place_is_found_slowly_by_library() {
  local root=$work/slow
  printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >shell && chmod +x shell
  mkdir -p "$root/bin" "$root/libexec/tutti"
  cp "$(readlink -f "$build/bin/tutti")" "$root/bin/tutti" && ln -s tutti "$root/bin/mpirun"
  cp "$(readlink -f "$build/bin/tuttid")" "$root/bin/tuttid"
  printf '#!/bin/sh\nsleep 1.2\nexec "%s" "$@"\n' "$build/libexec/tutti/tutti-where" >"$root/libexec/tutti/tutti-where"
  chmod +x "$root/libexec/tutti/tutti-where"
  mpirun=$root/bin/mpirun launch --set launch.rsh=./shell -H localhost:1,a.invalid:1 -n 2 "$crashes" null
  expect_code 139
  ! grep -q "does not answer" err || fail "the daemon is silent meanwhile"
  said "  called at $(line null), in crash()"
  # Nobody who could tell the lines: the places in the files.
  rm "$root/libexec/tutti/tutti-where"
  mpirun=$root/bin/mpirun launch -n 2 "$crashes" null
  expect_code 139
  said_once "crashed: signal 11"
  said " of the file $(readlink -f "$crashes")"
  nothing_is_left
}
