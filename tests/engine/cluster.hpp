// SPDX-License-Identifier: BSD-3-Clause
// Two or more engines in one process, a thread each, over a shuffling loopback, over UCX as on one
// node and as between nodes, and over shared memory, which reads long messages from the sender's
// memory or copies them through rings.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "transport/router.hpp"
#include "transport/testing/loopback.hpp"
#include "transport/ucx/ucx.hpp"

namespace tutti::engine {

inline constexpr uint64_t kContext = 4;

struct Done {
  bool done = false;
  std::atomic<bool> seen{false};
};

template <class Op>
void watch(Op& op, Done& done) {
  op.owner = &done;
  op.on_complete = [](Operation& o) {
    auto& d = *static_cast<Done*>(o.owner);
    d.done = true;
    d.seen.store(true, std::memory_order_release);
  };
}

struct Sent : SendOperation {
  Sent(Payload p, int to, int from, int tag, SendMode how = SendMode::standard) {
    payload = p, peer = to, mode = how;
    match = {kContext, from, tag, 0};
    watch(*this, state);
  }
  Done state;
};
struct Received : RecvOperation {
  Received(Payload p, int from, int tag) {
    payload = p;
    match = {kContext, from, tag, 0};
    watch(*this, state);
  }
  Done state;
};

inline Payload bytes_of(void* p, int64_t n) {
  return {p, n, &Layout::bytes()};
}
template <class T>
Payload bytes_of(std::vector<T>& v) {
  return bytes_of(v.data(), static_cast<int64_t>(v.size() * sizeof(T)));
}
inline std::vector<uint8_t> pattern(size_t n, int seed) {
  std::vector<uint8_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint8_t>(i * 31 + i / 251 + seed * 7);
  return v;
}

// Runs body(engine, rank) on `size` threads.
class Cluster {
 public:
  enum class Over { loopback, ucx, shared, shared_copying, tcp };
  Cluster(Over over, int size, bool helpers = false) {
    if (over == Over::loopback) fabric_.emplace(size, 42);
    if (over == Over::shared || over == Over::shared_copying) open_nodes(size, over == Over::shared);
    for (int i = 0; i < size; ++i) {
      transport::Transport* t = nullptr;
      if (fabric_) {
        t = &fabric_->at(i);
      } else if (!nodes_.empty()) {
        t = nodes_[static_cast<size_t>(i)].get();
      } else {
        auto opened = over == Over::tcp ? transport::Ucx::open({.tls = "tcp,self", .between_nodes = true})
                                        : transport::Ucx::open({});
        EXPECT_TRUE(opened) << std::move(opened).error().message();
        ucx_.push_back(std::move(*opened));
        t = ucx_.back().get();
      }
      engines_.push_back(std::make_unique<Engine>(*t, i, Waiting{100, 100}));
    }
    for (auto& u : ucx_)
      u->set_address_book([this](int p) -> Result<std::string> { return ucx_[static_cast<size_t>(p)]->address(); });
    if (helpers)
      for (auto& e : engines_) helpers_.push_back(std::make_unique<ProgressThread>(*e));
  }
  ~Cluster() {
    helpers_.clear();
    // Closing needs both ends to progress.
    std::vector<std::thread> closers;
    for (auto& u : ucx_) closers.emplace_back([&u] { u.reset(); });
    for (auto& c : closers) c.join();
  }

  uint64_t wakeups(int i) const { return helpers_[static_cast<size_t>(i)]->wakeups(); }

  void run(const std::function<void(Engine&, int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < static_cast<int>(engines_.size()); ++i)
      threads.emplace_back([&, i] {
        body(*engines_[static_cast<size_t>(i)], i);
        // Nobody leaves while others may still need its progress.
        Engine& e = *engines_[static_cast<size_t>(i)];
        ++finished_;
        Engine::Guard own(e);
        while (finished_ < static_cast<int>(engines_.size()) || !e.transport().flushed())
          if (!e.progress()) std::this_thread::yield();
      });
    for (auto& t : threads) t.join();
    finished_ = 0;
  }

 private:
  // As many processes of a job would, each in its turn waiting for the others.
  void open_nodes(int size, bool read_peers) {
    static std::atomic<int> clusters{0};
    transport::RouterOptions options{.job = fmt::format("engine-test.{}.{}", getpid(), ++clusters),
                                     .job_size = size,
                                     .neighbours = {},
                                     .read_peers = read_peers};
    for (int i = 0; i < size; ++i) options.neighbours.push_back(i);
    std::barrier everyone(size);
    nodes_.resize(static_cast<size_t>(size));
    std::vector<std::thread> openers;
    for (int i = 0; i < size; ++i)
      openers.emplace_back([&, i, mine = options]() mutable {
        mine.process = i;
        auto opened = transport::Router::open(mine, {.publish = [](auto&) { return Error(); },
                                                     .fence =
                                                         [&] {
                                                           everyone.arrive_and_wait();
                                                           return Error();
                                                         },
                                                     .address_of = {}});
        ASSERT_TRUE(opened) << std::move(opened).error().message();
        ASSERT_TRUE((*opened)->has_shared_memory());
        nodes_[static_cast<size_t>(i)] = std::move(*opened);
      });
    for (auto& o : openers) o.join();
  }

  std::optional<transport::LoopbackFabric> fabric_;
  std::vector<std::unique_ptr<transport::Router>> nodes_;
  std::vector<std::unique_ptr<transport::Ucx>> ucx_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<ProgressThread>> helpers_;
  std::atomic<int> finished_{0};
};

inline constexpr const char* kOver[] = {"loopback", "ucx", "shared", "shared_copying", "tcp"};
inline const auto kEverywhere = testing::Values(Cluster::Over::loopback, Cluster::Over::ucx, Cluster::Over::shared,
                                                Cluster::Over::shared_copying, Cluster::Over::tcp);

}  // namespace tutti::engine
