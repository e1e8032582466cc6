// SPDX-License-Identifier: BSD-3-Clause
// One window at one process, as a protocol (the standard, chapter 12): what its epochs mean, on either side of an
// operation (origin_side.hpp, target_side.hpp), and the ways by which operations and synchronisation go (paths/), of
// which this is where one is chosen. Knows ranks, contexts and layouts; which call may come in which epoch is told by
// epochs.hpp.
#pragma once

#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "base/engine_owned.hpp"
#include "engine/channel.hpp"
#include "engine/wait/poller.hpp"
#include "rma/arithmetic.hpp"
#include "rma/operation.hpp"
#include "rma/origin_side.hpp"
#include "rma/paths/direct.hpp"
#include "rma/paths/kernel.hpp"
#include "rma/paths/message.hpp"
#include "rma/target_side.hpp"

namespace tutti::rma {

class WindowEnd {
 public:
  // `data`: a channel of the window's own, which nobody receives from with a wildcard; it outlives
  // the window.
  WindowEnd(Service& service, engine::Channel& data, const Arithmetic& arithmetic)
      : data_(data),
        arithmetic_(arithmetic),
        target_(data.rank),
        messages_(service, data, arithmetic, origin_, target_) {}

  OriginSide& origin() { return origin_; }
  const OriginSide& origin() const { return origin_; }
  TargetSide& target() { return target_; }
  const TargetSide& target() const { return target_; }

  // Before it opens, and when my memory has its base: operations at these ranks go in memory, all of them and those who
  // call it alike.
  void share(NodeParts parts) TUTTI_ENGINE_OWNED {
    direct_ = std::make_unique<DirectPath>(std::move(parts), *data_.engine, arithmetic_, origin_, target_);
  }
  // Likewise, of memory that begins at `base` and is shared with nobody: puts and gets may be copied by the kernel, at others'
  // that have said so, and by others at mine.
  void copy_by_kernel(transport::PeerCopies& copies, const void* base) TUTTI_ENGINE_OWNED {
    kernel_ = std::make_unique<KernelPath>(copies, data_, origin_);
    messages_.tell_memory(base);
  }
  // Operations at this rank go in memory: there is nothing to ask of it, and nothing under way, behind flush_locally().
  bool is_near(int rank) const { return rank != kAll && member(rank) >= 0; }

  // My memory is there: from here on others' operations are served, also those that have come already.
  void open() TUTTI_ENGINE_OWNED { messages_.open(); }
  // Before it opens, where nobody looks on at what comes when: see MessagePath.
  void may_keep() TUTTI_ENGINE_OWNED { messages_.may_keep(); }
  // Where a member has failed: see MessagePath.
  void close() TUTTI_ENGINE_OWNED { messages_.close(); }

  // ---- operations at others' memory

  void put(const Local& origin, const Target& target, Done done = {}) TUTTI_ENGINE_OWNED {
    if (const int near = member(target.rank); near >= 0) return direct_->put(near, origin, target, done);
    if (kernel_ && kernel_->put(origin, target, done)) return;
    messages_.put(origin, target, done);
  }
  void get(const Local& origin, const Target& target, Done done = {}) TUTTI_ENGINE_OWNED {
    if (const int near = member(target.rank); near >= 0) return direct_->get(near, origin, target, done);
    if (kernel_ && kernel_->get(origin, target, done)) return;
    messages_.get(origin, target, done);
  }
  // Accumulates. `origin` is read unless the operation is kNoOp; with `result` what was there
  // before is fetched. All updates of one origin at one target go one way, which keeps them in order.
  void update(Update update, const Local& origin, const Local* result, const Target& target,
              Done done = {}) TUTTI_ENGINE_OWNED {
    if (const int near = member(target.rank); near >= 0)
      return direct_->update(near, update, origin, result, target, done);
    messages_.update(update, origin, result, target, done);
  }
  // One element, dense in memory.
  void compare_and_swap(Update element, const void* origin, const void* compare, void* result,
                        const Target& target) TUTTI_ENGINE_OWNED {
    if (const int near = member(target.rank); near >= 0)
      return direct_->compare_and_swap(near, element, origin, compare, result, target);
    messages_.compare_and_swap(element, origin, compare, result, target);
  }

  // ---- synchronisation: what calls wait for afterwards, by a WordWait

  // Asks whether the operations before are complete at the target (kAll: at all), if that is not known.
  void flush(int rank) TUTTI_ENGINE_OWNED;
  // Has those be locally complete that are not under way to be so by themselves.
  void flush_locally(int rank) TUTTI_ENGINE_OWNED {
    if (direct_) direct_->carry_out_delayed(rank);
  }
  // Tells it that it may access my memory.
  void post(int rank) TUTTI_ENGINE_OWNED;
  // Tells it that my operations are all before this.
  void complete(int rank) TUTTI_ENGINE_OWNED;
  void lock(int rank, bool exclusive) TUTTI_ENGINE_OWNED;
  // All those of memory that this process can come to itself (is_near()), shared, at once. False: lock() is for each.
  bool lock_all_near() TUTTI_ENGINE_OWNED { return direct_ && direct_->lock_all(); }
  // It has, and not given them up by unlock_all_near().
  bool shares_all_near() const TUTTI_ENGINE_OWNED { return direct_ && direct_->shares_all(); }
  void unlock_all_near() TUTTI_ENGINE_OWNED { direct_->unlock_all(); }
  // The same where nobody waits until it is granted: what is started under it waits at the target, and flush() and
  // unlock() for that. Not of memory that this process can come to itself.
  void lock_lazily(int rank, LockWish wish) TUTTI_ENGINE_OWNED;
  bool can_lock_lazily(int rank) const { return rank != data_.rank && member(rank) < 0; }
  // Has it be known of the locks that were asked for so, of this rank or kAll, whether they are granted: what
  // OriginSide::has_unsettled() tells.
  void ask_for_lazy_locks(int rank) TUTTI_ENGINE_OWNED;
  // When my operations there are complete.
  void unlock(int rank) TUTTI_ENGINE_OWNED;

  bool is_posted(int rank) const TUTTI_ENGINE_OWNED;
  void take_post(int rank) TUTTI_ENGINE_OWNED;
  bool is_locked(int rank) TUTTI_ENGINE_OWNED;
  bool is_unlocked(int rank) const TUTTI_ENGINE_OWNED { return member(rank) >= 0 || origin_.is_unlocked(rank); }
  // Of a lock that is awaited: the processes that hold it or come before, as far as they have been
  // told. The first call asks for it. Empty: not known.
  std::span<const int> holders(int rank) TUTTI_ENGINE_OWNED;
  // Whoever waits for the lock there waits for its holders alone, and for nobody to tell of them.
  bool knows_holders(int rank) const TUTTI_ENGINE_OWNED { return member(rank) >= 0 || rank == data_.rank; }

  // Exposes my memory: an error while it is locked.
  Error expose() TUTTI_ENGINE_OWNED { return direct_ ? direct_->expose() : target_.expose(); }
  void hide() TUTTI_ENGINE_OWNED { direct_ ? direct_->hide() : target_.hide(); }
  bool is_completed_by(int rank) const TUTTI_ENGINE_OWNED;
  void take_complete(int rank) TUTTI_ENGINE_OWNED;

  // What my witness has to say to the one there.
  void tell_witness(int rank, const Bytes& bytes) TUTTI_ENGINE_OWNED { messages_.tell_witness(rank, bytes); }

 private:
  template <class Done>
  friend class WordWait;
  // -1: messages go there.
  int member(int rank) const { return direct_ ? direct_->member(rank) : -1; }
  void end_row() TUTTI_ENGINE_OWNED {
    if (kernel_) kernel_->synchronises();
  }

  engine::Channel& data_;
  const Arithmetic& arithmetic_;
  OriginSide origin_;
  TargetSide target_;
  MessagePath messages_;
  std::unique_ptr<DirectPath> direct_;  // nullptr: nobody shares memory with this process
  std::unique_ptr<KernelPath> kernel_;  // nullptr: the kernel is not to copy
};

// While it lives a thread that waits until `done` holds, which may be a word in memory that others write, is woken when
// it does.
template <class Done>
class WordWait final : private engine::Poller {
 public:
  WordWait(WindowEnd& window, Done& done) TUTTI_ENGINE_OWNED : done_(done) {
    if (!window.direct_ || done()) return;
    direct_ = window.direct_.get();
    direct_->begin_wait(*this);
  }
  ~WordWait() TUTTI_ENGINE_OWNED {
    if (direct_) direct_->end_wait(*this);
  }
  WordWait(const WordWait&) = delete;

 private:
  bool poll() override TUTTI_ENGINE_OWNED { return done_(); }

  DirectPath* direct_ = nullptr;
  Done& done_;
};

}  // namespace tutti::rma
