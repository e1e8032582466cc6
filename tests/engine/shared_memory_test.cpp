// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between real processes: random traffic, sleep and wake-up, too little of it, names
// that must not stay.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "engine/engine.hpp"
#include "engine/progress.hpp"
#include "processes.hpp"
#include "small_shm.hpp"
#include "transport/doorbell.hpp"
#include "transport/nameless_file.hpp"
#include "transport/node.hpp"
#include "transport/ring.hpp"

namespace tutti::transport {
namespace {

using engine::Engine;
using engine::Operation;
using engine::ProgressThread;
using engine::Waiting;
using testing_processes::Job;
using testing_shm::apart;
using testing_shm::small_shm;

constexpr uint64_t kContext = 4;

// ---- processes

template <class Op>
struct Tracked : Op {
  Tracked(Payload p, int32_t source, int32_t tag) {
    this->payload = p;
    this->match = {kContext, source, tag, 0};
    this->owner = this;
    this->on_complete = [](Operation& o) { static_cast<Tracked*>(o.owner)->done = true; };
  }
  bool done = false;
};
using Sent = Tracked<engine::SendOperation>;
using Received = Tracked<engine::RecvOperation>;

std::unique_ptr<Node> open_node(const NodeOptions& options, const Wiring& wiring) {
  auto opened = Node::open(options, wiring);
  EXPECT_TRUE(opened) << std::move(opened).error().message();
  return opened ? std::move(*opened) : nullptr;
}
std::unique_ptr<Node> open_node(Job& job, int rank, const NodeOptions& options) {
  return open_node(options, job.wiring(rank));
}

// Nobody leaves while another may still need its progress.
void part(Engine& e, int rank, int size) {
  Engine::Guard own(e);
  std::vector<std::unique_ptr<Sent>> sent;
  std::vector<std::unique_ptr<Received>> received;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    received.push_back(std::make_unique<Received>(Payload{}, peer, 1000000));
    e.recv(*received.back());
    sent.push_back(std::make_unique<Sent>(Payload{}, rank, 1000000));
    sent.back()->peer = peer;
    e.send(*sent.back());
  }
  for (auto& s : sent) e.wait_until([&] { return s->done; });
  for (auto& r : received) e.wait_until([&] { return r->done; });
  e.wait_until([&] { return e.transport().flushed(); });
}

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
  std::vector<int> memory(bool gappy) const {
    return std::vector<int>(ints * (gappy ? 3 : 1) + 1, -7);
  }
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
          in.received = std::make_unique<Received>(
              payload_of(in.message, in.memory, in.message.gappy_in), peer, i);
          if (in.message.pause_in) usleep(in.message.pause_in);
          Engine::Guard own(e);
          e.recv(*in.received);
        }
        Slot& out = slots.emplace_back(Slot{Message(rank, peer, i), {}, {}, {}});
        out.memory = out.message.memory(out.message.gappy_out);
        out.message.fill(out.memory);
        out.sent = std::make_unique<Sent>(
            payload_of(out.message, out.memory, out.message.gappy_out), rank, i);
        out.sent->peer = peer;
        if (out.message.synchronous) out.sent->mode = engine::SendMode::synchronous;
        if (out.message.pause_out) usleep(out.message.pause_out);
        Engine::Guard own(e);
        e.send(*out.sent);
      }
    Engine::Guard own(e);
    for (Slot& slot : slots)
      e.wait_until([&] { return slot.sent ? slot.sent->done : slot.received->done; });
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
                         testing::Values(Way{2, true, {100, 100}, "two"},
                                         Way{2, false, {100, 100}, "two_copying"},
                                         Way{2, false, {0, 0}, "two_copying_sleeping_at_once"},
                                         Way{4, true, {1, 20}, "four"},
                                         Way{4, false, {1, 20}, "four_copying"}),
                         [](auto& info) { return info.param.name; });

TEST_P(ProcessesTest, CarryRandomMessages) {
  const Way& way = GetParam();
  Job job(way.size);
  job.run([&](int rank) {
    NodeOptions options = job.options(rank);
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
    EXPECT_FALSE(entry.path().filename().string().starts_with("tutti." + job.name()))
        << entry.path();
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
    NodeOptions options = job.options(rank);
    options.ucx.tls = "tcp,self,sysv";
    auto node = open_node(options, wiring);
    ASSERT_TRUE(node && node->has_ucx() && !node->has_shared_memory());
    Engine e(*node, rank, Waiting{100, 100});
    exchange(e, rank, 2, 20);
    part(e, rank, 2);
    expect_no_name(job);
  });
}

// ---- long messages, several at once

struct Series {
  static constexpr int kMessages = 6, kBytes = (1 << 20) + 12345;
  Series() {
    for (auto& m : memory) m.resize(kBytes);
  }
  Payload payload(int i) { return {memory[static_cast<size_t>(i)].data(), kBytes}; }
  static std::byte byte(int i, int at) {
    return static_cast<std::byte>(i * 37 + at * 7 + at / 251);
  }
  std::vector<std::byte> memory[kMessages];
};

bool siblings_can_be_read() {
  static int word = 42;  // at the same address in both
  const pid_t shown = fork();
  if (shown == 0) {
    pause();
    _exit(0);
  }
  const pid_t reader = fork();
  if (reader == 0) {
    int got = 0;
    const iovec here{&got, sizeof got}, there{&word, sizeof word};
    _exit(process_vm_readv(shown, &here, 1, &there, 1, 0) == sizeof got && got == 42 ? 0 : 1);
  }
  int status = -1;
  waitpid(reader, &status, 0);
  kill(shown, SIGKILL);
  waitpid(shown, nullptr, 0);
  return status == 0;
}

// The sender is asked to copy, too. It lets the receiver wait: all but what it has been asked for
// is read without it, and that comes when it is back.
TEST(LongMessagesTest, AreReadWhereTheSenderLeaves) {
  if (!siblings_can_be_read())
    GTEST_SKIP() << "no process may read another's memory here: the sender copies all";
  Job job(2);
  job.run([&](int rank) {
    auto node = open_node(job, rank, job.options(rank));
    Engine e(*node, rank, Waiting{100, 100});
    Series series;
    if (rank == 0) {
      for (int i = 0; i < Series::kMessages; ++i)
        for (int at = 0; at < Series::kBytes; ++at)
          series.memory[i][static_cast<size_t>(at)] = Series::byte(i, at);
      std::vector<std::unique_ptr<Sent>> sent;
      {
        Engine::Guard own(e);
        for (int i = 0; i < Series::kMessages; ++i) {
          sent.push_back(std::make_unique<Sent>(series.payload(i), 0, i));
          sent.back()->peer = 1;
          e.send(*sent.back());
        }
      }
      EXPECT_FALSE(job.fence());  // they are announced
      EXPECT_FALSE(job.fence());  // all but one are there
      {
        Engine::Guard own(e);
        for (auto& s : sent) e.wait_until([&] { return s->done; });
      }
      return part(e, rank, 2);
    }
    std::vector<std::unique_ptr<Received>> received;
    const auto count = [&] {
      return std::ranges::count_if(received, [](auto& r) { return r->done; });
    };
    {
      Engine::Guard own(e);
      for (int i = 0; i < Series::kMessages; ++i) {
        received.push_back(std::make_unique<Received>(series.payload(i), 0, i));
        e.recv(*received.back());
      }
    }
    EXPECT_FALSE(job.fence());
    {
      Engine::Guard own(e);
      e.wait_until([&] { return count() == Series::kMessages - 1; });
      EXPECT_FALSE(received[0]->done) << "the first was not asked for";
    }
    EXPECT_FALSE(job.fence());
    {
      Engine::Guard own(e);
      e.wait_until([&] { return received[0]->done; });
    }
    for (int i = 0; i < Series::kMessages; ++i)
      for (int at = 0; at < Series::kBytes; ++at)
        ASSERT_EQ(series.memory[i][static_cast<size_t>(at)], Series::byte(i, at)) << i << ' ' << at;
    part(e, rank, 2);
  });
}

// One that comes alone is copied from both ends, in pieces, to any address; and by its receiver
// alone where the sender does something else meanwhile.
TEST(LongMessagesTest, AreCopiedFromBothEnds) {
  const bool readable = siblings_can_be_read();  // else nobody can do without the sender
  Job job(2);
  job.run([&](int rank) {
    auto node = open_node(job, rank, job.options(rank));
    Engine e(*node, rank, Waiting{20000, 100});
    const int sizes[] = {64 << 10,         (64 << 10) + 1, 100'000,        (128 << 10) - 1,
                         (256 << 10) + 64, 1'000'003,      (4 << 20) + 77, 10'000'000};
    std::vector<std::byte> memory((10 << 20) + 4096);
    int tag = 0;
    for (int round = 0; round < 12; ++round)
      for (const int bytes : sizes) {
        const bool leaves = readable && round % 4 == 3;
        std::byte* const place = memory.data() + 64 + round * 13;
        const auto byte = [&, salt = std::byte(tag)](int at) {
          return Series::byte(round, at) ^ salt;
        };
        if (rank == 0) {
          for (int at = 0; at < bytes; ++at) place[at] = byte(at);
        } else {
          std::memset(memory.data(), 0, memory.size());
        }
        Sent sent({place, bytes}, 0, tag);
        Received received({place, bytes}, 0, tag);
        ++tag;
        sent.peer = 1;
        if (leaves) {
          if (rank == 0) {
            Engine::Guard own(e);
            e.send(sent);
          }
          EXPECT_FALSE(job.fence());
          if (rank == 1) {
            Engine::Guard own(e);
            e.recv(received);
            e.wait_until([&] { return received.done; });
          }
          EXPECT_FALSE(job.fence());
        }
        Engine::Guard own(e);
        if (rank == 0) {
          if (!leaves) e.send(sent);
          e.wait_until([&] { return sent.done; });
          std::memset(place, 0xee, static_cast<size_t>(bytes));  // nobody reads it any more
        } else {
          if (!received.done) {
            e.recv(received);
            e.wait_until([&] { return received.done; });
          }
          for (int at = 0; at < bytes; ++at)
            ASSERT_EQ(place[at], byte(at)) << bytes << " bytes, at " << at;
          ASSERT_EQ(place[-1], std::byte{0});
          ASSERT_EQ(place[bytes], std::byte{0});
        }
      }
    part(e, rank, 2);
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

class WakeUpTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Fences, WakeUpTest, testing::Bool(),
                         [](auto& info) { return info.param ? "remote" : "own"; });

// The two answer each other; each sleeps whenever it has nothing to do, and only a ring wakes it.
TEST_P(WakeUpTest, NoneIsLost) {
  constexpr int kRounds = 20000;
  Job job(2);
  job.run([&](int rank) {
    if (GetParam()) use_remote_fences();
    auto node = open_node(job, rank, job.options(rank));
    Ears ears;
    node->set_receiver(ears);
    std::minstd_rand random(static_cast<unsigned>(rank) + 1);
    for (int round = 0; round < kRounds; ++round) {
      for (int turn = 0; turn < 2; ++turn) {
        if (turn == rank) {
          for (unsigned wait = random() % 4 ? random() % 2000 : random() % 20000; wait; --wait)
            __builtin_ia32_pause();
          Header header;
          header.ticket = 1;
          node->notify(1 - rank, header);
          continue;
        }
        while (ears.heard <= round) {
          if (node->progress() || !node->arm()) continue;
          pollfd bell{node->descriptor(), POLLIN, 0};
          ASSERT_EQ(poll(&bell, 1, 10000), 1) << "asleep for ten seconds in round " << round;
        }
      }
    }
  });
}

// ---- too little memory

void exchange_over(const char* shm_size) {
  const bool done = apart([&] { return small_shm(shm_size); },
                          [] {
                            Job job(2);
                            job.run([&](int rank) {
                              NodeOptions options = job.options(rank);
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
                              NodeOptions options = job.options(rank);
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
