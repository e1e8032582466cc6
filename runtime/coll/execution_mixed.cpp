// SPDX-License-Identifier: BSD-3-Clause
// Steps in shared memory, and plans of messages that have such steps among them: one that has to wait
// is asked again in each pass of the engine, while messages come and go.
#include <utility>

#include "base/log.hpp"
#include "coll/execution.hpp"
#include "contract/ledger.hpp"

namespace tutti::coll {

// Does a step in shared memory; false: not yet.
bool Execution::share(const Step& step) {
  const uint32_t round = first_round_ + static_cast<uint32_t>(step.slot);
  switch (step.kind) {
    case Step::Kind::claim: {
      const bool free = lane_->claim(round);
      if (const auto serial = lane_->contradiction(); serial && channel_.ledger) [[unlikely]]
        channel_.ledger->contradicted(*serial);
      return free && !is_disturbed();
    }
    case Step::Kind::publish:
      lane_->raise(round, call_.signature ^ history_, step.peer);
      return true;
    case Step::Kind::await:
      return is_there(step) && !is_disturbed();
    case Step::Kind::leave:
      lane_->leave(round);
      if (!late().empty()) [[unlikely]]
        admit_late();
      return true;
    default:
      TUTTI_INVARIANT(false, "a program has no messages");
  }
}

// A step that cannot be done yet. There is only one: those in shared memory follow each other.
void Execution::stall(uint32_t step) {
  next_ = step;
  if (!polled_) channel_.engine->add_poller(*this);
  polled_ = true;
}

// True if anything happened; then it may be over, and gone.
bool Execution::go_on() {
  if (is_disturbed()) return false;
  if (const uint32_t step = next_; step != kNoStep) {
    const int awaited = awaited_;
    if (!share(plan_->steps[step])) return awaited_ != awaited;
    next_ = kNoStep;
    step_done(step);
  } else if (ready_begin_ == ready_end_ || resumes_) {
    return false;
  }
  run_ready();
  return true;
}

void Execution::leave_lists() {
  if (std::exchange(late_, false)) late().remove(*this);
  if (std::exchange(polled_, false)) channel_.engine->remove_poller(*this);
}

}  // namespace tutti::coll
