// SPDX-License-Identifier: BSD-3-Clause
// What performance variables read, and their handles switch on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/engine_owned.hpp"
#include "life/sinks.hpp"
#include "mpi/object/entry_guard.hpp"

namespace tutti::mpi::tool {

inline bool running() {
  return current.phase.load() == Phase::running;
}

// Counts messages and their bytes, to and from each other process, while a handle wants it: what programs and
// collectives send, not the library's own talk.
class Traffic final : public life::Sink {
 public:
  struct Count {
    uint64_t messages = 0, bytes = 0;
  };
  struct Both {
    Count out, in;
  };
  void listen_if(bool wanted) {
    using life::Happening;
    listen(wanted ? life::bit(Happening::message_sent) | life::bit(Happening::message_arrived) : 0);
  }
  // By process number, as far as there was something.
  const std::vector<Both>& by_peer() const TUTTI_ENGINE_OWNED { return peers_; }

 private:
  void hears(const life::Event& event) override TUTTI_ENGINE_OWNED;
  std::vector<Both> peers_ TUTTI_OWNERS;
};
Traffic& traffic();

}  // namespace tutti::mpi::tool
