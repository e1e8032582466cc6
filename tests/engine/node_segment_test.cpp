// SPDX-License-Identifier: BSD-3-Clause
// The segment of a node's ranks where /dev/shm has too little room.
#include "transport/node_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <barrier>
#include <filesystem>
#include <memory>
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
    struct statvfs left {};
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
  const bool done =
      apart([] { return small_shm("size=5m"); },
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

}  // namespace
}  // namespace tutti::transport
