// SPDX-License-Identifier: BSD-3-Clause
#include "coll/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"

namespace tutti::coll {
namespace {

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
  last_ = static_cast<Id>(plan_.steps.size());
  plan_.steps.push_back(step);
  return *this;
}

Buf PlanBuilder::numbered(Buf message) {
  if (message.unit == Unit::packed) message.range = plan_.ranges++;
  return message;
}

PlanBuilder& PlanBuilder::send(const Buf& from, int peer) {
  TUTTI_INVARIANT(peer >= 0 && peer < shape_.size && peer != shape_.rank, "a plan sends to nobody");
  return add({.kind = Step::Kind::send,
              .peer = peer,
              .slot = sent_.next(peer),
              .operation = plan_.sends++,
              .from = numbered(from)});
}

PlanBuilder& PlanBuilder::recv(const Buf& into, int peer) {
  TUTTI_INVARIANT(peer >= 0 && peer < shape_.size && peer != shape_.rank, "a plan receives from nobody");
  return add({.kind = Step::Kind::recv,
              .peer = peer,
              .slot = received_.next(peer),
              .operation = plan_.recvs++,
              .into = numbered(into)});
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
  const auto here = static_cast<uint32_t>(plan_.steps.size());
  if (groups_.back() != here) groups_.push_back(here);
  last_ = kNone;
  return *this;
}

PlanBuilder& PlanBuilder::after(Id step) {
  if (step != kNone && last_ != kNone) edges_.emplace_back(static_cast<uint32_t>(step), static_cast<uint32_t>(last_));
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

Plan together(Plan plan, const Plan& empty) {
  const auto first_step = static_cast<uint32_t>(plan.steps.size());
  const auto first_follower = static_cast<uint32_t>(plan.followers.size());
  Buf nothing{.region = Region::scratch, .index = static_cast<uint32_t>(plan.scratch.size())};
  plan.scratch.push_back({nothing, true});
  for (Step step : empty.steps) {
    // Behind the messages that the two ranks exchange already.
    for (uint32_t i = 0; i < first_step; ++i)
      step.slot += plan.steps[i].kind == step.kind && plan.steps[i].peer == step.peer;
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
void chain(Plan& program) {
  const auto count = static_cast<uint32_t>(program.steps.size());
  program.waits.assign(count, 1);
  program.followers.clear();
  program.first_follower.assign(count + 1, 0);
  if (count == 0) return;
  program.waits[0] = 0;
  for (uint32_t i = 1; i < count; ++i) {
    program.followers.push_back(i);
    program.first_follower[i] = i;
  }
  program.first_follower[0] = 0;
  program.first_follower[count] = count - 1;
}

}  // namespace

Plan meeting(Plan program) {
  const auto round = static_cast<int32_t>(program.rounds++);
  using Kind = Step::Kind;
  for (const Kind kind : {Kind::claim, Kind::publish, Kind::await, Kind::leave})
    program.steps.push_back({.kind = kind, .peer = -1, .slot = round});
  chain(program);
  return program;
}

Plan lingering(const Plan& program, uint64_t chance) {
  Plan out = program;
  out.chance = chance;
  out.steps.clear();
  for (const Step& step : program.steps) {
    const bool is_seen =
        step.kind == Step::Kind::publish || step.kind == Step::Kind::await || step.kind == Step::Kind::leave;
    if (is_seen) out.steps.push_back({.kind = Step::Kind::linger, .slot = step.slot});
    out.steps.push_back(step);
  }
  chain(out);
  return out;
}

Plan PlanBuilder::done() {
  if (!plan_.is_program()) {
    join_groups();
  } else {
    edges_.clear();
    for (uint32_t i = 1; i < plan_.steps.size(); ++i) edges_.emplace_back(i - 1, i);
  }
  const size_t count = plan_.steps.size();
  plan_.waits.assign(count, 0);
  plan_.first_follower.assign(count + 1, 0);
  for (const auto& [from, to] : edges_) {
    ++plan_.waits[to];
    ++plan_.first_follower[from + 1];
  }
  for (size_t i = 0; i < count; ++i) plan_.first_follower[i + 1] += plan_.first_follower[i];
  plan_.followers.resize(edges_.size());
  std::vector<uint32_t> next(plan_.first_follower.begin(), plan_.first_follower.end() - 1);
  for (const auto& [from, to] : edges_) plan_.followers[next[from]++] = to;
  return std::move(plan_);
}

std::string to_string(const Buf& b) {
  switch (b.unit) {
    case Unit::in_block:
      return fmt::format("in{{{}}}", b.index);
    case Unit::out_block:
      return fmt::format("out{{{}}}", b.index);
    default:
      break;
  }
  const char* unit = b.unit == Unit::bytes ? " B" : b.unit == Unit::packed ? " B packed" : "";
  std::string name = b.region == Region::input    ? "in"
                     : b.region == Region::output ? "out"
                     : b.region == Region::shared ? fmt::format("slot{}.{}", b.index, b.rank)
                                                  : fmt::format("scratch{}", b.index);
  if (b.count < 0) return name;
  return fmt::format("{}[{}..{}{}]", name, b.offset, b.offset + b.count, unit);
}

std::string to_string(const Plan& plan) {
  std::vector<std::vector<uint32_t>> leaders(plan.steps.size());
  for (uint32_t i = 0; i < plan.steps.size(); ++i)
    for (uint32_t f = plan.first_follower[i]; f < plan.first_follower[i + 1]; ++f)
      leaders[plan.followers[f]].push_back(i);
  std::string text;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    text += fmt::format("{:4} ", i);
    switch (s.kind) {
      case Step::Kind::send:
        text += fmt::format("send {} to {} #{}", to_string(s.from), s.peer, s.slot);
        break;
      case Step::Kind::recv:
        text += fmt::format("recv {} from {} #{}", to_string(s.into), s.peer, s.slot);
        break;
      case Step::Kind::reduce:
        text += fmt::format("reduce {} op {}", to_string(s.from), to_string(s.into));
        break;
      case Step::Kind::copy:
        text += fmt::format("copy {} to {}", to_string(s.from), to_string(s.into));
        break;
      case Step::Kind::show:
        text += fmt::format("show {} in {} or to {} #{}", to_string(s.from), to_string(s.into), s.peer, s.slot);
        break;
      case Step::Kind::expect:
        text += fmt::format("expect {} from {} #{}", to_string(s.into), s.peer, s.slot);
        break;
      case Step::Kind::take:
        text += fmt::format("take {} from {} or from {} #{}", to_string(s.into), to_string(s.from), s.peer, s.slot);
        break;
      case Step::Kind::join:
        text += "join";
        break;
      case Step::Kind::claim:
        text += fmt::format("claim slot{}", s.slot);
        break;
      case Step::Kind::publish:
        text +=
            s.peer < 0 ? fmt::format("publish slot{}", s.slot) : fmt::format("publish slot{} to {}", s.slot, s.peer);
        break;
      case Step::Kind::await:
        text +=
            s.peer < 0 ? fmt::format("await slot{} of all", s.slot) : fmt::format("await slot{} of {}", s.slot, s.peer);
        break;
      case Step::Kind::leave:
        text += fmt::format("leave slot{}", s.slot);
        break;
      case Step::Kind::linger:
        text += "linger";
        break;
    }
    if (!leaders[i].empty()) text += fmt::format(" after {}", fmt::join(leaders[i], " "));
    text += '\n';
  }
  return text;
}

}  // namespace tutti::coll
