// SPDX-License-Identifier: BSD-3-Clause
#include "coll/plan.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tutti::coll {
namespace {

bool is_seen(const Step& step) {
  return step.kind == Step::Kind::publish || step.kind == Step::Kind::await || step.kind == Step::Kind::leave;
}

bool has_block_arrays(Collective kind, Region region) {
  const CollectiveRow& row = row_of(kind);
  return has_arrays(region == Region::input ? row.input : row.output);
}

}  // namespace

PlanBuilder::PlanBuilder(const Shape& shape) : shape_(shape) {}

Buf PlanBuilder::in() const {
  if (!row_of(shape_.kind).reduces) return {Region::input, Unit::in_type, 0, 0, shape_.in_count};
  Buf whole = out();
  if (!shape_.in_place) whole.region = Region::input;
  whole.count = shape_.vector_count();
  return whole;
}

Buf PlanBuilder::out() const {
  const int me = shape_.first_side ? shape_.sides().rank_in_group() : shape_.rank;
  return {Region::output, Unit::out_type, 0, 0, shape_.part_count(me)};
}

Buf PlanBuilder::blocks(Region region, int first, int n) const {
  const bool input = region == Region::input;
  if (has_block_arrays(shape_.kind, region)) {
    TUTTI_INVARIANT(n == 1, "blocks of a v form are not adjacent");
    return {region, input ? Unit::in_block : Unit::out_block, static_cast<uint32_t>(first), 0, 0};
  }
  const int64_t count = input ? shape_.in_count : shape_.out_count;
  return {region, input ? Unit::in_type : Unit::out_type, 0, first * count, n * count};
}

Buf PlanBuilder::add_scratch(Scratch scratch) {
  const auto index = static_cast<uint32_t>(plan_.scratch.size());
  plan_.scratch.push_back(scratch);
  const Buf& like = scratch.like;
  if (!scratch.packed) return {Region::scratch, like.unit, index, 0, like.count};
  // Of a block or of typed elements only the executor knows how many bytes they are: such a scratch
  // is used as a whole.
  const bool known = like.unit == Unit::bytes;
  return {Region::scratch, Unit::bytes, index, 0, known ? like.count : -1};
}

PlanBuilder& PlanBuilder::add(Step step) {
  std::vector<Step>& steps = trip_ ? trip_->steps : plan_.steps;
  last_ = static_cast<Id>(steps.size());
  if (!trip_) number(step);
  steps.push_back(step);
  return *this;
}

void PlanBuilder::number(Step& message) {
  if (message.kind == Step::Kind::send) {
    message.slot = sent_.next(message.peer);
    message.operation = plan_.sends++;
    message.from = numbered(message.from);
  } else if (message.kind == Step::Kind::recv) {
    message.slot = received_.next(message.peer);
    message.operation = plan_.recvs++;
    message.into = numbered(message.into);
  }
}

Buf PlanBuilder::numbered(Buf message) {
  if (message.unit == Unit::packed) message.range = plan_.ranges++;
  return message;
}

PlanBuilder& PlanBuilder::send(const Buf& from, int peer) {
  TUTTI_INVARIANT(peer >= 0 && peer < shape_.size && peer != shape_.rank, "a plan sends to nobody");
  return add({.kind = Step::Kind::send, .peer = peer, .from = from});
}

PlanBuilder& PlanBuilder::recv(const Buf& into, int peer) {
  TUTTI_INVARIANT(peer >= 0 && peer < shape_.size && peer != shape_.rank, "a plan receives from nobody");
  return add({.kind = Step::Kind::recv, .peer = peer, .into = into});
}

PlanBuilder& PlanBuilder::add_shared(Step::Kind kind, int round, int peer) {
  TUTTI_INVARIANT(plan_.lane != LaneSize::none && round < static_cast<int>(plan_.rounds) && peer < shape_.size &&
                      peer != shape_.rank,
                  "a plan shares what it has not taken");
  return add({.kind = kind, .peer = peer, .slot = round});
}

PlanBuilder& PlanBuilder::show(const Buf& block, const Buf& share, int peer, const Buf* kept) {
  ++plan_.shows;
  return add({.kind = Step::Kind::show,
              .peer = peer,
              .slot = sent_.next(peer),
              .operation = plan_.sends++,
              .kept = kept ? static_cast<int32_t>(kept->index) : -1,
              .from = block,
              .into = share});
}

PlanBuilder& PlanBuilder::expect(const Buf& share, const Buf& block, int peer) {
  ++plan_.takes;
  return add({.kind = Step::Kind::expect,
              .peer = peer,
              .slot = received_.next(peer),
              .operation = plan_.recvs++,
              .from = share,
              .into = block});
}

PlanBuilder& PlanBuilder::take(const Buf& share, const Buf& block, int peer) {
  const auto is_it = [&](const Step& s) {
    return s.kind == Step::Kind::expect && s.peer == peer && s.from == share && s.into == block;
  };
  const auto expected = std::find_if(plan_.steps.begin(), plan_.steps.end(), is_it);
  TUTTI_INVARIANT(expected != plan_.steps.end(), "a plan takes what it does not expect");
  Step step = *expected;
  step.kind = Step::Kind::take;
  return add(step);
}

PlanBuilder& PlanBuilder::reduce(const Buf& left, const Buf& into) {
  last_ = kNone;
  if (into.count == 0) return *this;
  return add({.kind = Step::Kind::reduce, .from = left, .into = into});
}

PlanBuilder& PlanBuilder::copy(const Buf& from, const Buf& into) {
  last_ = kNone;
  if (from == into) return *this;
  if ((from.count == 0 && !from.is_block()) || (into.count == 0 && !into.is_block())) return *this;
  return add({.kind = Step::Kind::copy, .from = from, .into = into});
}

PlanBuilder& PlanBuilder::fence() {
  TUTTI_INVARIANT(!trip_, "a trip of a loop has a fence");
  const auto here = static_cast<uint32_t>(plan_.steps.size());
  if (groups_.back() != here) groups_.push_back(here);
  last_ = kNone;
  return *this;
}

PlanBuilder& PlanBuilder::after(Id step) {
  if (step == kNone || last_ == kNone) return *this;
  (trip_ ? trip_->edges : edges_).emplace_back(static_cast<uint32_t>(step), static_cast<uint32_t>(last_));
  return *this;
}

// Between two groups only the steps matter that nothing waits for in the first one, and those that
// wait for nothing in the second. A join keeps many × many from becoming that many edges.
void PlanBuilder::join_groups() {
  const auto count = static_cast<uint32_t>(plan_.steps.size());
  if (groups_.back() == count) groups_.pop_back();
  if (groups_.size() < 2) return;
  std::vector<uint32_t> group_of(count);
  for (uint32_t g = 0; g < groups_.size(); ++g)
    for (uint32_t i = groups_[g]; i < (g + 1 < groups_.size() ? groups_[g + 1] : count); ++i) group_of[i] = g;
  std::vector<bool> has_follower(count), has_leader(count);
  for (const auto& [from, to] : edges_)
    if (group_of[from] == group_of[to]) has_follower[from] = has_leader[to] = true;

  std::vector<uint32_t> ends, begins;
  for (size_t g = 1; g < groups_.size(); ++g) {
    ends.clear(), begins.clear();
    for (uint32_t i = groups_[g - 1]; i < groups_[g]; ++i)
      if (!has_follower[i]) ends.push_back(i);
    for (uint32_t i = groups_[g]; i < (g + 1 < groups_.size() ? groups_[g + 1] : count); ++i)
      if (!has_leader[i]) begins.push_back(i);
    if (ends.size() * begins.size() <= ends.size() + begins.size()) {
      for (const uint32_t end : ends)
        for (const uint32_t begin : begins) edges_.emplace_back(end, begin);
      continue;
    }
    const auto join = static_cast<uint32_t>(plan_.steps.size());
    plan_.steps.push_back({});
    for (const uint32_t end : ends) edges_.emplace_back(end, join);
    for (const uint32_t begin : begins) edges_.emplace_back(join, begin);
  }
}

// Messages of this kind with this peer.
static int32_t messages_of(const Plan& plan, Step::Kind kind, int peer) {
  const auto is_one = [&](const Step& step) { return step.kind == kind && step.peer == peer; };
  auto count = static_cast<int32_t>(std::ranges::count_if(plan.steps, is_one));
  for (const Loop& loop : plan.loops)
    for (uint32_t i = 0; i < loop.steps.size(); ++i)
      for (uint32_t t = 0; loop.steps[i].kind == kind && t < loop.trips; ++t) count += is_one(loop.at(i, t));
  return count;
}

Plan together(Plan plan, const Plan& empty) {
  const auto first_step = static_cast<uint32_t>(plan.steps.size());
  const auto first_follower = static_cast<uint32_t>(plan.followers.size());
  Buf nothing{.region = Region::scratch, .index = static_cast<uint32_t>(plan.scratch.size())};
  plan.scratch.push_back({nothing, true});
  const Plan before = plan;
  for (Step step : empty.steps) {
    // Behind the messages that the two ranks exchange already.
    step.slot += messages_of(before, step.kind, step.peer);
    step.operation += step.kind == Step::Kind::send ? plan.sends : plan.recvs;
    step.from = step.into = nothing;
    plan.steps.push_back(step);
  }
  plan.sends += empty.sends;
  plan.recvs += empty.recvs;
  plan.waits.insert(plan.waits.end(), empty.waits.begin(), empty.waits.end());
  plan.first_follower.resize(first_step);  // the last one is the end, which comes again
  for (const uint32_t follower : empty.first_follower) plan.first_follower.push_back(first_follower + follower);
  for (const uint32_t follower : empty.followers) plan.followers.push_back(first_step + follower);
  return plan;
}

namespace {

// A program's steps run one after the other.
void chain_all(Plan& program) {
  program.chain();
  for (Loop& loop : program.loops) {
    loop.chain();
    loop.seats = 1;
  }
}

// The steps, lingering before each that others see or that looks at others.
std::vector<Step> lingering(const std::vector<Step>& steps) {
  std::vector<Step> out;
  for (const Step& step : steps) {
    if (is_seen(step)) out.push_back({.kind = Step::Kind::linger, .slot = step.slot});
    out.push_back(step);
  }
  return out;
}

}  // namespace

Plan meeting(Plan program) {
  const auto round = static_cast<int32_t>(program.rounds++);
  using Kind = Step::Kind;
  for (const Kind kind : {Kind::claim, Kind::publish, Kind::await, Kind::leave})
    program.steps.push_back({.kind = kind, .peer = -1, .slot = round});
  chain_all(program);
  return program;
}

Plan lingering(const Plan& program, uint64_t chance) {
  Plan out = program;
  out.chance = chance;
  out.steps = lingering(program.steps);
  for (Loop& loop : out.loops) {
    std::vector<Loop::Growths> growths;
    for (size_t i = 0; i < loop.steps.size(); ++i) {
      if (is_seen(loop.steps[i])) growths.emplace_back();
      growths.push_back(loop.growths[i]);
    }
    loop.growths = std::move(growths);
    loop.steps = lingering(loop.steps);
  }
  chain_all(out);
  return out;
}

Plan PlanBuilder::done() {
  if (plan_.is_program()) {
    chain_all(plan_);
    return std::move(plan_);
  }
  join_groups();
  plan_.connect(edges_);
  return std::move(plan_);
}

}  // namespace tutti::coll
