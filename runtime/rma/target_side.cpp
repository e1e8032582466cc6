// SPDX-License-Identifier: BSD-3-Clause
#include "rma/target_side.hpp"

#include <mpi.h>

#include <utility>

#include "base/fault_point.hpp"

namespace tutti::rma {

Error TargetSide::check_attached(const TargetBuffer& buffer) const {
  Layout::Run missed;
  if (memory_.holds(buffer, missed)) return {};
  const auto bytes = static_cast<int64_t>(missed.high - missed.low);
  return failure(MPI_ERR_RMA_RANGE,
                 "rank {} of the window has attached no memory at address {} that holds {} byte{}: attach it "
                 "with MPI_Win_attach before others access it, and take its address from MPI_Get_address there "
                 "(argument target_disp)",
                 rank_, reinterpret_cast<void*>(static_cast<uintptr_t>(missed.low)), bytes, bytes == 1 ? "" : "s");
}

void TargetSide::ends(int origin) {
  Served& served = served_[origin];
  --unfinished_;
  if (--served.unfinished > 0) return;
  const std::vector<Behind> waiting = std::exchange(served.when_finished, {});
  for (const Behind what : waiting) settle(origin, what);
}

void TargetSide::says(int origin, Behind what) {
  Served& served = served_[origin];
  if (served.unfinished > 0) return served.when_finished.push_back(what);
  settle(origin, what);
}

void TargetSide::settle(int origin, Behind what) {
  switch (what) {
    case Behind::flush:
      if (witness_) [[unlikely]]
        witness_->completes(origin);
      TUTTI_FAULT_POINT("flush.before_answer");
      return answers_->flushed(origin);
    case Behind::complete:
      ++served_[origin].completes;
      return;
    case Behind::unlock:
      return unlock(origin);
  }
}

// ---- the lock

Error exposed_and_locked(int rank) {
  return failure(MPI_ERR_RMA_SYNC,
                 "rank {} of the window has exposed its memory by MPI_Win_post and has not called MPI_Win_wait yet: it "
                 "cannot be locked meanwhile (the standard, section 12.5.3; argument rank)",
                 rank);
}

Error locked_and_exposed(int holder) {
  return failure(MPI_ERR_RMA_SYNC,
                 "rank {} holds a lock on this rank's memory, which cannot be exposed meanwhile (the standard, section "
                 "12.5.3; argument win)",
                 holder);
}

Error TargetSide::expose() {
  if (!lock_.is_free()) return locked_and_exposed(lock_.holders().front());
  exposed_ = true;
  return {};
}

// An origin that is refused hears so as soon as it has the lock.
void TargetSide::asks_lock(int origin, LockWish wish) {
  bool exposed = exposed_;
  const bool has_it = common_lock_ ? common_lock_->request(origin, wish, exposed) : lock_.request(origin, wish);
  TUTTI_FAULT_POINT("lock.taken_for_origin");
  if (exposed) answers_->failed(origin, exposed_and_locked(rank_));
  if (has_it) answers_->granted(origin);
  tell_holders();
}

void TargetSide::unlock(int origin) {
  if (witness_) [[unlikely]]
    witness_->completes(origin);
  std::vector<int> next;
  if (common_lock_) {
    if (common_lock_->holds(origin)) common_lock_->release(origin);
  } else if (lock_.holds(origin)) {
    next = lock_.release(origin);
  }
  for (const int each : next) answers_->granted(each);
  TUTTI_FAULT_POINT("lock.passed_on");
  answers_->unlocked(origin, common_lock_ ? common_lock_->is_awaited() : lock_.is_awaited());
  for (const int each : next) tell_that_none(each);
  tell_holders();
}

void TargetSide::asks_holders(int origin) {
  std::vector<int> ranks = before(origin);
  answers_->holders(origin, ranks);
  if (common_lock_ ? !common_lock_->holds(origin) : !ranks.empty()) told_[origin] = std::move(ranks);
}

void TargetSide::tell_that_none(int origin) {
  if (told_.erase(origin) > 0) answers_->holders(origin, {});
}

// To those that have asked. Each change is told before its effect can be seen elsewhere, so that
// nobody who has received all messages for him waits for the wrong ones.
void TargetSide::tell_holders() {
  if (told_.empty()) return;
  for (const int rank : common_lock_ ? common_lock_->first_ones() : lock_.first_ones()) {
    const auto at = told_.find(rank);
    if (at == told_.end()) continue;
    std::vector<int> ranks = before(rank);
    if (at->second == ranks) continue;
    at->second = std::move(ranks);
    answers_->holders(rank, at->second);
  }
}

}  // namespace tutti::rma
