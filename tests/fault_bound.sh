# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the fault tests of the launcher and of the cluster, which share one promise: whatever ends
# a job early, two seconds later no process, file or shared-memory segment of it is left anywhere.
# The sourcing script brings leftovers, which prints what is left, and fail.

readonly job_end_bound=2.0  # seconds from the fault
# What it may take a loaded machine to look at all processes once more. The one place for patience:
# what takes longer than both together is too slow a launcher.
readonly job_end_slack=0.8

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
# Microseconds of "2", "0.8", …, and back.
to_us() {
  local part=${1#*.}
  [ "$part" != "$1" ] || part=0
  part=${part}000000
  echo $((10#0${1%.*} * 1000000 + 10#${part:0:6}))
}
from_us() { printf '%d.%02d' $(($1 / 1000000)) $(($1 % 1000000 / 10000)); }
# within SECONDS COMMAND…: until it holds.
within() {
  local end=$(($(now_us) + $(to_us "$1")))
  shift
  while :; do
    "$@" && return
    (($(now_us) < end)) || return 1
    sleep 0.02
  done
}

# fault COMMAND…: does the harm, and starts the clock.
fault() {
  fault_at=$(now_us)
  "$@" || fail "the fault could not be made: $*"
}
since_fault() { from_us $(($(now_us) - fault_at)); }
patience_left() {
  local left=$(($(to_us "$job_end_bound") + $(to_us "$job_end_slack") - $(now_us) + fault_at))
  from_us $((left > 0 ? left : 0))
}
# After fault: the launcher $launched ends ($code is its exit code), and nothing stays.
ends_in_time() {
  launcher_is_gone() { ! kill -0 "$launched" 2>/dev/null; }
  within "$(patience_left)" launcher_is_gone || fail "mpirun still runs $(since_fault) s after the fault"
  code=0
  wait "$launched" || code=$?
  nothing_stays
}
nothing_stays() {
  is_clean() { [ -z "$(leftovers)" ]; }
  within "$(patience_left)" is_clean || fail "$(since_fault) s after the fault there is: $(leftovers | tr '\n' ' ')"
  echo "clean $(since_fault) s after the fault"
}

# segments_without_users [KNOWN…]: System V segments that nobody has attached and whose maker is gone,
# but for those with the given numbers. A named one of another user is of no job: UCX gives its segments no names.
segments_without_users() {
  local key id perms size maker last attached owner rest
  while read -r key id perms size maker last attached owner rest; do
    [ "$attached" = 0 ] && [ ! -e "/proc/$maker" ] || continue
    [ "$key" = 0 ] || [ "$owner" = "$EUID" ] || continue
    case " $* " in *" $id "*) ;; *) echo "$id" ;; esac
  done < <(tail -n +2 /proc/sysvipc/shm)
}
