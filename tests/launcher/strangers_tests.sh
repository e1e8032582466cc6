# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Other users of the machine, who may neither take part in a job nor hold it
# up. They need root, who can become one.

as_user_nobody() { setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env -i PATH="$PATH" "$@"; }
needs_other_users() {
  if [ "$(id -u)" != 0 ] || ! as_user_nobody true 2>/dev/null; then
    echo "skipped: becoming another user needs root"
    exit 0
  fi
  chmod 711 "$work"
  cp "$hello" "$build/tests/launcher/libliar.so" "$work"
}
# What the user nobody can see of this machine.
seen_by_nobody() {
  as_user_nobody sh -c 'cat /proc/net/unix /proc/[0-9]*/cmdline /proc/[0-9]*/environ /proc/[0-9]*/comm
    ls -R /tmp /dev/shm /run "$0"' "$TMPDIR" 2>/dev/null | tr '\0' '\n'
}
# A job of two whose second rank has told what it knows and waits for a file to begin.
start_waiting() {
  cat >waiting <<'END'
#!/bin/sh
[ "$PMIX_RANK" != 1 ] || (umask 077; env >known)
echo ready
until [ -e go ]; do sleep 0.02; done
exec "$0.hello" modex
END
  chmod +x waiting
  cp "$hello" waiting.hello
  start_ready 2 -n 2 ./waiting
  grep '^PMIX_' known >pmix
}
# joins USER VARIABLE=VALUE…: whether a process of that user becomes rank 1, which says that it is ours.
joins() {
  local user=$1
  shift
  setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env -i "$@" TUTTI_TEST_LIE="$(id -u)" \
    LD_PRELOAD="$work/libliar.so" timeout 10 "$work/pmix_hello" >joined 2>&1 && grep -q "^rank 1 of 2" joined
}

test_other_users_cannot_join_a_job() {
  needs_other_users
  start_waiting
  local known=() line key public
  while read -r line; do known+=("$line"); done <pmix
  key=$(sed -n 's/^PMIX_NAMESPACE=.*\.//p' pmix)
  [ "${#key}" = 32 ] || fail "the namespace has no key: $(grep NAMESPACE pmix)"
  seen_by_nobody >seen
  grep -q '@tutti\..*\.why' seen || fail "this test sees nothing"
  ! grep -q "$key" seen || fail "everybody sees the key: $(grep "$key" seen)"
  # What is public: the job's number by its socket, the server's port. Then even with the key.
  public=$(sed -n 's/.*@\(tutti\..*\)\.why$/\1/p' seen | grep -F "$(sed -n 's/^TUTTI_JOB=//p' known)" | head -1)
  ! joins nobody "${known[@]}" PMIX_NAMESPACE="$public" || fail "nobody is rank 1 by what is public"
  ! joins nobody "${known[@]}" || fail "nobody is rank 1 by a lie about its user"
  joins "$(id -u)" "${known[@]}" || fail "this test would not join either: $(cat joined)"
  touch go
  within 10 launcher_ended || fail "mpirun does not end"
  wait "$launched" || fail "the job failed"
  printed "rank 1 of 2"
  nothing_is_left
}
launcher_ended() { ! kill -0 "$launched" 2>/dev/null; }

# The PMIx library stands still while a client that has connected says nothing.
test_other_users_cannot_hold_up_a_job() {
  needs_other_users
  start_waiting
  local port silent
  port=$(sed -n 's/^PMIX_SERVER_URI41=.*://p' pmix)
  as_user_nobody bash -c 'for i in 1 2 3; do exec {fd}<>"/dev/tcp/127.0.0.1/$0" && echo connected; done; exec sleep 30' "$port" >silent 2>&1 &
  silent=$!
  is_connected() { [ "$(grep -c connected silent)" = 3 ]; }
  within 10 is_connected || fail "the stranger cannot connect: $(cat silent)"
  touch go
  within 5 launcher_ended || fail "mpirun does not end while a stranger is silent"
  kill "$silent" 2>/dev/null
  wait "$launched" || fail "the job failed"
  printed "rank 1 of 2"
  nothing_is_left
}

# What is closed before it is accepted has no user any more, which the kernel gives as 0; and PMIx takes lengths from
# whoever is let in.
test_other_users_cannot_crash_a_job() {
  needs_other_users
  cp "$hello" waiting.hello
  printf '#!/bin/sh\nuntil [ -e go ]; do sleep 0.02; done\nexec "$0.hello" modex\n' >waiting
  chmod +x waiting
  launch_behind -n 2 ./waiting
  timeout 20 python3 "$here/knock.py" "$launched" 0.5 >knocked || fail "nobody could knock: $(cat knocked)"
  # None of these is accepted before it is closed.
  kill -STOP "$launched"
  timeout 20 python3 "$here/knock.py" "$launched" 0.3 >>knocked
  kill -CONT "$launched"
  timeout 20 python3 "$here/knock.py" "$launched" 1 >>knocked &
  sleep 0.3
  touch go
  within 20 launcher_ended || fail "mpirun does not end while strangers knock"
  wait "$launched" || fail "the job ended with code $? while strangers knocked: $(cat knocked)"
  printed "rank 1 of 2"
  ! grep -q 'PMIX ERROR' err || fail "strangers were heard: $(cat knocked)"
  nothing_is_left
}

# Where ranks have other numbers than their launcher: rootless podman's default, unshare -U -r.
in_user_namespace=(unshare -U --map-user=7 --map-group=7)
needs_user_namespaces() {
  [ "$("${in_user_namespace[@]}" id -u 2>/dev/null)" = 7 ] || { echo "skipped: no user namespaces"; exit 77; }
}
test_ranks_of_user_namespaces_are_let_in_by_library() {
  needs_user_namespaces
  launch -n 2 "${in_user_namespace[@]}" "$build/tests/launcher/pair"
  expect_code 0
  [ "$(grep -c talked err)" = 2 ] || fail "they do not talk"
  # Another launcher's server below a rank would let in whoever claims nothing.
  launch -n 1 env
  ! grep PMIX_MCA_psec out || fail "ranks are told to claim nothing"
  PMIX_MCA_psec=native launch -n 1 env
  grep -qx PMIX_MCA_psec=native out || fail "the user's own is not passed on"
  nothing_is_left
}
# As one container for each rank: they share no memory, and the kernel lets none read another's.
test_containers_of_one_rank_send_long_messages_by_library() {
  needs_user_namespaces
  printf 'mount -t tmpfs none /dev/shm\nexec "$@"\n' >alone
  launch -n 2 unshare --map-root-user --mount sh alone "$build/tests/launcher/pair"
  expect_code 0
  [ "$(grep -c talked err)" = 2 ] || fail "they do not talk"
  said "messages on this node go over UCX"
  nothing_is_left
}
# PMIx's own server refuses a rank of other numbers, and has no answer for anybody any more.
test_ranks_that_are_not_let_in_are_told_by_library() {
  needs_user_namespaces
  local began=$(now_us)
  PMIX_MCA_psec=native launch -n 2 "${in_user_namespace[@]}" "$build/tests/launcher/pair"
  (($(now_us) - began < 10000000)) || fail "it took $((($(now_us) - began) / 1000)) ms to say so"
  [ "$code" != 0 ] || fail "they are let in"
  said "this process is user and group 7:7, and its launcher $(id -u):$(id -g)"
  said "userns=keep-id"
  nothing_is_left
}
# A server that says nothing is waited for, but not for ever. A rank that is late, or stopped meanwhile, has its time.
test_silent_server_is_told_by_library() {
  printf '#!/bin/sh\necho ready\nuntil [ -e go ]; do sleep 0.02; done\nexec "$@"\n' >waiting && chmod +x waiting
  PMIX_MCA_ptl_base_handshake_wait_time=1 start_ready 1 -n 1 ./waiting "$build/tests/launcher/pair"
  local rank
  rank=$(pgrep -P "$launched" -x waiting)
  kill -STOP "$launched"
  touch go
  is_over() { [ "$(ps -o stat= -p "$rank" | cut -c1)" = Z ]; }
  within 10 is_over || fail "it waits for ever"
  kill -CONT "$launched"
  within 10 launcher_ended || fail "mpirun does not end"
  said "has not answered for 1 s"
  nothing_is_left
}

# Ranks whose messages go by UCX's tcp, on one node: where it listens.
start_over_tcp() {
  start_ready 2 "$@" --set transport.shared_memory=off --set transport.ucx_tls=tcp,self -n 2 "$stay"
  rank=$(pgrep -P "$launched" -x stay | head -1)
}
test_other_users_cannot_end_a_rank_by_library() {
  needs_other_users
  start_over_tcp
  timeout 20 python3 "$here/knock.py" "$rank" 0.7 >knocked || fail "nobody could knock: $(cat knocked)"
  # None of these is accepted before it is closed.
  kill -STOP "$rank"
  timeout 20 python3 "$here/knock.py" "$rank" 0.3 >>knocked
  kill -CONT "$rank"
  timeout 20 python3 "$here/knock.py" "$rank" 0.2 >>knocked
  kill -0 "$rank" 2>/dev/null || fail "the rank is gone: $(cat knocked)"
  fault kill -INT "$launched"
  ends_in_time
  expect_code 130
}
# Nobody keeps a user from ending his own job. But it is told.
test_bytes_that_are_none_of_ucx_are_told_by_library() {
  start_over_tcp
  timeout 20 python3 "$here/knock.py" "$rank" 5 "$(id -u)" >knocked || fail "no port: $(cat knocked)"
  within 10 launcher_ended || fail "the job does not end: $(cat knocked)"
  said_once "something has come that is no UCX's (tcp_ep.c"
  grep -q "rank [01] on .*at a tcp port" err || fail "it is not said which rank"
  ! grep -q backtrace err || fail "UCX speaks for itself"
  nothing_is_left
}
# A job that goes on without ranks that fail goes on without that one. Who waits for it, and does nothing about failures, hears of it.
test_bytes_that_are_none_of_ucx_are_the_failure_of_one_by_library() {
  start_over_tcp --on-failure=continue
  timeout 20 python3 "$here/knock.py" "$rank" 5 "$(id -u)" >knocked || fail "no port: $(cat knocked)"
  within 10 launcher_ended || fail "the rank lives, or the other one waits for it: $(cat knocked)"
  said_once "something has come that is no UCX's (tcp_ep.c"
  said_once "was killed by signal 6 (Aborted); the job goes on"
  said_once "MPI_Recv: the process at the other end has failed"
  nothing_is_left
}
# On one node no rank listens where others than this machine come.
test_ranks_of_one_node_listen_to_it_alone_by_library() {
  local pid
  start_over_tcp
  for pid in $(pgrep -P "$launched" -x stay); do
    [ -z "$(listening "$pid")" ] || fail "a rank listens at $(listening "$pid")"
  done
  kill -INT "$launched"
  within 10 launcher_ended || fail "mpirun does not end"
  start_family
  for pid in $(pgrep -x jobs); do
    grep -qzxF "TUTTI_TEST_MARK=$work" "/proc/$pid/environ" || continue
    [ -z "$(listening "$pid")" ] || fail "a rank of jobs that have met listens at $(listening "$pid")"
  done
  fault kill -INT "$launched"
  ends_in_time
}
