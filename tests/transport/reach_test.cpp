// SPDX-License-Identifier: BSD-3-Clause
// How a process comes to the memory of another one, by table: its own, of its node, of another node, of another job; where
// the kernel refuses to copy, from the start or later.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "../memory/refusing.hpp"
#include "engine/engine.hpp"
#include "process_messages.hpp"
#include "processes.hpp"

namespace tutti::transport {
namespace {

using engine::Engine;
using engine::Waiting;
using memory::Reach;
using memory::Region;
using testing_processes::Job;
using testing_processes::open_node;
using testing_processes::part;
using testing_processes::Received;
using testing_processes::Sent;

struct Row {
  const char* of;
  int peer;
  Reach process, segment, mapped;
};

void expect(Transport& transport, const Row& row) {
  EXPECT_EQ(transport.reach(row.peer, Region::process), row.process) << row.of;
  EXPECT_EQ(transport.reach(row.peer, Region::segment), row.segment) << row.of;
  EXPECT_EQ(transport.reach(row.peer, Region::mapped), row.mapped) << row.of;
}

constexpr int kStranger = 9;  // a process of another job has a number behind those of this one

TEST(Reach, WithinANode) {
  for (const bool reads : {true, false}) {
    Job job(2);
    job.run([&](int rank) {
      RouterOptions options = job.options(rank);
      options.read_peers = reads;
      auto node = open_node(job, rank, options);
      ASSERT_TRUE(node && node->has_shared_memory());
      // Both the way that the engine has usually, and the one that it has where UCX is open, too.
      for (Transport* const transport : {&node->direct(), static_cast<Transport*>(node.get())}) {
        const Reach there = transport->reach(1 - rank, Region::process);
        EXPECT_NE(there, Reach::load_store);
        if (!reads) {
          EXPECT_EQ(there, Reach::messages);
        }
        expect(*transport, {"its own", rank, Reach::load_store, Reach::load_store, Reach::load_store});
        expect(*transport, {"the other's", 1 - rank, there, Reach::load_store, Reach::load_store});
        expect(*transport, {"a stranger's", kStranger, Reach::messages, Reach::messages, Reach::load_store});
      }
      EXPECT_EQ(node->rings().taken, 0u);  // to ask takes no ring
      EXPECT_FALSE(job.fence());
    });
  }
}

TEST(Reach, BetweenNodesAndWithoutSharedMemory) {
  for (const bool one_node : {false, true}) {
    Job job(2);
    job.run([&](int rank) {
      RouterOptions options = job.options(rank);
      if (!one_node) options.neighbours = {rank};
      options.shared_memory = false;
      options.ucx.tls = "tcp,self,sysv";
      auto node = open_node(job, rank, options);
      ASSERT_TRUE(node && node->has_ucx() && !node->has_shared_memory());
      expect(*node, {"its own", rank, Reach::load_store, Reach::load_store, Reach::load_store});
      expect(*node, {"the other's", 1 - rank, Reach::messages, Reach::messages, Reach::load_store});
      expect(*node, {"a stranger's", kStranger, Reach::messages, Reach::messages, Reach::load_store});
      EXPECT_FALSE(job.fence());
    });
  }
}

TEST(Reach, OfOneProcessAlone) {
  Job job(1);
  auto node = open_node(job, 0, job.options(0));
  ASSERT_TRUE(node);
  expect(*node, {"its own", 0, Reach::load_store, Reach::load_store, Reach::load_store});
  expect(*node, {"a stranger's", kStranger, Reach::messages, Reach::messages, Reach::load_store});
}

// Long messages both ways, of lengths that are read, copied from both ends, and streamed.
void exchange_long(Engine& e, int rank, int round) {
  for (const int64_t bytes : {20'000, 70'000, 300'000, 3'000'001}) {
    constexpr int kMessages = 3;
    std::vector<std::vector<uint8_t>> out(kMessages), in(kMessages);
    std::vector<std::unique_ptr<Sent>> sent;
    std::vector<std::unique_ptr<Received>> received;
    const auto byte = [&](int from, int i, int64_t at) {
      return static_cast<uint8_t>(at * 7 + at / 251 + i * 31 + from * 101 + round);
    };
    const Engine::Guard own(e);
    for (int i = 0; i < kMessages; ++i) {
      auto &o = out[static_cast<size_t>(i)], &n = in[static_cast<size_t>(i)];
      o.resize(static_cast<size_t>(bytes));
      n.resize(static_cast<size_t>(bytes));
      for (int64_t at = 0; at < bytes; ++at) o[static_cast<size_t>(at)] = byte(rank, i, at);
      received.push_back(std::make_unique<Received>(Payload{n.data(), bytes}, 1 - rank, i));
      e.recv(*received.back());
      sent.push_back(std::make_unique<Sent>(Payload{o.data(), bytes}, rank, i));
      sent.back()->peer = 1 - rank;
      e.send(*sent.back());
    }
    for (auto& s : sent) e.wait_until([&] { return s->done; });
    for (auto& r : received) e.wait_until([&] { return r->done; });
    for (int i = 0; i < kMessages; ++i)
      for (int64_t at = 0; at < bytes; ++at)
        ASSERT_EQ(in[static_cast<size_t>(i)][static_cast<size_t>(at)], byte(1 - rank, i, at)) << bytes << " " << at;
  }
}

// After messages have been copied by the kernel it refuses: to one of the two, in either direction, or to both.
TEST(Reach, MessagesArriveWhereTheKernelRefusesLater) {
  for (const auto& refused : std::vector<std::vector<int>>{{0}, {1}, {0, 1}}) {
    Job job(2);
    job.run([&](int rank) {
      auto node = open_node(job, rank, job.options(rank));
      ASSERT_TRUE(node && node->has_shared_memory());
      Engine e(node->direct(), rank, Waiting{2000, 100});
      exchange_long(e, rank, 0);
      const bool could = node->reach(1 - rank, Region::process) == Reach::kernel_copies;
      const bool mine = std::ranges::count(refused, rank) > 0;
      const bool now = mine && testing_processes::refuse_kernel_copies();
      for (int round = 1; round < 4; ++round) exchange_long(e, rank, round);
      if (could && now) {
        EXPECT_EQ(node->reach(1 - rank, Region::process), Reach::messages);
        EXPECT_EQ(node->reach(1 - rank, Region::segment), Reach::load_store);
      }
      part(e, rank, 2);
    });
  }
}

// A job on one node meets another one: UCX is opened beside the shared memory that the engine has driven alone, and
// messages within the job go on as they did, those under way, too.
TEST(Reach, StaysWhenUcxIsOpenedLater) {
  Job job(2);
  job.run([&](int rank) {
    RouterOptions options = job.options(rank);
    options.ucx.tls = "tcp,self";
    auto node = open_node(job, rank, options);
    ASSERT_TRUE(node && node->has_shared_memory());
    Engine e(node->direct(), rank, Waiting{2000, 100});
    exchange_long(e, rank, 0);
    std::vector<int> out(100'000), in(100'000);
    std::iota(out.begin(), out.end(), rank);
    const auto bytes = static_cast<int64_t>(out.size() * sizeof(int));
    Received received(Payload{in.data(), bytes}, 1 - rank, 77);
    Sent sent(Payload{out.data(), bytes}, rank, 77);
    sent.peer = 1 - rank;
    const Reach before = node->reach(1 - rank, Region::process);
    {
      const Engine::Guard own(e);
      e.send(sent);  // announced, and not fetched yet
      EXPECT_EQ(&node->direct(), &e.transport());
      for (const Router::Away away : {Router::Away::near, Router::Away::far}) {
        ASSERT_TRUE(node->open_to(away));
        EXPECT_EQ(&node->direct(), node.get());
        e.switch_transport(*node);
        e.progress();
      }
      e.recv(received);
      e.wait_until([&] { return sent.done && received.done; });
    }
    EXPECT_EQ(in.front(), 1 - rank);
    EXPECT_EQ(in.back(), 1 - rank + static_cast<int>(in.size()) - 1);
    exchange_long(e, rank, 1);
    node->forget_way_to(1 - rank);
    exchange_long(e, rank, 2);
    EXPECT_EQ(node->reach(1 - rank, Region::process), before);
    EXPECT_EQ(node->reach(kStranger, Region::process), Reach::messages);
    EXPECT_FALSE(node->has_ucx());  // to the own job
    part(e, rank, 2);
  });
}

}  // namespace
}  // namespace tutti::transport
