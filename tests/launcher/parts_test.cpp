// SPDX-License-Identifier: BSD-3-Clause
// The smaller parts of the launcher that need no process: lines, the wire, proofs, the job's table.
#include <gtest/gtest.h>

#include <map>

#include "base/secret.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/data/wire.hpp"
#include "launcher/job_states.hpp"
#include "launcher/loop/lines.hpp"
#include "launcher/node/environment.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/node/memory_kills.hpp"
#include "launcher/pmix/pmix_info.hpp"

namespace tutti::launcher {
namespace {

TEST(Room, IsEnoughOrASentenceSaysOfWhat) {
  Room room;
  room.processes = {{"the limit of a", 1000, 100}, {"the limit of b", 500, 450}};
  room.files = {"the limit of open files (ulimit -Hn)", 1000, 20};
  EXPECT_FALSE(shortage(40, "here", room));
  EXPECT_NE(shortage(48, "here", room).message().find("the limit of b is 500, of which 450 are in use"),
            std::string::npos);
  room.processes[1].most = 400;  // lowered since
  EXPECT_TRUE(shortage(1, "here", room));
  room.processes.pop_back();
  EXPECT_NE(shortage(400, "here", room).message().find("(ulimit -Hn) is 1000"), std::string::npos);
  room.files.most = 1 << 20;
  EXPECT_FALSE(shortage(400, "here", room));
  room.memory = 64 << 20;
  EXPECT_NE(shortage(400, "here", room).message().find("0.1 GiB of memory"), std::string::npos);
}

TEST(MemoryKills, AreReadInTheKernelsWords) {
  const std::string line =
      "3,512,99,-;Memory cgroup out of memory: Killed process 412 (a.out) total-vm:1kB, anon-rss:1kB, UID:0";
  EXPECT_TRUE(tells_of_kill(line, 412));
  EXPECT_TRUE(tells_of_kill(line, 0));
  EXPECT_FALSE(tells_of_kill(line, 41));
  EXPECT_FALSE(tells_of_kill(line, 4121));
  EXPECT_TRUE(tells_of_kill("Out of memory: Killed process 7, UID 0, (x) total-vm:1kB", 7));
  EXPECT_FALSE(tells_of_kill("Killed process 7", 7)) << "cut";
  EXPECT_FALSE(tells_of_kill("a.out invoked oom-killer: gfp_mask=0x1, order=0", 0));
}

TEST(Lines, StayWhole) {
  LineKeeper keeper;
  EXPECT_EQ(keeper.add("one\ntw"), "one\n");
  EXPECT_EQ(keeper.add("o"), "");
  EXPECT_EQ(keeper.add("\nthree\nfo"), "two\nthree\n");
  EXPECT_EQ(keeper.take_rest(), "fo");
  EXPECT_EQ(keeper.take_rest(), "");
}

TEST(Lines, EndlessOnesLeaveInPiecesWithoutLoss) {
  LineKeeper keeper;
  const std::string piece(1000, 'x');
  size_t out = 0, most = 0;
  for (int i = 0; i < 5000; ++i) {
    const size_t now = keeper.add(piece).size();
    out += now;
    most = std::max(most, now);
  }
  out += keeper.take_rest().size();
  EXPECT_EQ(out, 5'000'000u);
  EXPECT_LE(most, LineKeeper::kLongestLine + piece.size());
}

TEST(Lines, AreTagged) {
  EXPECT_EQ(tagged("a\nb", "[3] "), "[3] a\n[3] b\n");
  EXPECT_EQ(tagged("\n", "[3] "), "[3] \n");
}

NodeTask sample_task() {
  NodeTask task;
  task.map.id = "abc";
  task.map.nodes = {"n1", "n2"};
  task.map.slots = {1, 2};
  task.map.rank_cores = {0, 4};
  task.map.apps = {{{"prog", "with space", ""}, "/w", {"A=b"}}};
  task.map.ranks = {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}};
  task.node = 1;
  task.environment = {"HOME=/home/user"};
  task.policy.cores_per_rank = 3;
  task.policy.cores_given = true;
  task.foreign_mpi = true;
  task.rank_variables = false;
  task.bind_to = BindTo::numa;
  task.kill_grace = std::chrono::seconds(1);
  return task;
}

TEST(Wire, ATaskArrivesAsItWas) {
  const NodeTask sent = sample_task();
  NodeTask got;
  ASSERT_TRUE(wire::unpack(wire::pack(sent), got));
  EXPECT_EQ(got.map.nodes, sent.map.nodes);
  EXPECT_EQ(got.map.ranks, sent.map.ranks);
  EXPECT_EQ(got.map.apps[0].command, sent.map.apps[0].command);
  EXPECT_EQ(got.policy, sent.policy);
  EXPECT_EQ(got.bind_to, sent.bind_to);
  EXPECT_EQ(got.rank_variables, sent.rank_variables);
  EXPECT_EQ(got.kill_grace, sent.kill_grace);
  EXPECT_TRUE(is_consistent(got));
}

TEST(Wire, NegativeNumbersSurvive) {
  int number = 0;
  std::string text;
  ASSERT_TRUE(wire::unpack(wire::pack(-46, std::string("x")), number, text));
  EXPECT_EQ(number, -46);
}

TEST(Wire, EveryCutOrLongerMessageIsRefused) {
  const std::string bytes = wire::pack(sample_task());
  for (size_t size = 0; size < bytes.size(); ++size) {
    NodeTask task;
    EXPECT_FALSE(wire::unpack(std::string_view(bytes).substr(0, size), task)) << size;
  }
  NodeTask task;
  EXPECT_FALSE(wire::unpack(bytes + "x", task));
}

TEST(Wire, DamagedMessagesAreRefusedOrConsistentlyChecked) {
  const std::string bytes = wire::pack(sample_task());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (char with : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = with;
      NodeTask task;
      if (!wire::unpack(damaged, task) || !is_consistent(task)) continue;
      for (const RankRange& range : task.map.ranks.ranges()) EXPECT_LE(range.first_node + range.nodes, 2);
    }
  }
}

TEST(Wire, IndicesOutsideOfTheMapAreNoticed) {
  for (int field = 0; field < 4; ++field) {
    NodeTask task = sample_task();
    if (field == 0) task.node = 2;
    if (field == 1) task.map.ranks = {{-1, 0, 0}, {1, 0, 0}, {1, 0, 1}};
    if (field == 2) task.map.ranks = {{0, 1, 0}, {1, 0, 0}, {1, 0, 1}};
    if (field == 3) task.map.apps[0].command.clear();
    EXPECT_FALSE(is_consistent(task)) << field;
  }
}

TEST(Proof, SipHashAgreesWithItsPaper) {
  std::string key, text;
  for (char c = 0; c < 16; ++c) key += c;
  for (char c = 0; c < 15; ++c) text += c;
  EXPECT_EQ(siphash(key, text), 0xa129ca6149be45e5u);
}

TEST(Proof, DependsOnSecretAndText) {
  const Secret one = Secret::random(), two = Secret::random();
  EXPECT_EQ(one.hex().size(), 64u);
  EXPECT_EQ(one.proof("a"), Secret::from_hex(one.hex())->proof("a"));
  EXPECT_NE(one.proof("a"), one.proof("b"));
  EXPECT_NE(one.proof("a"), two.proof("a"));
  EXPECT_NE(daemon_claim("a", "b", 1), launcher_claim("a", "b", 1));
  EXPECT_TRUE(same_proof(one.proof("a"), one.proof("a")));
  EXPECT_FALSE(same_proof(one.proof("a"), one.proof("b")));
  EXPECT_FALSE(same_proof("", one.proof("b")));
  EXPECT_FALSE(Secret::from_hex("xyz"));
}

TEST(Quoting, SurvivesAShell) {
  EXPECT_EQ(quoted("/a b/it's"), "'/a b/it'\\''s'");
}

TEST(Environment, HostVariablesStayAtHome) {
  const std::vector<std::string> out =
      without_host_variables({"HOME=/h", "TMPDIR=/t", "SSH_TTY=x", "PMIX_RANK=3", "PMIX_MCA_gds=hash", "PATH=/bin"});
  EXPECT_EQ(out, (std::vector<std::string>{"HOME=/h", "PMIX_MCA_gds=hash", "PATH=/bin"}));
  std::vector<std::string> environment{"A=1", "AB=2"};
  put_variable(environment, "A=3");
  put_variable(environment, "B=4");
  EXPECT_EQ(environment, (std::vector<std::string>{"A=3", "AB=2", "B=4"}));
  EXPECT_EQ(variable(environment, "AB"), "2");
}

TEST(JobStates, EveryStateReachesItsEndAndKnowsFailure) {
  using enum JobState;
  using enum JobEvent;
  for (JobState state : {starting, running, ending, killing}) EXPECT_EQ(job_step(state, ranks_gone).next, finishing);
  for (JobState state : {starting, running}) {
    EXPECT_EQ(job_step(state, failed).action, JobAction::ask_to_end);
    EXPECT_EQ(job_step(state, failed).next, ending);
  }
  EXPECT_EQ(job_step(ending, grace_over).action, JobAction::kill);
  EXPECT_EQ(job_step(ending, node_lost).action, JobAction::kill);
  EXPECT_EQ(job_step(finishing, finished).next, over);
  // What can go on for ever has a bound.
  for (JobState state : {killing, finishing}) EXPECT_EQ(job_step(state, overdue).action, JobAction::give_up);
  // A second failure changes nothing; nothing leaves the last state.
  EXPECT_EQ(job_step(ending, failed).action, JobAction::none);
  for (JobEvent event : {launched, failed, node_lost, impatient, grace_over, overdue, ranks_gone, finished})
    EXPECT_EQ(job_step(over, event).next, over);
  // The table has one row for a state and event.
  for (const JobStep& a : kJobSteps)
    for (const JobStep& b : kJobSteps) EXPECT_TRUE(&a == &b || a.in != b.in || a.on != b.on);
}

TEST(ProcessMapping, GoldenMaps) {
  JobMap map;
  const auto mapping = [&](std::vector<int> nodes) {
    std::vector<RankPlace> places;
    std::map<int, int> taken;
    for (int node : nodes) places.push_back({node, 0, taken[node]++});
    map.ranks = places;
    return process_mapping(map);
  };
  EXPECT_EQ(mapping({0, 0, 0}), "(vector,(0,1,3))");
  EXPECT_EQ(mapping({0, 0, 1, 1}), "(vector,(0,2,2))");
  EXPECT_EQ(mapping({0, 1, 0, 1}), "(vector,(0,2,1),(0,2,1))");
  EXPECT_EQ(mapping({0, 1, 1, 2}), "(vector,(0,1,1),(1,1,2),(2,1,1))");
}

}  // namespace
}  // namespace tutti::launcher
