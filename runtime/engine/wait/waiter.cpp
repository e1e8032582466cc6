// SPDX-License-Identifier: BSD-3-Clause
// What a blocked thread does while there is nothing to do: it pauses, yields, then sleeps.
#include "engine/wait/waiter.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/cpu.hpp"
#include "base/flight.hpp"
#include "base/log.hpp"
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
// Yields take a millisecond in all, and seconds where each hands a slice to somebody else. Who sleeps is told of, and
// looks for deadlocks.
constexpr std::chrono::milliseconds kLongestYields{100};
// Who loses its core for so long shares it with somebody who waits for nobody's yield: a busy rank
// of another container or node, or another program. Of these Linux lets none run while one polls,
// or yields within its own session, before the slice is over; who sleeps and is woken comes sooner.
constexpr std::chrono::milliseconds kSlice{2};
// Remembered for so long, and longer each time that it turns out to have been forgotten too soon. Who was
// away for long waits in a long queue, and waits there again after the next message: that takes some times
// as long.
constexpr std::chrono::milliseconds kShortestMemory{10}, kLongestMemory{1000};
constexpr int kMemoryOfLoss = 4;
constexpr int kPollsOfSharers = 200;
// After a message that concerns no operation: enough to answer a question.
constexpr int kPollsForOthers = 200;
constexpr int kPollsPerLook = 256;  // some ten microseconds
// Guards against a wake-up that the transport loses.
constexpr int kLongestSleepMs = 100;
constexpr int kSleepWithoutBellMs = 1;
// Setting the alarm takes one to ten microseconds (it makes other processors fence), waking the
// progress thread to have it set some times that. A program that computes between its calls sets it
// itself when it leaves a call that waited; one that does so more often than this does neither.
constexpr int kAlarmsAtOnce = 8;
constexpr std::chrono::milliseconds kAlarmPeriod{1};

// This thread, since it was asked last.
bool was_preempted() {
  thread_local long seen = 0;
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return std::exchange(seen, used.ru_nivcsw) != used.ru_nivcsw;
}

}  // namespace

Waiter::Waiter(Engine& engine, int transport, Waiting waiting)
    : engine_(engine),
      waiting_(waiting),
      alarm_(transport),
      alarms_(kAlarmsAtOnce, kAlarmPeriod),
      summons_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  TUTTI_INVARIANT(summons_fd_ >= 0, "no descriptor left for an eventfd");
}

Waiter::~Waiter() {
  for (const int bell : bells_) close(bell);
  close(summons_fd_);
}

// ---- one wait

Waiter::Wait::Wait(Waiter& waiter, bool (*done)(void*), void* argument, life::Blocked& blocked)
    : waiter_(waiter), done_(done), argument_(argument), blocked_(blocked) {
  ++waiter.waits_;
  set_limits();
}

// Anew whenever something has come, for one call waits for many things, such as all rounds of a barrier.
void Waiter::Wait::set_limits() {
  const Waiting& waiting = waiter_.waiting_;
  is_short_ = waiter_.shares_core();
  polls_ = is_short_ ? std::min(waiting.polls, kPollsOfSharers) : waiting.polls;
  before_sleep_ = is_short_ ? polls_ : polls_ + waiting.yields;
  longest_ = polls_ < Waiting::kForEver ? before_sleep_ + 1 : polls_;
  eager_ = std::min(polls_, kEagerPolls);
}

// Something has come to one that has slept. Mostly it polls anew, for the rest of it comes soon. Observers' words, such as the
// questions for whom others wait, which come for as long as it waits, let it sleep again unless an operation has gone on.
int Waiter::Wait::idle_after_sleep() {
  const Engine& engine = waiter_.engine_;
  const bool by_control = std::exchange(control_messages_, engine.control_messages()) != engine.control_messages();
  const bool by_operations = std::exchange(events_, engine.events()) != engine.events();
  yields_since_ = {};  // it may go on in the middle of its yields
  return by_operations || !by_control ? 0 : std::min(idle_, std::max(before_sleep_ - kPollsForOthers, 0));
}

void Waiter::Wait::sleep_early() {
  set_limits();
  idle_ = before_sleep_;
}

// Something has come. It mostly has when this thread has its core again, before it looks by itself. A pass
// that copied much has taken long without any such loss.
void Waiter::Wait::end_looks() {
  Time last = std::exchange(last_look_, {});
  if (std::chrono::steady_clock::now() - last >= kSlice && was_preempted()) waiter_.has_lost_core(last);
}

void Waiter::Wait::rest() {
  if (tell_observer()) return;
  if (idle_ > before_sleep_) {
    sleep_until_something();
  } else if (waiter_.ownership_.contended()) {
    let_others_in();
  } else if (idle_ > polls_) {
    yield();
  } else if (idle_ > eager_) {
    cpu::pause();
    if (idle_ % kPollsPerLook == 0 && waiter_.has_lost_core(last_look_)) sleep_early();
  }
}

// Of one that has waited for long. True: it is done.
bool Waiter::Wait::tell_observer() {
  const bool for_long = spins_ >= kSpinsUnobserved;
  if (for_long) spins_ = 0;
  Observer* const observer = waiter_.engine_.observer();
  if (!observer || (idle_ <= before_sleep_ && !for_long)) [[likely]]
    return false;
  spins_ = 0;
  if (!blocked_.listed) waiter_.list(blocked_);
  const auto now = std::chrono::steady_clock::now();
  if (asleep_since_ == Time{}) asleep_since_ = now;
  observer->waits(blocked_, now - asleep_since_);
  return done_(argument_);
}

// It is another thread's turn, which waits in the same fair queue.
void Waiter::Wait::let_others_in() {
  last_look_ = {};
  if (++turns_ > (waiter_.shares_ ? 1 : kTurnsBeside)) return sleep(false);
  Time before = std::chrono::steady_clock::now();
  waiter_.has_work_.store(waiter_.engine_.pending() > 0, std::memory_order_relaxed);
  waiter_.ownership_.release();
  waiter_.ownership_.acquire();
  waiter_.has_lost_core(before);
}

void Waiter::Wait::yield() {
  last_look_ = {};
  Time before = std::chrono::steady_clock::now();
  if (idle_ == polls_ + 1 || yields_since_ == Time{}) yields_since_ = before;
  waiter_.yield_core();
  if (waiter_.waiting_.spreads && before >= waiter_.spreads_from_) {
    waiter_.spreads_from_ = before + kLongestWithoutLook;
    waiter_.engine_.transport().spread();
  }
  const bool for_long = before - yields_since_ > kLongestYields;
  if (waiter_.has_lost_core(before) || for_long) sleep_early();
}

void Waiter::Wait::sleep_until_something() {
  Waiter& waiter = waiter_;
  last_look_ = {};
  if (!waiter.arm()) {
    waiter.armed_ = false;
    if (!waiter.engine_.progress()) sched_yield();
    return;
  }
  waiter.armed_ = true;
  // This thread hears of what comes: the progress thread need not be woken as well.
  if (waiter.alarm_.enabled()) waiter.alarm_.disable();
  waiter.unattended_.store(false, std::memory_order_relaxed);
  waiter.wake_those_done();
  // One who has just come gets its message without a detour. One whose sleep another's message has
  // ended leaves the next one to that other thread.
  sleep(!has_slept_ || !waiter.someone_listens());
}

// Until a message comes, if it listens and the transport is armed, or another thread that owns the
// engine meanwhile rings: that one sees to those who sleep when it leaves.
void Waiter::Wait::sleep(bool listens) {
  Waiter& waiter = waiter_;
  told_ = false;
  listens_ = listens;
  if (!std::exchange(has_slept_, true))
    events_ = waiter.engine_.events(), control_messages_ = waiter.engine_.control_messages();
  if (waiter.bells_.empty()) {
    bell_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  } else {
    bell_ = waiter.bells_.back();
    waiter.bells_.pop_back();
  }
  next_ = std::exchange(waiter.asleep_, this);
  waiter.sleepers_.store(waiter.sleepers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  pollfd wakers[] = {{bell_, POLLIN, 0}, {waiter.engine_.transport().descriptor(), POLLIN, 0}};
  waiter.ownership_.release();
  poll(wakers, listens ? 2 : 1, bell_ >= 0 ? kLongestSleepMs : kSleepWithoutBellMs);
  waiter.ownership_.acquire();
  Wait** at = &waiter.asleep_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  waiter.sleepers_.store(waiter.sleepers_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (bell_ < 0) return;
  uint64_t rings;
  if (told_) [[maybe_unused]]
    const ssize_t n = read(bell_, &rings, sizeof rings);
  waiter.bells_.push_back(bell_);
}

// ---- who waits

void Waiter::list(life::Blocked& blocked) {
  engine_.note_event();
  blocked.listed = true;
  blocked.next = blocked_;
  if (blocked_) blocked_->previous = &blocked;
  blocked_ = &blocked;
  blocked.thread = gettid();
  blocked.call = flight::thread();
}

void Waiter::unlist(life::Blocked& blocked) {
  engine_.note_event();
  (blocked.previous ? blocked.previous->next : blocked_) = blocked.next;
  if (blocked.next) blocked.next->previous = blocked.previous;
}

// ---- cores

void Waiter::yield() {
  sched_yield();
}

// Where ranks share cores it is how most of their waiting goes, and which of them share one is
// looked at meanwhile.
void Waiter::yield_core() {
  yield();
  if (waiting_.spreads && ++yields_ % kYieldsPerLook == 0) engine_.transport().spread();
}

bool Waiter::shares_core() {
  if (awaited_threads_ > 0) return true;
  if (shares_) [[unlikely]]
    shares_ = std::chrono::steady_clock::now() < shares_until_;
  return shares_;
}

// Takes down when that was asked; the first time there is no telling.
bool Waiter::has_lost_core(Time& last) {
  const Time now = std::chrono::steady_clock::now(), before = std::exchange(last, now);
  if (!waiting_.adapts || before == Time{} || now - before < kSlice) return false;
  const bool again = now < shares_until_ + share_remembered_;
  const auto by_loss = std::chrono::duration_cast<std::chrono::milliseconds>(kMemoryOfLoss * (now - before));
  share_remembered_ = std::min(std::max(again ? 2 * share_remembered_ : kShortestMemory, by_loss), kLongestMemory);
  shares_until_ = now + share_remembered_;
  shares_ = true;
  return true;
}

}  // namespace tutti::engine
