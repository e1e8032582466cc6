// SPDX-License-Identifier: BSD-3-Clause
// What a process knows of its own operations at others' memory, and of the epochs in which they are (the standard,
// section 12.5): which are complete here, which there, who has exposed memory to it, which locks it holds. The ways by
// which operations and answers go (paths/) tell it, and the calls that wait ask it. Sends nothing. Takes memory and time
// by the ranks that this process has had to do with, not by those that there are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/by_process.hpp"
#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "rma/operation.hpp"

namespace tutti::rma {

class OriginSide {
 public:
  // ---- what the ways tell

  // An operation at `rank` goes on after the call that started it, until ends(); or it is over in that call.
  void begins(int rank) TUTTI_ENGINE_OWNED {
    ++aim(rank).open;
    ++open_;
  }
  void ends(int rank, Done done, Error error) TUTTI_ENGINE_OWNED {
    --aim(rank).open;
    --open_;
    over(done, std::move(error));
  }
  // The error is the operation's own if somebody hears of it, else the window's.
  void over(Done done, Error error) TUTTI_ENGINE_OWNED {
    if (done.call) return done.call(done.owner, std::move(error));
    if (error) failed(std::move(error));
  }
  // It changes memory there, and nobody tells when it has, before that is asked.
  void goes_unheard(int rank) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    there.unasked = true;
    if (!std::exchange(there.is_listed, true)) to_flush_.push_back(rank);
  }
  void failed(Error error) TUTTI_ENGINE_OWNED {
    if (!failure_) failure_ = std::move(error);
  }
  // The address of its memory there, where the kernel may copy it; 0 of one that says nothing.
  void told_memory(int rank, uint64_t address) TUTTI_ENGINE_OWNED { aim(rank).memory = address; }
  // Answers, and what others do on their own.
  void flushed(int rank) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    --there.unheard;
    --unheard_;
    settled(there);
  }
  void posted(int rank) TUTTI_ENGINE_OWNED { ++aim(rank).posts; }
  void granted(int rank) TUTTI_ENGINE_OWNED { aim(rank).granted = true; }
  // `awaited`: others waited for the lock by then.
  void unlocked(int rank, bool awaited) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    there.unlocking = false;
    settled(there);
    if (awaited || !awaited_.empty()) [[unlikely]]
      awaited ? void(awaited_.insert(rank)) : void(awaited_.erase(rank));
  }
  // Perhaps of an earlier lock.
  void told_holders(int rank, std::vector<int> holders) TUTTI_ENGINE_OWNED {
    const auto asked = holders_.find(rank);
    if (asked != holders_.end()) asked->second = std::move(holders);
  }

  // ---- what calls begin, before a way carries it

  // Whether there is anything that has to be asked.
  bool begins_flush(int rank) TUTTI_ENGINE_OWNED {
    Aim* const there = aims_.find(rank);
    if (!there || !std::exchange(there->unasked, false)) return false;
    ++there->unheard;
    ++unheard_;
    return true;
  }
  // The same where it is asked in any case.
  void begins_question(int rank) TUTTI_ENGINE_OWNED {
    aim(rank).unasked = true;
    (void)begins_flush(rank);
  }
  // Of all; ask(rank) for each of whom there is.
  template <class Ask>
  void begins_flush_of_all(Ask&& ask) TUTTI_ENGINE_OWNED {
    for (const int rank : to_flush_) {
      aim(rank).is_listed = false;
      if (begins_flush(rank)) ask(rank);
    }
    to_flush_.clear();
  }
  void begins_lock(int rank) TUTTI_ENGINE_OWNED {
    aim(rank).granted = false;
    holders_.erase(rank);
  }
  // What is sent behind it waits there; an answer to any of that says that it was granted.
  void begins_lazy_lock(int rank) TUTTI_ENGINE_OWNED {
    begins_lock(rank);
    if (++last_lazy_ == 0) ++last_lazy_;
    aim(rank).lazy = last_lazy_;
    lazy_.push_back({rank, last_lazy_});
    ++unsettled_;
  }
  // Of all ranks: from now on each is asked for its lock when there is something to do under it, wants_lock(). Those that
  // were asked are told by ends_lock_of_all().
  void begins_lock_of_all() TUTTI_ENGINE_OWNED { locks_all_ = true; }
  bool wants_lock(int rank) const TUTTI_ENGINE_OWNED { return locks_all_ && !aim(rank).of_all; }
  void asked_under_lock_of_all(int rank) TUTTI_ENGINE_OWNED {
    aim(rank).of_all = true;
    of_all_.push_back(rank);
  }
  std::vector<int> ends_lock_of_all() TUTTI_ENGINE_OWNED {
    locks_all_ = false;
    for (const int rank : of_all_) aim(rank).of_all = false;
    return std::exchange(of_all_, {});
  }
  // Its answer says that all operations there are complete, too.
  void begins_unlock(int rank) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    there.granted = there.unasked = false;
    there.unlocking = true;
  }
  // False: they have been asked for already.
  bool begins_holders(int rank) TUTTI_ENGINE_OWNED { return holders_.try_emplace(rank).second; }
  // What the witness at the target hears of the operations that are started from here on.
  void set_mark(uint64_t mark) TUTTI_ENGINE_OWNED { mark_ = mark; }
  uint64_t mark() const TUTTI_ENGINE_OWNED { return mark_; }

  // ---- what calls wait for; kAll: of all

  bool is_locally_complete(int rank) const TUTTI_ENGINE_OWNED { return (rank == kAll ? open_ : aim(rank).open) == 0; }
  // Complete at the target, as far as that has been asked.
  bool is_flushed(int rank) const TUTTI_ENGINE_OWNED {
    return is_locally_complete(rank) && (rank == kAll ? unheard_ : aim(rank).unheard) == 0;
  }
  bool is_posted(int rank) const TUTTI_ENGINE_OWNED { return aim(rank).posts > 0; }
  void take_post(int rank) TUTTI_ENGINE_OWNED { --aim(rank).posts; }
  bool is_locked(int rank) const TUTTI_ENGINE_OWNED { return aim(rank).granted; }
  // Of locks that were asked for by begins_lazy_lock(): whether it is unknown of one, or of this rank's, that it has been
  // granted. visit(rank) for each such rank.
  bool has_unsettled() const TUTTI_ENGINE_OWNED { return unsettled_ > 0; }
  uint64_t memory_of(int rank) const TUTTI_ENGINE_OWNED { return aim(rank).memory; }
  bool is_unsettled(int rank) const TUTTI_ENGINE_OWNED { return aim(rank).lazy != 0; }
  template <class Visit>
  void each_unsettled(Visit&& visit) const TUTTI_ENGINE_OWNED {
    if (unsettled_ == 0) [[likely]]
      return;
    for (const Lazy& each : lazy_)
      if (aim(each.rank).lazy == each.number) visit(each.rank);
  }
  // The number of the last one, and whether that and those before have all been settled.
  uint32_t last_lazy() const TUTTI_ENGINE_OWNED { return last_lazy_; }
  bool are_settled(uint32_t until) TUTTI_ENGINE_OWNED {
    for (; first_lazy_ < lazy_.size(); ++first_lazy_) {
      const Lazy& first = lazy_[first_lazy_];
      if (aim(first.rank).lazy == first.number) return static_cast<int32_t>(first.number - until) > 0;
    }
    return true;
  }
  // The ranks whose locks others waited for when this process gave them up last, ascending.
  const std::set<int>& awaited() const TUTTI_ENGINE_OWNED { return awaited_; }
  bool is_unlocked(int rank) const TUTTI_ENGINE_OWNED { return !aim(rank).unlocking; }
  // Of a lock that is awaited: who holds it or comes before, as far as that has been told. Empty: not known.
  std::span<const int> holders(int rank) const TUTTI_ENGINE_OWNED {
    const auto asked = holders_.find(rank);
    return asked == holders_.end() ? std::span<const int>() : asked->second;
  }
  // What has failed at a target since the last call: the first one's error.
  Error take_failure() TUTTI_ENGINE_OWNED {
    if (!failure_) [[likely]]
      return {};
    return std::exchange(failure_, {});
  }

 private:
  // Of one rank.
  struct Aim {
    uint32_t open = 0;       // operations that are not locally complete
    uint32_t unheard = 0;    // questions without an answer, whether all before are complete there
    int32_t posts = 0;       // its exposure epochs that I have not entered
    uint64_t memory = 0;     // told_memory()
    uint32_t lazy = 0;       // the number of its lock in lazy_, if that is not settled; 0: it is
    bool unasked = false;    // there was an operation since the last question
    bool is_listed = false;  // in to_flush_
    bool granted = false, unlocking = false;
    bool of_all = false;  // in of_all_
  };
  // A lock that is asked for and not waited for.
  struct Lazy {
    int rank;
    uint32_t number;  // from 1 on
  };
  void settled(Aim& there) TUTTI_ENGINE_OWNED {
    if (std::exchange(there.lazy, 0) == 0) return;
    if (--unsettled_ > 0) return;
    lazy_.clear();
    first_lazy_ = 0;
  }
  Aim& aim(int rank) TUTTI_ENGINE_OWNED {
    Aim* const known = aims_.find(rank);
    return known ? *known : aims_.set(rank, {});
  }
  const Aim& aim(int rank) const TUTTI_ENGINE_OWNED {
    static constexpr Aim kNothing;
    const Aim* const known = aims_.find(rank);
    return known ? *known : kNothing;
  }

  ByProcess<Aim> aims_ TUTTI_OWNERS;        // by rank
  std::vector<int> to_flush_ TUTTI_OWNERS;  // each rank with something unasked, and some without
  uint64_t open_ TUTTI_OWNERS = 0, unheard_ TUTTI_OWNERS = 0;
  std::vector<Lazy> lazy_ TUTTI_OWNERS;  // in their order, until all are settled
  size_t first_lazy_ TUTTI_OWNERS = 0;   // of them that may not be settled
  int unsettled_ TUTTI_OWNERS = 0;
  uint32_t last_lazy_ TUTTI_OWNERS = 0;
  bool locks_all_ TUTTI_OWNERS = false;
  std::vector<int> of_all_ TUTTI_OWNERS;  // ranks asked for their lock since
  std::set<int> awaited_ TUTTI_OWNERS;
  std::map<int, std::vector<int>> holders_ TUTTI_OWNERS;  // of locks that have been waited for, once asked
  uint64_t mark_ TUTTI_OWNERS = 0;
  Error failure_ TUTTI_OWNERS;
};

}  // namespace tutti::rma
