// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window_end.hpp"

#include <vector>

namespace tutti::rma {

void WindowEnd::flush(int rank) {
  end_row();
  flush_locally(rank);
  ask_for_lazy_locks(rank);  // also where nothing was started under one: behind a flush it is held
  if (rank == kAll) return origin_.begins_flush_of_all([this](int each) TUTTI_ENGINE_OWNED { messages_.flush(each); });
  if (!is_near(rank) && origin_.begins_flush(rank)) messages_.flush(rank);
}

void WindowEnd::post(int rank) {
  const int near = member(rank);
  near >= 0 ? direct_->post(near) : messages_.post(rank);
}

bool WindowEnd::is_posted(int rank) const {
  const int near = member(rank);
  return near >= 0 ? direct_->is_posted(near) : origin_.is_posted(rank);
}

void WindowEnd::take_post(int rank) {
  const int near = member(rank);
  near >= 0 ? direct_->take_post(near) : origin_.take_post(rank);
}

void WindowEnd::complete(int rank) {
  end_row();
  flush_locally(rank);
  const int near = member(rank);
  near >= 0 ? direct_->complete(near) : messages_.complete(rank);
}

bool WindowEnd::is_completed_by(int rank) const {
  const int near = member(rank);
  return near >= 0 ? direct_->is_completed_by(near) : target_.is_completed_by(rank);
}

void WindowEnd::take_complete(int rank) {
  const int near = member(rank);
  near >= 0 ? direct_->take_complete(near) : target_.take_complete(rank);
}

void WindowEnd::lock(int rank, bool exclusive) {
  if (const int near = member(rank); near >= 0) return direct_->lock(near, exclusive);
  origin_.begins_lock(rank);
  messages_.lock(rank, {.exclusive = exclusive}, false);
}

void WindowEnd::lock_lazily(int rank, LockWish wish) {
  origin_.begins_lazy_lock(rank);
  messages_.lock(rank, wish, true);
}

void WindowEnd::ask_for_lazy_locks(int rank) {
  if (!origin_.has_unsettled()) [[likely]]
    return;
  std::vector<int> ranks;  // an own one's answer comes at once
  origin_.each_unsettled([&](int each) {
    if (rank == kAll || rank == each) ranks.push_back(each);
  });
  for (const int each : ranks) {
    origin_.begins_question(each);
    messages_.flush(each);
  }
}

bool WindowEnd::is_locked(int rank) {
  const int near = member(rank);
  return near >= 0 ? direct_->is_locked(near) : origin_.is_locked(rank);
}

void WindowEnd::unlock(int rank) {
  end_row();
  flush_locally(rank);
  if (const int near = member(rank); near >= 0) return direct_->unlock(near);
  origin_.begins_unlock(rank);
  messages_.unlock(rank);
}

std::span<const int> WindowEnd::holders(int rank) {
  if (const int near = member(rank); near >= 0) return direct_->holders(near);
  if (origin_.begins_holders(rank)) messages_.ask_holders(rank);
  return origin_.holders(rank);
}

}  // namespace tutti::rma
