// SPDX-License-Identifier: BSD-3-Clause
// Accesses to the memory of a window that nothing orders, under --check=strict (the standard, 12.5 and 12.7). An
// origin compares what it starts itself with what it has started since the last call that completed it there; a
// target what comes of several origins, and what this rank does to its memory by calls of MPI. Two operations are
// told of only if neither can have been complete before the other began:
// - in an epoch of MPI_Win_fence, or of MPI_Win_post, all are concurrent until it ends, whenever they come;
//   a receive of this rank into its memory is, too, unless it has told others anything since;
// - under locks a put or an accumulate that has come is, until its origin has been told that it is complete;
//   nothing is said of what only reads, for that is complete when its data are there. So what is found is a matter of
//   time, and what is told is true at any time;
// - under locks, too, those are of ranks that have left the same barrier last, and have made no call since then by which
//   one could have heard of the other: whenever they come, a note at MPI_Finalize. What a rank had started before that
//   barrier, and does not know to be complete there, is as what it starts behind it.
// Refuses to judge loads and stores of the program, of which nobody tells.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/mutex.hpp"
#include "base/os/source_place.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/rma/window.hpp"
#include "rma/accesses.hpp"
#include "rma/witness.hpp"

namespace tutti::mpi::one_sided {

// The predefined type by which elements of this representation lie in memory (window.cpp).
const Layout& layout_of(uint8_t element);

// Large: each kind of access is recorded, compared and told of by a function of its own, over the same records.
class Races final : public rma::Witness, public Exposed {
 public:
  explicit Races(Window& window);
  ~Races() override;

  // ---- what this rank starts

  // An operation that is about to start.
  struct Started {
    int rank = 0;
    std::vector<rma::Interval> bytes;
    rma::Accesses::Access access;
  };
  Started about_to(const rma::Act& act, const rma::Target& target, const void* request) TUTTI_ENGINE_OWNED;
  Error check(const Started& started) TUTTI_ENGINE_OWNED;
  // It starts by the next call of the protocol.
  void record(const Started& started) TUTTI_ENGINE_OWNED;
  // A call is about to wait until they are complete at that rank, kAll: at all; and has.
  void about_to_complete(int rank) TUTTI_ENGINE_OWNED;
  void completed(int rank) TUTTI_ENGINE_OWNED;
  void completed_locally(int rank) TUTTI_ENGINE_OWNED;  // what has brought data here is over
  void request_gone(const void* request);               // likewise; any thread
  // An operation without a request is complete here, whose origin buffer has to be what it was (check/steady.hpp).
  void origin_over(const void* operation) TUTTI_ENGINE_OWNED;

  // ---- epochs of this rank

  // MPI_Win_fence or MPI_Win_post is about to begin an epoch.
  void promises(int assertion, bool post) TUTTI_ENGINE_OWNED;
  void locks(bool exclusive) TUTTI_ENGINE_OWNED;  // MPI_Win_lock or MPI_Win_lock_all is about to begin one
  void fenced() TUTTI_ENGINE_OWNED;               // one ends, and the next one begins
  void exposed_no_more() TUTTI_ENGINE_OWNED;
  // What was found of this rank's operations, of their buffers, or of its memory, since the last time.
  Error take_finding() TUTTI_ENGINE_OWNED;

  void serves(int origin, uint64_t mark, const rma::Act& act,
              const rma::TargetBuffer& buffer) override TUTTI_ENGINE_OWNED;
  void completes(int origin) override TUTTI_ENGINE_OWNED;
  void hears(int from, std::span<const std::byte> bytes) override TUTTI_ENGINE_OWNED;

  Error touches(const BufferUse& use) override;

 private:
  // A call of this rank that uses its memory, in the epoch of MPI_Win_fence that goes on.
  struct OwnUse {
    rma::Interval bytes;
    CallSite place;
    uint64_t told;  // Strict::told() before it
    bool lasts;     // until the epoch ends, as that of this window's MPI_Get, which a fence alone completes
    bool writes;
  };
  void note_own_use(const BufferUse& use, const std::vector<rma::Interval>& bytes) TUTTI_REQUIRES(mutex_);
  const OwnUse* own_use_at(const rma::Interval& bytes, const rma::Accesses::Access& access) const
      TUTTI_REQUIRES(mutex_);
  // A call of some rank, as all understand it.
  struct Site {
    uint16_t function = 0;
    CodeAddress address;
  };
  struct Place {
    std::string text;  // "rank 0 puts by"
    Site site;
  };
  struct Race {
    int error_class = 0;
    std::string sentence;
    std::vector<Place> places;
  };

  void drop_started(int rank, bool (*over)(const rma::Accesses::Access&)) TUTTI_ENGINE_OWNED;
  uint8_t epoch_of(int rank) const TUTTI_ENGINE_OWNED;
  uint8_t fence_epoch() const;
  uint32_t announce(int rank, CallSite place) TUTTI_ENGINE_OWNED;
  const Site& site_of(int origin, uint32_t site) const TUTTI_REQUIRES(mutex_);
  Place place_of(int origin, const rma::Accesses::Access& access) const TUTTI_REQUIRES(mutex_);
  std::string bytes_text(const rma::Interval& bytes, int rank) const;
  Race finding_of(const rma::Accesses::Met& met, const rma::Accesses::Access& access, int target) const
      TUTTI_REQUIRES(mutex_);
  Race finding_of(const rma::Accesses::Met& met, const rma::Accesses::Access& access, int target,
                  const char* when) const TUTTI_REQUIRES(mutex_);
  void tell(const rma::Accesses::Access& access, Race finding) TUTTI_REQUIRES(mutex_) TUTTI_ENGINE_OWNED;
  bool is_first(const rma::Accesses::Access& one, int other, uint64_t call) TUTTI_REQUIRES(mutex_);
  void meet_since_barrier(const rma::Accesses::Access& access, const std::vector<rma::Interval>& bytes)
      TUTTI_REQUIRES(mutex_);
  uint32_t number_of_fence() const;
  void check_promises(const rma::Accesses::Access& access, const std::vector<rma::Interval>& bytes)
      TUTTI_REQUIRES(mutex_) TUTTI_ENGINE_OWNED;
  void check_own_use(const rma::Accesses::Access& access, const std::vector<rma::Interval>& bytes)
      TUTTI_REQUIRES(mutex_) TUTTI_ENGINE_OWNED;
  static Error error_of(Race finding);

  Window& window_;
  Mutex mutex_;
  std::vector<rma::Accesses> started_
      TUTTI_GUARDED_BY(mutex_);                         // by target: those of this rank that may not be complete there
  std::vector<char> fetches_ TUTTI_GUARDED_BY(mutex_);  // by target: some of them fetch, under a lock
  rma::Accesses served_ TUTTI_GUARDED_BY(mutex_);       // those of all at this rank's memory
  // Those under locks of ranks that knew of nothing since this barrier, over or not.
  uint32_t barrier_ TUTTI_GUARDED_BY(mutex_) = 0;
  rma::Accesses since_barrier_ TUTTI_GUARDED_BY(mutex_);
  Error disturbed_;                                           // an origin buffer was; the first since the last time
  bool may_be_fenced_ = false;                                // behind a fence that may begin an epoch
  CallSite locked_;                                           // the first lock since then
  int fences_ = 0;                                            // their parity: others are at most one ahead
  bool no_put_[2] TUTTI_GUARDED_BY(mutex_) = {false, false};  // MPI_MODE_NOPUT, by that parity
  bool posted_no_put_ TUTTI_GUARDED_BY(mutex_) = false;
  std::vector<OwnUse> own_uses_ TUTTI_GUARDED_BY(mutex_);
  std::optional<Race> finding_ TUTTI_GUARDED_BY(mutex_);
  std::set<std::tuple<int, uint32_t, int, uint64_t>> told_ TUTTI_GUARDED_BY(mutex_);  // pairs of calls

  std::map<std::pair<uint16_t, uint64_t>, uint32_t> own_sites_;
  std::set<std::pair<int, uint32_t>> announced_;                             // to whom
  std::map<std::pair<int, uint32_t>, Site> sites_ TUTTI_GUARDED_BY(mutex_);  // of all origins
};

// Of MPI_Win_fence: what is to be said by all or by nobody is compared, which nobody leaves before all are there.
// `differ`: where it is not.
Error exchange_assertions(int assertion, Window& win, Error& differ);
// A window that is never locked, by its hints.
Error refuse_locks(const Window& win);

}  // namespace tutti::mpi::one_sided
