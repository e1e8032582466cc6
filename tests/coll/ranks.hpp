// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads over the loopback transport, which shuffles what it delivers: each has an engine
// and a hidden channel over all of them. If they are to share memory, in lanes so small that they
// are used again and again.
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

class HeapArea final : public transport::Area {
 public:
  HeapArea(transport::Lane small, transport::Lane large) {
    small_ = std::move(small);
    large_ = std::move(large);
  }
  bool settle(uint64_t) override { return true; }  // these ranks have no ledgers

 private:
  void open_large() override {}
};

class Ranks {
 public:
  explicit Ranks(int size, uint64_t seed = 1, bool share = false)
      : fabric_(size, seed), bells_(*this), channels_(static_cast<size_t>(size)) {
    auto peers = std::make_shared<std::vector<int>>(static_cast<size_t>(size));
    std::iota(peers->begin(), peers->end(), 0);
    for (int i = 0; i < size; ++i) {
      engines_.push_back(
          std::make_unique<engine::Engine>(fabric_.at(i), i, engine::Waiting{20, 50}));
      engine::Channel& channel = channels_[static_cast<size_t>(i)];
      channel.engine = engines_.back().get();
      channel.context = 7;
      channel.rank = i;
      channel.peers = peers;
    }
    if (share && size > 1) share_memory(size);
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
  // Everybody may be asleep, always.
  struct AllBells final : transport::Bells {
    explicit AllBells(Ranks& all) : Bells(always, false), ranks(all) {}
    void ring(int rank) override {
      for (int i = 0; i < ranks.channels_.front().size(); ++i)
        if (rank < 0 || rank == i) ranks.fabric_.poke(i);
    }
    static inline const std::atomic<uint32_t> always{1};
    Ranks& ranks;
  };

  void share_memory(int size) {
    const transport::LaneGeometry small{size, 4, 128, 16}, large{size, 4, 64 + 192, 64};
    for (auto [memory, bytes] : {std::pair{&small_, small.bytes()}, {&large_, large.bytes()}})
      *memory = std::make_unique<Line[]>((bytes + 63) / 64);
    for (engine::Channel& channel : channels_) {
      areas_.push_back(std::make_unique<HeapArea>(
          transport::Lane(reinterpret_cast<std::byte*>(small_.get()), small, channel.rank, bells_),
          transport::Lane(reinterpret_cast<std::byte*>(large_.get()), large, channel.rank,
                          bells_)));
      channel.area = areas_.back().get();
    }
  }

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  transport::LoopbackFabric fabric_;
  AllBells bells_;
  std::unique_ptr<Line[]> small_, large_;
  std::vector<std::unique_ptr<HeapArea>> areas_;
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
