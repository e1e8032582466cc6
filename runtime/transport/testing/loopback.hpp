// SPDX-License-Identifier: BSD-3-Clause
// A transport between threads of one process, for tests: delivers in shuffled order, which the
// engine must undo, and announces every message longer than a few bytes, so that small tests
// walk through rendezvous as well.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace tutti::transport {

// Connects `size` processes; process i uses at(i) from its own threads only.
class LoopbackFabric {
 public:
  LoopbackFabric(int size, uint64_t seed, int64_t rendezvous_from = 256);
  ~LoopbackFabric();
  LoopbackFabric(const LoopbackFabric&) = delete;

  Transport& at(int process);
  // Wakes a process that sleeps; what it waits for is in memory that it shares with the caller.
  void poke(int process);

 private:
  friend class Loopback;
  std::vector<std::unique_ptr<class Loopback>> ends_;
};

}  // namespace tutti::transport
