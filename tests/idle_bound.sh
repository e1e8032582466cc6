# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of the launcher and of the cluster, which share one promise: a job that waits uses
# no measurable time, whichever process of it. The sourcing script brings fail.

readonly idle_ms=5  # of a second: what a process may run, …
# … and how often it may wake for that. That a peer is still there has to be looked at a few times a second.
readonly idle_wakes=100
# A loaded machine charges each wake with what it does meanwhile: its interrupts, the packets of others that a
# send over loopback carries on, cold caches. So the time counts beside what a wake of the yardstick costs in the
# same second, this many times: a process that asks after two peers does more in one than the yardstick.
readonly idle_yardsticks=2

# Of all threads of a process: nanoseconds that it has run, and how often it has fallen asleep. Not how
# often it has yielded, which takes nothing from anybody, but may take long on a loaded machine.
spent() {
  awk 'FILENAME ~ /schedstat$/ { ran += $1 } /^voluntary_ctxt_switches/ { sleeps += $2 }
    END { printf "%.0f %.0f\n", ran, sleeps }' /proc/"$1"/task/*/{schedstat,status}
}
# A process that does what an idle daemon does, ten times a second: it wakes for its clock and for five bytes over
# loopback. It ends with the shell that started it.
yardstick() {
  exec python3 -c 'import os, socket, time
listener = socket.create_server(("127.0.0.1", 0))
one, other = socket.create_connection(listener.getsockname()), listener.accept()[0]
parent = os.getppid()
print("begun", flush=True)
while os.getppid() == parent:
    time.sleep(0.1)
    one.sendall(b"alive")
    other.recv(5)'
}
# is_idle PID…: of a few seconds there is one in which none of them does more.
is_idle() {
  local pid try ran wakes told before yardstick a_wake begun
  exec {begun}< <(yardstick)
  yardstick=$!
  read -r _ <&"$begun" || fail "the yardstick has not begun"
  for try in 1 2 3 4 5 6 7 8 9 10; do
    before=()
    for pid in "$yardstick" "$@"; do before[pid]=$(spent "$pid"); done
    sleep 1
    told= a_wake=
    for pid in "$yardstick" "$@"; do
      read -r ran wakes < <(spent "$pid") && [ -n "${before[pid]}" ] || fail "process $pid is gone"
      ran=$(((ran - ${before[pid]% *}) / 1000)) wakes=$((wakes - ${before[pid]#* }))
      told+="$(cat "/proc/$pid/comm") ran $ran us and woke $wakes times; "
      if [ -z "$a_wake" ]; then
        a_wake=$((wakes > 0 ? ran / wakes : 0))  # of the yardstick, which comes first
        continue
      fi
      ((wakes <= idle_wakes && (ran <= idle_ms * 1000 || ran <= wakes * a_wake * idle_yardsticks))) ||
        told+="which is too much; "
    done
    [[ $told == *"too much"* ]] || { kill "$yardstick"; echo "$told"; return 0; }
  done
  kill "$yardstick"
  fail "an idle job: $told"
}
