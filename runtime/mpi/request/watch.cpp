// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/watch.hpp"

#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/request/buffers_end.hpp"

namespace tutti::mpi {
namespace {

struct OneWatcher {
  WatchFunction call;
  void* state;
};

struct AllWatched {
  Mutex mutex;
  std::unordered_map<const Request*, std::vector<OneWatcher>> of TUTTI_GUARDED_BY(mutex);
  // So many as there are in `of`, so that a process which watches none asks no lock. Whoever completes or frees a request
  // comes behind the thread that has watched it, as it comes behind the one that has made it: no order is wanted.
  std::atomic<size_t> count{0};
  bool are_none() const { return count.load(std::memory_order_relaxed) == 0; }
};

// Never destroyed: requests may go while the process ends.
AllWatched& all_watched() {
  static auto& all = *new AllWatched;
  return all;
}

}  // namespace

bool watch(Request& request, WatchFunction watcher, void* state) {
  if (!request.set_watched()) return false;
  AllWatched& all = all_watched();
  const Lock lock(all.mutex);
  all.of[&request].push_back({watcher, state});
  all.count.store(all.of.size(), std::memory_order_relaxed);
  return true;
}

void tell_watchers(const Request& request, Watched what, int partition) {
  if (what == Watched::ends && buffers_end) buffers_end(&request);
  AllWatched& all = all_watched();
  if (all.are_none()) return;
  // Held meanwhile: of two threads that ask for the status the second one must find the data in their place, too.
  const Lock lock(all.mutex);
  const auto found = all.of.find(&request);
  if (found == all.of.end()) return;
  for (const OneWatcher& watcher : found->second) watcher.call(watcher.state, static_cast<int>(what), partition);
}

void hand_watchers_on(const Request& from, Request& to) {
  if (!to.set_watched()) return;
  AllWatched& all = all_watched();
  const Lock lock(all.mutex);
  if (auto node = all.of.extract(&from)) {
    node.key() = &to;
    all.of.insert(std::move(node));
  }
}

void Request::forget_watched() {
  if (buffers_end) buffers_end(this);
  AllWatched& all = all_watched();
  if (all.are_none()) return;
  const Lock lock(all.mutex);
  auto node = all.of.extract(this);
  if (!node) return;
  all.count.store(all.of.size(), std::memory_order_relaxed);
  for (const OneWatcher& watcher : node.mapped()) watcher.call(watcher.state, static_cast<int>(Watched::goes), 0);
}

}  // namespace tutti::mpi
