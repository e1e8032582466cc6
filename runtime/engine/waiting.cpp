// SPDX-License-Identifier: BSD-3-Clause
// How a blocked call waits: it polls, yields, then sleeps; and how it and the progress thread are
// woken.
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/flight.hpp"
#include "engine/engine.hpp"

namespace tutti::engine {
namespace {

// Polls before the first pause, which takes as long as a short message on some processors.
constexpr int kEagerPolls = 50;
// Turns that a waiting thread takes between those of others: then it leaves the polling to them. So
// many take longer than a wake-up, which it needs from there on.
constexpr int kTurnsBeside = 200;
constexpr unsigned kYieldsPerLook = 64;
// Guards against a wake-up that the transport loses.
constexpr int kLongestSleepMs = 100;

}  // namespace

void Engine::wait(bool (*done)(void*), void* argument, Blocked& blocked) {
  const int before_sleep = waiting_.polls + waiting_.yields;
  const int longest = waiting_.polls < Waiting::kForEver ? before_sleep + 1 : waiting_.polls;
  constexpr int kSpinsUnobserved = 1 << 20;  // of a thread that never sleeps
  std::chrono::steady_clock::time_point asleep_since{};
  int spins = 0;
  int turns = 0;
  Sleeper me{done, argument};
  for (int idle = 0; !done(argument);) {
    // At least one pass each turn, or threads that wait for each other's turn starve all.
    if (!progress()) {
      idle = std::min(idle + 1, longest);
      stay_awake();
    } else {
      idle = 0;
      if (asleep_ && another_sleeper_is_done()) [[unlikely]] wake_sleepers();
    }
    if (observer_ && (idle > before_sleep || ++spins == kSpinsUnobserved)) [[unlikely]] {
      spins = 0;
      if (!blocked.listed) list(blocked);
      const auto now = std::chrono::steady_clock::now();
      if (asleep_since == std::chrono::steady_clock::time_point{}) asleep_since = now;
      observer_->waits(now - asleep_since);
      if (done(argument)) break;
    }
    if (idle > before_sleep) {
      sleep_until_something(me);
    } else if (ownership_.contended()) {  // another thread's turn; it waits in the same fair queue
      if (++turns > kTurnsBeside) {
        sleep(me);
      } else {
        has_work_.store(pending() > 0, std::memory_order_relaxed);
        ownership_.release();
        ownership_.acquire();
      }
    } else if (idle > waiting_.polls) {
      yield_core();
    } else if (idle > kEagerPolls) {
      __builtin_ia32_pause();
    }
  }
  if (blocked.listed) [[unlikely]]
    unlist(blocked);
}

bool Engine::progress_here() {
  begin_pass();
  bool moved = transport_.progress_here();
  if (!pollers_.empty()) moved |= pollers_.poll();
  return moved;
}

void Engine::list(Blocked& blocked) {
  ++events_;
  blocked.listed = true;
  blocked.next = blocked_;
  if (blocked_) blocked_->previous = &blocked;
  blocked_ = &blocked;
  blocked.thread = gettid();
  blocked.call = flight::thread();
}

void Engine::unlist(Blocked& blocked) {
  ++events_;
  (blocked.previous ? blocked.previous->next : blocked_) = blocked.next;
  if (blocked.next) blocked.next->previous = blocked.previous;
}

// From here on whoever raises a flag that a poller waits for rings, as a sender does. What was
// raised before is looked for once more.
bool Engine::arm() {
  return transport_.arm() && !pollers_.poll();
}

void Engine::sleep_until_something(Sleeper& me) {
  if (!arm()) {
    armed_ = false;
    if (!progress()) sched_yield();
    return;
  }
  armed_ = true;
  // This thread hears of what comes: the progress thread need not be woken as well.
  if (alarm_.enabled()) alarm_.disable();
  unattended_.store(false, std::memory_order_relaxed);
  if (another_sleeper_is_done()) wake_sleepers();
  sleep(me);
}

// Until a message comes, if the transport is armed, or another thread that owns the engine meanwhile
// wakes me: it sees to those who sleep when it leaves.
void Engine::sleep(Sleeper& me) {
  me.told = false;
  me.next = std::exchange(asleep_, &me);
  sleepers_.store(sleepers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  ownership_.release();
  pollfd wakers[] = {{transport_.descriptor(), POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  poll(wakers, 2, kLongestSleepMs);
  ownership_.acquire();
  Sleeper** at = &asleep_;
  while (*at != &me) at = &(*at)->next;
  *at = me.next;
  const int left = sleepers_.load(std::memory_order_relaxed) - 1;
  sleepers_.store(left, std::memory_order_relaxed);
  uint64_t count;
  if (left == 0) {  // the last one out leaves the wake-up descriptor quiet
    [[maybe_unused]] const ssize_t n = read(wake_fd_, &count, sizeof count);
  }
}

void Engine::yield() {
  sched_yield();
}

// Where ranks share cores it is how most of their waiting goes, and which of them share one is looked at
// meanwhile.
void Engine::yield_core() {
  yield();
  if (waiting_.spreads && ++yields_ % kYieldsPerLook == 0) transport_.spread();
}

// Each is found once while it sleeps.
bool Engine::another_sleeper_is_done() {
  bool found = false;
  for (Sleeper* each = asleep_; each; each = each->next)
    if (!each->told && each->done(each->argument)) found = each->told = true;
  return found;
}

// Those who sleep in a call have not seen what this thread has done for them, and while it polled
// nobody rang for them. To wake them each time would make its calls as slow as a wake-up, and so would
// arming the transport again: when it does that often, they are seen to once it stays away.
void Engine::leave_to_sleepers() {
  if (another_sleeper_is_done() || first_chore_) return wake_sleepers();
  if (armed_) return;
  if (alarms_.take()) {
    armed_ = arm();
    unattended_.store(false, std::memory_order_relaxed);
    if (!armed_) wake_sleepers();
  } else if (!has_helper_.load(std::memory_order_relaxed)) {
    wake_sleepers();
  } else {
    unattended_.store(true, std::memory_order_relaxed);
    if (helper_.load(std::memory_order_relaxed) == Helper::asleep) ring_doorbell(Ring::busy);
  }
}

void Engine::wake_sleepers() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof one);
}

// ---- the progress thread

void Engine::leave_to_application(Chore& chore) {
  chore.next = nullptr;
  (first_chore_ ? last_chore_->next : first_chore_) = &chore;
  last_chore_ = &chore;
}

void Engine::do_chores() {
  Chore* chore = std::exchange(first_chore_, nullptr);
  while (chore) {
    Chore* const next = chore->next;  // a chore may be gone once it is performed
    chore->perform(*chore);
    chore = next;
  }
}

void Engine::leave_to(Helper helper, bool work) {
  // Who sleeps in a call hears of what comes, and has been told of what is left.
  if (sleepers_.load(std::memory_order_relaxed) > 0) return;
  if (ownership_.contended()) return;  // the next one to leave will do
  if (helper == Helper::asleep) {
    if (armed_ && alarm_.enabled() && !work) return;
    if (!armed_ && !alarms_.take()) return ring_doorbell(Ring::busy);
    if (set_alarm(2)) return;
  }
  ring_doorbell(Ring::work);
}

// From here on the progress thread is woken when a message comes, until an application thread waits
// for one. False: there is something to be done now.
bool Engine::set_alarm(int attempts) {
  while (!arm()) {
    armed_ = false;
    if (--attempts <= 0) return false;
    progress();
  }
  armed_ = true;
  if (!alarm_.enabled()) alarm_.enable();
  return true;
}

void Engine::disarm() {
  armed_ = false;
  transport_.disarm();
}

void Engine::ring_doorbell(Ring why) {
  helper_.store(Helper::watching, std::memory_order_relaxed);
  const auto word = static_cast<uint64_t>(why);
  [[maybe_unused]] const ssize_t n = write(doorbell_fd_, &word, sizeof word);
}

}  // namespace tutti::engine
