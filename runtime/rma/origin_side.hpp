// SPDX-License-Identifier: BSD-3-Clause
// What a process knows of its own operations at others' memory, and of the epochs in which they are (the standard,
// section 12.5): which are complete here, which there, who has exposed memory to it, which locks it holds. The ways by
// which operations and answers go (paths/) tell it, and the calls that wait ask it. Sends nothing. Takes memory and time
// by the ranks that this process has had to do with, not by those that there are.
#pragma once

#include <cstdint>
#include <map>
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
  // Answers, and what others do on their own.
  void flushed(int rank) TUTTI_ENGINE_OWNED {
    --aim(rank).unheard;
    --unheard_;
    if (rank == lazily_locked_) lazily_locked_ = -1;
  }
  void posted(int rank) TUTTI_ENGINE_OWNED { ++aim(rank).posts; }
  void granted(int rank) TUTTI_ENGINE_OWNED { aim(rank).granted = true; }
  void unlocked(int rank) TUTTI_ENGINE_OWNED {
    aim(rank).unlocking = false;
    if (rank == lazily_locked_) lazily_locked_ = -1;
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
    lazily_locked_ = rank;
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
  // The rank whose lock was asked for by begins_lazy_lock() last, while it is not known whether it has been granted; -1.
  int lazily_locked() const TUTTI_ENGINE_OWNED { return lazily_locked_; }
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
    bool unasked = false;    // there was an operation since the last question
    bool is_listed = false;  // in to_flush_
    bool granted = false, unlocking = false;
  };
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
  int lazily_locked_ TUTTI_OWNERS = -1;
  std::map<int, std::vector<int>> holders_ TUTTI_OWNERS;  // of locks that have been waited for, once asked
  uint64_t mark_ TUTTI_OWNERS = 0;
  Error failure_ TUTTI_OWNERS;
};

}  // namespace tutti::rma
