// SPDX-License-Identifier: BSD-3-Clause
// One window at one process, as a protocol (the standard, chapter 12): the operations that it
// starts at others' memory, those of others that it serves at its own, and the messages of
// synchronisation. Knows ranks, contexts and layouts; which call is right in which epoch is the
// layer above's.
//
// Operations of others are served by whoever drives the engine,
// one after the other: that makes accumulate operations atomic. Those of one origin are applied in
// the order of their starting; between puts and gets there is none. Memory of the caller's that an
// operation uses stays until it is locally complete; layouts are held.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "engine/active.hpp"
#include "engine/channel.hpp"
#include "rma/arithmetic.hpp"
#include "rma/attached.hpp"
#include "rma/locks.hpp"
#include "rma/message.hpp"
#include "rma/operation.hpp"
#include "rma/witness.hpp"

namespace tutti::rma {

class WindowEnd;

// Finds the window that a message is for; one for each process. What comes for a window that others
// have made already, and this process not yet, waits for it.
class Service final : public engine::ActiveHandler {
 public:
  void handle(const transport::Header& header, const std::byte* data) override TUTTI_ENGINE_OWNED;
  void add(uint64_t context, WindowEnd& window) TUTTI_ENGINE_OWNED;
  void remove(uint64_t context) TUTTI_ENGINE_OWNED { windows_.erase(context); }

 private:
  struct Early {
    transport::Header header;
    Bytes bytes;
  };
  std::unordered_map<uint64_t, WindowEnd*> windows_ TUTTI_OWNERS;
  std::unordered_map<uint64_t, std::vector<Early>> early_ TUTTI_OWNERS;
};

// Large: it is two ends in one, what this process does at others (origin.cpp) and what it serves to them (target.cpp),
// and an operation at one's own memory is both.
class WindowEnd {
 public:
  // `data`: a channel of the window's own, which nobody receives from with a wildcard; it outlives
  // the window.
  WindowEnd(Service& service, engine::Channel& data, const Arithmetic& arithmetic);
  ~WindowEnd();
  WindowEnd(const WindowEnd&) = delete;

  // ---- my own memory

  // From here on others' operations are served, also those that have come already.
  void open() TUTTI_ENGINE_OWNED { service_.add(data_.context, *this); }
  void set_memory(void* base) TUTTI_ENGINE_OWNED { base_ = static_cast<std::byte*>(base); }
  // From now on displacements are addresses.
  void set_dynamic() TUTTI_ENGINE_OWNED { dynamic_ = true; }
  bool attach(void* base, int64_t size) TUTTI_ENGINE_OWNED;  // false: it overlaps what is attached
  bool detach(const void* base) TUTTI_ENGINE_OWNED;          // false: nothing was attached there
  bool is_dynamic() const { return dynamic_; }
  // Where bytes lie that accesses are recorded by.
  uintptr_t address_of(int64_t displacement) const {
    return (dynamic_ ? 0 : reinterpret_cast<uintptr_t>(base_)) + static_cast<uintptr_t>(displacement);
  }
  // It is exposed to others by a call of its own (MPI_Win_post): who locks it meanwhile is refused.
  void set_exposed(bool exposed) TUTTI_ENGINE_OWNED { exposed_ = exposed; }
  // Nobody's operations on it are under way.
  bool is_served() const TUTTI_ENGINE_OWNED { return unfinished_ == 0; }
  // Some of this one's are.
  bool is_serving(int origin) const TUTTI_ENGINE_OWNED {
    const auto at = served_.find(origin);
    return at != served_.end() && at->second.unfinished > 0;
  }

  // ---- operations at others' memory

  void put(const Local& origin, const Target& target, Done done = {}) TUTTI_ENGINE_OWNED;
  void get(const Local& origin, const Target& target, Done done = {}) TUTTI_ENGINE_OWNED;
  // Accumulates. `origin` is read unless the operation is kNoOp; with `result` what was there
  // before is fetched.
  void update(Update update, const Local& origin, const Local* result, const Target& target,
              Done done = {}) TUTTI_ENGINE_OWNED;
  // One element, dense in memory.
  void compare_and_swap(Update element, const void* origin, const void* compare, void* result,
                        const Target& target) TUTTI_ENGINE_OWNED;

  // Operations at the memory of `rank` (kAll: of anybody) that are not locally complete.
  bool is_locally_complete(int rank) const TUTTI_ENGINE_OWNED {
    return (rank == kAll ? open_ : aims_[static_cast<size_t>(rank)].open) == 0;
  }
  // Asks whether those before are complete at the target, if that is not known.
  void flush(int rank) TUTTI_ENGINE_OWNED;
  bool is_flushed(int rank) const TUTTI_ENGINE_OWNED {
    return is_locally_complete(rank) && (rank == kAll ? unheard_ : aims_[static_cast<size_t>(rank)].unheard) == 0;
  }
  // What has failed at a target since the last call: the first one's error.
  Error take_failure() TUTTI_ENGINE_OWNED { return std::exchange(failure_, {}); }

  // ---- witnesses

  // Before open().
  void set_witness(Witness* witness) TUTTI_ENGINE_OWNED { witness_ = witness; }
  // What the witness at the target hears of the operations that are started from here on.
  void set_mark(uint64_t mark) TUTTI_ENGINE_OWNED { mark_ = mark; }
  void tell_witness(int rank, const Bytes& bytes) TUTTI_ENGINE_OWNED { send(rank, WindowMessage::witness, 0, bytes); }

  // ---- general active target synchronisation

  void post(int rank) TUTTI_ENGINE_OWNED;  // tells it that it may access my memory
  bool is_posted(int rank) const TUTTI_ENGINE_OWNED { return aims_[static_cast<size_t>(rank)].posts > 0; }
  void take_post(int rank) TUTTI_ENGINE_OWNED { --aims_[static_cast<size_t>(rank)].posts; }
  void complete(int rank) TUTTI_ENGINE_OWNED;  // tells it that my operations are all before this
  bool is_completed_by(int rank) const TUTTI_ENGINE_OWNED {
    const auto at = served_.find(rank);
    return at != served_.end() && at->second.completes > 0;
  }
  void take_complete(int rank) TUTTI_ENGINE_OWNED { --served_.at(rank).completes; }

  // ---- locks

  void lock(int rank, bool exclusive) TUTTI_ENGINE_OWNED;
  bool is_locked(int rank) const TUTTI_ENGINE_OWNED { return aims_[static_cast<size_t>(rank)].granted; }
  void unlock(int rank) TUTTI_ENGINE_OWNED;  // when my operations there are complete
  bool is_unlocked(int rank) const TUTTI_ENGINE_OWNED { return !aims_[static_cast<size_t>(rank)].unlocking; }
  const LockQueue& own_lock() const TUTTI_ENGINE_OWNED { return locks_; }
  // Of a lock that is awaited: the processes that hold it or come before, as far as they have been
  // told. The first call asks for it. Empty: not known.
  const std::vector<int>& holders(int rank) TUTTI_ENGINE_OWNED;

 private:
  friend class Service;
  struct Access;   // an operation of mine that waits for something (origin.cpp)
  struct Serving;  // another's that is under way here (target.cpp)
  struct LongUpdate;

  // What I know of my operations at one rank.
  struct Aim {
    uint32_t open = 0;     // not locally complete
    uint32_t unasked = 0;  // started since the last question whether they are complete there
    uint32_t unheard = 0;  // questions without an answer
    int32_t posts = 0;     // its exposure epochs that I have not entered
    bool granted = false, unlocking = false;
    bool asked_who = false;
    std::vector<int> holders;
  };
  // An update that waits for an earlier one of its origin.
  struct Queued {
    uint32_t serial;
    OperationHead head;
    LayoutRef layout;
    Bytes data;
    bool good;
  };
  struct Served {
    int unfinished = 0;
    int32_t completes = 0;
    bool wants_holders = false;
    std::vector<WindowMessage> when_finished;  // flush, complete, unlock
    std::deque<Queued> updates;                // the first one is under way
  };

  // origin.cpp
  Aim& aim(int rank) TUTTI_ENGINE_OWNED { return aims_[static_cast<size_t>(rank)]; }
  void send(int rank, WindowMessage message, uint32_t serial = 0, const Bytes& bytes = {},
            uint64_t signature = 0) TUTTI_ENGINE_OWNED;
  Access& begin_access(int rank, Done done) TUTTI_ENGINE_OWNED;
  void end_access(Access& access) TUTTI_ENGINE_OWNED;
  void over(int rank, Done done, Error error) TUTTI_ENGINE_OWNED;
  void expect(Access& access, int64_t piece, Payload into) TUTTI_ENGINE_OWNED;
  void supply(Access& access, int64_t piece, Payload from) TUTTI_ENGINE_OWNED;
  void update_long(Access& access, const Local& origin, const Local* result, const OperationHead& head,
                   const Bytes& layout) TUTTI_ENGINE_OWNED;
  void replied(uint32_t serial, const std::byte* data, int64_t bytes) TUTTI_ENGINE_OWNED;
  void failed(uint32_t serial, Error error) TUTTI_ENGINE_OWNED;
  static void describe(const Target& target, OperationHead& head, Bytes& layout);

  // target.cpp
  void handle(const transport::Header& header, const std::byte* data) TUTTI_ENGINE_OWNED;
  void serve(int origin, uint32_t serial, uint64_t mark, std::span<const std::byte> bytes) TUTTI_ENGINE_OWNED;
  void refuse_lock(int origin) TUTTI_ENGINE_OWNED;
  void serve_put(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout, const std::byte* data,
                 bool good) TUTTI_ENGINE_OWNED;
  void serve_get(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout) TUTTI_ENGINE_OWNED;
  void serve_update(int origin, uint32_t serial, const OperationHead& head, LayoutRef layout,
                    std::span<const std::byte> data, bool good) TUTTI_ENGINE_OWNED;
  void apply(int origin, uint32_t serial, const OperationHead& head, const LayoutRef& layout,
             const std::byte* data) TUTTI_ENGINE_OWNED;
  void run_updates(int origin) TUTTI_ENGINE_OWNED;
  void long_update_over(LongUpdate& update) TUTTI_ENGINE_OWNED;
  Payload place(const TargetBuffer& buffer) const TUTTI_ENGINE_OWNED;
  bool is_attached(const TargetBuffer& buffer, Layout::Run& missed) const TUTTI_ENGINE_OWNED;
  void refuse(int origin, uint32_t serial, const Layout::Run& missed) TUTTI_ENGINE_OWNED;
  void begin_serving(int origin) TUTTI_ENGINE_OWNED;
  void end_serving(int origin) TUTTI_ENGINE_OWNED;
  void settle(int origin, WindowMessage message) TUTTI_ENGINE_OWNED;
  void tell_holders() TUTTI_ENGINE_OWNED;

  Service& service_;
  engine::Channel& data_;
  engine::Engine& engine_;
  const Arithmetic& arithmetic_;

  std::byte* base_ = nullptr;  // set before the window is open, as is the next
  bool dynamic_ = false;
  bool exposed_ TUTTI_OWNERS = false;
  Attached attached_ TUTTI_OWNERS;

  Witness* witness_ TUTTI_OWNERS = nullptr;
  uint64_t mark_ TUTTI_OWNERS = 0;

  uint32_t last_serial_ TUTTI_OWNERS = 0;
  std::vector<Aim> aims_ TUTTI_OWNERS;  // by rank
  uint64_t open_ TUTTI_OWNERS = 0, unheard_ TUTTI_OWNERS = 0;
  std::unordered_map<uint32_t, Access*> accesses_ TUTTI_OWNERS;  // that something comes for, by serial
  Error failure_ TUTTI_OWNERS;

  std::unordered_map<int, Served> served_ TUTTI_OWNERS;  // by origin
  int unfinished_ TUTTI_OWNERS = 0;
  LockQueue locks_ TUTTI_OWNERS;
};

}  // namespace tutti::rma
