// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/group.hpp"

#include <algorithm>
#include <unordered_map>

#include "mpi/comm/api_group.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi {

namespace {

Group& empty_group() {
  static Group empty(std::make_shared<const std::vector<int>>(), MPI_UNDEFINED);
  return empty;
}

// Process to rank. Few look-ups search the list, many are worth a table.
class RankOf {
 public:
  RankOf(const Group& group, int64_t lookups) : processes_(*group.processes) {
    if (lookups < 8) return;
    table_.reserve(processes_.size());
    for (size_t rank = 0; rank < processes_.size(); rank++)
      table_.emplace(processes_[rank], static_cast<int>(rank));
  }
  // MPI_UNDEFINED if the process is not in the group.
  int operator()(int process) const {
    if (!table_.empty()) {
      const auto found = table_.find(process);
      return found == table_.end() ? MPI_UNDEFINED : found->second;
    }
    const auto found = std::find(processes_.begin(), processes_.end(), process);
    return found == processes_.end() ? MPI_UNDEFINED : static_cast<int>(found - processes_.begin());
  }

 private:
  const std::vector<int>& processes_;
  std::unordered_map<int, int> table_;
};

// The ranks of a list, each valid and none twice.
Result<std::vector<int>> checked(const Group& group, std::vector<int> ranks) {
  std::vector<bool> seen(static_cast<size_t>(group.size()));
  for (int rank : ranks) {
    if (rank < 0 || rank >= group.size())
      return failure(MPI_ERR_RANK, "rank {} is not in the group of {}", rank, group.size());
    if (seen[static_cast<size_t>(rank)])
      return failure(MPI_ERR_RANK, "rank {} stands twice in the list", rank);
    seen[static_cast<size_t>(rank)] = true;
  }
  return ranks;
}

Result<std::vector<int>> listed(const Group& group, int64_t n, Ints ranks) {
  if (n > group.size())
    return failure(MPI_ERR_ARG, "{} ranks are listed, but the group has only {}", n, group.size());
  if (n > 0 && !ranks) return failure(MPI_ERR_ARG, "the list of {} ranks is NULL", n);
  std::vector<int> list;
  for (int64_t i = 0; i < n; i++) list.push_back(static_cast<int>(ranks[i]));
  return checked(group, std::move(list));
}

Result<std::vector<int>> in_ranges(const Group& group, int64_t n, int ranges[][3]) {
  if (n > 0 && !ranges) return failure(MPI_ERR_ARG, "the list of {} ranges is NULL", n);
  std::vector<int> list;
  for (int64_t i = 0; i < n; i++) {
    const int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0 || (first < last && stride < 0) || (first > last && stride > 0))
      return failure(MPI_ERR_ARG, "range {} counts from {} to {} in steps of {}", i, first, last,
                     stride);
    for (int64_t end : {first, first + (last - first) / stride * stride})
      if (end < 0 || end >= group.size())
        return failure(MPI_ERR_RANK, "range {} has rank {}, which is not in the group of {}", i,
                       end, group.size());
    for (int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride)
      list.push_back(static_cast<int>(rank));
  }
  return checked(group, std::move(list));
}

MPI_Group include(const Group& group, const std::vector<int>& ranks) {
  std::vector<int> processes;
  processes.reserve(ranks.size());
  int mine = MPI_UNDEFINED;
  for (int rank : ranks) {
    if (rank == group.rank) mine = static_cast<int>(processes.size());
    processes.push_back((*group.processes)[static_cast<size_t>(rank)]);
  }
  return make_group(std::move(processes), mine, group.session);
}

MPI_Group exclude(const Group& group, const std::vector<int>& ranks) {
  std::vector<bool> out(static_cast<size_t>(group.size()));
  for (int rank : ranks) out[static_cast<size_t>(rank)] = true;
  std::vector<int> rest;
  for (int rank = 0; rank < group.size(); rank++)
    if (!out[static_cast<size_t>(rank)]) rest.push_back(rank);
  return include(group, rest);
}

// The ranks of `group` whose membership in `other` is `wanted`.
std::vector<int> ranks_by_membership(const Group& group, const Group& other, bool wanted) {
  const RankOf in_other(other, group.size());
  std::vector<int> ranks;
  for (int rank = 0; rank < group.size(); rank++) {
    const int process = (*group.processes)[static_cast<size_t>(rank)];
    if ((in_other(process) != MPI_UNDEFINED) == wanted) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

Group* HandleOf<Group>::predefined(uintptr_t value) {
  return value == reinterpret_cast<uintptr_t>(MPI_GROUP_EMPTY) ? &empty_group() : nullptr;
}

MPI_Group make_group(std::vector<int> processes, int rank, Ref<Session> session) {
  if (processes.empty()) return MPI_GROUP_EMPTY;
  auto list = std::make_shared<const std::vector<int>>(std::move(processes));
  return inventory::hand_out(*new Group(std::move(list), rank, std::move(session)));
}

Error group_size(const Group& group, int* size) {
  *size = group.size();
  return {};
}

Error group_rank(const Group& group, int* rank) {
  *rank = group.rank;
  return {};
}

Error group_translate_ranks(const Group& group1, int64_t n, Ints ranks1, const Group& group2,
                            int* ranks2) {
  if (n > 0 && (!ranks1 || !ranks2)) return failure(MPI_ERR_ARG, "a list of {} ranks is NULL", n);
  const RankOf rank_in_2(group2, n);
  for (int64_t i = 0; i < n; i++) {
    const int64_t rank = ranks1[i];
    if (rank != MPI_PROC_NULL && (rank < 0 || rank >= group1.size()))
      return failure(MPI_ERR_RANK, "rank {} is not in the first group of {}", rank, group1.size());
    ranks2[i] = rank == MPI_PROC_NULL ? MPI_PROC_NULL
                                      : rank_in_2((*group1.processes)[static_cast<size_t>(rank)]);
  }
  return {};
}

Error group_compare(const Group& group1, const Group& group2, int* result) {
  if (group1.processes == group2.processes || *group1.processes == *group2.processes)
    *result = MPI_IDENT;
  else if (group1.size() == group2.size() && ranks_by_membership(group1, group2, false).empty())
    *result = MPI_SIMILAR;
  else
    *result = MPI_UNEQUAL;
  return {};
}

Error group_union(const Group& group1, const Group& group2, MPI_Group* newgroup) {
  std::vector<int> processes = *group1.processes;
  int mine = group1.rank;
  for (int rank : ranks_by_membership(group2, group1, false)) {
    if (rank == group2.rank) mine = static_cast<int>(processes.size());
    processes.push_back((*group2.processes)[static_cast<size_t>(rank)]);
  }
  *newgroup =
      make_group(std::move(processes), mine, group1.session ? group1.session : group2.session);
  return {};
}

Error group_intersection(const Group& group1, const Group& group2, MPI_Group* newgroup) {
  *newgroup = include(group1, ranks_by_membership(group1, group2, true));
  return {};
}

Error group_difference(const Group& group1, const Group& group2, MPI_Group* newgroup) {
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
