// SPDX-License-Identifier: BSD-3-Clause
// The areas of a node's segment, and which communicator has which. Nobody waits for anybody to find
// that out: the first rank that asks for a communicator's area decides, under a lock held for a
// moment, and leaves its decision in shared memory for the others; also the one that there is none
// left, so that all ranks of the communicator see the same. An area is free again when all ranks of
// its communicator have let go of it, or have failed.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transport/shared/area.hpp"
#include "transport/shared/node_segment.hpp"

namespace tutti::transport {

// A communicator, for this purpose: its context, which nobody else has for as long as one of its
// ranks lives on it, made by `owner`, who numbers its contexts by slots, each used again with a
// later generation.
struct AreaKey {
  uint64_t context = 0;
  int owner = 0;  // process id
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint32_t generations = 0;  // after so many the generation is the same again
};

// The area of a communicator whose ranks on this node are these members of the segment, mine is the
// one numbered `rank`; nullptr: there is none, for all of them. read_peers: whether
// Area::read_rate() may be other than 0, as far as this rank is concerned.
std::unique_ptr<Area> find_area(const std::shared_ptr<NodeSegment>& segment, const AreaKey& key,
                                const std::vector<int>& members, int rank, bool read_peers);
// Memory beside the lanes of a communicator's area, so many bytes and at most 1 MiB, zero-filled at first, for what those of a
// job agree in that goes on without ranks that fail; nullptr: there is none, for all of its ranks. Only for one that has
// the area, and for as long.
std::byte* ballot_memory(NodeSegment& segment, const AreaKey& key, size_t bytes);
// A rank has let go of a communicator of which it has never asked for the area, as where a member of it has failed before
// that. Nobody else gets one then who has not got it yet, and nobody waits for this rank to leave it.
void decline_area(NodeSegment& segment, const AreaKey& key);

}  // namespace tutti::transport
