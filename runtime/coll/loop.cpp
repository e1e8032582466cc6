// SPDX-License-Identifier: BSD-3-Clause
// Graphs of steps, and the trips of loops in them.
#include <algorithm>

#include "coll/plan.hpp"

namespace tutti::coll {

void Graph::connect(std::span<const std::pair<uint32_t, uint32_t>> edges) {
  const size_t count = steps.size();
  waits.assign(count, 0);
  first_follower.assign(count + 1, 0);
  for (const auto& [from, to] : edges) {
    ++waits[to];
    ++first_follower[from + 1];
  }
  for (size_t i = 0; i < count; ++i) first_follower[i + 1] += first_follower[i];
  followers.resize(edges.size());
  std::vector<uint32_t> next(first_follower.begin(), first_follower.end() - 1);
  for (const auto& [from, to] : edges) followers[next[from]++] = to;
}

void Graph::chain() {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 1; i < steps.size(); ++i) edges.emplace_back(i - 1, i);
  connect(edges);
}

Step Loop::at(uint32_t number, uint32_t trip) const {
  Step step = steps[number];
  const Growths& g = growths[number];
  const int64_t along = trip % row, across = trip / row;
  const auto grow = [&](auto& value, const Growth& by) {
    value =
        static_cast<std::remove_reference_t<decltype(value)>>(int64_t{value} + by.along * along + by.across * across);
  };
  grow(step.peer, g.peer);
  grow(step.slot, g.slot);
  grow(step.from.index, g.from_index);
  grow(step.from.offset, g.from_offset);
  grow(step.into.index, g.into_index);
  grow(step.into.offset, g.into_offset);
  const uint32_t seat = trip % seats;
  if (step.kind == Step::Kind::send) {
    step.operation += seat * sends;
    if (step.from.unit == Unit::packed) step.from.range += seat * ranges;
  } else if (step.kind == Step::Kind::recv) {
    step.operation += seat * recvs;
    if (step.into.unit == Unit::packed) step.into.range += seat * ranges;
  }
  return step;
}

size_t Plan::written_steps() const {
  size_t all = steps.size();
  for (const Loop& loop : loops) all += loop.steps.size();
  return all;
}

namespace {

// Writes the trips of loops between two joins, unless the steps follow each other anyway.
class Unroller {
 public:
  Unroller(const Plan& plan, std::vector<uint32_t>* line_of) : plan_(plan), line_of_(line_of) {}

  Plan unroll() {
    out_.scratch = plan_.scratch;
    out_.lane = plan_.lane;
    out_.rounds = plan_.rounds;
    out_.shows = plan_.shows, out_.takes = plan_.takes;
    out_.chance = plan_.chance;
    std::vector<uint32_t> first(plan_.steps.size()), last(plan_.steps.size());  // where each stands now
    for (uint32_t i = 0; i < plan_.steps.size(); ++i, ++line_) {
      first[i] = next();
      if (plan_.steps[i].kind == Step::Kind::loop)
        write(plan_.loops[static_cast<size_t>(plan_.steps[i].slot)]);
      else
        add(plan_.steps[i]);
      last[i] = next() - 1;
    }
    if (plan_.is_program()) {
      out_.chain();
      return std::move(out_);
    }
    for (uint32_t i = 0; i < plan_.steps.size(); ++i)
      for (uint32_t f = plan_.first_follower[i]; f < plan_.first_follower[i + 1]; ++f)
        edges_.emplace_back(last[i], first[plan_.followers[f]]);
    out_.connect(edges_);
    return std::move(out_);
  }

 private:
  uint32_t next() const { return static_cast<uint32_t>(out_.steps.size()); }

  void add(Step step) {
    const bool sends = step.kind == Step::Kind::send || step.kind == Step::Kind::show;
    if (sends) step.operation = out_.sends++;
    if (step.kind == Step::Kind::recv || step.kind == Step::Kind::expect) step.operation = out_.recvs++;
    if (step.kind == Step::Kind::send && step.from.unit == Unit::packed) step.from.range = out_.ranges++;
    if (step.kind == Step::Kind::recv && step.into.unit == Unit::packed) step.into.range = out_.ranges++;
    if (step.kind == Step::Kind::take) step.operation = operation_of_expect(step);
    out_.steps.push_back(step);
    if (line_of_) line_of_->push_back(line_);
  }
  uint32_t operation_of_expect(const Step& take) const {
    const auto is_it = [&](const Step& s) {
      return s.kind == Step::Kind::expect && s.peer == take.peer && s.into == take.into;
    };
    return std::ranges::find_if(out_.steps, is_it)->operation;
  }

  void write(const Loop& loop) {
    const auto length = static_cast<uint32_t>(loop.steps.size());
    const bool joins = !plan_.is_program();
    const uint32_t begin = next();
    if (joins) add({});
    const uint32_t head_line = line_;
    const uint32_t base = next();
    for (uint32_t t = 0; t < loop.trips; ++t)
      for (uint32_t i = 0; i < length; ++i) {
        line_ = head_line + 1 + i;
        add(loop.at(i, t));
      }
    line_ = head_line;
    if (joins) {
      const uint32_t end = next();
      add({});
      for (uint32_t t = 0; t < loop.trips; ++t) connect_trip(loop, base, t, begin, end);
    }
    line_ = head_line + length;
  }
  void connect_trip(const Loop& loop, uint32_t base, uint32_t t, uint32_t begin, uint32_t end) {
    const auto length = static_cast<uint32_t>(loop.steps.size());
    const auto at = [&](uint32_t step, uint32_t trip) { return base + trip * length + step; };
    const bool is_last = t + loop.seats >= loop.trips;
    for (uint32_t i = 0; i < length; ++i) {
      for (uint32_t f = loop.first_follower[i]; f < loop.first_follower[i + 1]; ++f)
        edges_.emplace_back(at(i, t), at(loop.followers[f], t));
      if (loop.waits[i] == 0) {
        if (t < loop.seats) edges_.emplace_back(begin, at(i, t));
        for (uint32_t e = 0; t >= loop.seats && e < length; ++e)
          if (loop.first_follower[e] == loop.first_follower[e + 1])
            edges_.emplace_back(at(e, t - loop.seats), at(i, t));
      }
      if (is_last && loop.first_follower[i] == loop.first_follower[i + 1]) edges_.emplace_back(at(i, t), end);
    }
    for (const Loop::Carried& c : loop.carried)
      if (t >= c.trips) edges_.emplace_back(at(c.from, t - c.trips), at(c.to, t));
  }

  const Plan& plan_;
  std::vector<uint32_t>* const line_of_;
  Plan out_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
  uint32_t line_ = 0;
};

}  // namespace

Plan unrolled(const Plan& plan, std::vector<uint32_t>* line_of) {
  if (line_of) line_of->clear();
  return Unroller(plan, line_of).unroll();
}

}  // namespace tutti::coll
