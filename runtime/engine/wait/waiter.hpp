// SPDX-License-Identifier: BSD-3-Clause
// How the threads of a process wait for its engine, and who sees to the engine meanwhile. Owns
// whose turn it is, the threads that sleep, and what the progress thread and those that leave want
// of each other; knows nothing of messages: Engine does what there is to do.
//
// A blocked thread polls, then yields, then sleeps. Who wakes whom has one name each:
//
//   doorbell   a sender rings it for a process of its node that sleeps (transport/shared/doorbell.hpp)
//   bell       a thread rings that of another one of its process that sleeps in a call
//   alarm      a message calls the progress thread (engine/wait/alarm.hpp)
//   summons    a thread that leaves the engine calls the progress thread
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/engine_owned.hpp"
#include "engine/wait/alarm.hpp"
#include "engine/wait/allowance.hpp"
#include "engine/wait/ownership.hpp"
#include "life/blocked.hpp"

namespace tutti::engine {

class Engine;

// How a thread waits that has nothing to do: progress passes before the first yield (few if ranks
// exceed cores), then yields, then sleep on the transport's descriptor.
struct Waiting {
  static constexpr int kForEver = 1'000'000'000;
  // About a millisecond. A yield hands a whole slice to whatever else runs on the core: a barrier
  // of two ranks beside two busy processes took 2100 us with 100 polls, 5 with these.
  int polls = 20'000;
  int yields = 2000;
  bool spreads = false;  // ranks that yield move to where fewer are: Transport::spread()
  bool adapts = true;    // who has lost its core while it waited sleeps early for a while

  // With more ranks than cores what is awaited cannot come while this one runs.
  bool is_crowded() const { return polls <= 1; }
};

// Work that must not be done on the progress thread, such as calling a user's function where the
// program has not asked for MPI_THREAD_MULTIPLE: an application thread does it in its next pass.
struct Chore {
  void (*perform)(Chore&) = nullptr;
  Chore* next = nullptr;  // the waiter's own
};

// What a thread has seen that looks for something by itself.
enum class Seen : uint8_t { nothing, all, other };  // other: it is not to be found by looking on

// Large: it is all that threads of a process know of each other's waiting, in groups: the sleepers, the share of the
// core, chores, and what the progress thread is told. Each word is read or written on the way in or out of each call.
class Waiter {
 public:
  // Looks in a row for what a blocking call waits for, to a pass for everything; and how many there
  // are before the call waits as all others do.
  static constexpr int kLooksPerPass = 16, kMostLooks = 200;
  // Where ranks share cores: yields with a look each, and how many of them to a pass.
  static constexpr int kMostYields = 64, kYieldsPerPass = 4;

  Waiter(Engine& engine, int transport, Waiting waiting);
  ~Waiter();
  Waiter(const Waiter&) = delete;

  const Waiting& waiting() const { return waiting_; }
  const Ownership& ownership() const { return ownership_; }
  void enter() TUTTI_ACQUIRES(engine_owned) { ownership_.acquire(); }
  // `work`: something is under way that no thread waits for.
  void leave(bool work) TUTTI_RELEASES(engine_owned) {
    if (sleepers_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      leave_to_sleepers();
    has_work_.store(work, std::memory_order_relaxed);
    const Helper helper = helper_.load(std::memory_order_relaxed);
    if (helper != Helper::watching && (work || helper == Helper::asleep)) [[unlikely]]
      leave_to_helper(helper, work);
    ownership_.release();
  }

  // At the begin of each pass, so that the progress thread sees that the application is here.
  void begin_pass() TUTTI_ENGINE_OWNED {
    count_pass();
    if (first_chore_ && !helper_drives_) [[unlikely]]
      do_chores();
  }
  void count_pass() TUTTI_ENGINE_OWNED {
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Engine::takes_turns().
  bool takes_turns() TUTTI_ENGINE_OWNED {
    if (ownership_.contended() || sleepers_.load(std::memory_order_relaxed) > 0) {
      turns_ = kTurnsRemembered;
      return true;
    }
    if (turns_ == 0) return false;
    --turns_;
    return true;
  }

  // Of a thread that is about to poll by itself: nobody need ring for what it sees.
  void stay_awake() TUTTI_ENGINE_OWNED {
    if (armed_) [[unlikely]]
      disarm();
  }
  static void yield();
  // Of a thread that waits for another one of this process, which shares its core: it sleeps early meanwhile. Begins
  // (1) and ends (-1).
  void wait_for_thread(int change) TUTTI_ENGINE_OWNED { awaited_threads_ += change; }
  // Of a thread that waits.
  void yield_core() TUTTI_ENGINE_OWNED;

  bool helper_drives() const TUTTI_ENGINE_OWNED { return helper_drives_; }
  void leave_to_application(Chore& chore) TUTTI_ENGINE_OWNED;
  // It listens to another transport from here on; so do those who sleep.
  void switch_transport(int descriptor) TUTTI_ENGINE_OWNED;
  const life::Blocked* blocked() const TUTTI_ENGINE_OWNED { return blocked_; }
  bool someone_waits() const TUTTI_ENGINE_OWNED { return waits_ > 0; }

  // One thread's wait, from its begin to its end: what it does between two passes of the engine
  // that find nothing.
  class Wait {
   public:
    // `done` is asked with `argument`, also by other threads.
    Wait(Waiter& waiter, bool (*done)(void*), void* argument, life::Blocked& blocked) TUTTI_ENGINE_OWNED;
    ~Wait() TUTTI_ENGINE_OWNED {
      --waiter_.waits_;
      if (blocked_.listed) [[unlikely]]
        waiter_.unlist(blocked_);
    }
    Wait(const Wait&) = delete;

    // At least one pass each turn, or threads that wait for each other's turn starve all.
    void after_pass(bool moved) TUTTI_ENGINE_OWNED {
      if (!moved) {
        idle_ = std::min(idle_ + 1, longest_);
        waiter_.stay_awake();
      } else {
        idle_ = has_slept_ ? idle_after_sleep() : 0;
        if (last_look_ != Time{}) [[unlikely]]
          end_looks();
        if (waiter_.shares_ || is_short_) [[unlikely]]
          set_limits();
        if (waiter_.asleep_) [[unlikely]]
          waiter_.wake_those_done();
      }
      if (idle_ > eager_ || ++spins_ >= kSpinsUnobserved || waiter_.ownership_.contended()) rest();
    }

   private:
    friend class Waiter;
    using Time = std::chrono::steady_clock::time_point;
    static constexpr int kSpinsUnobserved = 1 << 20;  // of a thread that never sleeps
    void set_limits() TUTTI_ENGINE_OWNED;
    int idle_after_sleep() TUTTI_ENGINE_OWNED;
    void sleep_early() TUTTI_ENGINE_OWNED;
    void end_looks() TUTTI_ENGINE_OWNED;
    void rest() TUTTI_ENGINE_OWNED;
    bool tell_observer() TUTTI_ENGINE_OWNED;
    void let_others_in() TUTTI_ENGINE_OWNED;
    void yield() TUTTI_ENGINE_OWNED;
    void sleep_until_something() TUTTI_ENGINE_OWNED;
    void sleep(bool listens) TUTTI_ENGINE_OWNED;

    Waiter& waiter_;
    bool (*const done_)(void*);
    void* const argument_;
    life::Blocked& blocked_;
    // For how many passes it polls; after how many it sleeps; where it stops to count; before it pauses.
    int polls_, before_sleep_, longest_, eager_;
    bool is_short_;  // the limits are those of ranks that share a core
    int idle_ = 0, spins_ = 0, turns_ = 0;
    Time asleep_since_{}, last_look_{}, yields_since_{};
    uint64_t events_ = 0, control_messages_ = 0;  // of the engine, when something had come since it has slept
    // Of one that sleeps, until its bell rings, or, if it listens, something comes. Others ask
    // whether it can go on; when it wakes it asks itself, because by then it may have become false
    // again.
    int bell_ = -1;         // an eventfd; -1: there was no descriptor left, and it looks often
    bool told_ = false;     // its bell has rung: it is on its way
    bool listens_ = false;  // to the transport
    bool has_slept_ = false;
    Wait* next_ = nullptr;
  };

 private:
  friend class ProgressThread;
  using Time = std::chrono::steady_clock::time_point;

  void list(life::Blocked& blocked) TUTTI_ENGINE_OWNED;
  void unlist(life::Blocked& blocked) TUTTI_ENGINE_OWNED;
  bool shares_core() TUTTI_ENGINE_OWNED;
  bool has_lost_core(Time& last) TUTTI_ENGINE_OWNED;
  bool arm() TUTTI_ENGINE_OWNED;
  void disarm() TUTTI_ENGINE_OWNED;

  void wake(Wait& sleeper) TUTTI_ENGINE_OWNED;
  void wake_those_done() TUTTI_ENGINE_OWNED;
  bool someone_is_told() const TUTTI_ENGINE_OWNED;
  bool someone_listens() const TUTTI_ENGINE_OWNED;
  void wake_one() TUTTI_ENGINE_OWNED;
  void leave_to_sleepers() TUTTI_ENGINE_OWNED;
  void do_chores() TUTTI_ENGINE_OWNED;

  // What the progress thread does, and what it wants of a thread that leaves.
  enum class Helper : uint8_t {
    watching,  // looks soon whether the application is away: nothing
    dozing,    // looks after a while: a summons if work is left behind
    asleep,    // does not look: the alarm must be set when the application is gone
  };
  void leave_to_helper(Helper helper, bool work) TUTTI_ENGINE_OWNED;
  bool set_alarm(int attempts) TUTTI_ENGINE_OWNED;
  enum class Summons : uint8_t { work = 1, busy = 2 };  // something to do; calls made all the time
  void summon(Summons why);

  Engine& engine_;
  const Waiting waiting_;
  Ownership ownership_;

  std::atomic<int> sleepers_{0};  // threads in sleep(); changed by the engine's owner
  Wait* asleep_ TUTTI_OWNERS = nullptr;
  std::vector<int> bells_ TUTTI_OWNERS;  // of those who have woken
  std::atomic<bool> unattended_{false};  // they hear nothing: another thread has seen to them lately
  life::Blocked* blocked_ TUTTI_OWNERS = nullptr;
  int waits_ TUTTI_OWNERS = 0;  // threads in a Wait

  static constexpr int kTurnsRemembered = 64;
  int turns_ TUTTI_OWNERS = 0;  // takes_turns() remembers so many times more
  unsigned yields_ TUTTI_OWNERS = 0;
  Time spreads_from_ TUTTI_OWNERS{};  // the next look where the others are is not before this
  bool shares_ TUTTI_OWNERS = false;  // its core, as far as it knows
  Time shares_until_ TUTTI_OWNERS{};
  int awaited_threads_ TUTTI_OWNERS = 0;  // of this process, see wait_for_thread()
  std::chrono::milliseconds share_remembered_ TUTTI_OWNERS{};

  Chore* first_chore_ TUTTI_OWNERS = nullptr;
  Chore* last_chore_ TUTTI_OWNERS = nullptr;
  bool helper_drives_ TUTTI_OWNERS = false;  // the owner is the progress thread

  // What the progress thread sees without owning the engine; written by its owner.
  std::atomic<uint64_t> passes_{0};  // of progress(): a call that makes none leaves work undone
  std::atomic<bool> has_work_{false};
  std::atomic<bool> has_helper_{false};
  // Changed by the progress thread; asleep only while it owns the engine, so that nobody leaves
  // without seeing that. Whoever summons it sets it to watching.
  std::atomic<Helper> helper_{Helper::watching};
  Alarm alarm_;
  bool armed_ TUTTI_OWNERS = false;          // the transport tells, or has told, of what comes
  bool by_flags_ TUTTI_OWNERS = false;       // of flags, too
  int leaves_collectives_ TUTTI_OWNERS = 0;  // the program has left one under way; counts down what it has not since
  Allowance alarms_ TUTTI_OWNERS;            // to be set by threads that leave, instead of waking the helper
  int summons_fd_ = -1;
};

}  // namespace tutti::engine
