// SPDX-License-Identifier: BSD-3-Clause
// What a process knows of others' operations at its own memory, and of the epochs in which they are (the standard,
// section 12.5): which are under way, what they ask behind them, who holds the lock, and whether the memory may be
// locked. The ways by which operations come (paths/) tell it, whichever that is; it says whether an operation may be
// carried out, tells the witness, and has the origins answered. Moves no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "rma/locks.hpp"
#include "rma/operation.hpp"
#include "rma/own_memory.hpp"
#include "rma/witness.hpp"

namespace tutti::rma {

// Locked and exposed by MPI_Win_post at once is an error (12.5.3), of whoever comes second: at the memory of `rank`;
// `holder` has the lock.
Error exposed_and_locked(int rank);
Error locked_and_exposed(int holder);

// Who carries answers to the origins that have asked.
class Answers {
 public:
  virtual void flushed(int origin) TUTTI_ENGINE_OWNED = 0;
  virtual void granted(int origin) TUTTI_ENGINE_OWNED = 0;
  // `awaited`: others wait for the lock that it has given up.
  virtual void unlocked(int origin, bool awaited) TUTTI_ENGINE_OWNED = 0;
  // Those whom it waits for with its lock (LockLine), in the order of their turns; empty: none is known, or it waits no more.
  virtual void holders(int origin, const std::vector<int>& ranks) TUTTI_ENGINE_OWNED = 0;
  // What the calls of its epoch have to say.
  virtual void failed(int origin, const Error& error) TUTTI_ENGINE_OWNED = 0;

 protected:
  ~Answers() = default;
};

class TargetSide {
 public:
  // `rank`: this process' own in the window.
  explicit TargetSide(int rank) : rank_(rank) {}
  // Before anything comes.
  void set_answers(Answers& answers) TUTTI_ENGINE_OWNED { answers_ = &answers; }
  // Before the window is open: what stands for the lock here is elsewhere, and so is whether memory is exposed.
  void set_lock(CommonLock& lock) TUTTI_ENGINE_OWNED { common_lock_ = &lock; }
  void set_witness(Witness& witness) TUTTI_ENGINE_OWNED { witness_ = &witness; }

  OwnMemory& memory() { return memory_; }
  const OwnMemory& memory() const { return memory_; }

  // ---- what the ways tell

  // An operation of `origin` is about to be carried out. The error is its origin's to hear: then it must not be. `mark`
  // is what the origin has set (OriginSide::set_mark()).
  Error admit(int origin, const Act& act, const TargetBuffer& buffer, uint64_t mark) TUTTI_ENGINE_OWNED {
    if (memory_.is_dynamic())
      if (Error e = check_attached(buffer)) return e;
    if (witness_) [[unlikely]]
      witness_->serves(origin, mark, act, buffer);
    return {};
  }
  // It goes on after the call in which it came, until ends().
  void begins(int origin) TUTTI_ENGINE_OWNED {
    ++served_[origin].unfinished;
    ++unfinished_;
  }
  void ends(int origin) TUTTI_ENGINE_OWNED;
  // What an origin says behind its operations, and what counts once those are complete: tell me so; they are all of
  // your exposure epoch; I give up the lock.
  enum class Behind : uint8_t { flush, complete, unlock };
  void says(int origin, Behind what) TUTTI_ENGINE_OWNED;
  void asks_lock(int origin, LockWish wish) TUTTI_ENGINE_OWNED;
  // Of the common lock: it is the turn of one that has asked; or others have gone before those that wait.
  void grants(int origin) TUTTI_ENGINE_OWNED {
    answers_->granted(origin);
    tell_that_none(origin);
    tell_holders();
  }
  void lock_has_moved() TUTTI_ENGINE_OWNED { tell_holders(); }
  // From now on, as long as it waits for the lock.
  void asks_holders(int origin) TUTTI_ENGINE_OWNED;
  void hears(int origin, std::span<const std::byte> bytes) TUTTI_ENGINE_OWNED {
    if (witness_) witness_->hears(origin, bytes);
  }

  // ---- what calls of this process do, and wait for

  // Locked and exposed by MPI_Win_post at once is an error (12.5.3): the one that comes second is refused.
  Error expose() TUTTI_ENGINE_OWNED;
  void hide() TUTTI_ENGINE_OWNED { exposed_ = false; }
  bool is_completed_by(int origin) const TUTTI_ENGINE_OWNED {
    const auto at = served_.find(origin);
    return at != served_.end() && at->second.completes > 0;
  }
  void take_complete(int origin) TUTTI_ENGINE_OWNED { --served_.at(origin).completes; }
  // Nobody's operations are under way.
  bool is_idle() const TUTTI_ENGINE_OWNED { return unfinished_ == 0; }
  // Some of this one's are.
  bool is_serving(int origin) const TUTTI_ENGINE_OWNED {
    const auto at = served_.find(origin);
    return at != served_.end() && at->second.unfinished > 0;
  }
  const LockQueue& lock() const TUTTI_ENGINE_OWNED { return lock_; }

 private:
  // Of one origin.
  struct Served {
    int unfinished = 0;
    int32_t completes = 0;
    std::vector<Behind> when_finished;
  };
  Error check_attached(const TargetBuffer& buffer) const TUTTI_ENGINE_OWNED;
  void settle(int origin, Behind what) TUTTI_ENGINE_OWNED;
  void unlock(int origin) TUTTI_ENGINE_OWNED;
  std::vector<int> before(int origin) const TUTTI_ENGINE_OWNED {
    return common_lock_ ? common_lock_->before(origin) : lock_.before(origin);
  }
  void tell_holders() TUTTI_ENGINE_OWNED;
  void tell_that_none(int origin) TUTTI_ENGINE_OWNED;

  const int rank_;
  Answers* answers_ TUTTI_OWNERS = nullptr;
  Witness* witness_ TUTTI_OWNERS = nullptr;
  CommonLock* common_lock_ TUTTI_OWNERS = nullptr;  // in the place of lock_
  OwnMemory memory_;
  bool exposed_ TUTTI_OWNERS = false;
  std::unordered_map<int, Served> served_ TUTTI_OWNERS;  // by origin
  int unfinished_ TUTTI_OWNERS = 0;
  LockQueue lock_ TUTTI_OWNERS;
  // By origin, of those that have asked for whom they wait, and wait: what they have been told.
  std::unordered_map<int, std::vector<int>> told_ TUTTI_OWNERS;
};

}  // namespace tutti::rma
