#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Wrong programs as their users meet them: the job ends, the first line of error says what is wrong
# and where, and it says so once. And what tutti why says of a job.
# usage: reports.sh BIN PROGRAM SOURCE CASE
set -u
bin=$1 program=$2 source=$3 case=$4
out=$(mktemp) err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT
fail() { echo "$case: $*"; echo "--- said:"; cat "$out" "$err"; exit 1; }
line() { grep -n "LINE $1 " "$source" | cut -d: -f1; }

if [ "$case" = why ]; then
  "$bin/mpirun" -n 3 "$program" stopped >"$out" 2>"$err" &
  job=$!
  for _ in $(seq 200); do
    sleep 0.1
    pids=$(pgrep -P $job -x contract.fatal)  # not the watchdog, a fork of mpirun
    first=$(echo "$pids" | head -1)
    [ -n "$first" ] || continue
    id=$(tr '\0' '\n' <"/proc/$first/environ" | sed -n 's/^TUTTI_JOB=//p')
    "$bin/tutti" why "$id" 2>/dev/null | grep -q "ranks 0, 2: .*waiting for rank 1" && break
  done
  kill -STOP $pids
  for pid in $pids; do  # they stop when they are next to run
    until grep -q "^State:.T" "/proc/$pid/status"; do sleep 0.01; done
  done
  "$bin/tutti" why "$id" >"$out"
  json=$("$bin/tutti" why --json "$id")
  kill -CONT $pids
  "$bin/tutti" why --record 0 1 "$id" >>"$out"
  json+=$("$bin/tutti" why --json --record 0 1 "$id")
  "$bin/tutti" why --dump 2 "$id" >>"$out"
  kill -TERM $job
  wait $job
  grep -q "ranks 0, 2: stopped; in MPI_Bcast(1 of MPI_INT, root 1) on MPI_COMM_WORLD (3 ranks), called at fatal.c:$(line stopped)" "$out" ||
    fail "the group is not told"
  grep -q "waiting for rank 1" "$out" || fail "whom they wait for is not told"
  grep -q "unlike most: rank 1" "$out" || fail "the odd one is not told"
  grep -q "collective calls that both records hold agree" "$out" || fail "the records are not compared"
  grep -q "rank 1 is 1 call behind rank 0 on MPI_COMM_WORLD (3 ranks)" "$out" || fail "who is behind is not told"
  grep -q '"same":100,"difference":null,"behind":\[{"rank":1,"behind":0,"calls":1,' <<<"$json" || fail "no JSON of the comparison: $json"
  grep -q "^rank 2 on .*: its latest 101 collective calls" "$out" || fail "no record is dumped"
  grep -q "^  101 on MPI_COMM_WORLD (3 ranks): (now) MPI_Bcast(1 of MPI_INT, root 1) at fatal.c:$(line stopped)" "$out" ||
    fail "the record lacks the call that is under way"
  grep -q '"rank":1,.*"state":"outside"' <<<"$json" || fail "no JSON: $json"
  exit 0
fi
if [ "$case" = outside ]; then
  "$bin/mpirun" -n 3 "$program" outside >"$out" 2>"$err" &
  job=$!
  barrier="MPI_Barrier() on MPI_COMM_WORLD (3 ranks) at fatal.c:[0-9]*, in main()"
  for _ in $(seq 200); do
    sleep 0.1
    "$bin/tutti" why >"$out" 2>/dev/null
    grep -q "asleep in read" "$out" && grep -q "asleep in pause" "$out" && grep -q ", 1.[0-9] s ago" "$out" && break
  done
  kill -TERM $job
  wait $job
  grep -q "^  rank 0: outside of MPI, running; the latest call was $barrier, [0-9.]* s ago$" "$out" || fail "rank 0"
  grep -q "^  rank 1: outside of MPI, asleep in read of pipe:\[[0-9]*\]; the latest call was $barrier, [0-9.]* s ago (process [0-9]*)$" "$out" || fail "rank 1"
  grep -q "^  rank 2: outside of MPI, asleep in pause; the latest call was $barrier, [0-9.]* s ago" "$out" || fail "rank 2"
  exit 0
fi
if [ "$case" = timeout ]; then
  "$bin/mpirun" -n 3 --timeout 2 "$program" stopped >"$out" 2>"$err"
  [ $? = 124 ] || fail "the exit code is not 124"
  grep -q "ranks 0, 2: in MPI_Bcast" "$err" || fail "what the ranks did is not told"
  exit 0
fi

if [ "$case" = alone ]; then
  "$program" alone >"$out" 2>"$err" && fail "the exit code is 0"
  grep -q "MPI_Send: rank 1 is not in communicator MPI_COMM_WORLD of 1 rank, for the program was started without mpirun (argument dest)" "$err" ||
    fail "that mpirun was forgotten is not told"
  exit 0
fi

# Files return errors: the job goes on to its end, whose exit code is not 0 unless the program has looked at them.
if [[ $case = file_* ]]; then
  cd "$(dirname "$out")" || exit 1
  timeout 30 "$bin/mpirun" -n 3 "$program" "$case" >"$out" 2>"$err"
  code=$?
  [ $code = "$([ "$case" = file_overlooked ] && echo 1 || echo 0)" ] || fail "the exit code is $code"
  # It is told when two ranks contradict each other, of which the third may know nothing yet.
  grep -qE "error: rank 1 calls MPI_File_read_all \(fatal.c:[0-9]+\) where (ranks 0 and 2 call|rank [02] calls) MPI_File_write_all \(fatal.c:[0-9]+\), on the file fatal.dat \(3 ranks\)" "$err" ||
    fail "what does not fit together is not told"
  [ "$(grep -c "done" "$out")" = 3 ] || fail "the program has not come to its end"
  exit 0
fi

world='MPI_COMM_WORLD \(3 ranks\)'
declare -A sentence=(
  [order]="ranks? .* calls? MPI_(Barrier|Bcast) \(fatal.c:[0-9]+\) where ranks? .* calls? MPI_(Barrier|Bcast) \(fatal.c:[0-9]+\), on $world"
  [answers_late]="rank 1 calls MPI_Bcast \(fatal.c:$(line answers_late)\) where ranks 0 and 2 call MPI_Barrier \(fatal.c:[0-9]+\), on solver \(3 ranks\)"
  [form]="ranks? .* MPI_(Ib|B)arrier \(fatal.c:[0-9]+\) where .* MPI_(Ib|B)arrier \(fatal.c:[0-9]+\), on $world"
  [root]="ranks? .* MPI_Bcast with root [01] \(fatal.c:$(line root)\) where .* root [01] \(fatal.c:$(line root)\), on $world"
  [two_roots]="ranks? [01] calls? MPI_Bcast with root [01].* where rank [01] has root [01].*, on a communicator of 2 ranks made by MPI_Comm_split from MPI_COMM_WORLD"
  [op]="ranks? .* MPI_Allreduce with MPI_(MAX|SUM) \(fatal.c:$(line op)\) where .* MPI_(MAX|SUM) .*, on $world"
  [count]="ranks? .* MPI_Bcast with [24] of MPI_INT \(fatal.c:$(line count)\) where .* [24] of MPI_INT .*, on $world"
  [type]="ranks? .* MPI_Bcast with 2 of MPI_(INT|FLOAT) \(fatal.c:$(line type)\) where .* 2 of MPI_(INT|FLOAT) .*, on $world"
  [pair]="rank 1 sends 8 bytes where rank 0 expects 4 from it in MPI_Gatherv on $world"
  [persistent_pair]="rank 1 sends 8 bytes where rank 0 expects 4 from it in MPI_Gatherv_init on a persistent collective of 3 ranks made by MPI_Gatherv_init from MPI_COMM_WORLD"
  [constructor]="ranks? .* MPI_Comm_(split|dup) \(fatal.c:[0-9]+\) where .* MPI_Comm_(split|dup) .*, on $world"
  [finalize]="ranks? .* calls? MPI_(Finalize|Barrier) .* where .* MPI_(Finalize|Barrier) .*, on $world"
  [finalize_other]="rank 1 has called MPI_Finalize while ranks? .* MPI_Barrier \(fatal.c:$(line finalize_other)\), on a communicator of 3 ranks made by MPI_Comm_split from MPI_COMM_WORLD"
  [freed]="ranks? .* MPI_(Comm_free|Bcast) .* where .* MPI_(Comm_free|Bcast) .*, on solver \(3 ranks\)"
  [exit]="rank 1 .*without MPI_Finalize"
  [freed_comm]="rank 1 on [^:]+: MPI_Bcast: the communicator has been freed already \(argument comm\). The job ends"
  [uncommitted]="rank 1 on [^:]+: MPI_Send: a datatype without a name is not committed.* \(argument datatype\). The job ends"
  [truncated]="rank 0 on [^:]+: MPI_Wait: the message of 12 bytes from rank 1 with tag 4 is longer than the receive buffer of 8 bytes"
  [free_active]="rank 1 on [^:]+: MPI_Request_free: the request belongs to an active nonblocking collective"
  [message_types]="rank 0 on [^:]+: MPI_Recv: rank 1 sends 2 of MPI_INT where rank 0 receives 3 of MPI_FLOAT, with tag 4 on $world: the type signatures .*The job ends"
  [message_types_later]="rank 0 on [^:]+: MPI_Waitany: rank 1 sends 2 of MPI_INT where rank 0 receives 3 of MPI_FLOAT, with tag 4 on $world: the type signatures"
  [message_types_freed]="rank 0 on [^:]+: MPI_Request_free: rank 1 sends 2 of MPI_INT where rank 0 receives 3 of MPI_FLOAT, with tag 4 on $world: the type signatures"
  [own_block]="rank [012] sends itself 1 of MPI_FLOAT where it receives 1 of MPI_INT from itself, in MPI_Allgather on $world"
  [scatter_type]="rank 1 calls MPI_Scatter with 1 of MPI_FLOAT .* where ranks? .* 1 of MPI_INT .*, on $world"
  [own_block_scatter]="rank 0 sends itself 1 of MPI_INT where it receives 3 of MPI_INT from itself, in MPI_Scatter on $world"
  [number_as_buffer]="rank [012] on [^:]+: MPI_Recv: MPI_IN_PLACE is no memory: .*\(argument buf; the number 1 in the place of an address looks like it\)"
  [count_for_type]="rank [012] on [^:]+: MPI_Bcast: 0x1 is no datatype"
  [truncated_all]="rank 0 on [^:]+: MPI_Waitall: request [012] of 3: the message of 12 bytes from rank 1 with tag 4 is longer than the receive buffer of 8 bytes"
  [open_epoch]="rank 1 on [^:]+: MPI_Win_free: the window cannot be freed yet, for the epoch of MPI_Win_lock is open: call MPI_Win_unlock first \(argument win\)"
  [no_target]="rank 1 on [^:]+: MPI_Put: rank 7 is not in a window of 3 ranks \(argument target_rank\)"
  [overlap]="rank 1 on [^:]+: MPI_Send: the send buffer shares bytes with the receive buffer of an operation that is not complete"
)
sentence+=(
  [two_roots_between]="ranks? .* of group [AB] calls? MPI_Bcast with root (MPI_ROOT|0) \(fatal.c:$(line two_roots_between)\) where .* root (MPI_ROOT|0).*, on a communicator of 2 and 1 ranks made by MPI_Intercomm_create"
  [other_group]="rank 1 on [^:]+: MPI_Send: rank 2 is not in the other group, of 2 ranks, of a communicator without a name \(argument dest\)"
  [group_order]="rank 1 on [^:]+: MPI_Comm_create_group: the group is that of ranks 1, 0, where rank 0 gives that of ranks 0, 1: "
  [group_tag]="deadlock: "
  [leaders_tag]="deadlock: "
  [glued]="rank 1 on [^:]+: MPI_Bcast: 0x1 is no datatype"
  [null_type]="rank [012] on [^:]+: MPI_Send: the datatype is null \(argument datatype\)"
  [persistent_left]="rank 1 has called MPI_Finalize while ranks 0 and 2 wait for it in MPI_(Start|Wait) \(fatal.c:[0-9]+\), on a persistent collective of 3 ranks made by MPI_Allreduce_init from MPI_COMM_WORLD"
)
for how in freed left; do sentence[two_roots_$how]=${sentence[two_roots]}; done
for how in pair started; do sentence[message_types_freed_$how]=${sentence[message_types_freed]}; done
# What the lines below the sentence tell.
declare -A lines=(
  [freed_comm]="rank 1: MPI_Bcast\(1 of MPI_INT, root 1\) at fatal.c:$(line freed_comm),
the communicator was made by MPI_Comm_dup at fatal.c:$(line made),
the communicator was freed by MPI_Comm_free at fatal.c:$(line gone),"
  [uncommitted]="rank 1: MPI_Send\(1 of a derived datatype, to 0, tag 4\) on a communicator of 3 ranks made by MPI_Comm_split from MPI_COMM_WORLD at fatal.c:$(line uncommitted),
the datatype was made by MPI_Type_vector at fatal.c:$(line made_type),
the communicator was made by MPI_Comm_split at fatal.c:"
  [truncated]="rank 0: MPI_Wait\(\) on $world at fatal.c:$(line truncated),
the operation was started by MPI_Irecv at fatal.c:$(line posted),
it was sent by rank 1 on [^:]+: MPI_Send\(3 of MPI_INT, to 0, tag 4\) at fatal.c:$(line sent_long),"
  [truncated_all]="rank 0: MPI_Waitall\(\) on $world at fatal.c:$(line truncated_all),
it was sent by rank 1 on [^:]+: MPI_Send\(3 of MPI_INT, to 0, tag 4\) at fatal.c:$(line sent_each),"
  [scatter_type]="rank 1: MPI_Scatter\(receiving 1 of MPI_FLOAT, root 0\) at fatal.c:$(line scatter_type),"
  [own_block_scatter]="what a rank sends to itself is what it expects from itself; sendcount is how many go to each rank, not to all together"
  [count_for_type]="rank [012]: MPI_Bcast\(4 of no datatype, root 0\)"
  [free_active]="rank 1: MPI_Request_free\(\) on $world at fatal.c:$(line free_active),
the operation was started by MPI_Ibarrier at fatal.c:$(line started),"
  [message_types]="rank 0: MPI_Recv\(3 of MPI_FLOAT, from 1, tag 4\) on $world at fatal.c:$(line message_types),
it was sent by rank 1 on [^:]+: MPI_Send\(2 of MPI_INT, to 0, tag 4\) at fatal.c:$(line sent_ints),"
  [message_types_later]="rank 0: MPI_Waitany\(\) on $world at fatal.c:$(line message_types_later),
the operation was started by MPI_Irecv at fatal.c:$(line posted_floats),
it was sent by rank 1 on [^:]+: MPI_Send\(2 of MPI_INT, to 0, tag 4\) at fatal.c:$(line sent_later),"
  [message_types_freed]="rank 0: MPI_Request_free\(\).* at fatal.c:$(line message_types_freed),"
  [own_block]="rank.*: MPI_Allgather\(1 of MPI_FLOAT, receiving 1 of MPI_INT\) at fatal.c:$(line own_block),"
  [two_roots_between]="ranks? [01]( and 1)? of group A: MPI_Bcast\(1 of MPI_INT, root MPI_ROOT\) at fatal.c:"
  [group_tag]="rank 1 makes a communicator with tag 9 where rank 0 makes one with tag 3 on $world: all members give the same"
  [leaders_tag]="rank [01] makes a communicator with tag [78] where rank [01] makes one with tag [78] on $world: all members give the same"
  [null_type]="rank [012]: MPI_Send\(2 of MPI_DATATYPE_NULL, to 1, tag 4\)"
  [overlap]="rank 1: MPI_Send\(2 of MPI_INT, to 0, tag 4\) on $world at fatal.c:$(line overlap),
the operation that is not complete was started by MPI_Irecv at fatal.c:$(line posted_first),"
)
judge() {  # judge OPTION…
  timeout 30 "$bin/mpirun" -n 3 "$@" "$program" "$case" >"$out" 2>"$err"
  code=$?
  [ $code != 0 ] && [ $code != 124 ] || fail "the exit code is $code"
  errors=$(grep -c "error:" "$err")
  [ "$errors" = 1 ] || fail "$errors errors are told, not one"
  grep -qE "^tutti: error: ${sentence[$case]}" "$err" || fail "not told: ${sentence[$case]}"
}
# Where the objects come from is known to strict alone.
if [ -z "${lines[$case]-}" ]; then judge; else judge --check=strict; fi
case $case in two_roots*) judge --set "collectives.override=bcast shared" ;; esac
while read -r wanted; do
  [ -z "$wanted" ] || grep -qE "^  $wanted" "$err" || fail "no line says: $wanted"
done <<<"${lines[$case]-}"
# Each rank's root is told in its own words.
grep -qE "group B (has|calls MPI_Bcast with) root MPI_ROOT|group A (has|calls MPI_Bcast with) root 0|root -" "$err" &&
  fail "a rank is told with another one's root"
# Of several that have failed the first one is told.
[ "$(grep -c "it was sent by" "$err")" -le 1 ] || fail "senders of more than one message are told"
