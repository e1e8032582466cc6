// SPDX-License-Identifier: BSD-3-Clause
// Messages between ranks that are processes: a rank's node, operations that know when they are
// done, and how ranks part after their last one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "processes.hpp"
#include "transport/router.hpp"

namespace tutti::testing_processes {

inline constexpr uint64_t kContext = 4;

template <class Op>
struct Tracked : Op {
  Tracked(Payload p, int32_t source, int32_t tag) {
    this->payload = p;
    this->match = {kContext, source, tag, 0};
    this->owner = this;
    this->on_complete = [](engine::Operation& o) { static_cast<Tracked*>(o.owner)->done = true; };
  }
  bool done = false;
};
using Sent = Tracked<engine::SendOperation>;
using Received = Tracked<engine::RecvOperation>;

inline std::unique_ptr<transport::Router> open_node(const transport::RouterOptions& options,
                                                    const transport::Wiring& wiring) {
  auto opened = transport::Router::open(options, wiring);
  EXPECT_TRUE(opened) << std::move(opened).error().message();
  return opened ? std::move(*opened) : nullptr;
}
inline std::unique_ptr<transport::Router> open_node(Job& job, int rank, const transport::RouterOptions& options) {
  return open_node(options, job.wiring(rank));
}

// Nobody leaves while another may still need its progress.
inline void part(engine::Engine& e, int rank, int size) {
  engine::Engine::Guard own(e);
  std::vector<std::unique_ptr<Sent>> sent;
  std::vector<std::unique_ptr<Received>> received;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    received.push_back(std::make_unique<Received>(Payload{}, peer, 1000000));
    e.recv(*received.back());
    sent.push_back(std::make_unique<Sent>(Payload{}, rank, 1000000));
    sent.back()->peer = peer;
    e.send(*sent.back());
  }
  for (auto& s : sent) e.wait_until([&] { return s->done; });
  for (auto& r : received) e.wait_until([&] { return r->done; });
  e.wait_until([&] { return e.transport().flushed(); });
}

}  // namespace tutti::testing_processes
