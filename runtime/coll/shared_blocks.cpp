// SPDX-License-Identifier: BSD-3-Clause
// Gatherv, scatterv, alltoallv and alltoallw among ranks that share memory: wins for short blocks;
// among three ranks or more, if there is a large lane, also for those that fit a share of its slots.
// A slot is cut into equal shares, one for each rank that gets something from it, since nobody
// knows the others' counts. One round, in which whatever fits is shown in its share; what is longer
// goes as a message, as it would by the other algorithms. Which of the two it is the slot tells, so
// that sender and receiver need not agree beforehand: counts that do not fit together are found in
// the share's head as they are in a message's.
#include <algorithm>

#include "coll/shared.hpp"

namespace tutti::coll {

bool is_in_shares(Collective kind) {
  const CollectiveRow& row = row_of(kind);
  return row.known_to == KnownTo::pairs && !row.over_edges;
}

// Two ranks are better off with messages where a slot of the small lane is too small.
bool wants_large_shares(const Shape& s) {
  return is_in_shares(s.kind) && s.size > 2;
}

int64_t share_size(const Shape& s) {
  if (!is_in_shares(s.kind) || s.size == 1) return 0;
  const int64_t slot = lane_of_shares(s) == LaneSize::large ? s.large_slot : s.small_slot;
  const CollectiveRow& row = row_of(s.kind);
  // What goes one way between two ranks is better in messages from here on: their pieces overlap.
  // (Where a message costs a flag as well: of 1 KiB 270 ns, in its share 190; 2 KiB took 590 and 910
  // on another processor.)
  constexpr int64_t kMostOneWay = (1 << 10) + kShareHead;
  const int64_t shares = row.root == Root::gets ? 1 : s.size - 1;
  const int64_t fit = slot / shares;
  const int64_t size = (row.rooted() && s.size == 2 ? std::min(fit, kMostOneWay) : fit) & -4;
  return size < kShareHead ? 0 : size;
}

LaneSize lane_of_shares(const Shape& s) {
  return wants_large_shares(s) && s.large_slot > 0 ? LaneSize::large : LaneSize::small;
}

namespace {

// The share for rank `to` in the slot of rank `from`, which has none for itself.
struct Shares {
  const PlanBuilder& plan;
  int round;
  int64_t size;

  Buf operator()(int from, int to) const {
    return plan.slot_bytes(round, from, (to < from ? to : to - 1) * size, size);
  }
};

}  // namespace

// The root's own block goes straight to its place; the others show theirs and go on.
Plan shared_gatherv(const Shape& s) {
  PlanBuilder plan(s);
  plan.share(lane_of_shares(s));
  const int round = plan.round();
  const auto share = [&](int from) { return plan.slot_bytes(round, from, 0, share_size(s)); };
  if (s.rank != s.root)
    return plan.claim(round).show(plan.in(), share(s.rank), s.root).publish(round, s.root).leave(round).done();
  for (int k = 1; k < s.size; ++k) {
    const int from = (s.root + k) % s.size;
    plan.expect(share(from), plan.out_block(from), from);
  }
  if (!s.in_place) plan.copy(plan.in(), plan.out_block(s.rank));
  for (int k = 1; k < s.size; ++k) {
    const int from = (s.root + k) % s.size;
    plan.await(round, from).take(share(from), plan.out_block(from), from);
  }
  return plan.leave(round).done();
}

Plan shared_scatterv(const Shape& s) {
  PlanBuilder plan(s);
  plan.share(lane_of_shares(s));
  const int round = plan.round();
  const Shares share{plan, round, share_size(s)};
  if (s.rank != s.root) {
    const Buf mine = share(s.root, s.rank);
    return plan.expect(mine, plan.out(), s.root)
        .await(round, s.root)
        .take(mine, plan.out(), s.root)
        .leave(round)
        .done();
  }
  plan.claim(round);
  for (int k = 1; k < s.size; ++k) {
    const int to = (s.root + k) % s.size;
    plan.show(plan.in_block(to), share(s.root, to), to);
  }
  plan.publish(round).leave(round);
  if (!s.in_place) plan.copy(plan.in_block(s.rank), plan.out());
  return plan.done();
}

// Of alltoallw, too. In place, a block is expected only when what it replaces is shown, or kept to
// be sent.
Plan shared_alltoallv(const Shape& s) {
  PlanBuilder plan(s);
  plan.share(lane_of_shares(s));
  const int round = plan.round();
  const Shares share{plan, round, share_size(s)};
  const auto each_peer = [&](auto&& visit) {
    for (int k = 1; k < s.size; ++k) visit((s.rank + k) % s.size);
  };
  const auto expect = [&](int from) { plan.expect(share(from, s.rank), plan.out_block(from), from); };
  if (!s.in_place) each_peer(expect);
  plan.claim(round);
  each_peer([&](int to) {
    const Buf mine = share(s.rank, to);
    if (!s.in_place) {
      plan.show(plan.in_block(to), mine, to);
      return;
    }
    const Buf kept = plan.scratch_kept(plan.out_block(to), mine);
    plan.show(plan.out_block(to), mine, to, &kept);
  });
  plan.publish(round);
  if (s.in_place)
    each_peer(expect);
  else
    plan.copy(plan.in_block(s.rank), plan.out_block(s.rank));
  each_peer([&](int from) { plan.await(round, from).take(share(from, s.rank), plan.out_block(from), from); });
  return plan.leave(round).done();
}

}  // namespace tutti::coll
