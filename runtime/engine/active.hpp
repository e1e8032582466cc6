// SPDX-License-Identifier: BSD-3-Clause
// Active messages: handled where they arrive, by whoever drives the engine there, the progress
// thread too, so that a process that computes answers. Never matched. Those from one process come
// in the order in which they were sent, and in the same order as its ordinary messages are
// announced.
#pragma once

#include <cstddef>

#include "base/engine_owned.hpp"
#include "transport/transport.hpp"

namespace tutti::engine {

class ActiveHandler {
 public:
  // `data` holds header.bytes, during the call alone and on no particular
  // boundary. May post operations and send further messages. header.context, kind and order are the
  // engine's own; the rest is as the sender wrote it.
  virtual void handle(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED = 0;

 protected:
  ~ActiveHandler() = default;
};

}  // namespace tutti::engine
