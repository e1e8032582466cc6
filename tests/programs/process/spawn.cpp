// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn of this program itself: what parents and children see of each other, messages in both directions,
// collectives over both and over the merged groups, round after round. The number of children is the argument.
#include <array>

#include "check.hpp"

namespace {

constexpr int kLong = 300'000;  // numbers of a message by rendezvous

// Every process of one side sends to all of the other, short and long, nonblocking.
void exchange(MPI_Comm inter) {
  int rank, size, others;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_size(inter, &size));
  OK(MPI_Comm_remote_size(inter, &others));
  for (const int count : {1, 1000, kLong}) {
    std::vector<std::vector<int>> out(others), in(others);
    std::vector<MPI_Request> requests;
    for (int r = 0; r < others; ++r) {
      out[r].resize(count);
      in[r].assign(count, -1);
      for (int i = 0; i < count; ++i) out[r][i] = rank * 1000 + r + i;
      MPI_Request request;
      OK(MPI_Irecv(in[r].data(), count, MPI_INT, r, 7, inter, &request));
      requests.push_back(request);
      OK(MPI_Isend(out[r].data(), count, MPI_INT, r, 7, inter, &request));
      requests.push_back(request);
    }
    OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    for (int r = 0; r < others; ++r)
      for (int i = 0; i < count; ++i) CHECK_EQ(in[r][i], r * 1000 + rank + i);
  }
  // A synchronous send, and a receive from anybody.
  if (rank == 0) {
    int got = -1, word = 42;
    MPI_Status status;
    OK(MPI_Sendrecv(&word, 1, MPI_INT, 0, 8, &got, 1, MPI_INT, MPI_ANY_SOURCE, 8, inter, &status));
    CHECK_EQ(got, 42);
    CHECK_EQ(status.MPI_SOURCE, 0);
    MPI_Request request;
    OK(MPI_Issend(&word, 1, MPI_INT, 0, 9, inter, &request));
    OK(MPI_Recv(&got, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

// Those that have a node in common, of whatever job, share its memory.
void share_memory(MPI_Comm all) {
  int rank, size, together, place;
  OK(MPI_Comm_rank(all, &rank));
  OK(MPI_Comm_size(all, &size));
  std::vector<std::array<char, MPI_MAX_PROCESSOR_NAME>> names(static_cast<size_t>(size));
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  OK(MPI_Get_processor_name(name.data(), &length));
  OK(MPI_Allgather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all));
  MPI_Comm node;
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
  OK(MPI_Comm_size(node, &together));
  OK(MPI_Comm_rank(node, &place));
  CHECK_EQ(together, std::count(names.begin(), names.end(), name));
  MPI_Win win;
  int* own = nullptr;
  OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &win));
  OK(MPI_Win_lock_all(0, win));
  *own = 1000 + place;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(node));
  OK(MPI_Win_sync(win));
  for (int r = 0; r < together; ++r) {
    MPI_Aint bytes = 0;
    int unit = 0, *theirs = nullptr;
    OK(MPI_Win_shared_query(win, r, &bytes, &unit, &theirs));
    CHECK_EQ(*theirs, 1000 + r);
  }
  OK(MPI_Barrier(node));
  const int one = 1;
  OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_flush(0, win));
  OK(MPI_Barrier(node));
  OK(MPI_Win_sync(win));
  if (place == 0) CHECK_EQ(*own, 1000 + together);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&node));
}

void merged(MPI_Comm inter, bool parents) {
  MPI_Comm all;
  OK(MPI_Intercomm_merge(inter, !parents, &all));
  int rank, size, mine, others, high;
  OK(MPI_Comm_rank(all, &rank));
  OK(MPI_Comm_size(all, &size));
  OK(MPI_Comm_size(inter, &mine));
  OK(MPI_Comm_remote_size(inter, &others));
  CHECK_EQ(size, mine + others);
  high = rank >= (parents ? mine : others);
  CHECK_EQ(high, parents ? 0 : 1);
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all));
  CHECK_EQ(sum, size * (size - 1) / 2);
  std::vector<int> everyone(size, -1), large(50'000, rank == 0 ? 17 : 0);
  OK(MPI_Allgather(&rank, 1, MPI_INT, everyone.data(), 1, MPI_INT, all));
  for (int r = 0; r < size; ++r) CHECK_EQ(everyone[r], r);
  OK(MPI_Bcast(large.data(), 50'000, MPI_INT, 0, all));
  for (const int each : large) CHECK_EQ(each, 17);
  share_memory(all);
  // Made out of it: by parity.
  MPI_Comm half, again;
  OK(MPI_Comm_split(all, rank % 2, rank, &half));
  int in_half = 0, expected = 0;
  OK(MPI_Allreduce(&rank, &in_half, 1, MPI_INT, MPI_SUM, half));
  for (int r = rank % 2; r < size; r += 2) expected += r;
  CHECK_EQ(in_half, expected);
  OK(MPI_Comm_dup(all, &again));
  OK(MPI_Barrier(again));
  for (MPI_Comm* comm : {&half, &again, &all}) OK(MPI_Comm_free(comm));
}

// `frees`: as the parents do.
void child(MPI_Comm parent, bool frees) {
  exchange(parent);
  merged(parent, false);
  OK(frees ? MPI_Comm_free(&parent) : MPI_Comm_disconnect(&parent));
  CHECK(parent == MPI_COMM_NULL);
  MPI_Comm none;
  OK(MPI_Comm_get_parent(&none));
  CHECK(none == MPI_COMM_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    CHECK_EQ(std::string(argv[1]), std::string("a child"));
    child(parent, argv[3] == std::string("frees"));
    return 0;
  }
  const int children = argc > 1 ? std::atoi(argv[1]) : 2, rounds = argc > 2 ? std::atoi(argv[2]) : 2;
  char first[] = "a child", second[] = "with 'quotes' and spaces";
  char disconnects[] = "disconnects", frees[] = "frees";
  for (int round = 0; round < rounds; ++round) {
    const bool is_freed = round % 2 == 1;
    char* arguments[] = {first, second, is_freed ? frees : disconnects, nullptr};
    MPI_Comm inter;
    std::vector<int> codes(children, -1);
    const int root = round % program.size();
    OK(MPI_Comm_spawn(argv[0], arguments, children, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter, codes.data()));
    for (const int code : codes) CHECK_EQ(code, MPI_SUCCESS);
    int others, flag;
    OK(MPI_Comm_remote_size(inter, &others));
    CHECK_EQ(others, children);
    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    exchange(inter);
    merged(inter, true);
    OK(is_freed ? MPI_Comm_free(&inter) : MPI_Comm_disconnect(&inter));
  }
  return 0;
}
