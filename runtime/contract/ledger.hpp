// SPDX-License-Identifier: BSD-3-Clause
// The ledger of one communicator: which collective calls this rank has started on it, and what the
// others' messages say that they have. A call is checked when it starts and when a message arrives,
// whichever comes later, whether or not the message ever meets a receive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/engine_owned.hpp"
#include "base/flight.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "contract/signature.hpp"
#include "engine/channel.hpp"
#include "transport/shared/area.hpp"

namespace tutti::contract {

class Checker;

// A collective under way that may have to end before its time: nonblocking ones put themselves on
// the ledger's list, blocking ones look at broken().
class Abandonable {
 public:
  virtual void abandon() TUTTI_ENGINE_OWNED = 0;  // off the list already
  virtual void resume() TUTTI_ENGINE_OWNED = 0;   // what was suspected was nothing, or has only been told
  Abandonable* next = nullptr;
  Abandonable* previous = nullptr;

 protected:
  ~Abandonable() = default;
};

// How a communicator came to be, for reports.
struct Origin {
  uint16_t function = 0;  // that made it; with caller 0: MPI_Init
  uint64_t caller = 0;
  uint64_t parent = 0;  // context
};

// Large: it has what is known of a communicator's calls (which came last, what is suspected, who is inside) in one place,
// since each call looks at most of it.
class Ledger {
 public:
  // How many of the latest calls it knows: a power of two.
  static constexpr uint32_t kKept = 64;
  Ledger(Checker& checker, const engine::Channel& hidden, Origin origin, uint32_t kept = kKept)
      : checker_(checker), channel_(hidden), origin_(origin), slots_(std::make_unique<Slot[]>(kept)), mask_(kept - 1) {}
  Ledger(const Ledger&) = delete;

  // The call of this serial starts here. Returns what stands for all calls before it, the same on all
  // ranks: flags in shared memory, which nobody need ever read, carry it on to a later one.
  Word started(uint32_t serial, Word word) TUTTI_ENGINE_OWNED {
    const Word before = chain_;
    chain_ = (before ^ word >> kOpShift) * 0x9fb21c651e98df25u;  // not the data: they may differ
    Slot& slot = slots_[serial & mask_];
    slot.word = word;
    slot.serial = serial;
    next_ = serial + 1;
    if (slot.early_word && slot.early_serial == serial) [[unlikely]]
      was_early(slot);
    return before;
  }
  // A message of the call of this serial is here from `rank`.
  void arrived(uint32_t serial, int rank, Word word) TUTTI_ENGINE_OWNED {
    Slot& slot = slots_[serial & mask_];
    if (slot.serial == serial) [[likely]] {
      if (slot.word != word) [[unlikely]]
        differs(serial, rank, word);
    } else if (static_cast<int32_t>(serial - next_) >= 0) {
      early(slot, serial, rank, word);
    }
  }
  // The same, for whoever has compared: a message of that rank, or -1: its answer.
  void differs(uint32_t serial, int rank, Word theirs) TUTTI_ENGINE_OWNED;
  // A flag of another rank in shared memory; it may be of an earlier call that the ranks differ.
  void flag_differs(uint32_t serial, Word theirs) TUTTI_ENGINE_OWNED;
  // Another rank's calls up to the one of this serial, or this one, are not the same as here.
  void contradicted(uint32_t serial) TUTTI_ENGINE_OWNED;
  // Where ranks of one node can compare all their calls in the end, which flags that nobody reads do
  // not: nullptr where they cannot. Gone after settle_with_others().
  void set_area(transport::Area* area) TUTTI_ENGINE_OWNED { area_ = area; }
  // There will be no more calls on this communicator.
  void settle_with_others() TUTTI_ENGINE_OWNED;
  // In the v and w forms: what `rank` sends is not what this rank expects from it.
  void pair_differs(uint32_t serial, int rank, Word theirs, Word expected, int64_t their_bytes,
                    int64_t expected_bytes) TUTTI_ENGINE_OWNED;

  // What this rank sends itself in the next call, `word`, is not what it receives from itself: texts
  // of both, such as "1 of MPI_INT".
  void own_block_differs(Word word, int error_class, const std::string& sent,
                         const std::string& received) TUTTI_ENGINE_OWNED;

  // A thread is inside a blocking call, `call` if it is known, until it leaves; others that come then
  // are one too many.
  void enter(const flight::CallRecord* call) TUTTI_ENGINE_OWNED { inside_ = call ? call : &kUnknownCall; }
  void leave() TUTTI_ENGINE_OWNED { inside_ = nullptr; }
  // This thread is about to start a call.
  void expect_nobody_inside() TUTTI_ENGINE_OWNED {
    if (inside_) [[unlikely]]
      two_threads();
  }

  // Something is wrong on this communicator, and it is being found out what.
  bool suspected() const TUTTI_ENGINE_OWNED { return state_ == State::suspected; }
  // It has been told, and calls are to fail with error().
  bool broken() const TUTTI_ENGINE_OWNED { return state_ == State::broken; }
  bool disturbed() const TUTTI_ENGINE_OWNED { return state_ == State::suspected || state_ == State::broken; }
  Error error() const TUTTI_ENGINE_OWNED { return Error(error_class_, error_text_); }

  void add(Abandonable& running) TUTTI_ENGINE_OWNED;
  void remove(Abandonable& running) TUTTI_ENGINE_OWNED;

  const engine::Channel& channel() const { return channel_; }
  const Origin& origin() const { return origin_; }
  uint32_t next() const TUTTI_ENGINE_OWNED { return next_; }  // serial of the next call
  // This rank's word of that call; 0: not started, or too long ago.
  Word word_of_call(uint32_t serial) const TUTTI_ENGINE_OWNED {
    const Slot& slot = slots_[serial & mask_];
    return slot.serial == serial ? slot.word : 0;
  }
  // Its communicator is gone; it still answers. Any thread.
  bool freed() const { return freed_.load(std::memory_order_relaxed); }
  void free() { freed_.store(true, std::memory_order_relaxed); }
  // A member has failed, or it is revoked: its ranks may have come to different calls, and may free it while others have
  // not come out of theirs. Any thread.
  bool is_harmed() const { return harmed_.load(std::memory_order_relaxed); }
  void note_harm() { harmed_.store(true, std::memory_order_relaxed); }
  // Does its error handler end the job? Any thread.
  bool is_fatal() const { return fatal_.load(std::memory_order_relaxed); }
  void set_fatal(bool fatal) { fatal_.store(fatal, std::memory_order_relaxed); }
  // Any thread.
  std::string name() const {
    const Lock lock(naming_);
    return name_;
  }
  void set_name(std::string name) {
    const Lock lock(naming_);
    name_ = std::move(name);
  }

 private:
  friend class Checker;
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Slot {
    Word word = 0;
    Word early_word = 0;  // of the first message that came before the call
    uint32_t serial = kNone;
    uint32_t early_serial = kNone;
    int32_t early_rank = -1;
  };
  enum class State : uint8_t { fine, suspected, broken, told };

  void two_threads() TUTTI_ENGINE_OWNED;
  void early(Slot& slot, uint32_t serial, int rank, Word word) TUTTI_ENGINE_OWNED;
  void was_early(const Slot& slot) TUTTI_ENGINE_OWNED;
  void break_with(int error_class, std::string text) TUTTI_ENGINE_OWNED;
  void settle(State state) TUTTI_ENGINE_OWNED;
  // What was suspected of this call was nothing; it is not suspected again.
  void dismiss(uint32_t serial) TUTTI_ENGINE_OWNED;

  Checker& checker_;
  const engine::Channel channel_;  // as it was: messages may come after the communicator is gone
  const Origin origin_;
  uint32_t next_ TUTTI_OWNERS = 0;
  Word chain_ TUTTI_OWNERS = 0;
  uint32_t dismissed_ TUTTI_OWNERS = kNone;
  State state_ TUTTI_OWNERS = State::fine;
  std::atomic<bool> freed_{false};
  std::atomic<bool> fatal_{true};
  std::atomic<bool> harmed_{false};
  static constexpr flight::CallRecord kUnknownCall{};
  const flight::CallRecord* inside_ TUTTI_OWNERS = nullptr;
  int error_class_ TUTTI_OWNERS = 0;
  std::string error_text_ TUTTI_OWNERS;
  mutable Mutex naming_;
  std::string name_ TUTTI_GUARDED_BY(naming_);
  Abandonable* running_ TUTTI_OWNERS = nullptr;
  transport::Area* area_ TUTTI_OWNERS = nullptr;
  const std::unique_ptr<Slot[]> slots_;
  const uint32_t mask_;
};

}  // namespace tutti::contract
