# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of the launcher and of the cluster, which share one promise: a job that waits uses
# no measurable time, whichever process of it. The sourcing script brings fail.

readonly idle_ms=5  # of a second: what a process may run, …
# … and how often it may wake for that. That a peer is still there has to be looked at a few times a second.
readonly idle_wakes=100

# Of all threads of a process: nanoseconds that it has run, and how often it has fallen asleep. Not how
# often it has yielded, which takes nothing from anybody, but may take long on a loaded machine.
spent() {
  awk 'FILENAME ~ /schedstat$/ { ran += $1 } /^voluntary_ctxt_switches/ { sleeps += $2 }
    END { printf "%.0f %.0f\n", ran, sleeps }' /proc/"$1"/task/*/{schedstat,status}
}
# is_idle PID…: of a few seconds there is one in which none of them does more.
is_idle() {
  local pid try ran wakes told before
  for try in 1 2 3 4 5 6 7 8 9 10; do
    before=()
    for pid; do before[pid]=$(spent "$pid"); done
    sleep 1
    told=
    for pid; do
      read -r ran wakes < <(spent "$pid") && [ -n "${before[pid]}" ] || fail "process $pid is gone"
      ran=$(((ran - ${before[pid]% *}) / 1000)) wakes=$((wakes - ${before[pid]#* }))
      told+="$(cat "/proc/$pid/comm") ran $ran us and woke $wakes times; "
      ((ran <= idle_ms * 1000 && wakes <= idle_wakes)) || told+="which is too much; "
    done
    [[ $told == *"too much"* ]] || { echo "$told"; return 0; }
  done
  fail "an idle job: $told"
}
