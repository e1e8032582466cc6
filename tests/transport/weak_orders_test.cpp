// SPDX-License-Identifier: BSD-3-Clause
// The small protocols of shared memory, each in every order that C++ allows (weak_memory.hpp): the ring by its own code; the
// doorbell's sleep, a lane's flags and the engine's turns as they are written in doorbell.hpp, lane.hpp and ownership.hpp, with
// their orders. Each is tried once more with an order less, which has to be found out: else the model would find nothing.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/shm/ring.hpp"
#include "weak_memory.hpp"

namespace tutti::transport {
namespace {

using weak::Explorer;
using weak::Tried;
using weak::Turns;
using weak::Word;
using Threads = std::vector<std::function<void()>>;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;

// ---- the ring

constexpr size_t kRingLines = 20, kRingSize = (1 + kRingLines) * kLine;

// What is not released, though it is to be.
enum class Weaker { nothing, records, position };

// The memory of a ring whose words are the model's.
struct TriedMemory {
  struct Shared {
    const Word word;
    const bool weaker;
    uint64_t load(std::memory_order order) const { return word.load(order); }
    void store(uint64_t value, std::memory_order order) const { word.store(value, weaker ? relaxed : order); }
  };
  TriedMemory(Explorer& explorer, Weaker weaker) : consumed{Word(explorer), weaker == Weaker::position} {
    for (size_t i = 0; i < kRingLines * kLine / sizeof(uint64_t); ++i) {
      words.push_back({Word(explorer), weaker == Weaker::records});
      contents.emplace_back(explorer);
    }
  }
  static constexpr size_t capacity(size_t size) { return size - kLine; }
  const Shared& word(size_t offset) const { return words[offset / sizeof(uint64_t)]; }
  // Of a record, which is plain memory.
  const Word& data(const std::byte* record) const {
    return contents[static_cast<size_t>(record - records) / sizeof(uint64_t)];
  }

  Shared consumed;
  std::vector<Shared> words;
  std::vector<Word> contents;
  std::byte records[kRingLines * kLine];  // nothing but addresses
};

// A writer passes records of these lengths, and a reader looks at what they say. Each of the two may find nothing to do so often.
struct Passing {
  Passing(Explorer& explorer, Weaker weaker)
      : memory(explorer, weaker), writer(memory, kRingSize), reader(memory, kRingSize) {}
  TriedMemory memory;
  WriterOfRing<TriedMemory> writer;
  ReaderOfRing<TriedMemory> reader;
  int patience = 2;
};

void write_all(Explorer& explorer, Passing& ring, const std::vector<uint32_t>& lengths) {
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool small = lengths[i] < kLine;
    std::byte* record = nullptr;
    while (!(record = small ? ring.writer.reserve_small(lengths[i]) : ring.writer.reserve(lengths[i])))
      if (--ring.patience < 0) explorer.give_up();
    ring.memory.data(record).write(i + 1);
    const RecordWord word{.length = lengths[i], .value = static_cast<uint16_t>(i + 1)};
    small ? ring.writer.commit_small(record, word) : ring.writer.commit(word);
  }
}

void read_all(Explorer& explorer, Passing& ring, const std::vector<uint32_t>& lengths) {
  for (size_t i = 0; i < lengths.size();) {
    const uint64_t packed = ring.reader.ready();
    if (packed == 0) {
      if (--ring.patience < 0) explorer.give_up();
      continue;
    }
    if (packed == kToTheStart) {
      ring.reader.go_to_start();
      continue;
    }
    const RecordWord word = RecordWord::of(packed);
    if (word.length != lengths[i] || word.value != i + 1) explorer.is_wrong();
    if (ring.memory.data(ring.reader.record()).read() != i + 1) explorer.is_wrong();
    ring.reader.consume(word);
    ++i;
  }
}

Tried pass(const std::vector<uint32_t>& lengths, Weaker weaker = Weaker::nothing) {
  Explorer explorer(Turns::for_later_values);
  return explorer.explore([&](Explorer& of) -> Threads {
    const auto ring = std::make_shared<Passing>(of, weaker);
    return {[&, ring] { write_all(of, *ring, lengths); }, [&, ring] { read_all(of, *ring, lengths); }};
  });
}

void expect_right(const Tried& tried) {
  EXPECT_GT(tried.whole, 0);
  EXPECT_EQ(tried.wrong, 0);
  EXPECT_EQ(tried.stuck, 0);
  ::testing::Test::RecordProperty("executions", std::to_string(tried.whole + tried.given_up));
}

// Of whole lines, more than a lap: the reader finds the marker, and what an earlier lap left is not taken for a record.
TEST(WeakOrders, RingOfLines) {
  expect_right(pass({64, 256, 128, 256, 64, 256, 192, 64, 256, 256}));
}
// Small ones share lines, before and behind long ones.
TEST(WeakOrders, RingOfSmallRecords) {
  expect_right(pass({16, 16, 24, 256, 16, 40, 256, 16, 256, 16, 16, 256}));
}
TEST(WeakOrders, RingWithoutReleaseIsFoundOut) {
  EXPECT_GT(pass({64, 256, 128}, Weaker::records).wrong, 0);
  EXPECT_GT(pass({64, 256, 128, 256, 64, 256, 192, 64, 256, 256}, Weaker::position).wrong, 0);
}

// ---- the doorbell

// Two senders write a record each, and ring if they see who sleeps; the reader sleeps when it has found nothing.
struct Bell {
  explicit Bell(Explorer& explorer) : asleep(explorer), records{Word(explorer), Word(explorer)}, rung(explorer) {}
  Word asleep;
  std::array<Word, 2> records;
  Word rung;  // the socket: stays readable
};

void send(Bell& bell, size_t sender) {
  bell.records[sender].store(1, release);
  if (bell.asleep.load(relaxed) != 0 && bell.asleep.exchange(0, acquire) != 0) bell.rung.ring();
}

// Waiter's way: arm, look once more, sleep, take the word away.
void await_all(Explorer& explorer, Bell& bell, size_t senders, bool remote_fence) {
  std::array<bool, 2> met{};
  const auto look = [&] {
    size_t count = 0;
    for (size_t i = 0; i < senders; ++i) count += (met[i] = met[i] || bell.records[i].load(acquire) != 0) ? 1 : 0;
    return count == senders;
  };
  for (int tries = 0; !look(); ++tries) {
    if (tries > static_cast<int>(senders)) explorer.give_up();
    bell.asleep.exchange(1, acq_rel);
    if (remote_fence) explorer.remote_fence();
    if (look()) break;
    bell.rung.sleep_while_zero();
    bell.rung.store(0, relaxed);  // reads what there is in the socket
    bell.asleep.exchange(0, relaxed);
  }
}

Tried ring(size_t senders, bool remote_fence) {
  Explorer explorer(Turns::always);
  return explorer.explore([&](Explorer& of) -> Threads {
    const auto bell = std::make_shared<Bell>(of);
    Threads threads{[&, bell] { await_all(of, *bell, senders, remote_fence); }};
    for (size_t i = 0; i < senders; ++i) threads.push_back([bell, i] { send(*bell, i); });
    return threads;
  });
}

TEST(WeakOrders, WhoSleepsIsWoken) {
  expect_right(ring(1, true));
}
TEST(WeakOrders, DoorbellWithoutFenceIsFoundOut) {
  EXPECT_GT(ring(1, false).stuck, 0);
}

// ---- a lane's flags

// Two ranks show each other slots in rounds, with one window: who has left a round says so with its next flag, and in between at
// its desk, so that the other may write there again.
struct Rounds {
  explicit Rounds(Explorer& explorer)
      : slots{Word(explorer), Word(explorer)},
        flags{Word(explorer), Word(explorer)},
        left{Word(explorer), Word(explorer)} {}
  std::array<Word, 2> slots, flags, left;
  int patience = 2;
};

struct LanesOrders {
  std::memory_order raises = release, leaves = release;
};

void take_rounds(Explorer& explorer, Rounds& lane, size_t me, const LanesOrders& orders) {
  const size_t other = 1 - me;
  for (uint64_t round = 1; round <= 3; ++round) {
    while (lane.left[other].load(acquire) + 1 < round)  // claim()
      if (--lane.patience < 0) explorer.give_up();
    lane.slots[me].write(10 * round + me);
    lane.flags[me].store(round, orders.raises);  // raise()
    while (lane.flags[other].load(acquire) != round)
      if (--lane.patience < 0) explorer.give_up();
    if (lane.slots[other].read() != 10 * round + other) explorer.is_wrong();
    lane.left[me].store(round, orders.leaves);  // leave()
  }
}

Tried show(const LanesOrders& orders) {
  Explorer explorer(Turns::for_later_values);
  return explorer.explore([&](Explorer& of) -> Threads {
    const auto lane = std::make_shared<Rounds>(of);
    return {[&, lane] { take_rounds(of, *lane, 0, orders); }, [&, lane] { take_rounds(of, *lane, 1, orders); }};
  });
}

TEST(WeakOrders, LanesFlags) {
  expect_right(show({}));
}
TEST(WeakOrders, LaneWithoutReleaseIsFoundOut) {
  EXPECT_GT(show({.raises = relaxed}).wrong, 0);
  EXPECT_GT(show({.leaves = relaxed}).wrong, 0);
}

// ---- who drives the engine

// Two threads come by acquire(), one by try_acquire(), and each changes what the owner alone may.
struct Engine {
  explicit Engine(Explorer& explorer) : next(explorer), serving(explorer), owned(explorer) {}
  Word next, serving, owned;
  int patience = 1;
};

void work_and_release(const Engine& engine, std::memory_order order) {
  engine.owned.write(engine.owned.read() + 1);
  engine.serving.store(engine.serving.load(relaxed) + 1, order);
}
void come(Explorer& explorer, Engine& engine, std::memory_order order) {
  const uint64_t ticket = engine.next.fetch_add(1, acquire);
  while (engine.serving.load(acquire) != ticket)
    if (--engine.patience < 0) explorer.give_up();
  work_and_release(engine, order);
}
void try_to_come(const Engine& engine, std::memory_order order) {
  const uint64_t ticket = engine.serving.load(acquire);
  if (engine.next.compare_exchange(ticket, ticket + 1, acquire)) work_and_release(engine, order);
}

Tried take_turns(std::memory_order order) {
  Explorer explorer(Turns::always);
  return explorer.explore([&](Explorer& of) -> Threads {
    const auto engine = std::make_shared<Engine>(of);
    return {[&, engine] { come(of, *engine, order); }, [&, engine] { come(of, *engine, order); },
            [&, engine] { try_to_come(*engine, order); }};
  });
}

TEST(WeakOrders, OneOwnsTheEngine) {
  expect_right(take_turns(release));
}
TEST(WeakOrders, OwnershipWithoutReleaseIsFoundOut) {
  EXPECT_GT(take_turns(relaxed).wrong, 0);
}

}  // namespace
}  // namespace tutti::transport
