// SPDX-License-Identifier: BSD-3-Clause
#include "exec/graph/graph_run.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "engine/engine.hpp"

namespace tutti::exec {

GraphRun::GraphRun(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call)
    : Execution(channel, std::move(plan), call),
      trips_(this->plan()),
      waits_(this->plan().steps.size()),
      ready_(trips_.numbers() + 1) {
  resumption_.run = this;
  resumption_.perform = [](engine::Chore& chore) TUTTI_ENGINE_OWNED {
    GraphRun& run = *static_cast<Resumption&>(chore).run;
    run.resumes_ = false;
    run.run_ready();
  };
}

// ---- its lives

void GraphRun::start() {
  const bool has_turn = begin();
  stalled_ = kNoStep;
  left_ = static_cast<uint32_t>(waits_.size());
  ready_begin_ = ready_end_ = 0;
  std::ranges::copy(plan().waits, waits_.begin());
  for (uint32_t i = 0; i < left_; ++i)
    if (waits_[i] == 0) add_ready(i);
  if (has_turn) run_ready();
}

void GraphRun::run() {
  start();
  if (!running()) {
    channel_.engine->over_at_once();
    return;
  }
  wait();
}

void GraphRun::resume() {
  if (running() && !is_late()) run_ready();
}

void GraphRun::message_done(uint32_t step, int error_class) {
  if (ends_with(error_class)) return;
  note(error_class);
  step_done(step);
  run_ready();
}

// True if anything happened; then it may be over, and gone.
bool GraphRun::poll() {
  engine::Engine& engine = *channel_.engine;
  if (is_disturbed(channel_)) return false;
  const int awaited = rounds_.awaited();
  const uint32_t step = stalled_;
  if (step != kNoStep && share(step_of(step))) {
    stalled_ = kNoStep;
    step_done(step);
  } else if (!has_ready() || resumes_) {
    if (rounds_.awaited() == awaited) return false;
    engine.note_event();
    return true;
  }
  run_ready();
  engine.note_event();
  return true;
}

// ---- its steps

void GraphRun::run_ready() {
  if (is_at_work()) return;
  without_end([this]() TUTTI_ENGINE_OWNED {
    while (has_ready() && !resumes_ && !is_abandoned() && !is_disturbed(channel_)) {
      if (waits_for_application(step_of(ready_[ready_begin_]).kind)) {
        resumes_ = true;
        channel_.engine->leave_to_application(resumption_);
        return;
      }
      const bool complete = perform(ready_[ready_begin_]);
      if (complete) ready_begin_ = after(ready_begin_);
      if (complete && (!pieces_.was_long() || !has_ready() || !channel_.engine->takes_turns())) continue;
      return keep_polling();
    }
  });
  if (is_abandoned() ? messages_.are_open() || resumes_ : left_ > 0 || is_disturbed(channel_)) return;
  end();
}

void GraphRun::step_done(uint32_t step) {
  if (trips_.has(step)) {
    step = trips_.done(step, [this](uint32_t number) { add_ready(number); });
    if (step == Trips::kGoesOn) return;
  }
  --left_;
  for (uint32_t f = plan().first_follower[step]; f < plan().first_follower[step + 1]; ++f) {
    const uint32_t follower = plan().followers[f];
    if (--waits_[follower] == 0) add_ready(follower);
  }
}

// False: it is not over, and to be performed again.
bool GraphRun::perform(uint32_t index) {
  const Step& step = step_of(index);
  switch (step.kind) {
    case Step::Kind::send:
      messages_.send(index);
      return true;
    case Step::Kind::recv:
      messages_.receive(index);
      return true;
    case Step::Kind::copy:
      if (!pieces_.copy(step)) return false;
      break;
    case Step::Kind::reduce:
      if (!pieces_.reduce(step)) return false;
      break;
    case Step::Kind::join:
      break;
    case Step::Kind::loop:
      trips_.begin(static_cast<uint32_t>(step.slot), [this](uint32_t number) { add_ready(number); });
      return true;
    default:
      if (share(step)) break;
      stalled_ = index;
      keep_polling();
      return true;
  }
  step_done(index);
  return true;
}

// Does a step in shared memory; false: not yet.
bool GraphRun::share(const Step& step) {
  const auto round = static_cast<uint32_t>(step.slot);
  switch (step.kind) {
    case Step::Kind::claim:
      return rounds_.claim(round);
    case Step::Kind::publish:
      rounds_.publish(round, step.peer);
      return true;
    case Step::Kind::await:
      return rounds_.is_there(round, step.peer);
    case Step::Kind::leave:
      leave(round);
      return true;
    default:
      TUTTI_INVARIANT(false, "a plan of messages has no such step");
  }
}

}  // namespace tutti::exec
