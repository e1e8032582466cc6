// SPDX-License-Identifier: BSD-3-Clause
// What the engine ends before its time, where somebody has failed or a context is refused.
#include "engine/judge.hpp"

#include <mpi.h>

#include <atomic>

#include "cluster.hpp"

namespace tutti::engine {
namespace {

constexpr int kRefused = 7, kFailed = 8;

class JudgeTest : public testing::TestWithParam<Cluster::Over> {};
INSTANTIATE_TEST_SUITE_P(Over, JudgeTest, kEverywhere, [](auto& info) { return kOver[static_cast<int>(info.param)]; });

// Refuses a context, and fails what is posted for one sender.
class Strict final : public Judge {
 public:
  Strict(Engine& engine, uint64_t context, int sender) : engine_(engine), context_(context), sender_(sender) {}
  int refuses(const Match& match) override TUTTI_ENGINE_OWNED { return match.context == context_ ? kRefused : 0; }
  void posted(RecvOperation& receive) override TUTTI_ENGINE_OWNED {
    if (receive.match.source == sender_) engine_.fail(receive, kFailed);
  }

 private:
  Engine& engine_;
  const uint64_t context_;
  const int sender_;
};

TEST_P(JudgeTest, WhatIsRefusedIsOverAtOnceAndNothingElseIs) {
  Cluster cluster(GetParam(), 2);
  cluster.run([](Engine& e, int rank) {
    Engine::Guard own(e);
    Strict judge(e, kContext + 2, 5);
    e.set_judge(&judge);
    std::vector<uint8_t> data = pattern(100, rank), got(100), unused(8);
    Sent refused(bytes_of(unused), 1 - rank, rank, 1);
    Received not_received(bytes_of(unused), 1 - rank, 1), of_failed(bytes_of(unused), 5, 1);
    refused.match.context = not_received.match.context = kContext + 2;
    e.send(refused);
    e.recv(not_received);
    e.recv(of_failed);
    EXPECT_TRUE(refused.state.done && not_received.state.done && of_failed.state.done);
    EXPECT_EQ(refused.outcome.mpi_class, kRefused);
    EXPECT_EQ(not_received.outcome.mpi_class, kRefused);
    EXPECT_EQ(of_failed.outcome.mpi_class, kFailed);
    // A message that is there is taken whoever has sent it, and what is not refused goes on.
    Sent sent(bytes_of(data), 1 - rank, rank, 2);
    Received received(bytes_of(got), 1 - rank, 2);
    e.recv(received);
    e.send(sent);
    e.wait_until([&] { return sent.state.done && received.state.done; });
    EXPECT_EQ(received.outcome.mpi_class, MPI_SUCCESS);
    EXPECT_TRUE(got == pattern(100, 1 - rank));
    e.set_judge(nullptr);
  });
}

TEST_P(JudgeTest, APostedReceiveFailsAlone) {
  Cluster cluster(GetParam(), 2);
  cluster.run([](Engine& e, int rank) {
    Engine::Guard own(e);
    std::vector<uint8_t> data = pattern(5000, rank), got(5000), other(5000);
    Received failed(bytes_of(other), 1 - rank, 3), received(bytes_of(got), 1 - rank, 3);
    e.recv(failed);
    e.recv(received);
    e.fail(failed, kFailed);
    EXPECT_TRUE(failed.state.done);
    EXPECT_EQ(failed.outcome.mpi_class, kFailed);
    Sent sent(bytes_of(data), 1 - rank, rank, 3);
    e.send(sent);
    e.wait_until([&] { return sent.state.done && received.state.done; });
    EXPECT_TRUE(got == pattern(5000, 1 - rank));
  });
}

// As a cancelled message is: its receiver forgets it, unless it has matched it already.
TEST_P(JudgeTest, SendsOfAContextAreWithdrawn) {
  Cluster cluster(GetParam(), 2);
  std::atomic<bool> withdrawn{false};
  cluster.run([&](Engine& e, int rank) {
    Engine::Guard own(e);
    if (rank == 1) {
      e.wait_until([&] { return withdrawn.load(); });
      while (e.progress()) {
      }
      EXPECT_EQ(e.probe({kContext, 0, 4, 0}), nullptr);
      EXPECT_NE(e.probe({kContext + 2, 0, 4, 0}), nullptr);
      std::vector<uint8_t> got(100);
      Received received(bytes_of(got), 0, 4);
      received.match.context = kContext + 2;
      e.recv(received);
      e.wait_until([&] { return received.state.done; });
      return;
    }
    e.keep_sends();
    std::vector<uint8_t> data = pattern(100, 0);
    Sent one(bytes_of(data), 1, 0, 4, SendMode::synchronous), other(bytes_of(data), 1, 0, 4, SendMode::synchronous);
    other.match.context = kContext + 2;
    e.send(one);
    e.send(other);
    e.withdraw_sends(kContext, kRefused);
    e.wait_until([&] { return one.state.done; });
    EXPECT_EQ(one.outcome.mpi_class, kRefused);
    EXPECT_FALSE(other.state.done);
    withdrawn = true;
    e.wait_until([&] { return other.state.done; });
    EXPECT_EQ(other.outcome.mpi_class, MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace tutti::engine
