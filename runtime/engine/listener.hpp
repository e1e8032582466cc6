// SPDX-License-Identifier: BSD-3-Clause
// Who hears of single events: a tool, through the tool information interface (mpi/tool/). Nobody
// does as a rule, and then an event costs one look at a word that does not change.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

enum class Happening : uint8_t { message_matched, message_unexpected, collective_begun, collective_ended };

struct Happened {
  Happening what;
  uint64_t context = 0;
  int32_t source = 0, tag = 0;  // of a message
  int64_t bytes = 0;
  bool by_helper = false;  // the progress thread is at it
};

// Called with the engine owned. nullptr: nobody listens.
inline constinit std::atomic<void (*)(const Happened&)> listener{nullptr};

inline void tell_listener(const Happened& happened) TUTTI_ENGINE_OWNED {
  if (auto* const hears = listener.load(std::memory_order_relaxed)) [[unlikely]]
    hears(happened);
}

// Of a message on a user's channel.
inline void tell(const transport::Header& header, Happening what, bool by_helper) TUTTI_ENGINE_OWNED {
  if (listener.load(std::memory_order_relaxed) == nullptr || (header.context & 1) != 0) return;
  tell_listener({what, header.context, header.source, header.tag, header.bytes, by_helper});
}

}  // namespace tutti::engine
