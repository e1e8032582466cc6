// SPDX-License-Identifier: BSD-3-Clause
// Loops: what a plan builder's repeat() makes of trips. All of them are asked for and looked at, so that a loop is never
// more than what its trips are; only what is kept is less.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/log.hpp"
#include "coll/plan.hpp"

namespace tutti::coll {
namespace {

// Of trips that need not wait for each other: as many messages are posted at once.
constexpr uint32_t kSeats = 64;

// By what `second` is more than `first`; nothing, if they differ in what does not grow.
std::optional<Loop::Growths> growths(const Step& first, const Step& second, bool across) {
  const auto alike = [](const Buf& a, const Buf& b) {
    return a.region == b.region && a.unit == b.unit && a.count == b.count && a.rank == b.rank;
  };
  if (first.kind != second.kind || first.kept != second.kept || !alike(first.from, second.from) ||
      !alike(first.into, second.into))
    return std::nullopt;
  const auto growth = [&](int64_t from, int64_t to) {
    return across ? Loop::Growth{0, to - from} : Loop::Growth{to - from, 0};
  };
  return Loop::Growths{growth(first.peer, second.peer),
                       growth(first.slot, second.slot),
                       growth(first.from.index, second.from.index),
                       growth(first.from.offset, second.from.offset),
                       growth(first.into.index, second.into.index),
                       growth(first.into.offset, second.into.offset)};
}

void add_across(Loop::Growths& all, const Loop::Growths& across) {
  all.peer.across = across.peer.across;
  all.slot.across = across.slot.across;
  all.from_index.across = across.from_index.across;
  all.from_offset.across = across.from_offset.across;
  all.into_index.across = across.into_index.across;
  all.into_offset.across = across.into_offset.across;
}

bool same(const Step& a, const Step& b) {
  return a.kind == b.kind && a.peer == b.peer && a.slot == b.slot && a.kept == b.kept && a.from == b.from &&
         a.into == b.into;
}

}  // namespace

class PlanBuilder::Repetition {
 public:
  Repetition(PlanBuilder& builder, const Trips& trips, const std::function<void(int64_t)>& body, int64_t written_out)
      : builder_(builder), trips_(trips), body_(body), written_out_(written_out) {}

  void write() {
    if (trips_.number == 0) return;
    record(trips_.number / 2, next_);  // the first ones are often shorter
    record(0, first_);
    if (std::max(steps_of(trips_.number, first_), steps_of(trips_.number, next_)) <= written_out_) {
      write_out();
      for (int64_t t = 1; t < trips_.number; ++t) write_out(t);
      return;
    }
    for (int64_t t = 0; t < trips_.number;) {
      const int64_t even = even_from(t);  // the first of them is first_
      if (even > 1 && steps_of(even, first_) > written_out_ / 4 && add_loop(t, even)) {
        t += even;
        continue;
      }
      for (const int64_t end = t + even; t < end; ++t) write_out(t);
    }
  }

 private:
  void record(int64_t t, Trip& into) {
    into.steps.clear(), into.edges.clear(), into.names.clear(), into.earlier.clear();
    builder_.trip_ = &into;
    body_(t);
    builder_.trip_ = nullptr;
  }

  // Of so many trips like this one.
  static int64_t steps_of(int64_t trips, const Trip& like) {
    return trips * std::max<int64_t>(1, std::ssize(like.steps));
  }

  // ---- how far trips go on evenly

  // So many trips from `t` on grow evenly; loop_ is of them, but for the numbers of its messages.
  int64_t even_from(int64_t t) {
    loop_ = Loop();
    record(t, first_);
    loop_.steps = first_.steps;
    if (first_.steps.empty()) return 1;
    int64_t end = t + 1;
    const bool has_rows = trips_.row > 1 && t % trips_.row == 0 && t + trips_.row < trips_.number;
    const int64_t row_end = has_rows ? t + trips_.row : trips_.number;
    if (end < trips_.number && learn(end, false))
      for (++end; end < row_end && goes_on(t, end);) ++end;
    if (!has_rows || end < row_end || !learn(end, true)) return end - t;
    loop_.row = static_cast<uint32_t>(trips_.row);
    for (++end; end < trips_.number && goes_on(t, end);) ++end;
    const int64_t rows = (end - t) / trips_.row;
    if (rows > 1) return rows * trips_.row;
    loop_.row = UINT32_MAX;
    return trips_.row;
  }
  bool has_the_first_ones_shape() const {
    return next_.steps.size() == first_.steps.size() && next_.edges == first_.edges && next_.names == first_.names &&
           next_.earlier == first_.earlier;
  }
  // What grows up to this trip, which is the next one, or the first of the next row.
  bool learn(int64_t t, bool across) {
    record(t, next_);
    if (!has_the_first_ones_shape()) return false;
    std::vector<Loop::Growths> learnt;
    for (size_t i = 0; i < first_.steps.size(); ++i) {
      const std::optional<Loop::Growths> one = growths(first_.steps[i], next_.steps[i], across);
      if (!one) return false;
      learnt.push_back(across ? loop_.growths[i] : *one);
      if (across) add_across(learnt.back(), *one);
    }
    loop_.growths = std::move(learnt);
    return true;
  }
  bool goes_on(int64_t first, int64_t t) {
    record(t, next_);
    if (!has_the_first_ones_shape()) return false;
    for (uint32_t i = 0; i < first_.steps.size(); ++i)
      if (!same(loop_.at(i, static_cast<uint32_t>(t - first)), next_.steps[i])) return false;
    return true;
  }

  // ---- loops

  bool is_ordered() const { return trips_.seats > 0 || !first_.earlier.empty(); }

  // False: the numbers of its messages do not grow evenly.
  bool add_loop(int64_t t, int64_t trips) {
    record(t, first_);
    Loop& loop = loop_;
    loop.trips = static_cast<uint32_t>(trips);
    uint32_t back = 0;
    for (const Trip::Earlier& each : first_.earlier) {
      const auto named = std::ranges::find(first_.names, each.name, [](const auto& name) { return name.first; });
      if (named == first_.names.end()) continue;
      loop.carried.push_back({named->second, each.to, each.trips});
      back = std::max(back, each.trips);
    }
    loop.seats = trips_.seats > 0 ? trips_.seats : back > 0 ? 4 * back : kSeats;
    loop.seats = std::min(loop.seats, loop.trips);
    std::erase_if(loop.carried, [&](const Loop::Carried& c) { return c.trips >= loop.seats; });  // that waits anyway
    if (!number_messages()) return false;
    loop.connect(first_.edges);
    builder_.add({.kind = Step::Kind::loop, .slot = static_cast<int32_t>(builder_.plan_.loops.size())});
    if (is_ordered()) follow_all();
    behind_ = builder_.last_;
    written_.clear(), ends_.clear(), named_.clear();
    builder_.plan_.loops.push_back(std::move(loop));
    return true;
  }
  bool number_messages() {
    Loop& loop = loop_;
    Plan& plan = builder_.plan_;
    PeerCounts sent = builder_.sent_, received = builder_.received_;
    for (size_t i = 0; i < loop.steps.size(); ++i) {
      Step& step = loop.steps[i];
      const bool sends = step.kind == Step::Kind::send;
      if (!sends && step.kind != Step::Kind::recv) continue;
      const std::optional<int32_t> slot = slot_of(i, sends ? sent : received);
      if (!slot) return false;
      step.slot = *slot;
      step.operation = sends ? plan.sends + loop.sends++ : plan.recvs + loop.recvs++;
      Buf& buf = sends ? step.from : step.into;
      if (buf.unit == Unit::packed) buf.range = plan.ranges + loop.ranges++;
    }
    builder_.sent_ = std::move(sent), builder_.received_ = std::move(received);
    plan.sends += loop.seats * loop.sends;
    plan.recvs += loop.seats * loop.recvs;
    plan.ranges += loop.seats * loop.ranges;
    return true;
  }
  std::optional<int32_t> slot_of(size_t i, PeerCounts& counts) {
    const Loop& loop = loop_;
    const Step& step = loop.steps[i];
    Loop::Growths& g = loop_.growths[i];
    const auto is_like = [&](const Step& other) { return other.kind == step.kind && other.peer == step.peer; };
    const int64_t row = std::min(loop.row, loop.trips), rows = loop.trips / row;
    if (g.peer == Loop::Growth{}) {  // one peer's are numbered on from trip to trip
      if (std::ranges::count_if(loop.steps, is_like) > 1) return std::nullopt;
      g.slot = {1, row};
      return counts.take(step.peer, static_cast<int32_t>(loop.trips));
    }
    const int64_t along = std::abs(g.peer.along), across = std::abs(g.peer.across);
    const bool differ = (along > 0 && rows == 1) || (row == 1 && across > 0) ||
                        (along > 0 && across > along * (row - 1)) || (across > 0 && along > across * (rows - 1));
    if (!differ) return std::nullopt;
    return counts.next_of_each({step.peer, g.peer.along, row, g.peer.across, rows});
  }
  // The latest step, a loop, waits for what has been written here before it.
  void follow_all() {
    if (behind_ != kNone) builder_.after(behind_);
    for (const std::vector<Id>& trip : written_)
      for (const Id id : trip) builder_.after(id);
  }

  // ---- trips that are written out

  void write_out(int64_t t) {
    record(t, first_);
    write_out();
  }
  void write_out() {
    std::vector<Id> ids;
    for (const Step& step : first_.steps) ids.push_back(builder_.add(step).last_);
    std::vector<bool> has_leader(ids.size()), has_follower(ids.size());
    const auto connect = [&](Id from, size_t to) {
      builder_.edges_.emplace_back(static_cast<uint32_t>(from), static_cast<uint32_t>(ids[to]));
    };
    for (const auto& [from, to] : first_.edges) {
      connect(ids[from], to);
      has_follower[from] = has_leader[to] = true;
    }
    for (const Trip::Earlier& each : first_.earlier) {
      if (each.trips > named_.size()) continue;
      for (const auto& [name, id] : named_[named_.size() - each.trips])
        if (name == each.name) connect(id, each.to);
    }
    const auto seats = static_cast<size_t>(trips_.seats);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (has_leader[i]) continue;
      if (seats > 0 && seats <= ends_.size())
        for (const Id end : ends_[ends_.size() - seats]) connect(end, i);
      else if (behind_ != kNone && is_ordered())
        connect(behind_, i);
    }
    std::vector<Id> ends;
    for (size_t i = 0; i < ids.size(); ++i)
      if (!has_follower[i]) ends.push_back(ids[i]);
    std::vector<std::pair<int, Id>> names;
    for (const auto& [name, step] : first_.names) names.emplace_back(name, ids[step]);
    ends_.push_back(std::move(ends));
    named_.push_back(std::move(names));
    written_.push_back(std::move(ids));
  }

  PlanBuilder& builder_;
  const Trips& trips_;
  const std::function<void(int64_t)>& body_;
  const int64_t written_out_;  // steps, up to which nothing becomes a loop
  Trip first_, next_;
  Loop loop_;
  Id behind_ = kNone;  // the latest loop
  // Of the trips that have been written out since then: all steps, those that none of the trip waits for, and those
  // with names.
  std::vector<std::vector<Id>> written_, ends_;
  std::vector<std::vector<std::pair<int, Id>>> named_;
};

PlanBuilder& PlanBuilder::repeat(const Trips& trips, const std::function<void(int64_t)>& body) {
  return repeat(trips, body, shape_.written_out);
}

PlanBuilder& PlanBuilder::repeat(const Trips& trips, const std::function<void(int64_t)>& body, int64_t written_out) {
  TUTTI_INVARIANT(!trip_, "a trip of a loop has a loop");
  Repetition(*this, trips, body, written_out).write();
  last_ = kNone;
  return *this;
}

PlanBuilder& PlanBuilder::name(int latest) {
  if (last_ == kNone) return *this;
  std::erase_if(trip_->names, [latest](const auto& other) { return other.first == latest; });
  trip_->names.emplace_back(latest, static_cast<uint32_t>(last_));
  return *this;
}

PlanBuilder& PlanBuilder::after_earlier(int name, uint32_t trips) {
  if (last_ != kNone) trip_->earlier.push_back({name, static_cast<uint32_t>(last_), trips});
  return *this;
}

}  // namespace tutti::coll
