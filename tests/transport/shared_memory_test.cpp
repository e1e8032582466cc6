// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between real processes: random traffic, sleep and wake-up, too little of it, names
// that must not stay.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "base/cpu.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "process_messages.hpp"
#include "processes.hpp"
#include "small_shm.hpp"
#include "transport/router.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/shared/nameless_file.hpp"
#include "transport/shm/ring.hpp"

namespace tutti::transport {
namespace {

using engine::Engine;
using engine::ProgressThread;
using engine::Waiting;
using testing_processes::Job;
using testing_processes::kContext;
using testing_processes::open_node;
using testing_processes::part;
using testing_processes::Received;
using testing_processes::Sent;
using testing_shm::apart;
using testing_shm::small_shm;

// ---- processes

// What message `i` from one rank to another is, known to both.
struct Message {
  Message(int from, int to, int i) {
    std::seed_seq seed{from, to, i};
    std::mt19937 random(seed);
    constexpr size_t kMost[] = {64, 5000, 40000, 300000, 3000000};
    const size_t most = kMost[std::min<uint32_t>(random() % 16, 19) % 5];
    ints = i % 50 == 0 ? most / 4 : random() % (most / 4);
    first = static_cast<int>(random());
    gappy_out = random() % 3 == 0;
    gappy_in = random() % 3 == 0;
    pause_out = random() % 8 == 0 ? random() % 300 : 0;
    pause_in = random() % 8 == 0 ? random() % 300 : 0;
    synchronous = random() % 5 == 0;
  }
  // The memory of either end; `stride` ints from one value to the next.
  std::vector<int> memory(bool gappy) const { return std::vector<int>(ints * (gappy ? 3 : 1) + 1, -7); }
  void fill(std::vector<int>& memory) const {
    for (size_t i = 0; i < ints; ++i) memory[i * (gappy_out ? 3 : 1)] = first + static_cast<int>(i);
  }
  void check(const std::vector<int>& memory) const {
    const size_t stride = gappy_in ? 3 : 1;
    for (size_t i = 0; i < ints; ++i) {
      ASSERT_EQ(memory[i * stride], first + static_cast<int>(i)) << "int " << i << " of " << ints;
      if (gappy_in) {
        ASSERT_EQ(memory[i * stride + 1], -7);
      }
    }
  }
  size_t ints;
  int first;
  bool gappy_out, gappy_in, synchronous;
  unsigned pause_out, pause_in;  // microseconds
};

const Layout& every_third_int() {
  static const LayoutRef layout = Layout::resized(Layout::dense(4), 0, 12);
  return *layout;
}
Payload payload_of(const Message& m, std::vector<int>& memory, bool gappy) {
  if (gappy) return {memory.data(), static_cast<int64_t>(m.ints), &every_third_int()};
  return {memory.data(), static_cast<int64_t>(m.ints * 4), &Layout::bytes()};
}

// Every rank sends so many messages to every other one, and receives theirs, a few at a time.
void exchange(Engine& e, int rank, int size, int messages) {
  constexpr int kAtATime = 5;
  for (int begin = 0; begin < messages; begin += kAtATime) {
    struct Slot {
      Message message;
      std::vector<int> memory;
      std::unique_ptr<Sent> sent;
      std::unique_ptr<Received> received;
    };
    std::vector<Slot> slots;
    slots.reserve(static_cast<size_t>(2 * kAtATime * size));
    for (int i = begin; i < begin + kAtATime; ++i)
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        {
          Slot& in = slots.emplace_back(Slot{Message(peer, rank, i), {}, {}, {}});
          in.memory = in.message.memory(in.message.gappy_in);
          in.received = std::make_unique<Received>(payload_of(in.message, in.memory, in.message.gappy_in), peer, i);
          if (in.message.pause_in) usleep(in.message.pause_in);
          Engine::Guard own(e);
          e.recv(*in.received);
        }
        Slot& out = slots.emplace_back(Slot{Message(rank, peer, i), {}, {}, {}});
        out.memory = out.message.memory(out.message.gappy_out);
        out.message.fill(out.memory);
        out.sent = std::make_unique<Sent>(payload_of(out.message, out.memory, out.message.gappy_out), rank, i);
        out.sent->peer = peer;
        if (out.message.synchronous) out.sent->mode = engine::SendMode::synchronous;
        if (out.message.pause_out) usleep(out.message.pause_out);
        Engine::Guard own(e);
        e.send(*out.sent);
      }
    Engine::Guard own(e);
    for (Slot& slot : slots) e.wait_until([&] { return slot.sent ? slot.sent->done : slot.received->done; });
    for (Slot& slot : slots)
      if (slot.received) {
        EXPECT_EQ(slot.received->outcome.mpi_class, 0);
        slot.message.check(slot.memory);
      }
  }
}

struct Way {
  int size;
  bool read_peers;
  Waiting waiting;
  const char* name;
};
class ProcessesTest : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, ProcessesTest,
                         testing::Values(Way{2, true, {100, 100}, "two"}, Way{2, false, {100, 100}, "two_copying"},
                                         Way{2, false, {0, 0}, "two_copying_sleeping_at_once"},
                                         Way{4, true, {1, 20}, "four"}, Way{4, false, {1, 20}, "four_copying"}),
                         [](auto& info) { return info.param.name; });

TEST_P(ProcessesTest, CarryRandomMessages) {
  const Way& way = GetParam();
  Job job(way.size);
  job.run([&](int rank) {
    RouterOptions options = job.options(rank);
    options.read_peers = way.read_peers;
    auto node = open_node(job, rank, options);
    ASSERT_TRUE(node && node->has_shared_memory() && !node->has_ucx());
    Engine e(*node, rank, way.waiting);
    ProgressThread helper(e);
    exchange(e, rank, way.size, 200);
    part(e, rank, way.size);
  });
}

void expect_no_name(const Job& job) {
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_FALSE(entry.path().filename().string().starts_with("tutti." + job.name())) << entry.path();
}

TEST(SharedMemoryTest, LeavesNoNameBehind) {
  Job job(2);
  job.run([&](int rank) {
    auto node = open_node(job, rank, job.options(rank));
    expect_no_name(job);
  });
}

// Where a name might stay there is none at any time: not when the first rank waits for the others.
TEST(SharedMemoryTest, NeedsNoName) {
  Job job(4);
  job.run([&](int rank) {
    Wiring wiring = job.wiring_without_names(rank);
    wiring.fence = [&] {
      expect_no_name(job);
      return job.fence();
    };
    auto node = open_node(job.options(rank), wiring);
    ASSERT_TRUE(node && node->has_shared_memory() && !node->has_ucx());
    Engine e(*node, rank, Waiting{100, 100});
    exchange(e, rank, 4, 20);
    part(e, rank, 4);
  });
}

TEST(SharedMemoryTest, RanksThatDoNotSeeEachOtherShareAFileWithAName) {
  Job job(2);
  job.run([&](int rank) {
    Wiring wiring = job.wiring_without_names(rank);
    wiring.node_is_visible = false;
    auto node = open_node(job.options(rank), wiring);
    ASSERT_TRUE(node && node->has_shared_memory() && !node->has_ucx());
    Engine e(*node, rank, Waiting{100, 100});
    exchange(e, rank, 2, 20);
    part(e, rank, 2);
    expect_no_name(job);
  });
}

TEST(SharedMemoryTest, ARankThatDoesNotFindTheFileMakesAllTalkOverUcx) {
  Job job(2);
  job.run([&](int rank) {
    Wiring wiring = job.wiring_without_names(rank);
    if (rank == 1)
      wiring.told_by = [told_by = wiring.told_by](int process) -> Result<std::string> {
        std::optional<PlaceOfFile> place = PlaceOfFile::parse(*told_by(process));
        EXPECT_TRUE(place);
        ++place->file;
        return place->text();
      };
    RouterOptions options = job.options(rank);
    options.ucx.tls = "tcp,self,sysv";
    auto node = open_node(options, wiring);
    ASSERT_TRUE(node && node->has_ucx() && !node->has_shared_memory());
    Engine e(*node, rank, Waiting{100, 100});
    exchange(e, rank, 2, 20);
    part(e, rank, 2);
    expect_no_name(job);
  });
}

// ---- receives that need not be posted

TEST(AtOnceTest, TakesWhatComesNextAndNothingElse) {
  Job job(2);
  job.run([&](int rank) {
    auto node = open_node(job, rank, job.options(rank));
    Engine e(*node, rank, Waiting{100, 100});
    int value = 0;
    const Payload payload{&value, sizeof value};
    if (rank == 0) {
      const auto send = [&](int tag, int what) {
        Engine::Guard own(e);
        value = what;
        EXPECT_TRUE(e.send_at_once(1, {kContext, 0, tag, 0}, payload));
      };
      {
        Engine::Guard own(e);
        Sent first(payload, 0, 9);  // opens the ring
        first.peer = 1;
        e.send(first);
        e.wait_until([&] { return first.done; });
      }
      EXPECT_FALSE(job.fence());
      EXPECT_FALSE(job.fence());
      send(2, 20);
      for (int i = 10; i < 14; ++i) send(1, i);
      EXPECT_FALSE(job.fence());
      EXPECT_FALSE(job.fence());  // the parting is a message, too
      part(e, rank, 2);
      return;
    }
    const auto take = [&](int tag, bool waits) {
      Engine::Guard own(e);
      engine::Outcome outcome;
      const bool taken = e.recv_at_once(0, {kContext, 0, tag, 0}, payload, outcome, waits);
      if (taken) {
        EXPECT_EQ(outcome.source, 0);
        EXPECT_EQ(outcome.tag, tag);
        EXPECT_EQ(outcome.bytes, 4);
      }
      return taken;
    };
    {
      Engine::Guard own(e);
      Received first(payload, 0, 9);
      e.recv(first);
      e.wait_until([&] { return first.done; });
    }
    EXPECT_FALSE(job.fence());
    EXPECT_FALSE(take(1, false)) << "nothing has been sent";
    EXPECT_FALSE(take(1, true)) << "nothing is sent before the next fence";
    EXPECT_EQ(e.matcher().posted(), 0u);
    EXPECT_FALSE(job.fence());
    EXPECT_FALSE(job.fence());
    EXPECT_FALSE(take(1, false)) << "a message with tag 2 comes next";
    ASSERT_TRUE(take(2, false));
    EXPECT_EQ(value, 20);
    ASSERT_TRUE(take(1, true));
    EXPECT_EQ(value, 10);
    EXPECT_EQ(e.matcher().unexpected(), 0u);
    for (const int32_t source : {0, engine::kAnySource}) {
      int other = 0;
      Received posted({&other, sizeof other}, source, 1);
      {
        Engine::Guard own(e);
        e.recv(posted);
      }
      if (source == 0) {
        EXPECT_FALSE(take(1, false)) << "an earlier receive takes the next one";
      }
      Engine::Guard own(e);
      e.wait_until([&] { return posted.done; });
      EXPECT_EQ(other, source == 0 ? 11 : 12);
    }
    EXPECT_EQ(e.matcher().unexpected(), 1u) << "the last one has come with the others";
    EXPECT_FALSE(take(1, false)) << "what came before is taken first";
    EXPECT_FALSE(job.fence());
    Engine::Guard own(e);
    Received last(payload, 0, 1);
    e.recv(last);
    EXPECT_TRUE(last.done);
    EXPECT_EQ(value, 13);
    e.leave();
    part(e, rank, 2);
    e.enter();
  });
}

// ---- wake-ups

struct Ears final : Receiver {
  void unsent(int) override {}
  void arrived(const Arrival&) override { ++heard; }
  int heard = 0;
};

class WakeUpTest : public testing::TestWithParam<bool> {
 protected:
  template <class Body>
  void run_two(Body&& body) {
    Job job(2);
    job.run([&](int rank) {
      if (GetParam()) use_remote_fences();
      auto node = open_node(job, rank, job.options(rank));
      Ears ears;
      node->set_receiver(ears);
      body(job, rank, *node, ears);
    });
  }
  // With a lane between them.
  template <class Body>
  void run_with_lane(Body&& body) {
    run_two([&](Job& job, int rank, Router& node, Ears&) {
      const std::unique_ptr<Area> area =
          node.area_for({.context = 1, .slot = 1, .generation = 1, .generations = 2}, {0, 1}, rank);
      ASSERT_TRUE(area);
      body(job, rank, node, area->small());
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Fences, WakeUpTest, testing::Bool(), [](auto& info) { return info.param ? "remote" : "own"; });

// The two answer each other; each sleeps whenever it has nothing to do, and only a ring wakes it.
TEST_P(WakeUpTest, NoneIsLost) {
  constexpr int kRounds = 20000;
  run_two([&](Job&, int rank, Router& node, Ears& ears) {
    std::minstd_rand random(static_cast<unsigned>(rank) + 1);
    for (int round = 0; round < kRounds; ++round) {
      for (int turn = 0; turn < 2; ++turn) {
        if (turn == rank) {
          for (unsigned wait = random() % 4 ? random() % 2000 : random() % 20000; wait; --wait) cpu::pause();
          Header header;
          header.ticket = 1;
          node.notify(1 - rank, header);
          continue;
        }
        while (ears.heard <= round) {
          if (node.progress() || !node.arm(true)) continue;
          pollfd bell{node.descriptor(), POLLIN, 0};
          ASSERT_EQ(poll(&bell, 1, 10000), 1) << "asleep for ten seconds in round " << round;
        }
      }
    }
  });
}

// The two raise flags in turns. Who waits for one sleeps only if it has asked for flags, now and then
// after it had asked for records alone.
TEST_P(WakeUpTest, NoFlagIsLost) {
  constexpr uint32_t kRounds = 20000;
  run_with_lane([&](Job&, int rank, Router& node, Lane& lane) {
    std::minstd_rand random(static_cast<unsigned>(rank) + 1);
    for (uint32_t i = 0; i < kRounds; ++i) {
      const uint32_t round = lane.take(1);
      lane.begin(round, i, 0);
      const auto raiser = static_cast<int>(i % 2);
      if (raiser == rank) {
        for (unsigned wait = random() % 4 ? random() % 2000 : random() % 20000; wait; --wait) cpu::pause();
        while (!lane.claim(round)) node.progress();
        lane.raise(round, 0, -1);
      }
      while (raiser != rank && !lane.is_raised(round, raiser)) {
        if (node.progress() || (random() % 2 && !node.arm(false))) continue;
        if (!node.arm(true) || lane.is_raised(round, raiser)) continue;
        pollfd bell{node.descriptor(), POLLIN, 0};
        ASSERT_EQ(poll(&bell, 1, 10000), 1) << "asleep for ten seconds in round " << i;
      }
      lane.leave(round);
    }
  });
}

// Who has asked for records alone is not rung for a flag.
TEST_P(WakeUpTest, FlagsRingForThoseWhoAskForThem) {
  run_with_lane([&](Job& job, int rank, Router& node, Lane& lane) {
    for (uint32_t i = 0; i < 4; ++i) {
      const bool by_flags = i % 2 == 1;
      const uint32_t round = lane.take(1);
      lane.begin(round, i, 0);
      if (rank == 1) {
        while (!node.arm(by_flags)) node.progress();
        EXPECT_FALSE(job.fence());
        EXPECT_FALSE(job.fence());
        EXPECT_TRUE(lane.is_raised(round, 0));
        pollfd bell{node.descriptor(), POLLIN, 0};
        EXPECT_EQ(poll(&bell, 1, 0), by_flags ? 1 : 0) << "in round " << i;
        node.disarm();
      } else {
        EXPECT_FALSE(job.fence());
        ASSERT_TRUE(lane.claim(round));
        lane.raise(round, 0, -1);
        EXPECT_FALSE(job.fence());
      }
      lane.leave(round);
    }
  });
}

// ---- too little memory

void exchange_over(const char* shm_size) {
  const bool done = apart([&] { return small_shm(shm_size); },
                          [] {
                            Job job(2);
                            job.run([&](int rank) {
                              RouterOptions options = job.options(rank);
                              options.ucx.tls = "tcp,self,sysv";
                              auto node = open_node(job, rank, options);
                              ASSERT_TRUE(node && node->has_ucx() && !node->has_shared_memory());
                              Engine e(*node, rank, Waiting{100, 100});
                              exchange(e, rank, 2, 20);
                              part(e, rank, 2);
                              node.reset();
                              EXPECT_TRUE(std::filesystem::is_empty("/dev/shm"));
                            });
                          });
  if (!done) GTEST_SKIP() << "mounting is not allowed here";
}

TEST(SmallShmTest, WithoutRoomForAnythingMessagesGoOverUcx) {
  exchange_over("size=4k");
}
TEST(SmallShmTest, WithoutRoomForTheRingsMessagesGoOverUcx) {
  exchange_over("size=128k");
}

TEST(SmallShmTest, RanksThatDoNotShareItTalkOverUcx) {
  const bool done = apart([] { return small_shm("size=8m"); },
                          [] {
                            Job job(2);
                            job.run([&](int rank) {
                              ASSERT_TRUE(rank == 0 || small_shm("size=8m"));
                              RouterOptions options = job.options(rank);
                              options.ucx.tls = "tcp,self,sysv";
                              auto node = open_node(job, rank, options);
                              ASSERT_TRUE(node && node->has_ucx() && !node->has_shared_memory());
                              Engine e(*node, rank, Waiting{100, 100});
                              exchange(e, rank, 2, 20);
                              part(e, rank, 2);
                            });
                          });
  if (!done) GTEST_SKIP() << "mounting is not allowed here";
}

}  // namespace
}  // namespace tutti::transport
