// SPDX-License-Identifier: BSD-3-Clause
// Plans put together of others.
#include "base/log.hpp"
#include "coll/plan.hpp"

namespace tutti::coll {

Buf DataPlace::operator()(const Buf& buf) const {
  if (same) return buf;
  Buf moved = at;
  if (at.unit == Unit::bytes || buf.is_block()) {
    const int64_t begin = buf.is_block() ? blocks[buf.index] : buf.offset;
    moved.offset += begin;
    moved.count = buf.is_block() ? blocks[buf.index + 1] - begin : buf.count;
    return moved;
  }
  const bool in_bytes = buf.unit == Unit::bytes || buf.unit == Unit::packed;
  if (in_bytes) moved.unit = buf.unit;
  moved.offset = (in_bytes ? packed : at.offset) + buf.offset;
  moved.count = buf.count;
  return moved;
}

PlanBuilder& PlanBuilder::append(const Plan& part, std::span<const int> ranks, const DataPlace& in,
                                 const DataPlace& out) {
  fence();
  const auto first_scratch = static_cast<uint32_t>(plan_.scratch.size());
  const uint32_t first_round = plan_.rounds;
  const auto placed = [&](Buf buf) {
    if (buf.region == Region::input) return in(buf);
    if (buf.region == Region::output) return out(buf);
    buf.index += buf.region == Region::scratch ? first_scratch : first_round;
    return buf;
  };
  if (part.lane != LaneSize::none) {
    TUTTI_INVARIANT(plan_.lane == LaneSize::none || plan_.lane == part.lane, "a plan uses two lanes");
    plan_.lane = part.lane;
    plan_.rounds += part.rounds;
  }
  for (const Scratch& scratch : part.scratch) plan_.scratch.push_back({placed(scratch.like), scratch.packed});

  const auto first_step = static_cast<uint32_t>(plan_.steps.size());
  for (Step step : part.steps) {
    switch (step.kind) {
      case Step::Kind::send:
        send(placed(step.from), ranks[static_cast<size_t>(step.peer)]);
        continue;
      case Step::Kind::recv:
        recv(placed(step.into), ranks[static_cast<size_t>(step.peer)]);
        continue;
      case Step::Kind::copy:
      case Step::Kind::reduce:
        step.from = placed(step.from), step.into = placed(step.into);
        if (step.from == step.into) step = {};
        break;
      case Step::Kind::show:
      case Step::Kind::expect:
      case Step::Kind::take:
        invariant_broken(__FILE__, __LINE__, "a part of a plan has shares");
      case Step::Kind::join:
        break;
      default:
        step.slot += static_cast<int32_t>(first_round);
        break;
    }
    add(step);
  }
  for (uint32_t i = 0; i < part.steps.size(); ++i)
    for (uint32_t f = part.first_follower[i]; f < part.first_follower[i + 1]; ++f)
      edges_.emplace_back(first_step + i, first_step + part.followers[f]);
  return fence();
}

}  // namespace tutti::coll
