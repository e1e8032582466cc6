// SPDX-License-Identifier: BSD-3-Clause
// Long messages in shared memory between real processes, several at once and one alone: read by
// their receiver where the sender leaves, copied from both ends where it stays.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "engine/engine.hpp"
#include "members/processes.hpp"
#include "process_messages.hpp"
#include "processes.hpp"
#include "transport/shm/copy_choice.hpp"
#include "transport/shm/shared_memory.hpp"

namespace tutti::transport {
namespace {

using engine::Engine;
using engine::Waiting;
using testing_processes::Job;
using testing_processes::open_node;
using testing_processes::part;
using testing_processes::Received;
using testing_processes::Sent;

struct Series {
  static constexpr int kMessages = 6, kBytes = (1 << 20) + 12345;
  Series() {
    for (auto& m : memory) m.resize(kBytes);
  }
  Payload payload(int i) { return {memory[static_cast<size_t>(i)].data(), kBytes}; }
  static std::byte byte(int i, int at) { return static_cast<std::byte>(i * 37 + at * 7 + at / 251); }
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
  if (!siblings_can_be_read()) GTEST_SKIP() << "no process may read another's memory here: the sender copies all";
  Job job(2);
  job.run([&](int rank) {
    auto node = open_node(job, rank, job.options(rank));
    Engine e(*node, rank, Waiting{100, 100});
    Series series;
    if (rank == 0) {
      for (int i = 0; i < Series::kMessages; ++i)
        for (int at = 0; at < Series::kBytes; ++at) series.memory[i][static_cast<size_t>(at)] = Series::byte(i, at);
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
    const auto count = [&] { return std::ranges::count_if(received, [](auto& r) { return r->done; }); };
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

// It is known to be gone then, and nothing else comes of that here.
TEST(LongMessagesTest, AreReadUntilTheSenderIsGone) {
  if (!siblings_can_be_read()) GTEST_SKIP() << "no process may read another's memory here: the sender copies all";
  auto* const sender = static_cast<std::atomic<pid_t>*>(
      mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(sender, MAP_FAILED);
  Job job(2);
  job.run([&](int rank) {
    members::Processes all(7, 2);
    RouterOptions options = job.options(rank);
    options.both_copy = false;
    options.members = &all;
    auto node = open_node(job, rank, options);
    Engine e(*node, rank, Waiting{100, 100});
    std::vector<std::byte> memory[2];
    for (auto& m : memory) m.resize(Series::kBytes);
    if (rank == 1) {
      sender->store(getpid());
      Sent first({memory[0].data(), Series::kBytes}, 1, 0), second({memory[1].data(), Series::kBytes}, 1, 1);
      first.peer = second.peer = 0;
      {
        Engine::Guard own(e);
        e.send(first);
        e.wait_until([&] { return first.done; });
        e.send(second);  // announces it
      }
      EXPECT_FALSE(job.fence());
      fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    Received first({memory[0].data(), Series::kBytes}, 1, 0), second({memory[1].data(), Series::kBytes}, 1, 1);
    {
      Engine::Guard own(e);
      e.recv(first);
      e.wait_until([&] { return first.done; });
    }
    EXPECT_EQ(all.changes(), 0U);
    EXPECT_FALSE(job.fence());
    const auto is_there = [&] {
      char word = 0;
      const iovec here{&word, 1}, there{&memory, 1};  // at the same address, or at none
      return process_vm_readv(sender->load(), &here, 1, &there, 1, 0) >= 0 || errno != ESRCH;
    };
    while (is_there()) std::this_thread::yield();
    Engine::Guard own(e);
    e.recv(second);
    while (all.changes() == 0) e.progress();
    EXPECT_FALSE(second.done);
    const std::vector<members::Change> changes = all.changes_since(0);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].process, 1);
    EXPECT_EQ(changes[0].state, members::State::suspected);
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);  // the receive is never over
  });
  munmap(sender, sizeof *sender);
}

// A rank opens its ring when it has something to say for the first time, and may fail right behind that, before the
// other one has looked for rings that have been opened since. What it has said is heard all the same, and heard before
// what is under way to it ends with an error: a record names its message by an address, at which there may be another
// one, or none, when the message is over.
TEST(LongMessagesTest, AreOverOnceThoughTheirReceiverFailsBehindItsFirstWord) {
  if (!siblings_can_be_read()) GTEST_SKIP() << "no process may read another's memory here: the sender copies all";
  constexpr int kWord = 1;
  Job job(2);
  job.run([&](int rank) {
    members::Processes all(7, 2);
    RouterOptions options = job.options(rank);
    options.both_copy = false;
    options.survives = true;
    options.members = &all;
    auto node = open_node(job, rank, options);
    Engine e(*node, rank, Waiting{100, 100});
    std::vector<std::byte> memory(Series::kBytes);
    const Payload payload{memory.data(), Series::kBytes};
    int word = rank;
    const Payload short_payload{reinterpret_cast<std::byte*>(&word), sizeof word};
    if (rank == 1) {
      EXPECT_FALSE(job.fence());  // the message is announced
      Engine::Guard own(e);
      Received received(payload, 0, 0);
      e.recv(received);
      e.wait_until([&] { return received.done; });  // and read, of which its sender is told
      Sent sent(short_payload, 1, kWord);
      sent.peer = 0;
      e.send(sent);
      EXPECT_TRUE(sent.done);
      EXPECT_FALSE(job.fence());
      fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    Engine::Guard own(e);
    struct Counted : engine::SendOperation {
      int ends = 0;
    } sent;
    sent.payload = payload;
    sent.peer = 1;
    sent.match = {testing_processes::kContext, 0, 0, 0};
    sent.on_complete = [](engine::Operation& over) { ++static_cast<Counted&>(over).ends; };
    e.send(sent);
    Received received(short_payload, 1, kWord);
    e.recv(received);
    EXPECT_FALSE(job.fence());
    EXPECT_FALSE(job.fence());  // the other one writes nothing any more
    EXPECT_EQ(sent.ends, 0);
    all.report(1, members::State::failed, "has been made up");
    node->take_changes();
    EXPECT_EQ(sent.ends, 1);
    EXPECT_EQ(sent.outcome.mpi_class, 0) << "all of it has been read";
    EXPECT_TRUE(received.done);
    EXPECT_EQ(word, 1);
    for (int i = 0; i < 10; ++i) e.progress();
    EXPECT_EQ(sent.ends, 1) << "a message that is over is named by what is found later";
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  });
}

// Up to 8 KiB a message is copied into the ring, and its sender is done before anybody receives; up to 32 KiB where two
// of them have no core each, so that the sender need not come back to it.
TEST(LongMessagesTest, AreShorterWhereBothMayCopy) {
  for (const bool both_copy : {true, false}) {
    Job job(2);
    job.run([&](int rank) {
      RouterOptions options = job.options(rank);
      options.both_copy = both_copy;
      auto node = open_node(job, rank, options);
      Engine e(*node, rank, Waiting{100, 100});
      constexpr int kMessages = 4;
      // `at_once`: the sender is done with them before anybody receives.
      const auto exchange = [&](int bytes, bool at_once) {
        std::vector<std::vector<std::byte>> memory(kMessages);
        std::vector<std::unique_ptr<Sent>> sent;
        std::vector<std::unique_ptr<Received>> received;
        for (auto& m : memory) m.resize(static_cast<size_t>(bytes));
        const auto payload = [&](int i) { return Payload{memory[static_cast<size_t>(i)].data(), bytes}; };
        for (int i = 0; rank == 0 && i < kMessages; ++i) {
          for (int at = 0; at < bytes; ++at)
            memory[static_cast<size_t>(i)][static_cast<size_t>(at)] = Series::byte(i, at);
          Engine::Guard own(e);
          sent.push_back(std::make_unique<Sent>(payload(i), 0, i));
          sent.back()->peer = 1;
          e.send(*sent.back());
        }
        for (auto& s : sent) EXPECT_EQ(s->done, at_once) << bytes;
        EXPECT_FALSE(job.fence());
        Engine::Guard own(e);
        for (int i = 0; rank == 1 && i < kMessages; ++i) {
          received.push_back(std::make_unique<Received>(payload(i), 0, i));
          e.recv(*received.back());
        }
        for (auto& s : sent) e.wait_until([&] { return s->done; });
        for (auto& r : received) e.wait_until([&] { return r->done; });
        for (int i = 0; rank == 1 && i < kMessages; ++i)
          for (int at = 0; at < bytes; ++at)
            ASSERT_EQ(memory[static_cast<size_t>(i)][static_cast<size_t>(at)], Series::byte(i, at));
      };
      exchange(8 << 10, true);
      exchange((8 << 10) + 1, !both_copy);
      exchange(32 << 10, !both_copy);
      exchange((32 << 10) + 1, false);
      part(e, rank, 2);
    });
  }
}

// One of more than 128 KiB that comes alone is copied from both ends, in pieces, to any address; and by
// its receiver alone where the sender does something else meanwhile.
TEST(LongMessagesTest, AreCopiedFromBothEnds) {
  const bool readable = siblings_can_be_read();  // else nobody can do without the sender
  Job job(2);
  job.run([&](int rank) {
    RouterOptions options = job.options(rank);
    options.try_rings = false;
    auto node = open_node(job, rank, options);
    Engine e(*node, rank, Waiting{20000, 100});
    const int sizes[] = {128 << 10,        (128 << 10) + 1, 150'000,        200'000,
                         (256 << 10) + 64, 1'000'003,       (4 << 20) + 77, 10'000'000};
    std::vector<std::byte> memory((10 << 20) + 4096);
    int tag = 0;
    for (int round = 0; round < 12; ++round)
      for (const int bytes : sizes) {
        const bool leaves = readable && round % 4 == 3;
        std::byte* const place = memory.data() + 64 + round * 13;
        const auto byte = [&, salt = std::byte(tag)](int at) { return Series::byte(round, at) ^ salt; };
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
          for (int at = 0; at < bytes; ++at) ASSERT_EQ(place[at], byte(at)) << bytes << " bytes, at " << at;
          ASSERT_EQ(place[-1], std::byte{0});
          ASSERT_EQ(place[bytes], std::byte{0});
        }
      }
    part(e, rank, 2);
  });
}

// After the first few that were read some are tried through a ring: such a one does not come without its sender. Who
// does not wait for it, but makes a pass now and then, as one that computes, reads all of them.
void try_both_ways(bool waits) {
  for (const int bytes : {40'000, 300'000, 1'000'000}) {
    Job job(2);
    job.run([&](int rank) {
      auto node = open_node(job, rank, job.options(rank));
      // It counts passes, also where the machine is busy: who has lost its core would sleep between two.
      Engine e(*node, rank, Waiting{.polls = Waiting::kForEver, .adapts = false});
      std::vector<std::byte> memory(static_cast<size_t>(bytes));
      for (int tag = 0; tag <= CopyChoice::kRun; ++tag) {
        Sent sent({memory.data(), bytes}, 0, tag);
        Received received({memory.data(), bytes}, 0, tag);
        for (int at = 0; at < bytes; ++at)
          memory[static_cast<size_t>(at)] = rank == 0 ? Series::byte(tag, at) : std::byte{0};
        sent.peer = 1;
        if (rank == 0) {
          Engine::Guard own(e);
          e.send(sent);
        }
        EXPECT_FALSE(job.fence());  // it is announced, and its sender away
        if (rank == 1) {
          Engine::Guard own(e);
          e.recv(received);
          int passes = 0;
          const auto is_enough = [&] { return received.done || ++passes > 10'000; };
          if (waits)
            e.wait_until(is_enough);
          else
            while (!is_enough()) e.progress();
          EXPECT_EQ(received.done, tag < CopyChoice::kRun || !waits) << "message " << tag << " of " << bytes;
        }
        EXPECT_FALSE(job.fence());  // it is back
        Engine::Guard own(e);
        if (rank == 0) {
          e.wait_until([&] { return sent.done; });
          continue;
        }
        e.wait_until([&] { return received.done; });
        for (int at = 0; at < bytes; ++at)
          ASSERT_EQ(memory[static_cast<size_t>(at)], Series::byte(tag, at)) << tag << ' ' << at;
      }
      part(e, rank, 2);
    });
  }
}

TEST(LongMessagesTest, AloneTryBothWays) {
  if (!siblings_can_be_read()) GTEST_SKIP() << "no process may read another's memory here: the sender copies all";
  try_both_ways(true);
}

TEST(LongMessagesTest, AreReadWhereNobodyWaits) {
  if (!siblings_can_be_read()) GTEST_SKIP() << "no process may read another's memory here: the sender copies all";
  try_both_ways(false);
}

// Both directions at the same time, in the same order, whichever way each message goes.
TEST(LongMessagesTest, OfMiddleLengthAreExchanged) {
  Job job(2);
  job.run([&](int rank) {
    auto node = open_node(job, rank, job.options(rank));
    Engine e(*node, rank, Waiting{20000, 100});
    constexpr int kWindow = 3, kLengths[] = {32'769, 65'536, 65'537, 131'072, 131'073, 9'000};
    std::vector<std::byte> out(kWindow * 131'073), in(out.size());
    for (int round = 0; round < 1500; ++round) {
      const int bytes = kLengths[round / 2 % 6], messages = round % 5 == 0 ? kWindow : 1;
      const auto place = [&](std::vector<std::byte>& memory, int i) {
        return Payload{memory.data() + i * bytes, bytes};
      };
      const auto fill = [&](int i) { return static_cast<std::byte>(round * 5 + i + 1); };
      std::vector<std::unique_ptr<Sent>> sent;
      std::vector<std::unique_ptr<Received>> received;
      Engine::Guard own(e);
      for (int i = 0; i < messages; ++i) {
        std::memset(out.data() + i * bytes, static_cast<int>(fill(i + rank)), static_cast<size_t>(bytes));
        received.push_back(std::make_unique<Received>(place(in, i), 1 - rank, i));
        sent.push_back(std::make_unique<Sent>(place(out, i), rank, i));
        sent.back()->peer = 1 - rank;
      }
      const bool early = (round + rank) % 7 != 0;
      for (int i = 0; i < messages; ++i) {
        if (early) e.recv(*received[static_cast<size_t>(i)]);
        e.send(*sent[static_cast<size_t>(i)]);
      }
      for (int i = 0; i < messages && !early; ++i) e.recv(*received[static_cast<size_t>(i)]);
      for (auto& s : sent) e.wait_until([&] { return s->done; });
      for (auto& r : received) e.wait_until([&] { return r->done; });
      for (int i = 0; i < messages; ++i)
        ASSERT_TRUE(std::all_of(in.begin() + i * bytes, in.begin() + (i + 1) * bytes,
                                [&](std::byte b) { return b == fill(i + 1 - rank); }))
            << "message " << i << " of round " << round;
    }
    part(e, rank, 2);
  });
}

// Of more ranks than have large rings of their own: what is streamed goes through one that is
// borrowed, window after window, in both directions in turns, by all pairs at once, whether the
// receiver is early or late. Where nobody can be read all of it does.
TEST(LongMessagesTest, ComeThroughLargeRingsThatAreLent) {
  for (const bool read_peers : {true, false}) {
    Job job(8);
    job.run([&](int rank) {
      RouterOptions options = job.options(rank);
      options.read_peers = read_peers;
      auto node = open_node(job, rank, options);
      Engine e(*node, rank, Waiting{2000, 100});
      constexpr int kLengths[] = {33'000, 65'536, 300'001, 40'000, 700'000, 131'072};
      const int peer = rank ^ 1;
      for (int round = 0; round < 60; ++round) {
        const bool sends = rank % 2 == round % 2, early = round % 3 != 0;
        const int messages = 1 + (round + rank / 2) % 6;
        std::vector<std::vector<std::byte>> memory(static_cast<size_t>(messages));
        std::vector<std::unique_ptr<Sent>> sent;
        std::vector<std::unique_ptr<Received>> received;
        const auto bytes = [&](int i) { return kLengths[(i + round + rank / 2) % 6]; };
        const auto start = [&] {
          Engine::Guard own(e);
          for (int i = 0; i < messages; ++i) {
            const Payload payload{memory[static_cast<size_t>(i)].data(), bytes(i)};
            if (sends) {
              sent.push_back(std::make_unique<Sent>(payload, rank, i));
              sent.back()->peer = peer;
              e.send(*sent.back());
            } else {
              received.push_back(std::make_unique<Received>(payload, peer, i));
              e.recv(*received.back());
            }
          }
        };
        for (int i = 0; i < messages; ++i) {
          auto& m = memory[static_cast<size_t>(i)];
          m.resize(static_cast<size_t>(bytes(i)));
          for (int at = 0; sends && at < bytes(i); ++at) m[static_cast<size_t>(at)] = Series::byte(i + round, at);
        }
        if (sends == early) {
          EXPECT_FALSE(job.fence());
        }
        start();
        if (sends != early) {
          EXPECT_FALSE(job.fence());
        }
        Engine::Guard own(e);
        for (auto& each : sent) e.wait_until([&] { return each->done; });
        for (auto& each : received) e.wait_until([&] { return each->done; });
        for (int i = 0; i < messages; ++i)
          for (int at = 0; at < bytes(i); ++at)
            ASSERT_EQ(memory[static_cast<size_t>(i)][static_cast<size_t>(at)], Series::byte(i + round, at))
                << "round " << round << ", message " << i << ", byte " << at;
      }
      part(e, rank, 8);
    });
  }
}

struct Side final : Receiver {
  void arrived(const Arrival& arrival) override { rendezvous = arrival.rendezvous; }
  void unsent(int) override {}
  bool takes_turns() override { return turns; }
  void* rendezvous = nullptr;
  bool turns = false, done = false;
};

// A sender that has stopped amid a stream, with room in the ring, since another thread wanted its
// turn, has something to do: it must not sleep until its receiver makes more room.
TEST(LongMessagesTest, AreNotForgottenByASenderThatGaveWay) {
  Side sides[2];
  std::unique_ptr<SharedMemory> ends[2];
  for (int i = 0; i < 2; ++i) {
    auto opened =
        SharedMemory::open({.name = "tutti.gave-way-test", .processes = {0, 1}, .process = i, .read_peers = false});
    ASSERT_TRUE(opened) << opened.error().message();
    ends[i] = *std::move(opened);
    ends[i]->set_receiver(sides[i]);
  }
  std::vector<std::byte> out(400'000, std::byte{7}), in(out.size());
  const auto bytes = static_cast<int64_t>(out.size());
  Outgoing outgoing{.header = {.bytes = bytes},
                    .payload = {out.data(), bytes},
                    .sent = [](Outgoing& o, Error) { static_cast<Side*>(o.owner)->done = true; },
                    .owner = &sides[0]};
  Fetch fetch{.into = {in.data(), bytes},
              .fetched = [](Fetch& f, Error) { static_cast<Side*>(f.owner)->done = true; },
              .owner = &sides[1]};
  ends[0]->send(1, outgoing);
  ends[1]->progress();
  ASSERT_NE(sides[1].rendezvous, nullptr);
  ends[1]->fetch(sides[1].rendezvous, fetch);
  sides[0].turns = true;
  ends[0]->progress();
  EXPECT_FALSE(sides[0].done);
  EXPECT_FALSE(ends[0]->arm(true));
  sides[0].turns = false;
  for (int i = 0; i < 100 && !(sides[0].done && sides[1].done); ++i)
    for (auto& end : ends) end->progress();
  EXPECT_TRUE(sides[0].done && sides[1].done);
  EXPECT_EQ(in, out);
  EXPECT_TRUE(ends[0]->arm(true));
  ends[0]->disarm();
}

}  // namespace
}  // namespace tutti::transport
