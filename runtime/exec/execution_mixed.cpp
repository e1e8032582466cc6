// SPDX-License-Identifier: BSD-3-Clause
// Plans of messages that have steps in shared memory among them, or in which a long step gives way to
// other threads: what has to wait is asked again in each pass of the engine, while messages come and go.
#include <utility>

#include "exec/execution.hpp"

namespace tutti::coll {

// A step that cannot be done yet. There is only one: those in shared memory follow each other.
void Execution::stall(uint32_t step) {
  next_ = step;
  keep_polling();
}

void Execution::keep_polling() {
  if (!polled_) channel_.engine->add_poller(*this);
  polled_ = true;
}

// True if anything happened; then it may be over, and gone.
bool Execution::go_on() {
  if (is_disturbed()) return false;
  bool moved = false;
  if (const uint32_t step = next_; step != kNoStep) {
    const int awaited = awaited_;
    if (share(plan_->steps[step])) {
      next_ = kNoStep;
      step_done(step);
      return run_ready(), true;
    }
    moved = awaited_ != awaited;
  }
  if (ready_begin_ == ready_end_ || resumes_) return moved;
  run_ready();
  return true;
}

void Execution::leave_lists() {
  if (std::exchange(late_, false)) late().remove(*this);
  if (std::exchange(polled_, false)) channel_.engine->remove_poller(*this);
}

}  // namespace tutti::coll
