// SPDX-License-Identifier: BSD-3-Clause
// Who looks on while the engine works: the contract checker (contract/), of which the engine knows
// no more than this. All calls come from whoever drives it, the progress thread too. An observer may send control
// messages to others of its kind. It is always on; what tools want to hear of is life/event.hpp's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/engine_owned.hpp"
#include "life/blocked.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

// The context of control messages: of no communicator. `tag` says which message it is, the rest of
// the header and the bytes are the observers' own. They are handled when they arrive, never matched.
inline constexpr uint64_t kControlContext = ~uint64_t{0};
// The context of active messages (active.hpp), no communicator's either. Odd, as hidden ones are.
inline constexpr uint64_t kActiveContext = ~uint64_t{2};
// And that of the news (Engine::send_news).
inline constexpr uint64_t kNewsContext = ~uint64_t{4};
// And of what is said of failures, which is handled as active messages are; the lowest of the four.
inline constexpr uint64_t kSurvivalContext = ~uint64_t{6};

class Observer {
 public:
  // A message on a hidden channel has arrived; it is not matched yet.
  virtual void arrived(const transport::Header& header) TUTTI_ENGINE_OWNED = 0;
  // A control message of another process. `data` holds header.bytes.
  virtual void told(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED = 0;
  // The calling thread has nothing to do in this call and is about to sleep; it was for the first time in this wait so
  // long ago. Comes again while the wait lasts, at least ten times a second.
  virtual void waits(life::Blocked& blocked, std::chrono::nanoseconds since) TUTTI_ENGINE_OWNED = 0;

 protected:
  ~Observer() = default;
};

}  // namespace tutti::engine
