// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/dividing.hpp"

#include <algorithm>
#include <vector>

#include "base/fault_point.hpp"
#include "base/split_runs.hpp"
#include "mpi/comm/summary.hpp"
#include "mpi/comm/survivor.hpp"

namespace tutti::mpi {
namespace {

// Of the ranks with indices [begin, end) those of a color, in the order of key and rank, as ranks of the hidden channel.
ProcessList members_of(const SplitEntries& all, int color, int begin, int end) {
  std::vector<int> members;
  for (int i = begin; i < end; ++i)
    if (all[i].color == color) members.push_back(i);
  std::ranges::stable_sort(members, {}, [&](int i) { return all[i].key; });
  ProcessList::Builder ranks;
  for (const int i : members) ranks.add(all.ranks[i]);
  return ranks.take();
}

// By ranks of the hidden channel. `rank`: which of them is this process, or MPI_UNDEFINED.
Ref<Group> group_of(const Comm& comm, const ProcessList& members, int rank = MPI_UNDEFINED) {
  return new_group(comm.hidden.peers.at(members), rank, *comm.group);
}

// Of all ranks, in the order of ranks.
struct InRuns {
  uint32_t hash = 0;          // of what must agree; 0: nobody says anything
  uint32_t contradicted = 0;  // not all that say something say the same
  SplitRuns runs;
};

void join(const Reduction&, const void* left, const void* right, void* into, int64_t count) {
  const auto *lower = static_cast<const InRuns*>(left), *upper = static_cast<const InRuns*>(right);
  for (int64_t i = 0; i < count; ++i) {
    InRuns both;
    both.hash = lower[i].hash ? lower[i].hash : upper[i].hash;
    both.contradicted = lower[i].contradicted | upper[i].contradicted |
                        (lower[i].hash && upper[i].hash && lower[i].hash != upper[i].hash);
    both.runs = SplitRuns::joined(lower[i].runs, upper[i].runs);
    static_cast<InRuns*>(into)[i] = both;
  }
}

// False on all ranks: there are more runs than are told apart, or what must agree does not, and nothing has been made.
Result<bool> divide_by_runs(Comm& comm, Function function, int color, int key, uint32_t said, MPI_Comm* newcomm) {
  const int me = comm.hidden.rank;
  const InRuns mine{said, 0, SplitRuns(me, color, key)};
  InRuns all;
  const LayoutRef layout = Layout::dense(sizeof all, alignof(InRuns));
  if (Error e = reduce_to_all(comm, function, *layout, {.apply = join, .commutative = false}, &mine, &all)) return e;
  TUTTI_FAULT_POINT("split.exchanged");
  if (all.contradicted || all.runs.too_many()) return false;
  *newcomm = MPI_COMM_NULL;
  if (color == MPI_UNDEFINED) return true;
  if (Error e = make_of_members(comm, all.runs.members(color), newcomm)) return e;
  return true;
}

}  // namespace

bool may_tell_apart(const Comm& comm) {
  return !comm.is_inter() && !engine::spans_jobs(comm.context()) && !survivor_of(comm);
}

Error take_part(Comm& comm, const SplitEntries& all, MPI_Comm* newcomm) {
  const int size = all.size(), me = comm.hidden.rank, my_index = all.ranks.rank_of(me);
  const SplitEntry& mine = all[my_index];
  const auto give_back = [&] {
    if (mine.context != engine::kNoContext) comm.contexts().release(mine.context);
  };
  TUTTI_FAULT_POINT("split.exchanged");
  *newcomm = MPI_COMM_NULL;
  if (mine.color == MPI_UNDEFINED) {
    give_back();
    return {};
  }
  const Sides sides = comm.hidden.sides ? comm.hidden.sides : Sides{size, size, my_index};
  const ProcessList local = members_of(all, mine.color, sides.begin(), sides.begin() + sides.size());
  const ProcessList remote = members_of(all, mine.color, sides.other_begin(), sides.other_begin() + sides.other_size());
  const bool complete = !comm.is_inter() || !remote.empty();
  const int first = sides.in_first() || remote.empty() ? local.front() : remote.front();
  if (first != me || !complete) give_back();
  if (!complete) return {};
  const uint64_t context = all[all.ranks.rank_of(first)].context;
  if (context == engine::kNoContext) return no_context_left(comm);
  const int rank = local.rank_of(me);
  *newcomm = make_intercomm(comm, group_of(comm, local, rank), comm.is_inter() ? group_of(comm, remote) : Ref<Group>(),
                            sides.in_first(), context)
                 ->handle;
  return {};
}

Error make_of_members(Comm& comm, const ProcessList& members, MPI_Comm* newcomm) {
  const int rank = members.rank_of(comm.hidden.rank);
  uint64_t context = offer_context(comm, rank == 0);
  const ProcessList processes = comm.hidden.peers.at(members);
  if (Error e =
          tell_group(*comm.hidden.engine, match_of_call(comm), processes, members, rank, &context, sizeof context)) {
    if (rank == 0) comm.contexts().release(context);
    return e;
  }
  if (context == engine::kNoContext) return no_context_left(comm);
  *newcomm = make_comm(comm, processes, rank, context)->handle;
  return {};
}

Error divide(Comm& comm, Function function, int color, int key, MPI_Comm* newcomm) {
  return divide(comm, function, color, key, Given(), newcomm);
}

Error divide(Comm& comm, Function function, int color, int key, const Given& given, MPI_Comm* newcomm) {
  if (are_many(comm) && may_tell_apart(comm)) {
    Result<bool> made = divide_by_runs(comm, function, color, key, given.hash(), newcomm);
    if (!made) return std::move(made).error();
    if (*made) return {};
  }
  const auto alike = [&](std::span<const SplitEntry> all) -> Error {
    if (!Given::is_asked_for(comm)) return {};
    std::vector<uint32_t> said;
    for (const SplitEntry& entry : all) said.push_back(entry.said.hash);
    return agree(comm, function, given, said);
  };
  return divide_if(comm, function, SplitEntry{color, key, engine::kNoContext, {given.hash(), 0}}, alike, newcomm);
}

}  // namespace tutti::mpi
