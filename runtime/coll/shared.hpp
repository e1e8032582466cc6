// SPDX-License-Identifier: BSD-3-Clause
// The algorithms for ranks that share memory: what moves data is in shared_data.cpp, in blocks that
// only two ranks know in shared_blocks.cpp, what reduces in shared_reductions.cpp. In all of them a
// rank shows what it has in its slot and the others read it there: two copies a byte and no
// messages. (One copy by the kernel out of the other's memory takes two to three times as long,
// from 64 KiB to 4 MiB and with ranks that share cores, too: the pieces here stay in the caches,
// and nobody is asked.) What fits into a slot of the small lane takes one round and one flag; more
// goes in pieces through the large lane, filled ahead while others still read.
#pragma once

#include <algorithm>
#include <string_view>

#include "coll/plan.hpp"

namespace tutti::coll {

// How a call's data are cut into rounds: `total` units of `unit` bytes, of which a rank's slot
// holds `piece` for each of `shares` ranks.
struct RoundCut {
  LaneSize lane = LaneSize::none;
  int64_t unit = 1, total = 0, piece = 0;

  int64_t rounds() const { return total == 0 ? 1 : (total + piece - 1) / piece; }
  int64_t begin(int64_t round) const { return round * piece; }
  int64_t size(int64_t round) const { return std::min(piece, total - begin(round)); }
};
// Of a shape whose ranks share memory. piece is 0 where not even one unit fits.
RoundCut pieces_of(const Shape& s);
// Where a block's bytes are known to two ranks alone, each slot is cut into equal shares.
bool is_in_shares(Collective kind);
// The bytes of one, with its head; 0 of other calls, and where there is no room.
int64_t share_size(const Shape& s);
// They are in the large lane, if there is one.
bool wants_large_shares(const Shape& s);
LaneSize lane_of_shares(const Shape& s);
// The call would need the large lane, if it is to go through shared memory.
bool wants_large(const Shape& s);
// Why shared memory cannot serve the shape; empty if it can.
std::string_view objection_to_sharing(const Shape& s);
// The same where nothing can be cut into pieces.
std::string_view objection_to_one_round(const Shape& s);

// put(i) for each i, and get(i) for each, so that put runs `ahead` in front of get. Neither takes a round or scratch.
template <class Put, class Get>
void pipeline(PlanBuilder& plan, int64_t count, int64_t ahead, Put&& put, Get&& get) {
  plan.repeat({.number = count + ahead}, [&](int64_t i) {
    if (i < count) put(i);
    if (i >= ahead) get(i - ahead);
  });
}

Plan shared_barrier(const Shape& s);
Plan shared_bcast(const Shape& s);
Plan shared_gather(const Shape& s);
Plan shared_scatter(const Shape& s);
Plan shared_allgather(const Shape& s);
Plan shared_allgatherv(const Shape& s);
Plan shared_alltoall(const Shape& s);
Plan shared_gatherv(const Shape& s);
Plan shared_scatterv(const Shape& s);
Plan shared_alltoallv(const Shape& s);
Plan shared_reduce(const Shape& s);
Plan shared_reduce_parts(const Shape& s);
Plan shared_allreduce(const Shape& s);
Plan shared_allreduce_parts(const Shape& s);
Plan shared_reduce_scatter(const Shape& s);
Plan shared_scan(const Shape& s);
Plan shared_exscan(const Shape& s);
Plan shared_scan_chain(const Shape& s);
Plan shared_exscan_chain(const Shape& s);

}  // namespace tutti::coll
