// SPDX-License-Identifier: BSD-3-Clause
// What ranks of a node say to each other in memory: the turns of a lock, also past the end of its numbers, whether a part
// may be exposed, stripes, and that no two words share a line that should not. Threads stand for ranks.
#include "rma/node_words.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using tutti::rma::LockOfAll;
using tutti::rma::NodeWords;
using tutti::rma::Stripes;
using tutti::rma::TicketLock;
using Ticket = TicketLock::Ticket;

// Zero-filled, as the memory is that ranks share.
class Words {
 public:
  explicit Words(int members)
      : lines_(NodeWords::bytes(members) / sizeof(Line)),
        words_(reinterpret_cast<std::byte*>(lines_.data()), members) {}
  const NodeWords* operator->() const { return &words_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  NodeWords words_;
};

Ticket take(TicketLock& lock, bool exclusive) {
  bool exposed = true;
  const Ticket ticket = lock.take(exclusive, exposed);
  EXPECT_FALSE(exposed);
  return ticket;
}

TEST(TicketLock, is_shared_by_many_or_held_by_one) {
  const Words words(2);
  TicketLock& lock = words->lock(1);
  const Ticket one = take(lock, false), two = take(lock, false), alone = take(lock, true), late = take(lock, false);
  ASSERT_TRUE(lock.is_turn(one));
  EXPECT_FALSE(lock.is_turn(two));  // until the one before has entered
  lock.enter(one);
  ASSERT_TRUE(lock.is_turn(two));
  lock.enter(two);
  EXPECT_FALSE(lock.is_turn(alone));
  EXPECT_FALSE(lock.is_turn(late));  // or those that share would starve who wants it alone
  lock.leave(two);
  EXPECT_FALSE(lock.is_turn(alone));
  lock.leave(one);
  ASSERT_TRUE(lock.is_turn(alone));
  lock.enter(alone);
  EXPECT_FALSE(lock.is_turn(late));
  lock.leave(alone);
  ASSERT_TRUE(lock.is_turn(late));
  lock.enter(late);
  EXPECT_FALSE(lock.is_free());
  lock.leave(late);
  EXPECT_TRUE(lock.is_free());
}

TEST(TicketLock, lets_guests_in_while_others_share) {
  const Words words(1);
  TicketLock& lock = words->lock(0);
  EXPECT_FALSE(lock.enter_as_guest());
  const Ticket one = take(lock, false), alone = take(lock, true), late = take(lock, false);
  EXPECT_FALSE(lock.enter_as_guest());  // nobody is in
  EXPECT_TRUE(lock.is_awaited());
  lock.enter(one);
  EXPECT_TRUE(lock.enter_as_guest());
  lock.leave(one);
  EXPECT_FALSE(lock.is_turn(alone));
  EXPECT_TRUE(lock.enter_as_guest());  // to another guest
  lock.leave_as_guest();
  EXPECT_FALSE(lock.is_turn(alone) || lock.is_free() || lock.expose());
  lock.leave_as_guest();
  ASSERT_TRUE(lock.is_turn(alone));
  lock.enter(alone);
  EXPECT_FALSE(lock.enter_as_guest());
  lock.leave(alone);
  ASSERT_TRUE(lock.is_turn(late));
  lock.enter(late);
  EXPECT_FALSE(lock.is_awaited());
  EXPECT_TRUE(lock.enter_as_guest());
  lock.leave(late);
  EXPECT_FALSE(lock.is_free());
  lock.leave_as_guest();
  EXPECT_TRUE(lock.is_free() && lock.expose());
}

TEST(TicketLock, is_not_exposed_while_somebody_wants_it) {
  const Words words(1);
  TicketLock& lock = words->lock(0);
  const Ticket ticket = take(lock, false);
  EXPECT_FALSE(lock.expose());
  lock.enter(ticket);
  EXPECT_FALSE(lock.expose());
  lock.leave(ticket);
  EXPECT_TRUE(lock.expose());
  bool exposed = false;
  const Ticket refused = lock.take(true, exposed);
  EXPECT_TRUE(exposed);
  ASSERT_TRUE(lock.is_turn(refused));
  lock.enter(refused);
  lock.hide();
  lock.leave(refused);
  EXPECT_TRUE(lock.is_free());
  const Ticket after = take(lock, true);
  EXPECT_TRUE(lock.is_turn(after));
}

// Numbers that wrap around, as after 2^32 locks.
TEST(TicketLock, goes_on_where_its_numbers_end) {
  const Words words(1);
  TicketLock& lock = words->lock(0);
  const uint32_t last = ~uint32_t{0};
  const uint64_t taken = uint64_t{last} << 32;
  std::memcpy(static_cast<void*>(&lock), &taken, sizeof taken);
  std::memcpy(reinterpret_cast<std::byte*>(&lock) + 8, &taken, sizeof taken);  // and as many have left
  std::memcpy(reinterpret_cast<std::byte*>(&lock) + 16, &last, 4);
  EXPECT_TRUE(lock.is_free());
  const Ticket one = take(lock, false), two = take(lock, true);
  EXPECT_EQ(two.number, 0u);
  ASSERT_TRUE(lock.is_turn(one));
  lock.enter(one);
  lock.leave(one);
  ASSERT_TRUE(lock.is_turn(two));
  lock.enter(two);
  lock.leave(two);
  EXPECT_TRUE(lock.is_free());
}

TEST(TicketLock, keeps_threads_apart) {
  const Words words(1);
  TicketLock& lock = words->lock(0);
  int64_t sum = 0;  // changed by those who are alone, read by those who share
  std::atomic<bool> torn = false;
  const auto work = [&](int thread) {
    for (int i = 0; i < 2000; ++i) {
      bool exposed;
      const Ticket ticket = lock.take((i + thread) % 3 == 0, exposed);
      while (!lock.is_turn(ticket)) std::this_thread::yield();
      lock.enter(ticket);
      if (ticket.exclusive) {
        sum += 1;
        sum += 1;
      } else if (sum % 2 != 0) {
        torn = true;
      }
      lock.leave(ticket);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(sum, 2 * 2000);
  EXPECT_TRUE(lock.is_free());
}

// Threads with tickets, and one that comes as a guest when it can.
TEST(TicketLock, keeps_guests_apart_from_who_is_alone) {
  const Words words(1);
  TicketLock& lock = words->lock(0);
  int64_t sum = 0;
  std::atomic<bool> torn = false;
  std::atomic<int> working = 3;
  const auto look = [&] { torn = torn || sum % 2 != 0; };
  const auto work = [&](int thread) {
    for (int i = 0; i < 2000; ++i) {
      bool exposed;
      const Ticket ticket = lock.take((i + thread) % 2 == 0, exposed);
      while (!lock.is_turn(ticket)) std::this_thread::yield();
      lock.enter(ticket);
      if (ticket.exclusive) {
        sum += 1;
        sum += 1;
      } else {
        look();
        if (i % 8 == 0) std::this_thread::yield();
      }
      lock.leave(ticket);
    }
    --working;
  };
  const auto visit = [&] {
    while (working.load() > 0) {
      if (!lock.enter_as_guest()) continue;
      look();
      std::this_thread::yield();
      look();
      lock.leave_as_guest();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work, t);
  threads.emplace_back(visit);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  EXPECT_EQ(sum, 2 * 3000);
  EXPECT_TRUE(lock.is_free());
}

TEST(LockOfAll, is_shared_until_somebody_wants_a_part_alone) {
  const Words words(3);
  LockOfAll& all = words->lock_of_all();
  EXPECT_TRUE(all.is_empty());
  EXPECT_FALSE(all.enter_as_guest());  // there is nobody to come to
  ASSERT_TRUE(all.enter());
  ASSERT_TRUE(all.enter());
  EXPECT_FALSE(all.leave());  // nobody waits
  all.close();
  EXPECT_FALSE(all.enter());
  EXPECT_FALSE(all.is_empty());
  ASSERT_TRUE(all.enter_as_guest());
  EXPECT_FALSE(all.leave());
  EXPECT_FALSE(all.is_empty());
  EXPECT_TRUE(all.leave());  // the last one
  EXPECT_TRUE(all.is_empty());
  EXPECT_FALSE(all.enter_as_guest());
  EXPECT_FALSE(all.enter());
}

// Threads that lock all as one, and one that wants a part alone in the midst of it: by its ticket, once it has closed the
// other way. Each of many times, since that happens once to a window.
TEST(LockOfAll, keeps_threads_apart_from_who_is_alone) {
  for (int round = 0; round < 300; ++round) {
    const Words words(1);
    LockOfAll& all = words->lock_of_all();
    TicketLock& lock = words->lock(0);
    int64_t value = 0;
    std::atomic<bool> torn = false;
    const auto share = [&] {
      for (int i = 0; i < 40; ++i) {
        if (all.enter()) {
          torn = torn || value % 2 != 0;
          all.leave();
          continue;
        }
        bool exposed;
        const Ticket ticket = lock.take(false, exposed);
        while (!lock.is_turn(ticket)) std::this_thread::yield();
        lock.enter(ticket);
        torn = torn || value % 2 != 0;
        lock.leave(ticket);
      }
    };
    const auto be_alone = [&] {
      for (int i = 0; i < 5; ++i) {
        std::this_thread::yield();
        all.close();
        bool exposed;
        const Ticket ticket = lock.take(true, exposed);
        while (!lock.is_turn(ticket) || !all.is_empty()) std::this_thread::yield();
        lock.enter(ticket);
        ++value;
        ++value;
        lock.leave(ticket);
      }
    };
    std::vector<std::thread> threads;
    threads.emplace_back(share);
    threads.emplace_back(share);
    threads.emplace_back(be_alone);
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(torn);
    ASSERT_EQ(value, 10);
    ASSERT_TRUE(lock.is_free() && all.is_empty());
  }
}

TEST(Stripes, are_those_that_bytes_lie_in) {
  EXPECT_EQ(Stripes::of(0, 1), 1u);
  EXPECT_EQ(Stripes::of(4095, 4096), 1u);
  EXPECT_EQ(Stripes::of(4095, 4097), 3u);
  EXPECT_EQ(Stripes::of(7 * 4096, 8 * 4096 + 1), 0x81u);
  EXPECT_EQ(Stripes::of(0, 1 << 20), 0xffu);
  EXPECT_EQ(Stripes::of(int64_t{1} << 40, (int64_t{1} << 40) + 8), 1u);
}

TEST(Stripes, keep_threads_apart_also_where_they_want_several) {
  const Words words(1);
  Stripes& stripes = words->stripes(0);
  std::vector<int64_t> counts(3, 0);  // by stripe
  const auto work = [&](int thread) {
    for (int i = 0; i < 5000; ++i) {
      const uint32_t mine = thread == 0 ? 0b011u : thread == 1 ? 0b110u : 0b101u;
      stripes.hold(mine);
      for (size_t s = 0; s < 3; ++s)
        if (mine >> s & 1) ++counts[s];
      stripes.release(mine);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts, (std::vector<int64_t>(3, 10'000)));
}

TEST(NodeWords, tell_who_has_which_ticket) {
  const Words words(3);
  words->name(1, 0, {7, true}, 40);
  words->name(1, 3, {9, false}, 99);  // of a rank elsewhere
  EXPECT_TRUE(words->is_named(1, 0));
  EXPECT_FALSE(words->is_named(0, 0));
  std::vector<std::vector<int>> told;
  const auto tell = [&](int who, const Ticket& ticket, int rank) {
    told.push_back({who, static_cast<int>(ticket.number), ticket.exclusive, rank});
  };
  words->each_named(1, tell);
  EXPECT_EQ(told, (std::vector<std::vector<int>>{{0, 7, 1, 40}, {3, 9, 0, 99}}));
  words->forget(1, 0);
  told.clear();
  words->each_named(1, tell);
  EXPECT_EQ(told.size(), 1u);
}

// Words that different ranks write, each written with a value of its own, keep it.
TEST(NodeWords, have_a_place_for_each) {
  for (const int members : {1, 2, 3, 17, 64}) {
    const Words words(members);
    EXPECT_TRUE(words->lock_of_all().enter());
    for (int a = 0; a < members; ++a) {
      words->shares_all(a).store(static_cast<uint8_t>(1 + a));
      for (int b = 0; b < members; ++b) {
        words->posts(a, b).store(static_cast<uint32_t>(1 + a * members + b));
        words->completes(a, b).store(static_cast<uint32_t>(100'000 + a * members + b));
      }
      for (int who = 0; who < words->names(); ++who) words->name(a, who, {static_cast<uint32_t>(who), false}, a);
      words->unnamed(a).store(static_cast<uint32_t>(7 + a));
      words->stripes(a).hold(0xff);
      EXPECT_TRUE(words->lock(a).is_free());
    }
    EXPECT_TRUE(words->lock_of_all().enter_as_guest());
    for (int a = 0; a < members; ++a) {
      EXPECT_EQ(words->shares_all(a).load(), static_cast<uint8_t>(1 + a));
      for (int b = 0; b < members; ++b) {
        EXPECT_EQ(words->posts(a, b).load(), static_cast<uint32_t>(1 + a * members + b));
        EXPECT_EQ(words->completes(a, b).load(), static_cast<uint32_t>(100'000 + a * members + b));
      }
      EXPECT_EQ(words->unnamed(a).load(), static_cast<uint32_t>(7 + a));
      int named = 0;
      words->each_named(a, [&](int who, const Ticket& ticket, int rank) {
        EXPECT_EQ(ticket.number, static_cast<uint32_t>(who));
        EXPECT_EQ(rank, a);
        ++named;
      });
      EXPECT_EQ(named, words->names());
    }
  }
}

}  // namespace
