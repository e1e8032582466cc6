// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/knowledge.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/hearsay.hpp"

namespace tutti::mpi::knowledge {
namespace {

using race_detector::Fiber;
using race_detector::Order;

// A stamp: the time in microseconds, the barrier, and a bit that is its user's.
constexpr int kTimeBits = 43, kBarrierBits = 20;
constexpr uint64_t kTimes = uint64_t{1} << kTimeBits, kBarriers = uint64_t{1} << kBarrierBits;

struct Told {
  uint64_t time = 0;
  uint32_t barrier = 0;
  Order order;  // what was done before, and in all earlier ones
};

struct Known {
  Mutex mutex;
  std::array<Told, 256> told TUTTI_GUARDED_BY(mutex);  // the latest, in a ring
  uint64_t count TUTTI_GUARDED_BY(mutex) = 0;
  Fiber chain TUTTI_GUARDED_BY(mutex) = nullptr;  // by which each has what the earlier ones have
  std::vector<Listener*> listeners TUTTI_GUARDED_BY(mutex);
  std::atomic<int> windows = 0;  // as many as listeners: a thread that uses a window has seen it made
  Order completed;
};
Known& known() {
  static auto& it = *new Known;
  return it;
}

void note(Known& all, uint64_t time, uint32_t barrier) TUTTI_REQUIRES(all.mutex) {
  Told& told = all.told[all.count++ % all.told.size()];
  told.time = time;
  told.barrier = barrier;
  told.order.release();
  if (!all.chain) return;
  told.order.acquire_for(all.chain);
  told.order.release_of(all.chain);
}

}  // namespace

// All processes of a node read the same clock: what one has read before it sent is not later than what another one reads
// when it has received.
uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return (static_cast<uint64_t>(time.tv_sec) * 1000000 + static_cast<uint64_t>(time.tv_nsec) / 1000) % (kTimes - 1);
}

void open() {
  if (!race_detector::is_here()) return;
  hearsay::tells = tell;
  hearsay::hears = [](uint32_t barrier) { hear(barrier, nullptr); };
}

Listener::Listener() {
  Known& all = known();
  const Lock lock(all.mutex);
  if (!all.chain) all.chain = race_detector::take_fiber();
  if (all.chain) race_detector::name(all.chain, "what others know of this rank");
  note(all, 0, 0);  // what is before the window all know
  all.listeners.push_back(this);
  ++all.windows;
  heard_ = now();
}

Listener::~Listener() {
  Known& all = known();
  const Lock lock(all.mutex);
  std::erase(all.listeners, this);
  --all.windows;
}

Stamp Listener::stamp(uint64_t also) const {
  const Lock lock(known().mutex);
  return std::max(heard_, also) << (kBarrierBits + 1) | uint64_t{barrier_} << 1;
}

void tell(uint32_t barrier) {
  Known& all = known();
  if (all.windows.load() == 0) return;
  const Lock lock(all.mutex);
  note(all, now(), static_cast<uint32_t>(barrier % kBarriers));
}

// A barrier whose process has other threads in MPI says less: these may have told others meanwhile.
void hear(uint32_t barrier, const Listener* except) {
  Known& all = known();
  if (all.windows.load() == 0) return;
  if (current.concurrent_calls) barrier = 0;
  const Lock lock(all.mutex);
  all.completed.acquire();
  const uint64_t time = now();
  for (Listener* const each : all.listeners) {
    if (each == except) continue;
    each->barrier_ = static_cast<uint32_t>(barrier % kBarriers);
    if (barrier == 0) each->heard_ = time;
  }
}

void learn(Fiber fiber, Stamp stamp) {
  const uint64_t time = stamp >> (kBarrierBits + 1);
  const auto barrier = static_cast<uint32_t>(stamp >> 1 & (kBarriers - 1));
  Known& all = known();
  const Lock lock(all.mutex);
  const uint64_t held = std::min<uint64_t>(all.count, all.told.size());
  // The latest that was told by then, or before that barrier. Where those are forgotten, the earliest that is there.
  bool knows_barrier = barrier == 0;
  uint64_t latest = all.count - held;
  for (uint64_t i = all.count - held; i < all.count; ++i) {
    const Told& told = all.told[i % all.told.size()];
    const bool is_it = barrier != 0 && told.barrier == barrier;
    knows_barrier = knows_barrier || is_it;
    if (told.time <= time || is_it) latest = i;
  }
  if (!knows_barrier && held > 0) latest = all.count - 1;  // of a communicator that this process is not in
  if (held > 0) all.told[latest % all.told.size()].order.acquire_for(fiber);
}

Order& completed() {
  return known().completed;
}

}  // namespace tutti::mpi::knowledge
