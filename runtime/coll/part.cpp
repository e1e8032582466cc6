// SPDX-License-Identifier: BSD-3-Clause
// Plans put together of others.
#include <utility>
#include <vector>

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

// What was written between two steps comes between them.
void PlanBuilder::enclose(uint32_t begin, uint32_t end) {
  std::vector<bool> has_leader(end - begin), has_follower(end - begin);
  for (const auto& [from, to] : edges_) {
    if (from <= begin || to <= begin || from >= end || to >= end) continue;
    has_follower[from - begin] = has_leader[to - begin] = true;
  }
  if (begin + 1 == end) edges_.emplace_back(begin, end);
  for (uint32_t i = begin + 1; i < end; ++i) {
    if (!has_leader[i - begin]) edges_.emplace_back(begin, i);
    if (!has_follower[i - begin]) edges_.emplace_back(i, end);
  }
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

  const auto add_placed = [&](Step step) {
    switch (step.kind) {
      case Step::Kind::send:
        return send(placed(step.from), ranks[static_cast<size_t>(step.peer)]).last_;
      case Step::Kind::recv:
        return recv(placed(step.into), ranks[static_cast<size_t>(step.peer)]).last_;
      case Step::Kind::copy:
      case Step::Kind::reduce:
        step.from = placed(step.from), step.into = placed(step.into);
        if (step.from == step.into) step = {};
        break;
      case Step::Kind::show:
      case Step::Kind::expect:
      case Step::Kind::take:
      case Step::Kind::loop:
        invariant_broken(__FILE__, __LINE__, "a part of a plan has shares, or a loop in a loop");
      case Step::Kind::join:
        break;
      default:
        step.slot += static_cast<int32_t>(first_round);
        break;
    }
    return add(step).last_;
  };
  // What was even in the part may not be so here, by the ranks that it is for or by where its blocks lie.
  const auto add_loop = [&](const Loop& loop) {
    const auto before = static_cast<uint32_t>(plan_.steps.size());
    const auto trip = [&](int64_t t) {
      for (uint32_t i = 0; i < loop.steps.size(); ++i) {
        add_placed(loop.at(i, static_cast<uint32_t>(t)));
        name(static_cast<int>(i));
        for (const Loop::Carried& c : loop.carried)
          if (c.to == i) after_earlier(static_cast<int>(c.from), c.trips);
      }
      for (uint32_t i = 0; i < loop.steps.size(); ++i)
        for (uint32_t f = loop.first_follower[i]; f < loop.first_follower[i + 1]; ++f)
          trip_->edges.emplace_back(i, loop.followers[f]);
    };
    add({});
    // A loop of the part's stays one.
    repeat({.number = loop.trips, .seats = loop.seats, .row = loop.row < loop.trips ? loop.row : 0}, trip, 1);
    const auto end = static_cast<uint32_t>(plan_.steps.size());
    add({});
    enclose(before, end);
    return std::pair(before, end);
  };

  std::vector<std::pair<uint32_t, uint32_t>> now;  // by step: where it begins and ends here
  for (const Step& step : part.steps) {
    if (step.kind == Step::Kind::loop) {
      now.push_back(add_loop(part.loops[static_cast<size_t>(step.slot)]));
    } else {
      const auto at = static_cast<uint32_t>(add_placed(step));
      now.emplace_back(at, at);
    }
  }
  for (uint32_t i = 0; i < part.steps.size(); ++i)
    for (uint32_t f = part.first_follower[i]; f < part.first_follower[i + 1]; ++f)
      edges_.emplace_back(now[i].second, now[part.followers[f]].first);
  return fence();
}

}  // namespace tutti::coll
