// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/nodes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/machine.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

// Of each rank, those of the first group before those of the second.
Result<std::vector<SharedPlace>> places_of_all(Comm& comm, Function function) {
  const SharedPlace mine = shared_place();
  std::vector<SharedPlace> all(static_cast<size_t>(comm.hidden.size()));
  coll::Call exchange = allgather_bytes(&mine, all.data(), sizeof mine);
  exchange.signature = contract::word_of(function);
  if (Error e = run(comm, exchange)) return e;
  return all;
}

}  // namespace

// Within a job a node goes by the job's lowest rank on it.
Result<int> node_of(Comm& comm, Function function) {
  if (!spans_jobs(comm.context())) return comm.process.job->view().node_ranks.front();
  Result<std::vector<SharedPlace>> all = places_of_all(comm, function);
  if (!all) return std::move(all).error();
  return static_cast<int>(std::ranges::find(*all, shared_place()) - all->begin());
}

Result<bool> is_on_one_node(Comm& comm, Function function) {
  if (spans_jobs(comm.context())) {
    Result<std::vector<SharedPlace>> all = places_of_all(comm, function);
    if (!all) return std::move(all).error();
    return std::ranges::all_of(*all, [&](const SharedPlace& each) { return each == all->front(); });
  }
  const std::vector<int>& here = comm.process.job->view().node_ranks;
  return std::ranges::all_of(comm.group->processes, [&](int process) {
    return std::ranges::find(here, process) != here.end();
  });
}

}  // namespace tutti::mpi
