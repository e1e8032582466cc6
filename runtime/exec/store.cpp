// SPDX-License-Identifier: BSD-3-Clause
#include "exec/store.hpp"

#include <utility>

#include "exec/execution.hpp"

namespace tutti::exec {

Kept::Kept(std::shared_ptr<Store> store) : store_(std::move(store)) {}

Kept::~Kept() {
  const Lock lock(store_->mutex());
  if (bytes_ > 0) store_->leave(*this);
}

bool Kept::keep(std::unique_ptr<Execution>& execution) {
  if (execution_) return false;
  const size_t bytes = beside_ + execution->footprint();
  if (bytes_ != bytes && !store_->enter(*this, bytes)) return false;
  execution_ = std::move(execution);
  return true;
}

std::unique_ptr<Execution> Kept::take() {
  used_ = true;
  return std::move(execution_);
}

bool Kept::enter(size_t bytes, size_t beside) {
  beside_ = beside;
  return store_->enter(*this, bytes + beside);
}

void Kept::forgotten() {
  execution_.reset();
}

size_t Store::bytes() const {
  const Lock held(mutex_);
  return kinds_[0].bytes + kinds_[1].bytes;
}

// It is in no list while room is made for it, so that it is not what has to go. Where there is none, it has as
// much as before.
bool Store::enter(Kept& kept, size_t bytes) {
  const Lock held(mutex_);
  const size_t before = kept.bytes_;
  if (before > 0) leave(kept);
  const bool fits = make_room(kind_of(bytes), bytes);
  kept.bytes_ = fits ? bytes : before;
  if (kept.bytes_ > 0) link(kind_of(kept.bytes_), kept);
  return fits;
}

void Store::leave(Kept& kept) {
  unlink(kind_of(kept.bytes_), kept);
  kept.bytes_ = 0;
}

// Each one is passed over once if it was asked for, and any number of times while it is lent.
bool Store::make_room(Kind& kind, size_t bytes) {
  if (bytes > share_) return false;
  for (size_t passed = 0; kind.bytes + bytes > share_;) {
    Kept& oldest = *kind.oldest;
    if (std::exchange(oldest.used_, false) || oldest.lent_) {
      if (++passed > 2 * kind.count) return false;
      unlink(kind, oldest);
      link(kind, oldest);
      continue;
    }
    leave(oldest);
    oldest.forgotten();
  }
  return true;
}

void Store::link(Kind& kind, Kept& kept) {
  kept.older_ = kind.newest;
  kept.newer_ = nullptr;
  (kind.newest ? kind.newest->newer_ : kind.oldest) = &kept;
  kind.newest = &kept;
  kind.bytes += kept.bytes_;
  ++kind.count;
}

void Store::unlink(Kind& kind, Kept& kept) {
  (kept.older_ ? kept.older_->newer_ : kind.oldest) = kept.newer_;
  (kept.newer_ ? kept.newer_->older_ : kind.newest) = kept.older_;
  kind.bytes -= kept.bytes_;
  --kind.count;
}

}  // namespace tutti::exec
