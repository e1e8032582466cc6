# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. mpirun --stop-on-start and --gdb, with a real gdb.

all_wait() { [ "$(grep -c 'waits in MPI_Init' err)" = "$1" ]; }
# The processes that wait, in the order of ranks.
waiting() { grep 'waits in MPI_Init' err | sort -t' ' -k3 -n | sed 's/.*process \([0-9]*\) on.*/\1/'; }

test_ranks_wait_for_a_debugger_by_library() {
  command -v gdb >/dev/null || exit 77
  launch_behind -n 2 --stop-on-start "$stay"
  within 20 all_wait 2 || fail "the ranks do not wait"
  said "ranks wait in MPI_Init, each for its debugger; 'kill -CONT $launched' lets all go on"
  sleep 0.5
  [ ! -s out ] || fail "a rank has left MPI_Init"
  "$build/bin/tutti" why >why 2>&1
  grep -q 'ranks 0, 1: waits in MPI_Init for a debugger (--stop-on-start); it goes on when' why || fail "tutti why says $(cat why)"
  "$build/bin/tutti" why --json >why 2>&1
  [ "$(grep -c '"state":"awaits-debugger"' why)" -ge 2 ] || fail "tutti why --json says $(cat why)"
  # A debugger that is attached, and lets the rank go on: this one leaves MPI_Init, and reaches the breakpoint behind it.
  local pid other
  pid=$(waiting | sed -n 1p)
  timeout 60 gdb -q -batch -nx -p "$pid" -ex 'break MPI_Barrier' -ex 'continue' -ex 'bt 2' >session 2>&1
  grep -q 'Breakpoint 1, .*MPI_Barrier' session || fail "gdb says: $(cat session)"
  grep -q 'in main' session || fail "gdb does not see main: $(cat session)"
  # The other one is not attached to: the signal that mpirun passes on releases it.
  [ ! -s out ] || fail "the other rank has left MPI_Init"
  kill -CONT "$launched"
  within 20 all_ready 2 || fail "SIGCONT does not release the ranks: $(cat out)"
  fault kill -TERM "$launched"
  ends_in_time
}

test_ranks_do_not_wait_unless_told_by_library() {
  launch_behind -n 1 "$stay"
  within 20 all_ready 1 || fail "the rank does not start"
  fault kill -TERM "$launched"
  ends_in_time
}

test_gdb_for_each_rank_by_library() {
  command -v gdb >/dev/null && command -v tmux >/dev/null || exit 77
  launch_behind -n 2 --gdb "$stay"
  opened() { grep -q "a gdb for each rank waits in 'tmux -L tutti-" err; }
  within 30 opened || fail "no windows are opened"
  local socket window
  socket=$(sed -n "s/.*waits in 'tmux -L \([^ ]*\) attach'.*/\1/p" err)
  [ "$(tmux -L "$socket" list-windows -F '#W' | tr '\n' ,)" = "rank 0,rank 1," ] ||
    fail "windows: $(tmux -L "$socket" list-windows)"
  has_prompt() { tmux -L "$socket" capture-pane -p -t "ranks:$1" | grep -q '^(gdb)'; }
  for window in 'rank 0' 'rank 1'; do
    within 40 has_prompt "$window" || fail "gdb of $window: $(tmux -L "$socket" capture-pane -p -t "ranks:$window")"
    tmux -L "$socket" send-keys -t "ranks:$window" continue Enter
  done
  within 20 all_ready 2 || fail "the ranks do not go on: $(cat err)"
  fault kill -TERM "$launched"
  ends_in_time
}

# A tool of PMIx sees the processes that wait, and lets them go on.
test_tool_of_pmix_by_library() {
  launch_behind -n 2 --stop-on-start "$stay"
  within 20 all_wait 2 || fail "the ranks do not wait"
  local file="$TMPDIR"/tutti.*.launcher/pmix.*.tool."$launched"
  timeout 30 "$build/tests/launcher/pmix_tool" $file >table 2>&1 || fail "the tool: $(cat table)"
  [ "$(awk '{print $1, $3, $4}' table | sort)" = "$(waiting | awk '{print NR - 1, $1, "stay"}')" ] ||
    fail "the table is $(cat table), and the ranks are $(waiting)"
  sleep 0.3
  [ ! -s out ] || fail "a rank has left MPI_Init"
  timeout 30 "$build/tests/launcher/pmix_tool" $file release >table 2>&1 || fail "the tool: $(cat table)"
  within 20 all_ready 2 || fail "the ranks do not go on"
  fault kill -TERM "$launched"
  ends_in_time
}

test_gdb_that_is_not_there() {
  PATH=/nonexistent "$mpirun" --gdb -n 1 /bin/true >out 2>err && fail "it starts"
  said "--gdb: tmux is not in PATH; type --stop-on-start"
}
