// SPDX-License-Identifier: BSD-3-Clause
// The three lives of a plan: prepare, start, run.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "coll/shared.hpp"
#include "exec/execution.hpp"

namespace tutti::coll {
namespace {

Shape shape_on(engine::Channel& channel, const Call& call) {
  Shape shape = shape_of(call, channel.rank, channel.size());
  shape.nodes = channel.nodes;
  if (transport::Area* area = channel.area) {
    shape.small_slot = area->small().data_bytes();
    if (wants_large(shape) && area->has_large()) {
      shape.large_slot = area->large().data_bytes();
      shape.large_windows = area->large().windows();
      if (!shape.nodes) shape.read_rate = area->read_rate();
    }
  }
  return shape;
}

}  // namespace

Result<std::unique_ptr<Execution>> prepare(engine::Channel& channel, Planner& planner, const Call& call) {
  Planner::Known& known = planner.known(shape_on(channel, call));
  std::unique_ptr<Execution> execution = known.take();
  if (!execution) execution.reset(new Execution(channel, known.plan, call));
  if (Error e = execution->bind(call)) return e;
  return execution;
}

Result<std::unique_ptr<Execution>> prepare_anew(engine::Channel& channel, Planner& planner, const Call& call) {
  std::unique_ptr<Execution> execution(new Execution(channel, planner.plan(shape_on(channel, call)), call));
  if (Error e = execution->bind(call)) return e;
  return execution;
}

size_t bytes_of(const Plan& plan) {
  return sizeof plan + plan.steps.capacity() * sizeof(Step) + plan.scratch.capacity() * sizeof(Scratch) +
         (plan.waits.capacity() + plan.first_follower.capacity() + plan.followers.capacity()) * sizeof(uint32_t);
}

void keep(Planner& planner, std::unique_ptr<Execution> execution) {
  Planner::Known* known = planner.latest();
  if (!known || known->plan != execution->plan_) return;
  execution->on_complete = nullptr;
  known->keep(execution);
}

void Execution::own_types() {
  const auto own = [](auto& kept, auto& input, auto& output) {
    const auto* const first = input.empty() ? output.data() : input.data();
    if (first == kept.data()) return;  // they are already, or there are none
    kept.assign(input.begin(), input.end());
    kept.insert(kept.end(), output.begin(), output.end());
    const std::span all(std::as_const(kept));
    input = all.first(input.size());
    output = all.subspan(input.size());
  };
  own(layouts_, call_.in_layouts, call_.out_layouts);
  own(types_, call_.in_types, call_.out_types);
}

void Execution::own_arrays() {
  const ArrayLengths lengths(call_, channel_.size());
  const std::pair<Ints*, int> arrays[] = {{&call_.in_counts, lengths.in},
                                          {&call_.in_displacements, lengths.in},
                                          {&call_.out_counts, lengths.out},
                                          {&call_.out_displacements, lengths.out}};
  numbers_.clear();
  numbers_.reserve(2 * static_cast<size_t>(lengths.in + lengths.out));  // they stay where they are
  for (const auto& [array, length] : arrays) {
    if (!*array) continue;
    const int64_t* const own = numbers_.data() + numbers_.size();
    for (int i = 0; i < length; ++i) numbers_.push_back((*array)[i]);
    *array = Ints(own);
  }
}

void Execution::begin() {
  TUTTI_INVARIANT(!active_, "a collective was started while it ran");
  UnderWay::serial = serial_ = channel_.next_serial++;
  if (channel_.ledger) history_ = channel_.ledger->started(serial_, call_.signature);
  mpi_class = MPI_SUCCESS;
  abandoned_ = false;
  active_ = true;
  messages_ = 0;
  done_ = 0;
  channel_.engine->add(*this);
  const bool program = plan_->is_program();
  next_ = program ? 0 : kNoStep;
  if (lane_) {
    first_round_ = lane_->take(plan_->rounds);
    awaited_ = 0;
    lingered_ = 0;
    waited_ = false;
    late_ = !lane_->is_in_reach(first_round_);
    if (late_) {
      if (std::exchange(polled_, false)) channel_.engine->remove_poller(*this);
      late().add(*this);
    } else {
      lane_->begin(first_round_, serial_, history_);
    }
    if (program) return late_ ? void() : void(execute());
  }
  left_ = static_cast<uint32_t>(plan_->steps.size());
  ready_begin_ = ready_end_ = 0;
  if (left_ > 0) std::memcpy(waits_, plan_->waits.data(), left_ * sizeof(uint32_t));
  for (uint32_t i = 0; i < left_; ++i)
    if (plan_->waits[i] == 0) ready_[ready_end_++] = i;
  if (!late_) run_ready();
}

void start(Execution& e) {
  if (!e.plan_->is_program()) return e.begin();
  // In the list before it may end, and be no more.
  e.channel_.engine->add_poller(e);
  e.polled_ = true;
  e.begin();
}

void run(Execution& e) {
  engine::Engine& engine = *e.channel_.engine;
  e.begin();
  if (!e.active_) {
    engine.over_at_once();
    return;
  }
  if (e.plan_->is_program() && !e.late_) {
    const auto nothing_new = [&e] {
      if (e.next_ == e.plan_->steps.size()) return true;
      const Execution::BoundStep& step = e.bound_[e.next_];
      if (step.kind != Step::Kind::await) return false;
      const int peer = step.peer >= 0 ? step.peer : e.awaited_;
      return peer != e.channel_.local() && !e.lane_->is_raised(e.first_round_ + step.slot, peer);
    };
    const auto look = [&](int looks) {
      for (; looks > 0; --looks) {
        if (!e.active_) return engine::Seen::all;
        if (e.messages_ > 0) return engine::Seen::other;
        if (nothing_new()) continue;
        e.execute();
        if (!e.active_) return engine::Seen::all;
        if (engine.ownership().contended()) return engine::Seen::other;
      }
      return engine::Seen::nothing;
    };
    if (engine.look_out(look, true)) {
      engine.over_at_once();
      return;
    }
    if (!e.active_) return;  // a message was the last thing
    engine.add_poller(e);
    e.polled_ = true;
  }
  const contract::Ledger* ledger = e.channel_.ledger;
  engine.wait_until([&] { return !e.active_ || (ledger && ledger->disturbed()); },
                    [&](engine::Condition& needs) { e.add_needs(needs); });
}

}  // namespace tutti::coll
