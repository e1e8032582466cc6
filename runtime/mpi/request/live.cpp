// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/live.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/process.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/request/watch.hpp"

namespace tutti::mpi {
namespace {

[[gnu::cold]] Error bad_entry(int i, const MPI_Request* requests) {
  inventory::mention(requests[i], "request");
  return failure(MPI_ERR_REQUEST, "entry {} of the array is no request: completed or freed already, or never set", i);
}

// Where a search among `count` requests begins: --stress=random takes any.
int search_from(int count, int first) {
  if (!chooses_by_chance() || count == 0) return first;
  uint64_t& chance = asker.chance;
  if (chance == 0) chance = process().stress_mode.seed;
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int>((chance >> 33) % static_cast<uint64_t>(count));
}

}  // namespace

namespace {

// Under --check=strict: once the one entry is complete, the other is a handle of what is gone.
[[gnu::cold]] Error stands_twice(int count, const MPI_Request* requests) {
  std::vector<std::pair<MPI_Request, int>> active;
  for (int i = 0; i < count; ++i)
    if (at(requests[i])) active.emplace_back(requests[i], i);
  std::ranges::sort(active);
  for (size_t i = 1; i < active.size(); ++i)
    if (active[i].first == active[i - 1].first)
      return failure(MPI_ERR_REQUEST,
                     "elements {} and {} of the array are the same request: each is completed once (argument "
                     "array_of_requests)",
                     active[i - 1].second, active[i].second);
  return {};
}

}  // namespace

Error checked(int count, const MPI_Request* requests) {
  if (count > 0 && !requests) return failure(MPI_ERR_ARG, "the array of {} requests is NULL", count);
  for (int i = 0; i < count; ++i)
    if (!is_good(requests[i])) return bad_entry(i, requests);
  if (checking.watcher) [[unlikely]]
    return stands_twice(count, requests);
  return {};
}

[[gnu::cold]] void tell_of_end(const Live& live) {
  if (live.persistent) tell_watchers(*live.persistent, Watched::ends);
  tell_watchers(*live.request, Watched::ends);
}

void one_pass() {
  engine::Engine& engine = engine_of_process();
  engine.enter();
  const bool moved = engine.progress();
  engine.leave();
  if (!moved) engine.give_way();
}

bool chooses_by_chance() {
  return process().stress_mode.kind == StressMode::Kind::random;
}

bool Turn::is_known(int count, const MPI_Request* requests) const {
  if (requests_ != requests || count_ != count || !requests || !is_good(requests[next_])) return false;
  const Live next = at(requests[next_]);
  return next && next->has_mark(mark_);
}

void Turn::take(int count, const MPI_Request* requests, int index) {
  requests_ = nullptr;
  for (int n = 1; n < count; ++n) {
    const int i = index + n < count ? index + n : index + n - count;
    const Live next = is_good(requests[i]) ? at(requests[i]) : Live();
    if (!next) continue;
    if (++mark_ == 0) ++mark_;
    next->set_mark(mark_);
    requests_ = requests, count_ = count, next_ = i;
    return;
  }
}

int find_complete(int count, const MPI_Request* requests, bool& active, int first) {
  active = false;
  first = search_from(count, first);
  for (int n = 0; n < count; ++n) {
    const int i = first + n < count ? first + n : first + n - count;
    if (const Live live = at(requests[i])) {
      active = true;
      if (live->is_complete()) return i;
    }
  }
  return -1;
}

bool all_complete(int count, const MPI_Request* requests) {
  return std::all_of(requests, requests + count, [](const MPI_Request& handle) {
    const Live live = at(handle);
    return !live || live->is_complete();
  });
}

}  // namespace tutti::mpi
