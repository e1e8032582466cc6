// SPDX-License-Identifier: BSD-3-Clause
// Barrier, bcast, gather, scatter, allgather(v) and alltoall among ranks that share memory, and how
// all calls are cut into rounds.
#include <algorithm>

#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

// How far the writer of slots runs ahead of the readers: less than there are windows.
constexpr int64_t kAhead = 3;

// Where the share of one rank begins in another's slot: there is none for itself.
int64_t share_of(int rank, int slot_owner, int64_t size) {
  return (rank < slot_owner ? rank : rank - 1) * size;
}

struct Cut {
  int64_t unit = 1, total = 0, shares = 1;
};
Cut cut_of(const Shape& s) {
  const CollectiveRow& row = row_of(s.kind);
  if (row.reduces) {
    const int64_t total = s.vector_count();
    return {total > 0 ? std::max<int64_t>(s.bytes / total, 1) : 1, total, 1};
  }
  if (!s.counts.empty()) return {1, *std::ranges::max_element(s.counts), 1};
  return {1, s.bytes, row.input == Holds::blocks && !row.over_edges ? s.size - 1 : 1};
}
bool fits(const Cut& cut, int64_t slot) {
  return cut.total <= slot / (cut.unit * cut.shares);
}

}  // namespace

RoundCut pieces_of(const Shape& s) {
  const Cut cut = cut_of(s);
  const bool small = s.small_slot > 0 && fits(cut, s.small_slot);
  const int64_t slot = small ? s.small_slot : s.large_slot;
  return {small ? LaneSize::small : LaneSize::large, cut.unit, cut.total, slot / (cut.unit * cut.shares)};
}

bool wants_large(const Shape& s) {
  if (s.small_slot == 0 || wants_large_shares(s)) return true;
  Cut cut = cut_of(s);
  // A part of a plan for several nodes may hold the blocks of all ranks.
  if (s.nodes && !row_of(s.kind).reduces) cut.total *= s.size;
  return !fits(cut, s.small_slot);
}

std::string_view objection_to_sharing(const Shape& s) {
  if (s.nodes) return "its ranks are on several nodes";
  if (s.size == 1 || s.small_slot + s.large_slot == 0) return "its ranks do not share memory";
  if (is_in_shares(s.kind)) return share_size(s) > 0 ? "" : "its ranks are too many for shares of the shared memory";
  if (!wants_large(s)) return {};
  if (s.large_slot == 0) return "there is no shared memory for long messages";
  if (pieces_of(s).piece == 0) return "a piece of it is larger than the shared memory of a rank";
  return {};
}

std::string_view objection_to_one_round(const Shape& s) {
  if (const std::string_view why = objection_to_sharing(s); !why.empty()) return why;
  if (pieces_of(s).rounds() > 1) return "a block of it is larger than the shared memory of a rank";
  return {};
}

// Everybody tells everybody: p (p - 1) flags, all at once, in one step.
Plan shared_barrier(const Shape& s) {
  PlanBuilder plan(s);
  plan.share(LaneSize::small);
  const int round = plan.round();
  return plan.claim(round).publish(round).await(round).leave(round).done();
}

// The root shows pieces and goes on; the others read. The root waits only for slots that the
// slowest reader still needs.
Plan shared_bcast(const Shape& s) {
  PlanBuilder plan(s);
  const RoundCut pieces = pieces_of(s);
  plan.share(pieces.lane);
  plan.take_rounds(pieces.rounds());
  plan.repeat({.number = pieces.rounds()}, [&](int64_t i) {
    const int round = static_cast<int>(i);
    const Buf slot = plan.slot_bytes(round, s.root, 0, pieces.size(i));
    const Buf mine = plan.out_packed(pieces.begin(i), pieces.size(i));
    if (s.rank == s.root)
      plan.claim(round).copy(mine, slot).publish(round);
    else
      plan.await(round, s.root).copy(slot, mine);
    plan.leave(round);
  });
  return plan.done();
}

// The root's own block goes straight to its place; the others show theirs and go on.
Plan shared_gather(const Shape& s) {
  PlanBuilder plan(s);
  const RoundCut pieces = pieces_of(s);
  plan.share(pieces.lane);
  if (s.rank == s.root && !s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
  plan.take_rounds(pieces.rounds());
  plan.repeat({.number = pieces.rounds()}, [&](int64_t i) {
    const int round = static_cast<int>(i);
    const auto slot = [&](int rank) { return plan.slot_bytes(round, rank, 0, pieces.size(i)); };
    if (s.rank == s.root) {
      for (int k = 1; k < s.size; ++k) {
        const int from = (s.root + k) % s.size;
        plan.await(round, from).copy(slot(from), plan.out_packed(from * s.bytes + pieces.begin(i), pieces.size(i)));
      }
    } else {
      plan.claim(round).copy(plan.in_packed(pieces.begin(i), pieces.size(i)), slot(s.rank)).publish(round, s.root);
    }
    plan.leave(round);
  });
  return plan.done();
}

Plan shared_scatter(const Shape& s) {
  PlanBuilder plan(s);
  const RoundCut pieces = pieces_of(s);
  plan.share(pieces.lane);
  plan.take_rounds(pieces.rounds());
  plan.repeat({.number = pieces.rounds()}, [&](int64_t i) {
    const int round = static_cast<int>(i);
    const int64_t size = pieces.size(i);
    const auto share = [&](int rank) { return plan.slot_bytes(round, s.root, share_of(rank, s.root, size), size); };
    if (s.rank == s.root) {
      plan.claim(round);
      for (int rank = 0; rank < s.size; ++rank)
        if (rank != s.root) plan.copy(plan.in_packed(rank * s.bytes + pieces.begin(i), size), share(rank));
      plan.publish(round);
    } else {
      plan.await(round, s.root).copy(share(s.rank), plan.out_packed(pieces.begin(i), size));
    }
    plan.leave(round);
  });
  if (s.rank == s.root && !s.in_place) plan.copy(plan.in_block(s.rank), plan.out());
  return plan.done();
}

Plan shared_allgather(const Shape& s) {
  PlanBuilder plan(s);
  const RoundCut pieces = pieces_of(s);
  plan.share(pieces.lane);
  const int64_t rounds = pieces.rounds();
  plan.take_rounds(rounds);
  const auto slot = [&](int64_t i, int rank) { return plan.slot_bytes(static_cast<int>(i), rank, 0, pieces.size(i)); };
  const auto place = [&](int64_t i, int rank) {
    return plan.out_packed(rank * s.bytes + pieces.begin(i), pieces.size(i));
  };
  pipeline(
      plan, rounds, std::min(kAhead, rounds - 1),
      [&](int64_t i) {
        const Buf mine = s.in_place ? place(i, s.rank) : plan.in_packed(pieces.begin(i), pieces.size(i));
        plan.claim(static_cast<int>(i)).copy(mine, slot(i, s.rank)).publish(static_cast<int>(i));
        if (i == rounds - 1 && !s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
      },
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        plan.await(round);
        for (int k = 1; k < s.size; ++k) {
          const int from = (s.rank + k) % s.size;
          plan.copy(slot(i, from), place(i, from));
        }
        plan.leave(round);
      });
  return plan.done();
}

// Blocks of the v form are not cut into pieces: one round.
Plan shared_allgatherv(const Shape& s) {
  PlanBuilder plan(s);
  plan.share(pieces_of(s).lane);
  const int round = plan.round();
  const auto slot = [&](int rank) { return plan.slot_bytes(round, rank, 0, s.counts[static_cast<size_t>(rank)]); };
  const bool have = s.counts[static_cast<size_t>(s.rank)] > 0;
  plan.claim(round);
  if (have) plan.copy(s.in_place ? plan.out_block(s.rank) : plan.in(), slot(s.rank));
  plan.publish(round);
  if (have && !s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
  plan.await(round);
  for (int k = 1; k < s.size; ++k) {
    const int from = (s.rank + k) % s.size;
    if (s.counts[static_cast<size_t>(from)] > 0) plan.copy(slot(from), plan.out_block(from));
  }
  return plan.leave(round).done();
}

// In place, what is shown in a round is what its end overwrites.
Plan shared_alltoall(const Shape& s) {
  PlanBuilder plan(s);
  const RoundCut pieces = pieces_of(s);
  plan.share(pieces.lane);
  const int64_t rounds = pieces.rounds();
  plan.take_rounds(rounds);
  const auto share = [&](int64_t i, int from, int to) {
    const int64_t size = pieces.size(i);
    return plan.slot_bytes(static_cast<int>(i), from, share_of(to, from, size), size);
  };
  pipeline(
      plan, rounds, std::min(kAhead, rounds - 1),
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        plan.claim(round);
        for (int to = 0; to < s.size; ++to) {
          if (to == s.rank) continue;
          const int64_t at = to * s.bytes + pieces.begin(i);
          plan.copy(s.in_place ? plan.out_packed(at, pieces.size(i)) : plan.in_packed(at, pieces.size(i)),
                    share(i, s.rank, to));
        }
        plan.publish(round);
        if (i == rounds - 1 && !s.in_place) plan.copy(plan.in_block(s.rank), plan.out_block(s.rank));
      },
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        plan.await(round);
        for (int k = 1; k < s.size; ++k) {
          const int from = (s.rank + k) % s.size;
          plan.copy(share(i, from, s.rank), plan.out_packed(from * s.bytes + pieces.begin(i), pieces.size(i)));
        }
        plan.leave(round);
      });
  return plan.done();
}

}  // namespace tutti::coll
