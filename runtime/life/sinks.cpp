// SPDX-License-Identifier: BSD-3-Clause
#include "life/sinks.hpp"

#include "base/mutex.hpp"

namespace tutti::life {
namespace {

Mutex listening;  // sinks come, and change their minds
// Only grows. Released when a sink is put in front, and acquired by who tells, so that the sink is whole.
constinit std::atomic<Sink*> first{nullptr};

}  // namespace

void Sink::listen(Happenings what) {
  const Lock lock(listening);
  if (!is_listed_) {
    is_listed_ = true;
    next_ = first.load(std::memory_order_relaxed);  // changed under the lock alone
    first.store(this, std::memory_order_release);
  }
  wanted_.store(what, std::memory_order_relaxed);
  Happenings all = 0;
  for (const Sink* sink = first.load(std::memory_order_relaxed); sink; sink = sink->next_)
    all |= sink->wanted_.load(std::memory_order_relaxed);
  inside::wanted.store(all, std::memory_order_relaxed);
}

void tell(const Event& event) {
  for (Sink* sink = first.load(std::memory_order_acquire); sink; sink = sink->next_)
    if (sink->wanted_.load(std::memory_order_relaxed) & bit(event.what)) sink->hears(event);
}

}  // namespace tutti::life
