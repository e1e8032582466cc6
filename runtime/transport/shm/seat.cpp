// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/seat.hpp"

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "transport/shared/spread.hpp"

namespace tutti::transport {
namespace {

// Between two moves of a rank: should the kernel know better, and take it back, that costs little.
constexpr std::chrono::milliseconds kMovePeriod{2};

}  // namespace

Seat::Seat(NodeSegment& segment, int me, int members)
    : segment_(segment), me_(me), members_(members), desk_(segment.desk(me)) {
  others_.reserve(static_cast<size_t>(members));
  allowed_.reserve(CPU_SETSIZE);
}

Seat::~Seat() {
  desk_.cpu_plus_one.store(0, std::memory_order_relaxed);
}

// First to where it is alone with its neighbours: 0 to 3 of eight on one core, 4 to 7 on the other.
// Then one at a time, by what those before it have left: all of a core that see the same would all
// follow. The count of moves is odd while one says where it goes.
void Seat::spread() {
  const int here = cpu_now();
  say_place(here);
  find_allowed_cpus(allowed_);
  if (allowed_.size() < 2) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < moves_from_) return;
  if (!std::exchange(has_place_, true)) {
    moves_from_ = now + kMovePeriod;
    return move(here, allowed_[static_cast<size_t>(me_) * allowed_.size() / static_cast<size_t>(members_)]);
  }
  std::atomic<uint32_t>& moves = segment_.moves();
  uint32_t before = moves.load(std::memory_order_acquire);
  if (before % 2 != 0) return;
  others_.clear();
  for (int index = 0; index < members_; ++index) {
    if (index == me_) continue;
    const Desk& desk = segment_.desk(index);
    const bool sleeps = desk.asleep.load(std::memory_order_relaxed) != 0;
    others_.push_back(sleeps ? kNoCpu : desk.cpu_plus_one.load(std::memory_order_relaxed) - 1);
  }
  const int there = better_cpu(here, others_, allowed_);
  if (there == kNoCpu) return;
  if (!moves.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel)) return;
  say_place(there);
  moves.store(before + 2, std::memory_order_release);
  moves_from_ = now + kMovePeriod;
  move(here, there);
}

void Seat::move(int here, int there) {
  say_place(there);
  if (!move_to_cpu(there)) say_place(here);
}

void Seat::say_place(int cpu) {
  desk_.cpu_plus_one.store(cpu + 1, std::memory_order_relaxed);
}

}  // namespace tutti::transport
