// SPDX-License-Identifier: BSD-3-Clause
// By what a communicator's area in its node's memory goes (transport/shared/node_areas.hpp): its context, with who has made that.
#pragma once

#include <cstdint>

#include "engine/channel.hpp"
#include "engine/context.hpp"
#include "transport/shared/node_areas.hpp"

namespace tutti::mpi {

inline transport::AreaKey area_key(const engine::Channel& channel) {
  const uint64_t id = channel.context & ~uint64_t{1};
  return {.context = id,
          .owner = engine::ContextPool::owner_of(id),
          .slot = engine::ContextPool::slot_of(id),
          .generation = engine::ContextPool::generation_of(id),
          .generations = 1u << engine::ContextPool::kGenerationBits};
}

}  // namespace tutti::mpi
