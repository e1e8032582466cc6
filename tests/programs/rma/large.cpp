// SPDX-License-Identifier: BSD-3-Clause
// Several MiB at once in every direction, from and to memory with gaps and without, and the
// large-count forms of all calls that have one. NOT_OPENMPI: 4.1 has no large-count forms.
#include "check.hpp"

namespace {

constexpr int kLength = 1'500'000;  // ints: 6 MB

int value(int rank, int round, int i) {
  return static_cast<int>((check::mix(rank, round) & 0xffff) + static_cast<unsigned>(i) * 3);
}

void transfer(const check::Program& mpi, MPI_Win win, int* memory, int round, MPI_Datatype strided) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  const bool gaps_here = round & 1, gaps_there = round & 2;
  const int stride_here = gaps_here ? 2 : 1, stride_there = gaps_there ? 2 : 1;
  const int length = kLength / 2;
  std::vector<int> mine(kLength, -1), back(kLength, -1);
  for (int i = 0; i < length; ++i) mine[static_cast<size_t>(i * stride_here)] = value(me, round, i);
  std::fill(memory, memory + kLength, -5);
  const MPI_Datatype here = gaps_here ? strided : MPI_INT, there = gaps_there ? strided : MPI_INT;
  const MPI_Count count_here = gaps_here ? 1 : length, count_there = gaps_there ? 1 : length;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put_c(mine.data(), count_here, here, next, 0, count_there, there, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kLength; ++i) {
    const bool hit = i % stride_there == 0 && i / stride_there < length;
    CHECK_EQ_IN(memory[i], hit ? value(before, round, i / stride_there) : -5, "round %d at %d", round, i);
  }
  OK(MPI_Win_fence(0, win));  // all have looked
  OK(MPI_Accumulate_c(mine.data(), count_here, here, next, 0, count_there, there, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get_c(back.data(), count_here, here, next, 0, count_there, there, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < length; ++i)
    CHECK_EQ_IN(back[static_cast<size_t>(i * stride_here)], 2 * value(me, round, i), "round %d at %d", round, i);
  OK(MPI_Get_accumulate_c(mine.data(), count_here, here, back.data(), count_here, here, next, 0, count_there, there,
                          MPI_REPLACE, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < length; ++i) {
    CHECK_EQ_IN(back[static_cast<size_t>(i * stride_here)], 2 * value(me, round, i), "round %d at %d", round, i);
    CHECK_EQ_IN(memory[i * stride_there], value(before, round, i), "round %d at %d", round, i);
  }
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

void requests(const check::Program& mpi, MPI_Win win, int* memory) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size;
  const int third = kLength / 3;
  OK(MPI_Win_lock_all(0, win));
  std::fill(memory, memory + kLength, 1);
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const std::vector<int> put(static_cast<size_t>(third), 7), add(static_cast<size_t>(third), 2);
  std::vector<int> got(static_cast<size_t>(third), 0), old(static_cast<size_t>(third), 0);
  MPI_Request all[4];
  OK(MPI_Rput_c(put.data(), third, MPI_INT, next, 0, third, MPI_INT, win, &all[0]));
  OK(MPI_Raccumulate_c(add.data(), third, MPI_INT, next, third, third, MPI_INT, MPI_SUM, win, &all[1]));
  OK(MPI_Rget_accumulate_c(add.data(), third, MPI_INT, old.data(), third, MPI_INT, next, third, third, MPI_INT, MPI_SUM,
                           win, &all[2]));
  OK(MPI_Rget_c(got.data(), third, MPI_INT, next, 2 * third, third, MPI_INT, win, &all[3]));
  OK(MPI_Waitall(4, all, MPI_STATUSES_IGNORE));
  for (const int v : got) CHECK_EQ(v, 1);
  for (const int v : old) CHECK_EQ(v, 3);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  for (int i = 0; i < third; ++i) {
    CHECK_EQ(memory[i], 7);
    CHECK_EQ(memory[third + i], 5);
    CHECK_EQ(memory[2 * third + i], 1);
  }
  OK(MPI_Win_unlock(me, win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  MPI_Datatype strided;
  OK(MPI_Type_vector(kLength / 2, 1, 2, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate_c(kLength * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  for (int round = 0; round < 4; ++round) transfer(mpi, win, memory, round, strided);
  requests(mpi, win, memory);
  OK(MPI_Win_free(&win));
  OK(MPI_Type_free(&strided));
}
