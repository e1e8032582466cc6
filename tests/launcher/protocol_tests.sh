# SPDX-License-Identifier: BSD-3-Clause
# Sourced by processes.sh. Daemons and launchers that say what has no place or makes no sense
# (lying_end.cpp): the other side ends the job with a sentence, and nothing stays.
lying_end=$build/tests/launcher/lying_end

# lies KIND SENTENCE: as the daemon of a node, or behind another one that does not lie.
lies() {
  printf '#!/bin/sh\n[ $1 != b.invalid ] || { shift; exec sh -c "$*"; }\nexec "%s" daemon %s\n' "$lying_end" "$1" >shell && chmod +x shell
  local begin=$SECONDS hosts=localhost:1,a.invalid:1
  [ "$fan_out" != 1 ] || hosts=localhost:1,b.invalid:1,a.invalid:1
  launch --set launch.rsh=./shell -H $hosts sleep 600
  ((SECONDS - begin < 10)) || fail "$1: it took $((SECONDS - begin)) s"
  expect_code 1
  said_once "$2"
  nothing_is_left
}
test_lying_daemons() {
  lies finished "node a.invalid is lost: it said 'finished' while ranks were running, which is not its turn; the job ends"
  lies launched_twice "it said 'launched' while ranks were running"
  lies early "it said 'output' "  # before the launch, or just after it of a rank elsewhere
  lies hello_twice "it said 'hello' "
  lies another_rank "it said 'rank_ended' in a way that makes no sense"
  lies ended_twice "it said 'rank_ended' in a way that makes no sense"
  lies places_of_others "it said 'ranks_ended' in a way that makes no sense"
  lies together_twice "it said 'ranks_ended' in a way that makes no sense"
  lies grouped "it said 'grouped' in a way that makes no sense"
  lies cut "it said 'output' in a way that makes no sense"
  lies stream "it said 'output' in a way that makes no sense"
  lies as_launcher "it said 'finish' while ranks were being started"
  lies unknown "it sent message 99, which there is not"
  lies long "it sent a message of 4294967295 bytes"
  local kind  # of what an inner daemon of a tree may say of the nodes behind it, and of no others
  for kind in relayed gathered gathered_groups joined parted not_started counted; do
    lies $kind "it said '$kind' in a way that makes no sense"
  done
}
# Who has proved nothing is no daemon, whatever it says.
test_lying_daemons_without_proof() {
  lies unproved "cannot start the daemon on a.invalid"
  lies long_hello "cannot start the daemon on a.invalid"
}

misleads() {
  code=0
  timeout 30 "$lying_end" launcher "$build/bin/tuttid" "$1" >out 2>err || code=$?
  expect_code 0
  said "$2"
  nothing_is_left
}
test_lying_launchers() {
  misleads launch_twice "it said 'launch' while ranks were running, which is not its turn; this node's part of the job ends"
  misleads unproved "it said 'signal_ranks' before anything was proved"
  misleads challenge_twice "it said 'challenge' before the launcher had proved itself"
  misleads unknowing "it is not the launcher of this job"
  misleads early "it said 'give_input' before there was anything to run"
  misleads finish_twice "it said 'finish' after the node "
  misleads as_daemon "it said 'finished' while ranks were running"
  misleads cut "it said 'signal_ranks' in a way that makes no sense"
  misleads unknown "it sent message 99, which there is not"
  misleads long "it sent a message of 4294967295 bytes"
  misleads relay "it said 'relay' in a way that makes no sense"
  misleads relay_twice "it said 'relay' in a way that makes no sense"
}
test_silent_launcher() { misleads silent "it has not proved in time to be of this job"; }
