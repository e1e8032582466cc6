// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators: made, asked, spoken over, duplicated, divided, merged and freed, between two groups of
// every size that the ranks allow, whichever process leads and whichever group is named first.
#include "../check.hpp"

namespace {

// A world cut in two: the first `cut` ranks are group 0, the others group 1.
struct Halves {
  Halves(int cut, bool reversed) : cut(cut) {
    int rank = -1, size = -1;
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    group = rank >= cut;
    count = group ? size - cut : cut;
    remote_count = size - count;
    // Reversed: the ranks of the local communicators run against those of the world.
    OK(MPI_Comm_split(MPI_COMM_WORLD, group, reversed ? -rank : rank, &local));
    OK(MPI_Comm_rank(local, &local_rank));
    for (int i = 0; i < remote_count; ++i) {
      const int begin = group ? 0 : cut;
      remote_world.push_back(reversed ? begin + remote_count - 1 - i : begin + i);
    }
  }
  ~Halves() { OK(MPI_Comm_free(&local)); }

  // The leader of each is its last rank if `last`.
  MPI_Comm connect(bool last, int tag) const {
    const int leader = last ? count - 1 : 0;
    MPI_Comm inter = MPI_COMM_NULL;
    const bool leads = local_rank == leader;
    OK(MPI_Intercomm_create(local, leader, leads ? MPI_COMM_WORLD : MPI_COMM_NULL,
                            leads ? remote_world[static_cast<size_t>(last ? remote_count - 1 : 0)] : -77, tag, &inter));
    return inter;
  }

  const int cut;
  int group = -1, count = 0, remote_count = 0, local_rank = -1;
  std::vector<int> remote_world;  // by rank of the other group
  MPI_Comm local = MPI_COMM_NULL;
};

void check_properties(const Halves& halves, MPI_Comm inter) {
  int flag = -1, n = -1, rank = -1, result = -1;
  OK(MPI_Comm_test_inter(inter, &flag));
  CHECK_EQ(flag, 1);
  OK(MPI_Comm_test_inter(halves.local, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Comm_size(inter, &n));
  CHECK_EQ(n, halves.count);
  OK(MPI_Comm_rank(inter, &rank));
  CHECK_EQ(rank, halves.local_rank);
  OK(MPI_Comm_remote_size(inter, &n));
  CHECK_EQ(n, halves.remote_count);

  MPI_Group world, local, remote, own;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Comm_group(inter, &local));
  OK(MPI_Comm_group(halves.local, &own));
  OK(MPI_Group_compare(local, own, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Comm_remote_group(inter, &remote));
  OK(MPI_Group_rank(remote, &rank));
  CHECK_EQ(rank, MPI_UNDEFINED);
  OK(MPI_Group_size(remote, &n));
  CHECK_EQ(n, halves.remote_count);
  std::vector<int> ranks(static_cast<size_t>(n)), in_world(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  OK(MPI_Group_translate_ranks(remote, n, ranks.data(), world, in_world.data()));
  CHECK(in_world == halves.remote_world);
  for (MPI_Group* group : {&world, &local, &remote, &own}) OK(MPI_Group_free(group));
}

// From each rank of a group to each of the other one, from a known source and from any.
void exchange(const Halves& halves, MPI_Comm inter, int tag) {
  const auto value = [&](int group, int from, int to) {
    return static_cast<int>(
        check::mix(static_cast<unsigned>(group * 100 + from), static_cast<unsigned>(to), static_cast<unsigned>(tag)) >>
        1);
  };
  for (const bool any : {false, true}) {
    std::vector<int> mine, got(static_cast<size_t>(halves.remote_count), -1);
    std::vector<MPI_Request> requests;
    for (int to = 0; to < halves.remote_count; ++to) mine.push_back(value(halves.group, halves.local_rank, to));
    for (int to = 0; to < halves.remote_count; ++to) {
      requests.push_back(MPI_REQUEST_NULL);
      OK(MPI_Isend(&mine[static_cast<size_t>(to)], 1, MPI_INT, to, tag, inter, &requests.back()));
    }
    for (int i = 0; i < halves.remote_count; ++i) {
      MPI_Status status;
      int data = -1;
      if (any && i % 2) OK(MPI_Probe(MPI_ANY_SOURCE, tag, inter, &status));
      const int source = !any ? i : i % 2 ? status.MPI_SOURCE : MPI_ANY_SOURCE;
      OK(MPI_Recv(&data, 1, MPI_INT, source, tag, inter, &status));
      CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < halves.remote_count);
      CHECK(any || status.MPI_SOURCE == i);
      CHECK_EQ(got[static_cast<size_t>(status.MPI_SOURCE)], -1);
      got[static_cast<size_t>(status.MPI_SOURCE)] = data;
      CHECK_EQ(data, value(1 - halves.group, status.MPI_SOURCE, halves.local_rank));
    }
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }
  // Long ones, both ways at once.
  if (halves.local_rank == 0) {
    std::vector<unsigned char> out = check::pattern(300'000, static_cast<unsigned>(halves.group)), in(out.size());
    OK(MPI_Sendrecv(out.data(), 300'000, MPI_BYTE, 0, tag + 1000, in.data(), 300'000, MPI_BYTE, 0, tag + 1000, inter,
                    MPI_STATUS_IGNORE));
    CHECK(in == check::pattern(300'000, static_cast<unsigned>(1 - halves.group)));
  }
}

// `high`: what group 0 and group 1 say. Where they say the same either may come first.
void merge(const Halves& halves, MPI_Comm inter, int high0, int high1) {
  MPI_Comm all = MPI_COMM_NULL;
  OK(MPI_Intercomm_merge(inter, halves.group ? high1 : high0, &all));
  int size = -1, rank = -1, flag = -1;
  OK(MPI_Comm_size(all, &size));
  OK(MPI_Comm_rank(all, &rank));
  OK(MPI_Comm_test_inter(all, &flag));
  CHECK_EQ(flag, 0);
  CHECK_EQ(size, halves.count + halves.remote_count);
  std::vector<int> groups(static_cast<size_t>(size));
  OK(MPI_Allgather(&halves.group, 1, MPI_INT, groups.data(), 1, MPI_INT, all));
  const int first = high0 != high1 ? high0 != 0 : groups[0];
  const int count_of_first = first == halves.group ? halves.count : halves.remote_count;
  for (int i = 0; i < size; ++i) CHECK_EQ(groups[static_cast<size_t>(i)], i < count_of_first ? first : 1 - first);
  CHECK_EQ(rank, halves.local_rank + (first == halves.group ? 0 : halves.remote_count));
  OK(MPI_Comm_free(&all));
}

void duplicate(const Halves& halves, MPI_Comm inter) {
  int key = -1, result = -1, flag = 0;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr));
  OK(MPI_Comm_set_attr(inter, key, &key));
  MPI_Comm twin = MPI_COMM_NULL, later = MPI_COMM_NULL;
  OK(MPI_Comm_dup(inter, &twin));
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Comm_idup(inter, &later, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (MPI_Comm made : {twin, later}) {
    check_properties(halves, made);
    OK(MPI_Comm_compare(inter, made, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    void* value = nullptr;
    OK(MPI_Comm_get_attr(made, key, &value, &flag));
    CHECK(flag && value == &key);
  }
  OK(MPI_Comm_compare(inter, inter, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Comm_compare(inter, halves.local, &result));
  CHECK_EQ(result, MPI_UNEQUAL);
  // A message on one does not meet a receive on another.
  if (halves.local_rank == 0) {
    int sent[3] = {halves.group * 10 + 1, halves.group * 10 + 2, halves.group * 10 + 3}, got[3] = {};
    const MPI_Comm comms[3] = {inter, twin, later};
    MPI_Request requests[6];
    for (int i = 0; i < 3; ++i) OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], &requests[i]));
    for (int i = 2; i >= 0; --i) OK(MPI_Isend(&sent[i], 1, MPI_INT, 0, 5, comms[i], &requests[3 + i]));
    OK(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 3; ++i) CHECK_EQ(got[i], (1 - halves.group) * 10 + i + 1);
  }
  OK(MPI_Comm_free(&twin));
  OK(MPI_Comm_disconnect(&later));
  OK(MPI_Comm_free_keyval(&key));
}

// By parity, in reverse order; a color that one group alone has gives nothing.
void split(const Halves& halves, MPI_Comm inter) {
  MPI_Comm part = MPI_COMM_NULL;
  OK(MPI_Comm_split(inter, halves.local_rank % 2, -halves.local_rank, &part));
  const auto of_parity = [](int count, int parity) { return (count + 1 - parity) / 2; };
  const int parity = halves.local_rank % 2;
  const int here = of_parity(halves.count, parity), there = of_parity(halves.remote_count, parity);
  CHECK_EQ(part == MPI_COMM_NULL, there == 0);
  if (part != MPI_COMM_NULL) {
    int n = -1, rank = -1, flag = 0;
    OK(MPI_Comm_test_inter(part, &flag));
    CHECK_EQ(flag, 1);
    OK(MPI_Comm_size(part, &n));
    CHECK_EQ(n, here);
    OK(MPI_Comm_remote_size(part, &n));
    CHECK_EQ(n, there);
    OK(MPI_Comm_rank(part, &rank));
    CHECK_EQ(rank, here - 1 - halves.local_rank / 2);
    MPI_Request request = MPI_REQUEST_NULL;
    int mine = halves.local_rank, theirs = -1;
    if (rank < there) OK(MPI_Irecv(&theirs, 1, MPI_INT, rank, 0, part, &request));
    if (rank < there) OK(MPI_Send(&mine, 1, MPI_INT, rank, 0, part));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (rank < there) CHECK_EQ(theirs, 2 * (there - 1 - rank) + parity);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Comm_split(inter, halves.group ? MPI_UNDEFINED : 3, 0, &part));  // one group alone
  CHECK(part == MPI_COMM_NULL);
}

void create(const Halves& halves, MPI_Comm inter) {
  MPI_Group local, some;
  OK(MPI_Comm_group(inter, &local));
  const int last = halves.count - 1;
  OK(MPI_Group_incl(local, 1, &last, &some));  // the last of each
  MPI_Comm part = MPI_COMM_NULL;
  OK(MPI_Comm_create(inter, some, &part));
  CHECK_EQ(part != MPI_COMM_NULL, halves.local_rank == last);
  if (part != MPI_COMM_NULL) {
    int mine = halves.group, theirs = -1;
    OK(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE));
    CHECK_EQ(theirs, 1 - mine);
    OK(MPI_Comm_free(&part));
  }
  // Nobody of group 1.
  OK(MPI_Comm_create(inter, halves.group ? MPI_GROUP_EMPTY : some, &part));
  CHECK(part == MPI_COMM_NULL);
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&local));
}

// What is no intercommunicator's, and what is no rank of it.
void refuse(const Halves& halves, MPI_Comm inter) {
  int n = 0, data = 0;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group;
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(halves.local, MPI_ERRORS_RETURN));
  FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM);
  FAILS(MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM);
  FAILS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made), MPI_ERR_COMM);
  FAILS(MPI_Send(&data, 1, MPI_INT, halves.remote_count, 0, inter), MPI_ERR_RANK);
  FAILS(MPI_Recv(&data, 1, MPI_INT, halves.remote_count, 0, inter, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  int one = 1, all = 0;
  FAILS(MPI_Cart_create(inter, 1, &one, &all, 0, &made), MPI_ERR_COMM);
  FAILS(MPI_Scan(&data, &n, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  FAILS(MPI_Exscan(&data, &n, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  MPI_Win win = MPI_WIN_NULL;
  FAILS(MPI_Win_create(&data, sizeof data, 1, MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
  FAILS(MPI_Intercomm_create(halves.local, halves.count, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program program(&argc, &argv);
  for (int cut = 1; cut < program.size(); ++cut)
    for (const bool reversed : {false, true})
      for (const bool last : {false, true}) {
        const Halves halves(cut, reversed);
        MPI_Comm inter = halves.connect(last, 7 + cut);
        check_properties(halves, inter);
        exchange(halves, inter, cut);
        for (const int high : {0, 1, 2, 3}) merge(halves, inter, high & 1, high >> 1);
        duplicate(halves, inter);
        split(halves, inter);
        create(halves, inter);
        refuse(halves, inter);
        OK(MPI_Comm_free(&inter));
      }
  // One of one intercommunicator's ranks leads over it: its peers are those of the other group.
  if (program.size() >= 2) {
    const Halves halves(1, false);
    MPI_Comm inter = halves.connect(false, 0), second = MPI_COMM_NULL;
    OK(MPI_Intercomm_create(halves.local, 0, inter, 0, 1, &second));
    check_properties(halves, second);
    OK(MPI_Comm_free(&inter));
    exchange(halves, second, 3);
    OK(MPI_Comm_free(&second));
  }
}
