// SPDX-License-Identifier: BSD-3-Clause
// Windows whose memory the ranks of a node share: loads and stores to each other's parts, sizes
// that differ or are 0, parts that follow each other or do not, and operations of MPI on the same
// memory. NOT_OPENMPI: 4.1 tells sizes in whole pages where parts need not follow each other.
#include <atomic>
#include <cstdlib>

#include "check.hpp"

namespace {

void parts(MPI_Comm node, bool apart) {
  int me, size;
  OK(MPI_Comm_rank(node, &me));
  OK(MPI_Comm_size(node, &size));
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
  const auto length = [](int r) { return r % 3 == 1 ? 0 : 5 + r; };
  int* mine = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate_shared(static_cast<MPI_Aint>(sizeof(int)) * length(me), sizeof(int), info, node, &mine, &win));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int i = 0; i < length(me); ++i) mine[i] = 100 * me + i;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(node));
  OK(MPI_Win_sync(win));
  std::vector<int*> bases(static_cast<size_t>(size));
  int* end = nullptr;  // of the parts before, as far as they have any memory
  for (int r = 0; r < size; ++r) {
    MPI_Aint bytes = -1;
    int unit = -1;
    OK(MPI_Win_shared_query(win, r, &bytes, &unit, &bases[static_cast<size_t>(r)]));
    CHECK_EQ(bytes, static_cast<MPI_Aint>(sizeof(int)) * length(r));
    CHECK_EQ(unit, static_cast<int>(sizeof(int)));
    for (int i = 0; i < length(r); ++i) CHECK_EQ(bases[static_cast<size_t>(r)][i], 100 * r + i);
    if (r == me && length(r) > 0) CHECK(bases[static_cast<size_t>(r)] == mine);
    if (length(r) == 0) continue;
    CHECK(!end || apart || bases[static_cast<size_t>(r)] == end);
    end = bases[static_cast<size_t>(r)] + length(r);
  }
  MPI_Aint bytes = -1;
  int unit = -1;
  int* first = nullptr;
  OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first));
  CHECK(first == bases[0]);
  OK(MPI_Barrier(node));
  const int next = (me + 1) % size;  // stores to the other's memory
  for (int i = 0; i < length(next); ++i) bases[static_cast<size_t>(next)][i] = -me - i;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(node));
  OK(MPI_Win_sync(win));
  for (int i = 0; i < length(me); ++i) CHECK_EQ(mine[i], -((me + size - 1) % size) - i);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

// A flag that one rank waits for and another raises, without a call of MPI in between but
// MPI_Win_sync.
void flags(MPI_Comm node) {
  int me, size;
  OK(MPI_Comm_rank(node, &me));
  OK(MPI_Comm_size(node, &size));
  std::atomic<int>* mine = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate_shared(sizeof(int), 1, MPI_INFO_NULL, node, &mine, &win));
  OK(MPI_Win_lock_all(0, win));
  mine->store(0);
  OK(MPI_Barrier(node));
  MPI_Aint bytes;
  int unit;
  std::atomic<int>* next = nullptr;
  OK(MPI_Win_shared_query(win, (me + 1) % size, &bytes, &unit, &next));
  for (int round = 1; round <= 20; ++round) {
    if (me == 0) next->store(round);
    while (mine->load() < round) OK(MPI_Win_sync(win));
    if (me != 0) next->store(round);
  }
  CHECK_EQ(mine->load(), 20);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

// Operations of MPI and loads and stores take turns.
void operations(MPI_Comm node, int length) {
  int me, size;
  OK(MPI_Comm_rank(node, &me));
  OK(MPI_Comm_size(node, &size));
  const int next = (me + 1) % size, before = (me + size - 1) % size;
  int* mine = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate_shared(static_cast<MPI_Aint>(sizeof(int)) * length, sizeof(int), MPI_INFO_NULL, node, &mine,
                             &win));
  for (int i = 0; i < length; ++i) mine[i] = i;
  std::vector<int> out(static_cast<size_t>(length), me), back(static_cast<size_t>(length));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Accumulate(out.data(), length, MPI_INT, next, 0, length, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < length; ++i) CHECK_EQ(mine[i], i + before);
  OK(MPI_Get(back.data(), length, MPI_INT, next, 0, length, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < length; ++i) CHECK_EQ(back[static_cast<size_t>(i)], i + me);
  OK(MPI_Put(out.data(), length, MPI_INT, next, 0, length, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < length; ++i) CHECK_EQ(mine[i], before);
  // Under a lock the holder's loads and stores are alone as well.
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win));
  mine[0] = 0;
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Barrier(node));
  MPI_Aint bytes;
  int unit;
  int* first = nullptr;
  OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
  for (int i = 0; i < 50; ++i) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    first[0] = first[0] + 1;
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Barrier(node));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  CHECK_EQ(first[0], 50 * size);
  OK(MPI_Win_unlock(0, win));
  OK(MPI_Win_free(&win));
}

// Several nodes share no memory.
void across_nodes(const check::Program& mpi, MPI_Comm node) {
  int here, error_class, *mine = nullptr;
  OK(MPI_Comm_size(node, &here));
  if (here == mpi.size()) return;
  MPI_Win win;
  const int code = MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  OK(MPI_Error_class(code, &error_class));
  CHECK_EQ(error_class, MPI_ERR_RMA_SHARED);
}

}  // namespace

// The argument, if there is one: how many ranks share memory.
int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  MPI_Comm node;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  if (argc > 1) {
    int size, same;
    OK(MPI_Comm_size(node, &size));
    CHECK_EQ(size, std::atoi(argv[1]));
    MPI_Info info;
    MPI_Comm named;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &named));
    OK(MPI_Comm_compare(node, named, &same));
    CHECK_EQ(same, MPI_CONGRUENT);
    OK(MPI_Comm_free(&named));
    OK(MPI_Info_free(&info));
  }
  OK(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
  parts(node, false);
  parts(node, true);
  flags(node);
  operations(node, 1);
  operations(node, 100'000);
  across_nodes(mpi, node);
  OK(MPI_Comm_free(&node));
}
