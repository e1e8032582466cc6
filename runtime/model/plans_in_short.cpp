// SPDX-License-Identifier: BSD-3-Clause
#include "model/plans_in_short.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "coll/shared.hpp"
#include "exec/binding.hpp"
#include "transport/shared/area.hpp"

namespace tutti::model {

using coll::Buf;
using coll::Plan;
using coll::Region;
using coll::Step;
using coll::Unit;

Calls::Calls(const Job& job, const Ask& ask) : job_(job), ask_(ask) {
  if (job.node_ranks < 2) return;
  const transport::LaneGeometry small = transport::small_lane(job.node_ranks);
  const transport::LaneGeometry large = transport::large_lane(job.node_ranks);
  if (small.windows == 0 || large.windows == 0) return;  // as find_area() has it
  small_slot_ = static_cast<int64_t>(small.data_bytes());
  large_slot_ = static_cast<int64_t>(large.data_bytes());
  large_windows_ = large.windows;
}

int64_t Calls::element() const {
  return coll::row_of(ask_.kind).reduces ? 8 : 1;
}

coll::Shape Calls::shape(int rank, const NodeLayout& nodes) const {
  const coll::CollectiveRow& row = coll::row_of(ask_.kind);
  coll::Shape s;
  s.kind = ask_.kind;
  s.rank = rank;
  s.size = job_.ranks;
  if (job_.nodes() > 1) s.nodes = &nodes;
  const int64_t count = ask_.bytes / element();
  if (row.divided == coll::Divided::by_counts)
    s.counts.assign(static_cast<size_t>(job_.ranks), count);
  else if (coll::has_arrays(row.output))
    s.counts.assign(static_cast<size_t>(job_.ranks), ask_.bytes);
  else
    s.out_count = count;
  if (row.divided == coll::Divided::no && row.input != coll::Holds::nothing) s.in_count = count;
  s.bytes = row.reduces ? s.vector_count() * element() : s.counts.empty() ? ask_.bytes : ask_.bytes * job_.ranks;
  s.small_slot = small_slot_;
  if (small_slot_ > 0 && coll::wants_large(s)) s.large_slot = large_slot_, s.large_windows = large_windows_;
  return s;
}

namespace {

int64_t bytes_of(const Calls& calls, const Plan& plan, const Buf& buf) {
  switch (buf.unit) {
    case Unit::in_block:
    case Unit::out_block:
      return calls.ask().bytes;
    case Unit::in_type:
    case Unit::out_type:
      return buf.count * calls.element();
    case Unit::bytes:
    case Unit::packed:
      break;
  }
  if (buf.count >= 0 || buf.region != Region::scratch) return buf.count;
  return bytes_of(calls, plan, plan.scratch[buf.index].like);
}

ShortPlan in_short(const Calls& calls, const Plan& plan, const NodeLayout& nodes, int rank) {
  ShortPlan made;
  made.rank = rank, made.node = nodes.node(), made.local = nodes.local();
  made.rounds = plan.rounds, made.lane = plan.lane;
  made.followers = plan.followers;
  made.steps.resize(plan.steps.size() + 1);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    ShortStep& out = made.steps[i];
    out.kind = step.kind, out.peer = step.peer, out.slot = step.slot;
    out.waits = plan.waits[i];
    out.first_follower = plan.first_follower[i];
    const bool receives = step.kind == Step::Kind::recv || step.kind == Step::Kind::reduce;
    out.bytes = bytes_of(calls, plan, receives ? step.into : step.from);
    out.reads_slot = step.from.region == Region::shared && step.from.rank != nodes.local();
    const bool is_message = step.kind == Step::Kind::send || step.kind == Step::Kind::recv;
    out.crosses = is_message && nodes.node_of(step.peer) != nodes.node();
  }
  made.steps.back().first_follower = static_cast<uint32_t>(plan.followers.size());
  return made;
}

// The steps that send to other nodes, in the order of the plan.
std::vector<uint32_t> sends_of(const ShortPlan& plan) {
  std::vector<uint32_t> sends;
  for (uint32_t i = 0; i + 1 < plan.steps.size(); ++i)
    if (plan.steps[i].crosses && plan.steps[i].kind == Step::Kind::send) sends.push_back(i);
  return sends;
}

// Makes plans, one rank's after the other's.
class Maker {
 public:
  Maker(const Calls& calls, const coll::Selection& rules, Outcome& outcome)
      : calls_(calls), rules_(rules), outcome_(outcome), layout_(places(calls.job()), 0) {}

  ShortPlan make(int rank) {
    const NodeLayout nodes = layout_.seen_by(rank);
    coll::Shape shape = calls_.shape(rank, nodes);
    shape.rules = &rules_;
    const coll::Algorithm& algorithm = rules_.choose(shape);
    outcome_.algorithm = algorithm.name;
    const auto before = std::chrono::steady_clock::now();
    const Plan written = algorithm.build(shape);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    outcome_.build_seconds = std::max(outcome_.build_seconds, took.count());
    outcome_.steps = std::max(outcome_.steps, static_cast<int64_t>(written.written_steps()));
    outcome_.plan_bytes = std::max(outcome_.plan_bytes, static_cast<int64_t>(exec::bytes_of(written)));
    const Plan plan = unrolled(written);
    int64_t scratch = 0;
    for (const coll::Scratch& one : plan.scratch) scratch += bytes_of(calls_, plan, one.like);
    outcome_.scratch_bytes = std::max(outcome_.scratch_bytes, scratch);
    if (nodes.local() == 0) node_scratch_ = 0;
    node_scratch_ += scratch;
    outcome_.node_scratch = std::max(outcome_.node_scratch, node_scratch_);
    return in_short(calls_, plan, nodes, rank);
  }

 private:
  static std::vector<int> places(const Job& job) {
    std::vector<int> all(static_cast<size_t>(job.ranks));
    for (int r = 0; r < job.ranks; ++r) all[static_cast<size_t>(r)] = r / job.node_ranks;
    return all;
  }

  const Calls& calls_;
  const coll::Selection& rules_;
  Outcome& outcome_;
  const NodeLayout layout_;
  int64_t node_scratch_ = 0;  // of the node so far
};

// Finds which step of which plan sends what `plans`, those of the first node, receive from others. False: the nodes are
// not alike, or there are more steps in the senders' plans than are worth a look.
bool find_senders(std::vector<ShortPlan>& plans, Maker& maker, int node_ranks) {
  std::unordered_map<int, std::vector<std::pair<size_t, size_t>>> receives;  // by sender: plan and step
  for (size_t m = 0; m < plans.size(); ++m)
    for (size_t i = 0; i < plans[m].steps.size(); ++i)
      if (plans[m].steps[i].crosses && plans[m].steps[i].kind == Step::Kind::recv)
        receives[plans[m].steps[i].peer].emplace_back(m, i);
  const size_t steps = plans.front().steps.size();
  if (receives.size() > static_cast<size_t>(10 * kMostSteps) / steps)
    return false;                            // they are made one after the other
  std::vector<std::vector<uint32_t>> sends;  // by number on the node
  for (const ShortPlan& plan : plans) sends.push_back(sends_of(plan));
  for (const auto& [sender, at] : receives) {
    const auto local = static_cast<size_t>(sender % node_ranks);
    const ShortPlan there = maker.make(sender), &here = plans[local];
    const std::vector<uint32_t> theirs = sends_of(there);
    const auto same = [&](uint32_t x, uint32_t y) { return there.steps[x].bytes == here.steps[y].bytes; };
    if (!std::ranges::equal(theirs, sends[local], same)) return false;
    for (const auto& [m, i] : at) {
      ShortStep& receive = plans[m].steps[i];
      const auto is_it = [&, me = plans[m].rank](uint32_t send) {
        return there.steps[send].peer == me && there.steps[send].slot == receive.slot;
      };
      const auto found = std::ranges::find_if(theirs, is_it);
      if (found == theirs.end()) return false;
      receive.peer = static_cast<int32_t>(local);
      receive.slot = static_cast<int32_t>(sends[local][static_cast<size_t>(found - theirs.begin())]);
    }
  }
  return true;
}

}  // namespace

std::vector<ShortPlan> plans_in_short(const Calls& calls, const coll::Selection& rules, bool one_node,
                                      Outcome& outcome) {
  const Job& job = calls.job();
  Maker maker(calls, rules, outcome);
  std::vector<ShortPlan> plans;
  const int ranks = one_node ? std::min(job.ranks, job.node_ranks) : job.ranks;
  plans.reserve(static_cast<size_t>(ranks));
  int64_t all = 0;  // steps
  for (int r = 0; r < ranks; ++r) {
    plans.push_back(maker.make(r));
    const auto steps = static_cast<int64_t>(plans.back().steps.size());
    if (steps * (ranks - r) > kMostSteps - all) {
      outcome.why = fmt::format("plans of {} ranks, {} steps each, are too many to be run", ranks, steps);
      return {};
    }
    all += steps;
  }
  if (one_node && !find_senders(plans, maker, job.node_ranks)) outcome.why = "the nodes are not alike";
  return plans;
}

}  // namespace tutti::model
