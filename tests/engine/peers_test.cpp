// SPDX-License-Identifier: BSD-3-Clause
// Only those peers are kept that were spoken to: of a node's ranks and of a large job's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "cluster.hpp"
#include "transport/shm/shared_memory.hpp"

namespace tutti::engine {
namespace {

// Ranks of a node of 64 in a job of a million, every 15,625th of which is there.
class PeersTest : public testing::Test {
 protected:
  static constexpr int kOnNode = 64, kStride = 15'625;
  static int process_of(int i) { return i * kStride + 7; }

  struct Rank {
    std::unique_ptr<transport::SharedMemory> transport;
    std::unique_ptr<Engine> engine;
  };
  Rank open(int i) {
    transport::SharedMemoryOptions options{
        .name = "tutti.peers-test." + std::to_string(getpid()), .processes = {}, .process = process_of(i)};
    for (int n = 0; n < kOnNode; ++n) options.processes.push_back(process_of(n));
    auto opened = transport::SharedMemory::open(options);
    EXPECT_TRUE(opened) << std::move(opened).error().message();
    Rank rank{std::move(*opened), nullptr};
    rank.engine = std::make_unique<Engine>(*rank.transport, process_of(i), Waiting{100, 100});
    return rank;
  }
  static void message(Rank& from, Rank& to, int bytes) {
    std::vector<uint8_t> out = pattern(static_cast<size_t>(bytes), bytes), in(out.size());
    Sent sent(bytes_of(out), to.engine->process(), from.engine->process(), 1);
    Received received(bytes_of(in), from.engine->process(), 1);
    {
      const Engine::Guard own(*from.engine);
      from.engine->send(sent);
    }
    {
      const Engine::Guard own(*to.engine);
      to.engine->recv(received);
    }
    while (!sent.state.done || !received.state.done)
      for (Rank* each : {&from, &to}) {
        const Engine::Guard own(*each->engine);
        each->engine->progress();
      }
    EXPECT_EQ(in, out);
  }
};

TEST_F(PeersTest, AreThoseThatWereSpokenTo) {
  std::vector<Rank> ranks;
  for (const int i : {0, 20, 41, 63}) ranks.push_back(open(i));
  ranks.front().transport->forget_name();
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.transport->peers(), 0U);
    EXPECT_EQ(rank.engine->peers(), 0U);
  }
  // By each of the ways that begin differently.
  for (const int bytes : {8, 5000, 200'000}) {
    message(ranks[0], ranks[3], bytes);
    message(ranks[3], ranks[1], bytes);
  }
  const size_t expected[] = {1, 1, 0, 2};
  for (size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ranks[i].transport->peers(), expected[i]) << i;
    EXPECT_EQ(ranks[i].engine->peers(), expected[i]) << i;
  }
  // In order, whoever was met first.
  std::vector<int> met;
  ranks[3].engine->each_peer([&](int process, uint32_t sent, uint32_t received) {
    met.push_back(process);
    EXPECT_EQ(sent + received, 3U);
  });
  EXPECT_EQ(met, (std::vector{process_of(0), process_of(20)}));
}

}  // namespace
}  // namespace tutti::engine
