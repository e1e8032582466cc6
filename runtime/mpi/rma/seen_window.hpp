// SPDX-License-Identifier: BSD-3-Clause
// A window in a program under ThreadSanitizer: operations of others on this process' memory are told to the sanitizer as
// accesses of fibers, one for each origin and one for all accumulate operations, which do not race with each other. What
// orders them with loads and stores of this process is what the standard says (12.5, 12.7): the fences and posts of the
// window, its locks, the end of operations, and whatever else the two processes can have heard of each other
// (check/knowledge.hpp). Operations go by messages there, so that the process that owns the memory carries them out.
// Memory that processes share they load and store by themselves, of which nobody hears. Not under --check=strict, whose
// books of operations want the same place (races.hpp). With the engine owned, but where it says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/engine_owned.hpp"
#include "mpi/check/knowledge.hpp"
#include "mpi/check/race_detector.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/rma/window.hpp"
#include "rma/witness.hpp"

namespace tutti::mpi::one_sided {

class SeenWindow final : public rma::Witness {
 public:
  // Before the window is open. `made`: by which call.
  SeenWindow(Window& window, CallSite made) TUTTI_ENGINE_OWNED;
  ~SeenWindow() override;

  // ---- calls of this process

  // An operation at `rank` is started next.
  void about_to(int rank, const rma::Act& act) TUTTI_ENGINE_OWNED;
  // In MPI_Win_fence: this process' operations are complete; and all have come.
  void fence_begins() TUTTI_ENGINE_OWNED;
  void fence_ends() TUTTI_ENGINE_OWNED;
  void posts() TUTTI_ENGINE_OWNED;
  void exposed_no_more() TUTTI_ENGINE_OWNED;
  // MPI_Win_start has heard of the posts, which the targets know better than the clock; MPI_Win_complete is over.
  void started() TUTTI_ENGINE_OWNED;
  void completed() TUTTI_ENGINE_OWNED;
  // It has got a lock by MPI_Win_lock, from whoever had it before; and is about to give it up.
  void locked(int rank) TUTTI_ENGINE_OWNED;
  void unlocks(int rank) TUTTI_ENGINE_OWNED;
  // A call on the window that waits for others returns.
  void synchronised() TUTTI_ENGINE_OWNED;

  // ---- what comes from others

  void serves(int origin, uint64_t mark, const rma::Act& act,
              const rma::TargetBuffer& buffer) override TUTTI_ENGINE_OWNED;
  void completes(int origin) override TUTTI_ENGINE_OWNED;
  void hears(int from, std::span<const std::byte> bytes) override TUTTI_ENGINE_OWNED;

 private:
  // Whoever accesses this process' memory.
  struct Origin {
    uint64_t caller = 0;  // of its latest operation, as if it were in this process
    std::string name;     // "MPI_Put of rank 1"
  };
  Origin& origin_of(int rank) TUTTI_ENGINE_OWNED;
  race_detector::Fiber fiber_of(int rank) const { return fibers_[static_cast<size_t>(rank) % fibers_.size()]; }
  bool shares_clock(int rank) const;
  void announce(int rank) TUTTI_ENGINE_OWNED;

  Window& window_;
  const CallSite made_;
  std::vector<int> nodes_;  // of all ranks of the own job; empty: nobody knows
  knowledge::Listener listener_;
  unsigned fences_ TUTTI_OWNERS = 0;  // the latest that this process is in, or behind
  race_detector::Order fenced_[2];    // what was done before each of two fences that follow each other
  race_detector::Order posted_,
      unlocked_;  // and before this process has exposed its memory, or given up its lock there
  // When it has got its latest lock, and when the one before of another rank. What a lock tells of its own rank that one
  // knows better than the clock: it gives up its own.
  int lock_of_ TUTTI_OWNERS = -1;
  uint64_t lock_at_ TUTTI_OWNERS = 0, other_lock_at_ TUTTI_OWNERS = 0;
  bool fetches_ TUTTI_OWNERS = false;  // an operation brings data here, from which one can learn
  std::unordered_map<int, Origin> origins_ TUTTI_OWNERS;
  // Made with the window, since a fiber is behind all that whoever makes it has done. Of many ranks some share one.
  std::vector<race_detector::Fiber> fibers_;
  race_detector::Fiber updates_;
  std::map<int, CallSite> announced_ TUTTI_OWNERS;  // by target: where the latest operation was called
};

// nullptr: nobody looks on, or the window is none that a program has made. Any thread that uses the window.
SeenWindow* seen(const Window& window);
void open_seen(Window& window) TUTTI_ENGINE_OWNED;
// All others' operations are over.
void close_seen(const Window& window) TUTTI_ENGINE_OWNED;

}  // namespace tutti::mpi::one_sided
