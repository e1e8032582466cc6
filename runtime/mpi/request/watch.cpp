// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/watch.hpp"

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
  return true;
}

void tell_watchers(const Request& request, Watched what, int partition) {
  if (what == Watched::ends && buffers_end) buffers_end(&request);
  AllWatched& all = all_watched();
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
  const Lock lock(all.mutex);
  auto node = all.of.extract(this);
  if (!node) return;
  for (const OneWatcher& watcher : node.mapped()) watcher.call(watcher.state, static_cast<int>(Watched::goes), 0);
}

}  // namespace tutti::mpi
