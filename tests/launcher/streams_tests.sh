# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. The standard streams of ranks.

test_tagged_output() {
  launch -n 2 --tag-output sh -c 'printf "a\nb"; printf "e\n" >&2'
  [ "$(sort out | tr '\n' ' ')" = "[0] a [0] b [1] a [1] b " ] || fail "wrong tags"
  said "[0] e"
  said "[1] e"
}

test_lines_stay_whole() {
  # Each rank writes its lines in small pieces, as fast as it can.
  launch -n 4 awk 'BEGIN { for (i = 0; i < 3000; ++i) { for (j = 0; j < 10; ++j) { printf "%s%s%s", ENVIRON["PMIX_RANK"], ENVIRON["PMIX_RANK"], ENVIRON["PMIX_RANK"]; fflush() } print "" } }'
  expect_code 0
  printed_lines 12000
  [ "$(sort -u out | tr '\n' ' ')" = "$(printf '%030d ' 0)$(printf '1%.0s' {1..30}) $(printf '2%.0s' {1..30}) $(printf '3%.0s' {1..30}) " ] ||
    fail "lines are mixed"
}

test_last_line_without_an_end() {
  launch -n 1 printf 'no end'
  [ "$(cat out)" = "no end" ] || fail "wrong output"
  [ "$(wc -c <out)" = 6 ] || fail "something was added"
}

test_large_input_and_output() {
  volume >in
  "$mpirun" -n 2 cat <in >out 2>err || fail "exit code $?"
  cmp in out || fail "a file changed on its way"
  # Through pipes, to a reader that takes its time.
  cat in | "$mpirun" -n 1 cat 2>err | { sleep 1; cmp - in; } || fail "a pipe's bytes changed"
  nothing_is_left
}

test_only_rank_0_has_input() {
  echo word | "$mpirun" -n 3 sh -c 'read x; echo "$PMIX_RANK:$x"' >out 2>err
  [ "$(sort out | tr '\n' ' ')" = "0:word 1: 2: " ] || fail "wrong input"
}

test_closed_input() {
  launch -n 2 cat <&-
  expect_code 0
  launch -n 1 sh -c 'echo ok' <&- 
  printed ok
  # A rank that does not read, and one that stops reading.
  yes | "$mpirun" -n 1 true 2>err
  [ "${PIPESTATUS[1]}" = 0 ] || fail "unread input is a failure"
  yes | "$mpirun" -n 1 head -1 >out 2>err
  [ "${PIPESTATUS[1]}" = 0 ] || fail "input that is partly read is a failure"
  printed_lines 1
  nothing_is_left
}

test_closed_output() {
  "$mpirun" -n 2 yes 2>err | head -1 >out
  printed y
  nothing_is_left
  "$mpirun" -n 2 echo x >&- 2>err || fail "exit code $?"
  nothing_is_left
}

test_stuck_reader_cannot_hold_the_end_up() {
  mkfifo pipe
  env -u TUTTI_TEST_MARK sleep 600 <pipe &
  "$mpirun" -n 2 yes >pipe 2>err &
  launched=$!
  sleep 0.5
  fault kill -TERM "$launched"
  ends_in_time
  kill %1
  wait %1 2>/dev/null
  expect_code 143
}

# write_error STREAM REASON: how the job ended.
write_error() {
  expect_code 1
  said_once "mpirun cannot write its standard $1: $2; the job ends"
}
test_full_disk() {
  code=0
  timeout 30 "$mpirun" -n 2 yes >/dev/full 2>err || code=$?
  write_error output "No space left on device"
  code=0
  timeout 30 "$mpirun" -n 1 echo once >/dev/full 2>err || code=$?
  write_error output "No space left on device"
  # What standard error has no room for is said where there is some.
  code=0
  timeout 30 "$mpirun" -n 1 sh -c 'echo word; yes >&2' 2>/dev/full >err || code=$?
  write_error error "No space left on device"
  code=0
  timeout 30 "$mpirun" -n 1 sh -c 'yes; yes >&2' >/dev/full 2>&1 || code=$?
  expect_code 1
  # A file over its limit is no other error for want of a signal.
  code=0
  (ulimit -f 8; exec timeout 30 "$mpirun" -n 1 yes) >big 2>err || code=$?
  write_error output "File too large"
  nothing_is_left
}

test_full_disk_of_other_commands() {
  local command
  for command in "info" "info --config" "run --help" "help" "--version"; do
    code=0
    timeout 30 "$build/bin/tutti" $command >/dev/full 2>err || code=$?
    [ "$code" != 0 ] || fail "tutti $command: exit code 0"
    said_once "cannot write standard output: No space left on device"
  done
}

test_full_disk_of_why_by_library() {
  local format
  start_ready 2 -n 2 "$stay"
  for format in "" --json; do
    code=0
    timeout 30 "$build/bin/tutti" why $format >/dev/full 2>why || code=$?
    [ "$code" != 0 ] || fail "tutti why $format: exit code 0"
    grep -qF "cannot write standard output: No space left on device" why || fail "tutti why $format: $(cat why)"
  done
  fault kill -TERM "$launched"
  ends_in_time
}

test_unreadable_input() {
  code=0
  timeout 30 "$mpirun" -n 2 cat </ >out 2>err || code=$?
  expect_code 1
  said_once "mpirun cannot read its standard input: Is a directory; the job ends"
  nothing_is_left
  "$mpirun" -n 2 cat 0>/dev/null 2>err || fail "input that is open for writing alone is a failure"
}

# --- what a program printed, and left in memory, before the job ended ------------------------------

test_last_words_by_library() {
  local how
  for how in abort fatal; do
    rm -f file
    launch -n 1 "$departs" $how "$work/file"
    [ "$code" != 0 ] || fail "$how: exit code 0"
    printed "kept by stdio"
    printed "kept by C++"
    [ "$(cat file)" = "kept in a file" ] || fail "$how: the file has: $(cat file)"
    code=0
    timeout 30 "$departs" $how "$work/file" >out 2>err || code=$?  # without a launcher
    [ "$code" != 0 ] || fail "$how: exit code 0"
    printed "kept by stdio"
    printed "kept by C++"
  done
  # Of the two, at least the one that tells.
  launch -n 2 "$departs" differ
  [ "$code" != 0 ] || fail "exit code 0"
  printed "kept by stdio"
  printed "kept by C++"
  nothing_is_left
}

test_last_words_have_a_bound_by_library() {
  # Another thread has the lock of standard output: what the other streams hold comes.
  launch_behind -n 1 "$departs" locked "$work/file"
  fault true
  ends_in_time
  expect_code 42
  printed "kept by C++"
  [ "$(cat file)" = "kept in a file" ] || fail "the file has: $(cat file)"
  # Nobody reads the pipe.
  mkfifo pipe
  env -u TUTTI_TEST_MARK sleep 600 <pipe &
  timeout 30 "$departs" stuck >pipe 2>err &
  launched=$!
  fault true
  ends_in_time
  kill %1
  wait %1 2>/dev/null
  expect_code 42
}
