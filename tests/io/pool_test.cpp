// SPDX-License-Identifier: BSD-3-Clause
// The pool of threads in which nonblocking access to files runs.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "io/worker_pool.hpp"

namespace tutti::io {
namespace {

TEST(Pool, JobsOfAQueueKeepTheirOrderAndAllAreDone) {
  std::vector<std::shared_ptr<Queue>> queues;
  std::vector<std::vector<int>> done(8);
  std::atomic<int> all{0};
  for (int q = 0; q < 8; ++q) queues.push_back(make_queue());
  for (int i = 0; i < 500; ++i)
    for (size_t q = 0; q < 8; ++q)
      submit(queues[q], [&, q, i] {
        done[q].push_back(i);  // jobs of a queue never run at once
        ++all;
      });
  drain();
  EXPECT_EQ(all, 4000);
  for (const std::vector<int>& d : done) {
    ASSERT_EQ(d.size(), 500u);
    for (int i = 0; i < 500; ++i) ASSERT_EQ(d[static_cast<size_t>(i)], i);
  }
}

}  // namespace
}  // namespace tutti::io
