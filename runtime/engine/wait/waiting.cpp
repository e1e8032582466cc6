// SPDX-License-Identifier: BSD-3-Clause
// How a blocked call waits: it polls, yields, then sleeps; and how it and the progress thread are
// woken.
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/cpu.hpp"
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
// Between two yields others may copy for long.
constexpr std::chrono::milliseconds kLongestWithoutLook{1};
// Who loses its core for so long shares it with somebody who waits for nobody's yield: a busy rank
// of another container or node, or another program. Of these Linux lets none run while one polls,
// or yields within its own session, before the slice is over; who sleeps and is woken comes sooner.
constexpr std::chrono::milliseconds kSlice{2};
// Remembered for so long, and longer each time that it turns out to have been forgotten too soon.
constexpr std::chrono::milliseconds kShortestMemory{10}, kLongestMemory{1000};
constexpr int kPollsOfSharers = 200;
constexpr int kPollsPerLook = 256;  // some ten microseconds
// A program that has left a collective under way is expected to do so again the next so many times.
constexpr int kLeavesRemembered = 64;
// Guards against a wake-up that the transport loses.
constexpr int kLongestSleepMs = 100;
constexpr int kSleepWithoutBellMs = 1;

}  // namespace

void Engine::wait(bool (*done)(void*), void* argument, Blocked& blocked) {
  const bool shares = shares_core();
  const int polls = shares ? std::min(waiting_.polls, kPollsOfSharers) : waiting_.polls;
  const int before_sleep = shares ? polls : polls + waiting_.yields;
  const int longest = polls < Waiting::kForEver ? before_sleep + 1 : polls;
  constexpr int kSpinsUnobserved = 1 << 20;  // of a thread that never sleeps
  Time asleep_since{}, last_look{};
  int spins = 0;
  int turns = 0;
  Sleeper me{.done = done, .argument = argument};
  for (int idle = 0; !done(argument);) {
    // At least one pass each turn, or threads that wait for each other's turn starve all.
    if (!progress()) {
      idle = std::min(idle + 1, longest);
      stay_awake();
    } else {
      idle = 0;
      last_look = {};
      if (asleep_) [[unlikely]]
        wake_those_done();
    }
    if (observer_ && (idle > before_sleep || ++spins == kSpinsUnobserved)) [[unlikely]] {
      spins = 0;
      if (!blocked.listed) list(blocked);
      const auto now = std::chrono::steady_clock::now();
      if (asleep_since == Time{}) asleep_since = now;
      observer_->waits(now - asleep_since);
      if (done(argument)) break;
    }
    if (idle > before_sleep) {
      sleep_until_something(me);
    } else if (ownership_.contended()) {  // another thread's turn; it waits in the same fair queue
      if (++turns > (shares_ ? 1 : kTurnsBeside)) {
        sleep(me, false);
      } else {
        Time before = std::chrono::steady_clock::now();
        has_work_.store(pending() > 0, std::memory_order_relaxed);
        ownership_.release();
        ownership_.acquire();
        has_lost_core(before);
      }
    } else if (idle > polls) {
      Time before = std::chrono::steady_clock::now();
      yield_core();
      if (waiting_.spreads && before >= spreads_from_) {
        spreads_from_ = before + kLongestWithoutLook;
        transport_->spread();
      }
      if (has_lost_core(before)) idle = before_sleep;
    } else if (idle > kEagerPolls) {
      cpu::pause();
      if (idle % kPollsPerLook == 0 && has_lost_core(last_look)) idle = before_sleep;
    }
  }
  if (blocked.listed) [[unlikely]]
    unlist(blocked);
}

bool Engine::progress_here() {
  begin_pass();
  bool moved = transport_->progress_here();
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

// From here on whoever raises a flag rings, as a sender does, if a collective is under way here: one
// that has not begun finds what is raised for it when it begins. What was raised before is looked for
// once more. Where the program has lately left collectives under way, flags are asked for at once: to
// ask for them when it leaves the next one costs as much as the wake-ups that it spares.
bool Engine::arm() {
  if (under_way_ && armed_)
    leaves_collectives_ = kLeavesRemembered;
  else if (!under_way_ && leaves_collectives_ > 0)
    --leaves_collectives_;
  by_flags_ = under_way_ || leaves_collectives_ > 0;
  return transport_->arm(by_flags_) && !pollers_.poll();
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
  wake_those_done();
  // One who has just come gets its message without a detour. One whose sleep another's message has
  // ended leaves the next one to that other thread.
  sleep(me, !me.has_slept || !someone_listens());
}

// Until a message comes, if I listen and the transport is armed, or another thread that owns the
// engine meanwhile wakes me: it sees to those who sleep when it leaves.
void Engine::sleep(Sleeper& me, bool listens) {
  me.told = false;
  me.listens = listens;
  me.has_slept = true;
  if (bells_.empty()) {
    me.bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  } else {
    me.bell = bells_.back();
    bells_.pop_back();
  }
  me.next = std::exchange(asleep_, &me);
  sleepers_.store(sleepers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  ownership_.release();
  pollfd wakers[] = {{me.bell, POLLIN, 0}, {transport_->descriptor(), POLLIN, 0}};
  poll(wakers, listens ? 2 : 1, me.bell >= 0 ? kLongestSleepMs : kSleepWithoutBellMs);
  ownership_.acquire();
  Sleeper** at = &asleep_;
  while (*at != &me) at = &(*at)->next;
  *at = me.next;
  sleepers_.store(sleepers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (me.bell < 0) return;
  uint64_t rings;
  if (me.told) [[maybe_unused]]
    const ssize_t n = read(me.bell, &rings, sizeof rings);
  bells_.push_back(me.bell);
}

void Engine::yield() {
  sched_yield();
}

// Where ranks share cores it is how most of their waiting goes, and which of them share one is
// looked at meanwhile.
void Engine::yield_core() {
  yield();
  if (waiting_.spreads && ++yields_ % kYieldsPerLook == 0) transport_->spread();
}

bool Engine::shares_core() {
  if (shares_) [[unlikely]]
    shares_ = std::chrono::steady_clock::now() < shares_until_;
  return shares_;
}

// Takes down when that was asked; the first time there is no telling.
bool Engine::has_lost_core(Time& last) {
  const Time now = std::chrono::steady_clock::now(), before = std::exchange(last, now);
  if (!waiting_.adapts || before == Time{} || now - before < kSlice) return false;
  const bool again = now < shares_until_ + share_remembered_;
  share_remembered_ = again ? std::min(2 * share_remembered_, kLongestMemory) : kShortestMemory;
  shares_until_ = now + share_remembered_;
  shares_ = true;
  return true;
}

void Engine::wake(Sleeper& sleeper) {
  sleeper.told = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(sleeper.bell, &one, sizeof one);
}

void Engine::wake_those_done() {
  for (Sleeper* each = asleep_; each; each = each->next)
    if (!each->told && each->done(each->argument)) wake(*each);
}

bool Engine::someone_is_told() const {
  for (const Sleeper* each = asleep_; each; each = each->next)
    if (each->told) return true;
  return false;
}

bool Engine::someone_listens() const {
  for (const Sleeper* each = asleep_; each; each = each->next)
    if (each->listens && !each->told) return true;
  return false;
}

// Whoever wakes sees to everything, and to those who sleep on when it leaves.
void Engine::wake_one() {
  if (asleep_ && !someone_is_told()) wake(*asleep_);
}

// Those who sleep in a call have not seen what this thread has done for them, and while it polled
// nobody rang for them. To wake one each time would make its calls as slow as a wake-up, and so
// would arming the transport again: when it does that often, they are seen to once it stays away.
void Engine::leave_to_sleepers() {
  wake_those_done();
  if (first_chore_) wake_one();
  if (someone_is_told()) return;
  const bool heard = someone_listens();
  if (heard && armed_ && (by_flags_ || !under_way_)) return;
  if (alarms_.take()) {
    if (heard) armed_ = arm();
    unattended_.store(false, std::memory_order_relaxed);
    if (!heard || !armed_) wake_one();
  } else if (!has_helper_.load(std::memory_order_relaxed)) {
    wake_one();
  } else {
    unattended_.store(true, std::memory_order_relaxed);
    if (helper_.load(std::memory_order_relaxed) == Helper::asleep) ring_doorbell(Ring::busy);
  }
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
  transport_->disarm();
}

void Engine::ring_doorbell(Ring why) {
  helper_.store(Helper::watching, std::memory_order_relaxed);
  const auto word = static_cast<uint64_t>(why);
  [[maybe_unused]] const ssize_t n = write(doorbell_fd_, &word, sizeof word);
}

}  // namespace tutti::engine
