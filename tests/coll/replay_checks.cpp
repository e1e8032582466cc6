// SPDX-License-Identifier: BSD-3-Clause
// Checks of a plan by itself: the memory of each step, and which steps follow which.
#include "replay_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace tutti::coll::replay {

namespace {

// For each step, a bit for every step that it follows, however far.
class Ancestors {
 public:
  explicit Ancestors(const Plan& plan) : words_((plan.steps.size() + 63) / 64), bits_(words_ * plan.steps.size()) {
    std::vector<uint32_t> waits = plan.waits, ready;
    for (uint32_t i = 0; i < waits.size(); ++i)
      if (waits[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const uint32_t i = ready.back();
      ready.pop_back();
      for (uint32_t f = plan.first_follower[i]; f < plan.first_follower[i + 1]; ++f) {
        const uint32_t to = plan.followers[f];
        for (size_t w = 0; w < words_; ++w) bits_[to * words_ + w] |= bits_[i * words_ + w];
        bits_[to * words_ + i / 64] |= uint64_t{1} << (i % 64);
        if (--waits[to] == 0) ready.push_back(to);
      }
    }
  }
  bool follows(uint32_t later, uint32_t earlier) const {
    return bits_[later * words_ + earlier / 64] >> (earlier % 64) & 1;
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace

Extent extent_of(const Rank& rank, const Plan& plan, const Buf& b) {
  const auto block = [&](const std::vector<Block>& blocks) {
    const Block& at = blocks.at(b.index);
    return Extent{b.region, 0, at.offset, at.offset + at.count};
  };
  const uint32_t index = b.region == Region::scratch ? b.index : 0;
  switch (b.unit) {
    case Unit::in_block:
      return block(rank.in_blocks);
    case Unit::out_block:
      return block(rank.out_blocks);
    case Unit::packed:
      return {b.region, index, b.offset, b.offset + b.count};
    case Unit::bytes:
      if (b.count < 0) return {b.region, index, 0, scratch_cells(rank, plan, b.index)};
      return {b.region, index, b.offset, b.offset + b.count};
    case Unit::in_type:
      return {b.region, index, b.offset * rank.in_cells, (b.offset + b.count) * rank.in_cells};
    case Unit::out_type:
      break;
  }
  return {b.region, index, b.offset * rank.out_cells, (b.offset + b.count) * rank.out_cells};
}

int64_t scratch_cells(const Rank& rank, const Plan& plan, uint32_t index) {
  return extent_of(rank, plan, plan.scratch[index].like).size();
}

std::string misdescribed(const Rank& rank, const Plan& plan) {
  std::vector<bool> ranges(plan.ranges);
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    const bool sends = s.kind == Step::Kind::send,
               receives = s.kind == Step::Kind::recv || s.kind == Step::Kind::expect;
    if (s.kind >= Step::Kind::join) continue;
    for (const bool from : {true, false}) {
      if (from ? receives : sends) continue;
      const Buf& b = from ? s.from : s.into;
      const bool of_user = b.region == Region::input || b.region == Region::output;
      if (of_user && b.unit == Unit::bytes && !rank.shape.dense)
        return fmt::format("step {} takes {} for one run of bytes", i, to_string(b));
      if (b.unit != Unit::packed || !(sends || receives)) continue;
      if (b.range >= ranges.size() || ranges[b.range]) return fmt::format("step {} has no range of its own", i);
      ranges[b.range] = true;
    }
  }
  return {};
}

std::string conflict(const Rank& rank, const Plan& plan) {
  struct Access {
    Extent extent;
    uint32_t step;
    bool writes;
  };
  std::vector<Access> accesses;
  const auto add = [&](const Buf& buf, uint32_t step, bool writes) {
    if (buf.region == Region::shared) return;  // watched when it runs
    const Extent e = extent_of(rank, plan, buf);
    if (e.size() > 0) accesses.push_back({e, step, writes});
  };
  for (uint32_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    if (s.kind >= Step::Kind::join) continue;
    if (s.kind != Step::Kind::recv) add(s.from, i, false);
    if (s.kind != Step::Kind::send) add(s.into, i, true);
  }
  std::sort(accesses.begin(), accesses.end(), [](const Access& a, const Access& b) {
    return std::tuple(a.extent.region, a.extent.index, a.extent.begin) <
           std::tuple(b.extent.region, b.extent.index, b.extent.begin);
  });
  const bool program = plan.lane != LaneSize::none;
  const Ancestors ancestors(program ? Plan() : plan);
  for (size_t i = 0; i < accesses.size(); ++i)
    for (size_t j = i + 1; j < accesses.size(); ++j) {
      const Access &a = accesses[i], &b = accesses[j];
      if (b.extent.region != a.extent.region || b.extent.index != a.extent.index || b.extent.begin >= a.extent.end)
        break;
      if (!a.writes && !b.writes) continue;
      if (a.step == b.step) return fmt::format("step {} reads and writes the same memory", a.step);
      if (!program && !ancestors.follows(a.step, b.step) && !ancestors.follows(b.step, a.step))
        return fmt::format("steps {} and {} touch the same memory at the same time", a.step, b.step);
    }
  return {};
}

bool say_the_same(const Plan& a, const Plan& b) {
  const auto steps_of = [](const Plan& plan) {
    std::vector<Step> steps;
    for (Step step : plan.steps) {
      if (step.kind == Step::Kind::join) continue;
      step.from.range = step.into.range = 0;
      steps.push_back(step);
    }
    return steps;
  };
  const auto same = [](const Step& x, const Step& y) {
    return x.kind == y.kind && x.peer == y.peer && x.slot == y.slot && x.kept == y.kept && x.from == y.from &&
           x.into == y.into;
  };
  return a.lane == b.lane && a.rounds == b.rounds && a.scratch.size() == b.scratch.size() &&
         std::ranges::equal(steps_of(a), steps_of(b), same);
}

}  // namespace tutti::coll::replay
