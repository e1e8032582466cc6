// SPDX-License-Identifier: BSD-3-Clause
#include "rma/window_end.hpp"

namespace tutti::rma {

void WindowEnd::flush(int rank) {
  flush_locally(rank);
  // Also where nothing was started under it: behind a flush the lock is held.
  if (const int lazy = origin_.lazily_locked(); lazy >= 0 && (rank == kAll || rank == lazy)) ask_for_lazy_lock();
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
  messages_.lock(rank, exclusive, false);
}

void WindowEnd::lock_lazily(int rank, bool exclusive) {
  origin_.begins_lazy_lock(rank);
  messages_.lock(rank, exclusive, true);
}

void WindowEnd::ask_for_lazy_lock() {
  const int rank = origin_.lazily_locked();
  if (rank < 0) return;
  origin_.begins_question(rank);
  messages_.flush(rank);
}

bool WindowEnd::is_locked(int rank) {
  const int near = member(rank);
  return near >= 0 ? direct_->is_locked(near) : origin_.is_locked(rank);
}

void WindowEnd::unlock(int rank) {
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
