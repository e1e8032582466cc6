# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the fault tests of the launcher and of the cluster, which share one promise: whatever ends
# a job early, two seconds later no process, file or shared-memory segment of it is left anywhere.
# The sourcing script brings leftovers, which prints what is left, and fail.

readonly job_end_bound=2.0  # seconds from the fault
# What it may take to look at all processes once more.
readonly job_end_slack=0.8
# The one place for patience: what takes longer than both together, and than half of the time in which some process had to
# wait for a processor of this machine meanwhile, is too slow a launcher. Half, so that there is an end: twice the bound.

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

# Microseconds since the machine was started during which some process was ready and had no processor, by the kernel's
# own account; 0 where it keeps none.
starved_us() {
  local us
  us=$(sed -n 's/^some .*total=//p' /proc/pressure/cpu 2>/dev/null) || true
  echo "${us:-0}"
}
start_clock() {
  fault_at=$(now_us)
  starved_at=$(starved_us)
}
# fault COMMAND…: does the harm, and starts the clock.
fault() {
  start_clock
  "$@" || fail "the fault could not be made: $*"
}
since_fault() { from_us $(($(now_us) - fault_at)); }
# in_patience COMMAND…: until it holds.
in_patience() {
  local bound=$(($(to_us "$job_end_bound") + $(to_us "$job_end_slack")))
  while :; do
    "$@" && return
    (($(now_us) - fault_at < bound + ($(starved_us) - starved_at) / 2)) || return 1
    sleep 0.02
  done
}
# After fault: the launcher $launched ends ($code is its exit code), and nothing stays.
ends_in_time() {
  launcher_is_gone() { ! kill -0 "$launched" 2>/dev/null; }
  in_patience launcher_is_gone || fail "mpirun still runs $(since_fault) s after the fault"
  code=0
  wait "$launched" || code=$?
  nothing_stays
}
nothing_stays() {
  is_clean() { [ -z "$(leftovers)" ]; }
  in_patience is_clean || fail "$(since_fault) s after the fault there is: $(leftovers | tr '\n' ' ')"
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
