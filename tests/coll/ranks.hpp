// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads over the loopback transport, which shuffles what it delivers: each has an engine
// and a hidden channel over all of them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "coll/execution.hpp"
#include "transport/loopback.hpp"

namespace tutti::coll {

class Ranks {
 public:
  explicit Ranks(int size, uint64_t seed = 1)
      : fabric_(size, seed), channels_(static_cast<size_t>(size)) {
    auto peers = std::make_shared<std::vector<int>>(static_cast<size_t>(size));
    std::iota(peers->begin(), peers->end(), 0);
    for (int i = 0; i < size; ++i) {
      engines_.push_back(
          std::make_unique<engine::Engine>(fabric_.at(i), i, engine::Waiting{20, 50}));
      channels_[static_cast<size_t>(i)] = {engines_.back().get(), 7, i, peers};
    }
  }

  // body(channel) on a thread for each rank, with its engine owned.
  void run(const std::function<void(engine::Channel&)>& body) {
    std::atomic<int> finished{0};
    std::vector<std::thread> threads;
    for (engine::Channel& channel : channels_)
      threads.emplace_back([&] {
        const engine::Engine::Guard own(*channel.engine);
        body(channel);
        EXPECT_EQ(channel.engine->pending(), 0);
        ++finished;
        while (finished < channel.size())  // others may still need this engine's progress
          if (!channel.engine->progress()) std::this_thread::yield();
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  transport::LoopbackFabric fabric_;
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<engine::Channel> channels_;
};

inline void finish(Execution& execution, engine::Engine& engine) {
  bool done = false;
  execution.owner = &done;
  execution.on_complete = [](Execution& e) { *static_cast<bool*>(e.owner) = true; };
  start(execution);
  engine.wait_until([&] { return done; });
}

}  // namespace tutti::coll
