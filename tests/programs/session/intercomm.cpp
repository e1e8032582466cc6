// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators that are made of two groups alone: the leaders know both, the others their own; halves of
// all sizes, several at once with other tags, and what is refused on both sides alike.
#include <array>
#include <thread>

#include "session.hpp"

namespace {

struct Halves {
  MPI_Group mine = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
  int first = 0;  // ranks of the lower half
  bool low = false;
};

Halves halves(MPI_Group all, int rank, int size, int first) {
  Halves made;
  made.first = first;
  made.low = rank < first;
  int low[1][3] = {{0, first - 1, 1}}, high[1][3] = {{size - 1, first, -1}};  // backwards
  OK(MPI_Group_range_incl(all, 1, made.low ? low : high, &made.mine));
  OK(MPI_Group_range_incl(all, 1, made.low ? high : low, &made.other));
  return made;
}

MPI_Comm between(const Halves& h, const char* tag, int leader_of_low, int leader_of_high) {
  int me = -1;
  OK(MPI_Group_rank(h.mine, &me));
  const int mine = h.low ? leader_of_low : leader_of_high, theirs = h.low ? leader_of_high : leader_of_low;
  MPI_Comm made = MPI_COMM_NULL;
  // The other group means something at the leader alone.
  OK(MPI_Intercomm_create_from_groups(h.mine, mine, me == mine ? h.other : MPI_GROUP_NULL, me == mine ? theirs : -7,
                                      tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  CHECK(made != MPI_COMM_NULL);
  return made;
}

// Each rank sends to each one of the other group.
void use(MPI_Comm inter, const Halves& h, int seed) {
  int flag = 0, rank = -1, size = 0, remote = 0, expected = 0;
  OK(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Group_size(h.other, &expected));
  CHECK_EQ(remote, expected);
  MPI_Group group = MPI_GROUP_NULL;
  int same = MPI_UNEQUAL;
  OK(MPI_Comm_remote_group(inter, &group));
  OK(MPI_Group_compare(group, h.other, &same));
  CHECK_EQ(same, MPI_IDENT);
  OK(MPI_Group_free(&group));
  std::vector<MPI_Request> requests;
  std::vector<std::array<int, 3>> out(static_cast<size_t>(remote)), in(static_cast<size_t>(remote));
  for (int r = 0; r < remote; ++r) {
    const auto at = static_cast<size_t>(r);
    out[at] = {rank, r, seed};
    requests.resize(requests.size() + 2);
    OK(MPI_Irecv(in[at].data(), 3, MPI_INT, r, 3, inter, &requests[requests.size() - 2]));
    OK(MPI_Isend(out[at].data(), 3, MPI_INT, r, 3, inter, &requests.back()));
  }
  OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (int r = 0; r < remote; ++r) {
    const auto at = static_cast<size_t>(r);
    CHECK_EQ(in[at][0], r);
    CHECK_EQ(in[at][1], rank);
    CHECK_EQ(in[at][2], seed);
  }
  OK(MPI_Barrier(inter));
  MPI_Comm merged = MPI_COMM_NULL;
  OK(MPI_Intercomm_merge(inter, h.low, &merged));  // the upper half comes first
  int place = -1;
  OK(MPI_Comm_rank(merged, &place));
  CHECK_EQ(place, h.low ? remote + rank : rank);
  session::use(merged, seed);
  OK(MPI_Comm_free(&merged));
}

void refused(MPI_Group all, const Halves& h) {
  MPI_Comm none = MPI_COMM_NULL;
  int me = -1, first = -1;
  OK(MPI_Group_rank(h.mine, &me));
  // All of its members hear that the groups overlap, and nobody waits.
  CHECK_EQ(check::error_class(
               MPI_Intercomm_create_from_groups(h.mine, 0, all, 0, "overlap", MPI_INFO_NULL, MPI_ERRORS_RETURN, &none)),
           MPI_ERR_GROUP);
  CHECK(none == MPI_COMM_NULL);
  OK(MPI_Group_size(h.other, &first));
  CHECK_EQ(check::error_class(MPI_Intercomm_create_from_groups(h.mine, 0, h.other, first, "leader", MPI_INFO_NULL,
                                                               MPI_ERRORS_RETURN, &none)),
           MPI_ERR_RANK);
  CHECK_EQ(check::error_class(MPI_Intercomm_create_from_groups(h.mine, -1, h.other, 0, "leader", MPI_INFO_NULL,
                                                               MPI_ERRORS_RETURN, &none)),
           MPI_ERR_RANK);
  CHECK_EQ(check::error_class(MPI_Intercomm_create_from_groups(h.other, 0, h.mine, 0, "not mine", MPI_INFO_NULL,
                                                               MPI_ERRORS_RETURN, &none)),
           MPI_ERR_GROUP);
}

}  // namespace

int main() {
  MPI_Session mine = session::begin("MPI_THREAD_MULTIPLE");
  MPI_Group all = session::group(mine);
  int rank = -1, size = 0;
  OK(MPI_Group_rank(all, &rank));
  OK(MPI_Group_size(all, &size));
  check::world_rank = rank;
  for (int first = 1; first < size; ++first) {
    Halves h = halves(all, rank, size, first);
    MPI_Comm inter = between(h, "between", 0, 0);
    use(inter, h, first);
    OK(MPI_Comm_disconnect(&inter));
    inter = between(h, "between", first - 1, size - first - 1);  // the last of each leads
    use(inter, h, 100 + first);
    // The handlers of errors and sessions are inherited, and a duplicate works.
    MPI_Comm copy = MPI_COMM_NULL;
    OK(MPI_Comm_dup(inter, &copy));
    use(copy, h, 200 + first);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&inter));
    refused(all, h);

    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&h, t] {
        const std::string tag = "thread " + std::to_string(t);
        for (int round = 0; round < 5; ++round) {
          MPI_Comm comm = between(h, tag.c_str(), 0, 0);
          use(comm, h, 1000 * t + round);
          OK(MPI_Comm_free(&comm));
        }
      });
    for (std::thread& t : threads) t.join();
    OK(MPI_Group_free(&h.mine));
    OK(MPI_Group_free(&h.other));
  }
  OK(MPI_Group_free(&all));
  session::end(mine);
  if (rank == 0) std::puts("ok");
  return 0;
}
