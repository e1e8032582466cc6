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
