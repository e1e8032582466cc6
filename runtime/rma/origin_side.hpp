// SPDX-License-Identifier: BSD-3-Clause
// What a process knows of its own operations at others' memory, and of the epochs in which they are (the standard,
// section 12.5): which are complete here, which there, who has exposed memory to it, which locks it holds. The ways by
// which operations and answers go (paths/) tell it, and the calls that wait ask it. Sends nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "rma/operation.hpp"

namespace tutti::rma {

class OriginSide {
 public:
  explicit OriginSide(int ranks) : aims_(static_cast<size_t>(ranks)) {}
  int ranks() const TUTTI_ENGINE_OWNED { return static_cast<int>(aims_.size()); }

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
  void goes_unheard(int rank) TUTTI_ENGINE_OWNED { ++aim(rank).unasked; }
  void failed(Error error) TUTTI_ENGINE_OWNED {
    if (!failure_) failure_ = std::move(error);
  }
  // Answers, and what others do on their own.
  void flushed(int rank) TUTTI_ENGINE_OWNED {
    --aim(rank).unheard;
    --unheard_;
  }
  void posted(int rank) TUTTI_ENGINE_OWNED { ++aim(rank).posts; }
  void granted(int rank) TUTTI_ENGINE_OWNED { aim(rank).granted = true; }
  void unlocked(int rank) TUTTI_ENGINE_OWNED { aim(rank).unlocking = false; }
  void told_holders(int rank, std::vector<int> holders) TUTTI_ENGINE_OWNED { aim(rank).holders = std::move(holders); }

  // ---- what calls begin, before a way carries it

  // Whether there is anything that has to be asked.
  bool begins_flush(int rank) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    if (there.unasked == 0) return false;
    there.unasked = 0;
    ++there.unheard;
    ++unheard_;
    return true;
  }
  void begins_lock(int rank) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    there.granted = there.asked_holders = false;
    there.holders.clear();
  }
  // Its answer says that all operations there are complete, too.
  void begins_unlock(int rank) TUTTI_ENGINE_OWNED {
    Aim& there = aim(rank);
    there.granted = false;
    there.unlocking = true;
    there.unasked = 0;
  }
  // False: they have been asked for already.
  bool begins_holders(int rank) TUTTI_ENGINE_OWNED { return !std::exchange(aim(rank).asked_holders, true); }
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
  bool is_unlocked(int rank) const TUTTI_ENGINE_OWNED { return !aim(rank).unlocking; }
  // Of a lock that is awaited: who holds it or comes before, as far as that has been told. Empty: not known.
  const std::vector<int>& holders(int rank) const TUTTI_ENGINE_OWNED { return aim(rank).holders; }
  // What has failed at a target since the last call: the first one's error.
  Error take_failure() TUTTI_ENGINE_OWNED { return std::exchange(failure_, {}); }

 private:
  // Of one rank.
  struct Aim {
    uint32_t open = 0;     // not locally complete
    uint32_t unasked = 0;  // started since the last question whether they are complete there
    uint32_t unheard = 0;  // questions without an answer
    int32_t posts = 0;     // its exposure epochs that I have not entered
    bool granted = false, unlocking = false;
    bool asked_holders = false;
    std::vector<int> holders;
  };
  Aim& aim(int rank) TUTTI_ENGINE_OWNED { return aims_[static_cast<size_t>(rank)]; }
  const Aim& aim(int rank) const TUTTI_ENGINE_OWNED { return aims_[static_cast<size_t>(rank)]; }

  std::vector<Aim> aims_ TUTTI_OWNERS;  // by rank
  uint64_t open_ TUTTI_OWNERS = 0, unheard_ TUTTI_OWNERS = 0;
  uint64_t mark_ TUTTI_OWNERS = 0;
  Error failure_ TUTTI_OWNERS;
};

}  // namespace tutti::rma
