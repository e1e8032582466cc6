// SPDX-License-Identifier: BSD-3-Clause
// The progress thread: completes started operations while the application computes, sleeps or
// blocks outside MPI. It leaves the engine alone as long as the application keeps calling, takes
// over when the application has left and stays away, and sleeps on the transport's descriptor while
// there is nothing to do: no wake-ups but for messages that come. Never spins.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace tutti::engine {

class Engine;

struct Ticks {
  std::chrono::microseconds shortest{200};  // also how long the application must stay away
  std::chrono::microseconds longest{4000};
};

class ProgressThread {
 public:
  explicit ProgressThread(Engine& engine, Ticks ticks = {});
  ~ProgressThread();  // stops and joins; the engine must not be owned by the caller
  ProgressThread(const ProgressThread&) = delete;

  // Wake-ups so far, for measuring what the thread costs. Any thread.
  uint64_t wakeups() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tutti::engine
