// SPDX-License-Identifier: BSD-3-Clause
// The segment of a node's ranks where /dev/shm has too little room.
#include "transport/shared/node_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "small_shm.hpp"

namespace tutti::transport {
namespace {

using testing_shm::apart;
using testing_shm::small_shm;

// While it fills up and is freed again, both of a pair open their rings at once: they meet in the
// same memory, wherever it is.
TEST(NodeSegmentTest, BothOfAPairFindTheSameMemoryWhileItFillsUp) {
  const auto meet = [](int round, int filler) {
    uint64_t token = 1;
    std::unique_ptr<NodeSegment> both[2];
    for (int i = 0; i < 2; ++i) {
      auto attached = NodeSegment::attach(fmt::format("tutti.filled-test.{}", round), 2, i, token);
      ASSERT_TRUE(attached) << attached.error().message();
      both[i] = *std::move(attached);
    }
    struct statvfs left{};
    ASSERT_EQ(fstatvfs(filler, &left), 0);
    ASSERT_EQ(posix_fallocate(filler, 0, static_cast<off_t>(left.f_bavail * left.f_bsize)), 0);
    std::barrier start(3);
    Error problems[2];
    unsigned char* out[2] = {};
    std::vector<std::thread> ranks;
    for (int i = 0; i < 2; ++i)
      ranks.emplace_back([&, i] {
        start.arrive_and_wait();
        problems[i] = both[i]->open_ring(i, 1 - i);
        out[i] = reinterpret_cast<unsigned char*>(&both[i]->ring(i, 1 - i));
      });
    start.arrive_and_wait();
    if (round % 4 != 0) {
      for (volatile int i = 0; i < round % 64 * 1000;) i = i + 1;
      EXPECT_EQ(ftruncate(filler, 0), 0);
    }
    for (std::thread& rank : ranks) rank.join();
    for (int i = 0; i < 2; ++i) {
      ASSERT_FALSE(problems[i]) << problems[i].message();
      ASSERT_TRUE(both[1 - i]->is_open(i, 1 - i));
      const size_t size = both[i]->ring_size();
      const auto* in = reinterpret_cast<unsigned char*>(&both[1 - i]->ring(i, 1 - i));
      for (size_t at = 0; at < size; at += 4096) {
        ASSERT_EQ(in[at], 0);
        out[i][at] = static_cast<unsigned char>(1 + i);
        ASSERT_EQ(in[at], 1 + i);
      }
    }
    ASSERT_EQ(ftruncate(filler, 0), 0);
  };
  const bool done = apart([] { return small_shm("size=5m"); },
                          [&] {
                            set_log_level(Level::error);
                            const int filler = open("/dev/shm/filler", O_RDWR | O_CREAT, 0600);
                            ASSERT_GE(filler, 0);
                            for (int round = 0; round < 400 && !testing::Test::HasFailure(); ++round)
                              meet(round, filler);
                            close(filler);
                            unlink("/dev/shm/filler");
                            EXPECT_TRUE(std::filesystem::is_empty("/dev/shm"));
                          });
  if (!done) GTEST_SKIP() << "mounting is not allowed here";
}

std::vector<std::unique_ptr<NodeSegment>> attach_all(const std::string& name, int members) {
  static const uint64_t token = 1;
  std::vector<std::unique_ptr<NodeSegment>> all;
  for (int i = 0; i < members; ++i) {
    auto attached = NodeSegment::attach(name, members, i, token);
    if (attached) all.push_back(*std::move(attached));
    EXPECT_TRUE(attached) << attached.error().message();
  }
  return all;
}

// Each of the large ones to one at a time, cleared, in the same memory for all.
TEST(NodeSegmentTest, LendsARingToOneAtATime) {
  constexpr int kMembers = 20;
  const auto all = attach_all("tutti.lent-test", kMembers);
  ASSERT_EQ(all.size(), static_cast<size_t>(kMembers));
  ASSERT_TRUE(all[0]->lends_rings());
  for (int i = 0; i < NodeSegment::kLargeRings; ++i) {
    EXPECT_TRUE(all[19]->has_ring_to_lend());
    EXPECT_EQ(all[0]->rings_lent(), i);
    EXPECT_EQ(all[static_cast<size_t>(i)]->borrow_ring(), i);
  }
  EXPECT_EQ(all[7]->rings_lent(), NodeSegment::kLargeRings);
  EXPECT_FALSE(all[19]->has_ring_to_lend());
  EXPECT_EQ(all[19]->borrow_ring(), -1);
  all[3]->give_ring_back(3);
  EXPECT_EQ(all[0]->rings_lent(), NodeSegment::kLargeRings - 1);
  EXPECT_EQ(all[19]->borrow_ring(), 3);
  for (int i = 0; i < NodeSegment::kLargeRings; ++i) all[0]->give_ring_back(i);
  EXPECT_EQ(all[19]->rings_lent(), 0);

  std::vector<std::thread> members;
  std::atomic<int> times{0};
  for (int me = 0; me < kMembers; ++me)
    members.emplace_back([&, me] {
      NodeSegment& mine = *all[static_cast<size_t>(me)];
      for (int i = 0; i < 2000; ++i) {
        const int index = mine.borrow_ring();
        if (index < 0) continue;
        RingMemory& ring = mine.large_ring(index);
        EXPECT_EQ(ring.word(0).load(std::memory_order_relaxed), 0u);
        auto* const middle = reinterpret_cast<int*>(ring.records + NodeSegment::kLargeRing / 2);
        *middle = me;
        ring.word(0).store(1, std::memory_order_relaxed);
        std::this_thread::yield();
        EXPECT_EQ(*middle, me);
        mine.give_ring_back(index);
        ++times;
      }
    });
  for (std::thread& member : members) member.join();
  EXPECT_GT(times.load(), 1000);
}

// What pairs need for rings of their own is not lent, however many ask at once.
TEST(NodeSegmentTest, LendsNoMemoryThatRingsMayNeed) {
  const bool done = apart([] { return small_shm("size=20m"); },
                          [] {
                            constexpr int kMembers = 8;
                            const auto all = attach_all("tutti.lent-test", kMembers);
                            ASSERT_EQ(all.size(), static_cast<size_t>(kMembers));
                            std::atomic<int> lent{0};
                            std::barrier start(kMembers);
                            std::vector<std::thread> members;
                            for (const auto& mine : all)
                              members.emplace_back([&] {
                                start.arrive_and_wait();
                                for (int i = 0; i < NodeSegment::kLargeRings; ++i)
                                  if (mine->borrow_ring() >= 0) ++lent;
                              });
                            for (std::thread& member : members) member.join();
                            while (all[0]->borrow_ring() >= 0) ++lent;
                            EXPECT_GE(lent, 1);
                            EXPECT_LT(lent, 8);
                            EXPECT_FALSE(all[0]->has_ring_to_lend());
                            EXPECT_EQ(all[1]->borrow_ring(), -1);
                            all[0]->give_ring_back(0);
                            EXPECT_TRUE(all[0]->has_ring_to_lend());
                            EXPECT_EQ(all[1]->borrow_ring(), 0);
                            for (int from = 0; from < kMembers; ++from)
                              for (int to = 0; to < kMembers; ++to)
                                if (from != to) {
                                  EXPECT_FALSE(all[static_cast<size_t>(from)]->open_ring(from, to));
                                  // Not outside of it, where rings go when others have filled it up.
                                  const auto* ring = reinterpret_cast<std::byte*>(&all[0]->ring(from, to));
                                  EXPECT_TRUE(ring > all[0]->area_table() && ring < all[0]->area(0));
                                }
                          });
  if (!done) GTEST_SKIP() << "mounting is not allowed here";
}

}  // namespace
}  // namespace tutti::transport
