// SPDX-License-Identifier: BSD-3-Clause
// How threads that sleep in a call and the progress thread are woken, and what a thread that leaves
// the engine does for them.
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "engine/engine.hpp"
#include "engine/wait/waiter.hpp"

namespace tutti::engine {
namespace {

// A program that has left a collective under way is expected to do so again the next so many times.
constexpr int kLeavesRemembered = 64;

void signal(int eventfd, uint64_t word) {
  [[maybe_unused]] const ssize_t n = write(eventfd, &word, sizeof word);
}

}  // namespace

// ---- the transport's doorbell

// From here on whoever raises a flag rings, as a sender does, if a collective is under way here:
// one that has not begun finds what is raised for it when it begins. What was raised before is
// looked for once more. Where the program has lately left collectives under way, flags are asked
// for at once: to ask for them when it leaves the next one costs as much as the wake-ups that it
// spares.
bool Waiter::arm() {
  const bool under_way = engine_.under_way() != nullptr;
  if (under_way && armed_)
    leaves_collectives_ = kLeavesRemembered;
  else if (!under_way && leaves_collectives_ > 0)
    --leaves_collectives_;
  by_flags_ = under_way || leaves_collectives_ > 0;
  return engine_.transport().arm(by_flags_) && !engine_.poll_flags();
}

void Waiter::disarm() {
  armed_ = false;
  engine_.transport().disarm();
}

void Waiter::switch_transport(int descriptor) {
  alarm_.listen_to(descriptor);
  // Those who sleep listen to the old descriptor.
  for (Wait* each = asleep_; each; each = each->next_)
    if (!each->told_) wake(*each);
  if (helper_.load(std::memory_order_relaxed) == Helper::asleep) summon(Summons::work);
}

// ---- the bells of those who sleep

void Waiter::wake(Wait& sleeper) {
  sleeper.told_ = true;
  signal(sleeper.bell_, 1);
}

void Waiter::wake_those_done() {
  for (Wait* each = asleep_; each; each = each->next_)
    if (!each->told_ && each->done_(each->argument_)) wake(*each);
}

bool Waiter::someone_is_told() const {
  for (const Wait* each = asleep_; each; each = each->next_)
    if (each->told_) return true;
  return false;
}

bool Waiter::someone_listens() const {
  for (const Wait* each = asleep_; each; each = each->next_)
    if (each->listens_ && !each->told_) return true;
  return false;
}

// Whoever wakes sees to everything, and to those who sleep on when it leaves.
void Waiter::wake_one() {
  if (asleep_ && !someone_is_told()) wake(*asleep_);
}

// Those who sleep in a call have not seen what this thread has done for them, and while it polled
// nobody rang for them. To wake one each time would make its calls as slow as a wake-up, and so
// would arming the transport again: when it does that often, they are seen to once it stays away.
void Waiter::leave_to_sleepers() {
  wake_those_done();
  if (first_chore_) wake_one();
  if (someone_is_told()) return;
  const bool heard = someone_listens();
  if (heard && armed_ && (by_flags_ || !engine_.under_way())) return;
  if (alarms_.take()) {
    if (heard) armed_ = arm();
    unattended_.store(false, std::memory_order_relaxed);
    if (!heard || !armed_) wake_one();
  } else if (!has_helper_.load(std::memory_order_relaxed)) {
    wake_one();
  } else {
    unattended_.store(true, std::memory_order_relaxed);
    if (helper_.load(std::memory_order_relaxed) == Helper::asleep) summon(Summons::busy);
  }
}

// ---- the progress thread

void Waiter::leave_to_application(Chore& chore) {
  chore.next = nullptr;
  (first_chore_ ? last_chore_->next : first_chore_) = &chore;
  last_chore_ = &chore;
}

void Waiter::do_chores() {
  Chore* chore = std::exchange(first_chore_, nullptr);
  while (chore) {
    Chore* const next = chore->next;  // a chore may be gone once it is performed
    chore->perform(*chore);
    chore = next;
  }
}

void Waiter::leave_to_helper(Helper helper, bool work) {
  // Who sleeps in a call hears of what comes, and has been told of what is left.
  if (sleepers_.load(std::memory_order_relaxed) > 0) return;
  if (ownership_.contended()) return;  // the next one to leave will do
  if (helper == Helper::asleep) {
    if (armed_ && alarm_.enabled() && !work) return;
    if (!armed_ && !alarms_.take()) return summon(Summons::busy);
    if (set_alarm(2)) return;
  }
  summon(Summons::work);
}

// From here on the progress thread is woken when a message comes, until an application thread waits
// for one. False: there is something to be done now.
bool Waiter::set_alarm(int attempts) {
  while (!arm()) {
    armed_ = false;
    if (--attempts <= 0) return false;
    engine_.progress();
  }
  armed_ = true;
  if (!alarm_.enabled()) alarm_.enable();
  return true;
}

void Waiter::summon(Summons why) {
  helper_.store(Helper::watching, std::memory_order_relaxed);
  signal(summons_fd_, static_cast<uint64_t>(why));
}

}  // namespace tutti::engine
