// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a node part: none goes on before all have come. In memory that they share,
// zero-filled at first.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tutti::transport {

class Parting {
 public:
  // Returns when so many processes have called it, each once, or after that time: one may have died,
  // and nobody ends the job for that.
  void await(uint32_t members, std::chrono::milliseconds longest = std::chrono::seconds(5));

 private:
  std::atomic<uint32_t> come_{0};
};

}  // namespace tutti::transport
