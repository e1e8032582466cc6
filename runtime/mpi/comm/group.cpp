// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/group.hpp"

#include <vector>

#include "mpi/comm/api_group.hpp"
#include "mpi/comm/from_group.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/session.hpp"
#include "mpi/object/watcher.hpp"

namespace tutti::mpi {

namespace {

Group& empty_group() {
  static Group empty{ProcessList(), MPI_UNDEFINED};
  return empty;
}

// Takes the ranks of a list one by one; each must be valid, and none may stand there twice.
class Listed {
 public:
  explicit Listed(const Group& group) : group_(group), seen_(static_cast<size_t>(group.size())) {}
  Error add(int64_t rank) {
    if (rank < 0 || rank >= group_.size())
      return failure(MPI_ERR_RANK, "rank {} is not in the group of {}", rank, group_.size());
    if (seen_[static_cast<size_t>(rank)]) return failure(MPI_ERR_RANK, "rank {} stands twice in the list", rank);
    seen_[static_cast<size_t>(rank)] = true;
    list_.add(static_cast<int>(rank));
    return {};
  }
  ProcessList take() { return list_.take(); }

 private:
  const Group& group_;
  std::vector<bool> seen_;
  ProcessList::Builder list_;
};

Result<ProcessList> listed(const Group& group, int64_t n, Ints ranks) {
  if (n > group.size()) return failure(MPI_ERR_ARG, "{} ranks are listed, but the group has only {}", n, group.size());
  if (n > 0 && !ranks) return failure(MPI_ERR_ARG, "the list of {} ranks is NULL", n);
  Listed list(group);
  for (int64_t i = 0; i < n; i++)
    if (Error e = list.add(ranks[i])) return e;
  return list.take();
}

Result<ProcessList> in_ranges(const Group& group, int64_t n, int ranges[][3]) {
  if (n > 0 && !ranges) return failure(MPI_ERR_ARG, "the list of {} ranges is NULL", n);
  Listed list(group);
  for (int64_t i = 0; i < n; i++) {
    const int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0 || (first < last && stride < 0) || (first > last && stride > 0))
      return failure(MPI_ERR_ARG, "range {} counts from {} to {} in steps of {}", i, first, last, stride);
    for (int64_t end : {first, first + (last - first) / stride * stride})
      if (end < 0 || end >= group.size())
        return failure(MPI_ERR_RANK, "range {} has rank {}, which is not in the group of {}", i, end, group.size());
    const auto count = static_cast<int>((last - first) / stride) + 1;
    if (n == 1) return ProcessList::range(ranges[i][0], count, count > 1 ? ranges[i][2] : 1);
    for (int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride)
      if (Error e = list.add(rank)) return e;
  }
  return list.take();
}

MPI_Group include(const Group& group, const ProcessList& ranks) {
  const int mine = group.rank == MPI_UNDEFINED ? -1 : ranks.rank_of(group.rank);
  return make_group(group.processes.at(ranks), mine < 0 ? MPI_UNDEFINED : mine, group.session);
}

MPI_Group exclude(const Group& group, const ProcessList& ranks) {
  std::vector<bool> out(static_cast<size_t>(group.size()));
  for (const int rank : ranks) out[static_cast<size_t>(rank)] = true;
  ProcessList::Builder rest;
  for (int rank = 0; rank < group.size(); rank++)
    if (!out[static_cast<size_t>(rank)]) rest.add(rank);
  return include(group, rest.take());
}

// The ranks of `group` whose membership in `other` is `wanted`.
ProcessList ranks_by_membership(const Group& group, const Group& other, bool wanted) {
  const ProcessRanks in_other(other.processes, group.size());
  ProcessList::Builder ranks;
  for (int rank = 0; rank < group.size(); rank++)
    if ((in_other(group.processes[rank]) >= 0) == wanted) ranks.add(rank);
  return ranks.take();
}

}  // namespace

Error of_two_sessions(const Group& one, const Group& other) {
  if (!checking.watcher || !one.session || !other.session || one.session.get() == other.session.get()) return {};
  inventory::mention(one.session->handle, "session of the first group");
  inventory::mention(other.session->handle, "session of the second one");
  return checking.watcher->found(failure(
      MPI_ERR_GROUP,
      "the groups are of two sessions: what comes from one is not used together with what comes from another (the "
      "standard, section 11.3)"));
}

Group* HandleOf<Group>::predefined(uintptr_t value) {
  return value == reinterpret_cast<uintptr_t>(MPI_GROUP_EMPTY) ? &empty_group() : nullptr;
}

MPI_Group make_group(ProcessList processes, int rank, Ref<Session> session) {
  if (processes.empty()) return MPI_GROUP_EMPTY;
  return inventory::hand_out(*new Group(std::move(processes), rank, std::move(session)));
}

int compare(const Group& group1, const Group& group2) {
  if (group1.processes == group2.processes) return MPI_IDENT;
  const bool same = group1.size() == group2.size() && ranks_by_membership(group1, group2, false).empty();
  return same ? MPI_SIMILAR : MPI_UNEQUAL;
}

Error group_size(const Group& group, int* size) {
  *size = group.size();
  return {};
}

Error group_rank(const Group& group, int* rank) {
  *rank = group.rank;
  return {};
}

Error group_translate_ranks(const Group& group1, int64_t n, Ints ranks1, const Group& group2, int* ranks2) {
  if (Error e = of_two_sessions(group1, group2)) return e;
  if (n > 0 && (!ranks1 || !ranks2)) return failure(MPI_ERR_ARG, "a list of {} ranks is NULL", n);
  const ProcessRanks rank_in_2(group2.processes, n);
  for (int64_t i = 0; i < n; i++) {
    const int64_t rank = ranks1[i];
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= group1.size()))
      return failure(MPI_ERR_RANK, "rank {} is not in the first group of {}", rank, group1.size());
    ranks2[i] = MPI_PROC_NULL;
    if (rank == MPI_PROC_NULL) continue;
    const int found = rank_in_2(group1.processes[static_cast<int>(rank)]);
    ranks2[i] = found < 0 ? MPI_UNDEFINED : found;
  }
  return {};
}

Error group_compare(const Group& group1, const Group& group2, int* result) {
  if (Error e = of_two_sessions(group1, group2)) return e;
  *result = compare(group1, group2);
  return {};
}

Error group_union(const Group& group1, const Group& group2, MPI_Group* newgroup) {
  if (Error e = of_two_sessions(group1, group2)) return e;
  ProcessList::Builder processes;
  processes.add(group1.processes);
  int mine = group1.rank;
  for (const int rank : ranks_by_membership(group2, group1, false)) {
    if (rank == group2.rank) mine = processes.size();
    processes.add(group2.processes[rank]);
  }
  *newgroup = make_group(processes.take(), mine, group1.session ? group1.session : group2.session);
  return {};
}

Error group_intersection(const Group& group1, const Group& group2, MPI_Group* newgroup) {
  if (Error e = of_two_sessions(group1, group2)) return e;
  *newgroup = include(group1, ranks_by_membership(group1, group2, true));
  return {};
}

Error group_difference(const Group& group1, const Group& group2, MPI_Group* newgroup) {
  if (Error e = of_two_sessions(group1, group2)) return e;
  *newgroup = include(group1, ranks_by_membership(group1, group2, false));
  return {};
}

Error group_incl(const Group& group, int64_t n, Ints ranks, MPI_Group* newgroup) {
  auto list = listed(group, n, ranks);
  if (!list) return std::move(list).error();
  *newgroup = include(group, *list);
  return {};
}

Error group_excl(const Group& group, int64_t n, Ints ranks, MPI_Group* newgroup) {
  auto list = listed(group, n, ranks);
  if (!list) return std::move(list).error();
  *newgroup = exclude(group, *list);
  return {};
}

Error group_range_incl(const Group& group, int64_t n, int ranges[][3], MPI_Group* newgroup) {
  auto list = in_ranges(group, n, ranges);
  if (!list) return std::move(list).error();
  *newgroup = include(group, *list);
  return {};
}

Error group_range_excl(const Group& group, int64_t n, int ranges[][3], MPI_Group* newgroup) {
  auto list = in_ranges(group, n, ranges);
  if (!list) return std::move(list).error();
  *newgroup = exclude(group, *list);
  return {};
}

Error group_free(MPI_Group* group) {
  // Functions return MPI_GROUP_EMPTY for any group without members, so it may be freed like them.
  if (*group != MPI_GROUP_EMPTY) resolve<Group>(*group)->free_handle();
  *group = MPI_GROUP_NULL;
  return {};
}

}  // namespace tutti::mpi
