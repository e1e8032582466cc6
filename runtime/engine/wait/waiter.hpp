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

#include "engine/condition.hpp"
#include "engine/wait/alarm.hpp"
#include "engine/wait/allowance.hpp"
#include "engine/wait/ownership.hpp"

namespace tutti::flight {
struct Thread;
}

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

// A thread in wait_until(). What it needs is asked for only when it has stood still for long.
struct Blocked {
  void (*explain)(void* why, Condition& needs) = nullptr;  // nullptr: nobody knows
  void* why = nullptr;
  const flight::Thread* call = nullptr;  // what it is in; nullptr: not recorded
  int thread = 0;                        // the kernel's id of it
  Blocked *next = nullptr, *previous = nullptr;
  bool listed = false;  // it has been idle for so long that it sleeps
};

// Work that must not be done on the progress thread, such as calling a user's function where the
// program has not asked for MPI_THREAD_MULTIPLE: an application thread does it in its next pass.
struct Chore {
  void (*perform)(Chore&) = nullptr;
  Chore* next = nullptr;  // the waiter's own
};

// What a thread has seen that looks for something by itself.
enum class Seen : uint8_t { nothing, all, other };  // other: it is not to be found by looking on

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
  void enter() { ownership_.acquire(); }
  // `work`: something is under way that no thread waits for.
  void leave(bool work) {
    if (sleepers_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      leave_to_sleepers();
    has_work_.store(work, std::memory_order_relaxed);
    const Helper helper = helper_.load(std::memory_order_relaxed);
    if (helper != Helper::watching && (work || helper == Helper::asleep)) [[unlikely]]
      leave_to_helper(helper, work);
    ownership_.release();
  }

  // At the begin of each pass, so that the progress thread sees that the application is here.
  void begin_pass() {
    count_pass();
    if (first_chore_ && !helper_drives_) [[unlikely]]
      do_chores();
  }
  void count_pass() { passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  // Engine::takes_turns().
  bool takes_turns() {
    if (ownership_.contended() || sleepers_.load(std::memory_order_relaxed) > 0) {
      turns_ = kTurnsRemembered;
      return true;
    }
    if (turns_ == 0) return false;
    --turns_;
    return true;
  }

  // Of a thread that is about to poll by itself: nobody need ring for what it sees.
  void stay_awake() {
    if (armed_) [[unlikely]]
      disarm();
  }
  static void yield();
  // Of a thread that waits for another one of this process, which shares its core: it sleeps early meanwhile. Begins
  // (1) and ends (-1); engine owned.
  void wait_for_thread(int change) { awaited_threads_ += change; }
  // Of a thread that owns the engine and waits.
  void yield_core();

  bool helper_drives() const { return helper_drives_; }
  void leave_to_application(Chore& chore);
  // It listens to another transport from here on; so do those who sleep.
  void switch_transport(int descriptor);
  const Blocked* blocked() const { return blocked_; }

  // One thread's wait, from its begin to its end: what it does between two passes of the engine
  // that find nothing.
  class Wait {
   public:
    // `done` is asked with `argument`, also by other threads.
    Wait(Waiter& waiter, bool (*done)(void*), void* argument, Blocked& blocked);
    ~Wait() {
      if (blocked_.listed) [[unlikely]]
        waiter_.unlist(blocked_);
    }
    Wait(const Wait&) = delete;

    // At least one pass each turn, or threads that wait for each other's turn starve all.
    void after_pass(bool moved) {
      if (!moved) {
        idle_ = std::min(idle_ + 1, longest_);
        waiter_.stay_awake();
      } else {
        idle_ = 0;
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
    void set_limits();
    void sleep_early();
    void end_looks();
    void rest();
    bool tell_observer();
    void let_others_in();
    void yield();
    void sleep_until_something();
    void sleep(bool listens);

    Waiter& waiter_;
    bool (*const done_)(void*);
    void* const argument_;
    Blocked& blocked_;
    // For how many passes it polls; after how many it sleeps; where it stops to count; before it pauses.
    int polls_, before_sleep_, longest_, eager_;
    bool is_short_;  // the limits are those of ranks that share a core
    int idle_ = 0, spins_ = 0, turns_ = 0;
    Time asleep_since_{}, last_look_{};
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

  void list(Blocked& blocked);
  void unlist(Blocked& blocked);
  bool shares_core();
  bool has_lost_core(Time& last);
  bool arm();
  void disarm();

  void wake(Wait& sleeper);
  void wake_those_done();
  bool someone_is_told() const;
  bool someone_listens() const;
  void wake_one();
  void leave_to_sleepers();
  void do_chores();

  // What the progress thread does, and what it wants of a thread that leaves.
  enum class Helper : uint8_t {
    watching,  // looks soon whether the application is away: nothing
    dozing,    // looks after a while: a summons if work is left behind
    asleep,    // does not look: the alarm must be set when the application is gone
  };
  void leave_to_helper(Helper helper, bool work);
  bool set_alarm(int attempts);
  enum class Summons : uint8_t { work = 1, busy = 2 };  // something to do; calls made all the time
  void summon(Summons why);

  Engine& engine_;
  const Waiting waiting_;
  Ownership ownership_;

  std::atomic<int> sleepers_{0};         // threads in sleep(); changed by the engine's owner
  Wait* asleep_ = nullptr;               // the same
  std::vector<int> bells_;               // of those who have woken
  std::atomic<bool> unattended_{false};  // they hear nothing: another thread has seen to them lately
  Blocked* blocked_ = nullptr;

  static constexpr int kTurnsRemembered = 64;
  int turns_ = 0;  // takes_turns() remembers so many times more
  unsigned yields_ = 0;
  Time spreads_from_{};  // the next look where the others are is not before this
  bool shares_ = false;  // its core, as far as it knows
  Time shares_until_{};
  int awaited_threads_ = 0;  // of this process, see wait_for_thread()
  std::chrono::milliseconds share_remembered_{};

  Chore* first_chore_ = nullptr;
  Chore* last_chore_ = nullptr;
  bool helper_drives_ = false;  // the owner is the progress thread

  // What the progress thread sees without owning the engine; written by its owner.
  std::atomic<uint64_t> passes_{0};  // of progress(): a call that makes none leaves work undone
  std::atomic<bool> has_work_{false};
  std::atomic<bool> has_helper_{false};
  // Changed by the progress thread; asleep only while it owns the engine, so that nobody leaves
  // without seeing that. Whoever summons it sets it to watching.
  std::atomic<Helper> helper_{Helper::watching};
  Alarm alarm_;
  bool armed_ = false;          // the transport tells, or has told, of what comes
  bool by_flags_ = false;       // of flags, too
  int leaves_collectives_ = 0;  // the program has left one under way; counts down what it has not since
  Allowance alarms_;            // to be set by threads that leave, instead of waking the helper
  int summons_fd_ = -1;
};

}  // namespace tutti::engine
