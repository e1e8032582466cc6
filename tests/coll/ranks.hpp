// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads over the loopback transport, which shuffles what it delivers: each has an engine
// and a hidden channel over all of them. If they are to share memory, by nodes, in lanes so small
// that they are used again and again.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/engine.hpp"
#include "exec/execution.hpp"
#include "exec/preparation.hpp"
#include "transport/testing/loopback.hpp"

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
  int64_t find_read_rate() override { return 0; }
};

class Ranks {
 public:
  explicit Ranks(int size, uint64_t seed = 1) : fabric_(size, seed), channels_(static_cast<size_t>(size)) {
    for (int i = 0; i < size; ++i) {
      engines_.push_back(std::make_unique<engine::Engine>(fabric_.at(i), i, engine::Waiting{20, 50}));
      engine::Channel& channel = channels_[static_cast<size_t>(i)];
      channel.engine = engines_.back().get();
      channel.context = 7;
      channel.rank = i;
      channel.peers = ProcessList::range(0, size);
    }
  }
  // `places` by rank: its node. Without a large lane there is no room for one.
  Ranks(const std::vector<int>& places, uint64_t seed, bool with_large = true)
      : Ranks(static_cast<int>(places.size()), seed) {
    for (engine::Channel& channel : channels_) {
      layouts_.push_back(std::make_unique<NodeLayout>(places, channel.rank));
      if (layouts_.back()->nodes() > 1) channel.nodes = layouts_.back().get();
    }
    for (int node = 0; node < layouts_.front()->nodes(); ++node)
      share_memory(layouts_.front()->members(node).to_vector(), with_large, 4u << seed % 3);
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
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  using Memory = std::unique_ptr<Line[]>;

  // Everybody may be asleep, always.
  struct NodeBells final : transport::Bells {
    NodeBells(transport::LoopbackFabric& all, const std::vector<int>& here)
        : Bells(always, false), fabric(all), members(here) {}
    void ring(int number) override {
      for (size_t i = 0; i < members.size(); ++i)
        if (number < 0 || static_cast<size_t>(number) == i) fabric.poke(members[i]);
    }
    static inline const std::atomic<uint32_t> always{1};
    transport::LoopbackFabric& fabric;
    const std::vector<int> members;
  };

  void share_memory(const std::vector<int>& members, bool with_large, uint32_t large_windows) {
    const auto size = static_cast<int>(members.size());
    if (size == 1) return;
    Memory& small_ = memory_.emplace_back();
    Memory& large_ = memory_.emplace_back();
    bells_.push_back(std::make_unique<NodeBells>(fabric_, members));
    const transport::LaneGeometry small{size, 4, 128, 16}, large{size, large_windows, 64 + 192, 64};
    for (auto [memory, bytes] : {std::pair{&small_, small.bytes()}, {&large_, large.bytes()}})
      *memory = std::make_unique<Line[]>((bytes + 63) / 64);
    for (int i = 0; i < size; ++i) {
      engine::Channel& channel = channels_[static_cast<size_t>(members[static_cast<size_t>(i)])];
      const auto lane = [&](Memory& memory, const transport::LaneGeometry& geometry) {
        return transport::Lane(reinterpret_cast<std::byte*>(memory.get()), geometry, i, *bells_.back());
      };
      areas_.push_back(
          std::make_unique<HeapArea>(lane(small_, small), with_large ? lane(large_, large) : transport::Lane()));
      channel.area = areas_.back().get();
    }
  }

  transport::LoopbackFabric fabric_;
  std::vector<std::unique_ptr<NodeBells>> bells_;
  std::deque<Memory> memory_;
  std::vector<std::unique_ptr<NodeLayout>> layouts_;
  std::vector<std::unique_ptr<HeapArea>> areas_;
  std::vector<std::unique_ptr<engine::Engine>> engines_;
  std::vector<engine::Channel> channels_;
};

inline void finish(exec::Execution& execution, engine::Engine& engine) {
  bool done = false;
  execution.owner = &done;
  execution.on_complete = [](exec::Execution& e) { *static_cast<bool*>(e.owner) = true; };
  execution.start();
  engine.wait_until([&] { return done; });
}

}  // namespace tutti::coll
