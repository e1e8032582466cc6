// SPDX-License-Identifier: BSD-3-Clause
// Windows synchronised by fences: puts, gets and accumulates between all ranks, of none, few and
// many bytes, on windows of each kind that has memory; displacement units that differ between
// ranks; assertions; MPI_PROC_NULL. NOT_MPICH: where ranks share memory, 4.0 gives some another
// address than its windows have.
#include "check.hpp"

namespace {

constexpr int kLengths[] = {0, 1, 3, 100, 511, 512, 513, 4097, 70'001};  // ints

int value(int from, int to, int i) {
  return static_cast<int>(check::mix(from * 64 + to, i) & 0xffffff);
}

// Everybody's part has a block for each rank.
void all_to_all(const check::Program& mpi, int length, MPI_Win win, int* memory, bool puts) {
  const int me = mpi.rank(), size = mpi.size();
  std::vector<int> other(static_cast<size_t>(length * size) + 1, -7);
  const auto block = [&](std::vector<int>& v, int r) { return v.data() + static_cast<size_t>(r * length); };
  if (!puts)
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < length; ++i) memory[r * length + i] = value(me, r, i);
  else
    std::fill(memory, memory + length * size, -3);
  OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
  for (int k = 0; k < size; ++k) {
    const int r = (me + k) % size;
    if (puts) {
      for (int i = 0; i < length; ++i) block(other, r)[i] = value(me, r, i);
      OK(MPI_Put(block(other, r), length, MPI_INT, r, static_cast<MPI_Aint>(me) * length, length, MPI_INT, win));
    } else {
      OK(MPI_Get(block(other, r), length, MPI_INT, r, static_cast<MPI_Aint>(me) * length, length, MPI_INT, win));
    }
  }
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < length; ++i) {
      if (puts)
        CHECK_EQ_IN(memory[r * length + i], value(r, me, i), "length %d, from %d, at %d", length, r, i);
      else
        CHECK_EQ_IN(block(other, r)[i], value(r, me, i), "length %d, of %d, at %d", length, r, i);
    }
  CHECK_EQ(other[static_cast<size_t>(length * size)], -7);
}

void accumulate(const check::Program& mpi, int length, MPI_Win win, int* memory) {
  const int me = mpi.rank(), size = mpi.size();
  for (int i = 0; i < length; ++i) memory[i] = 1000 * me + i;
  OK(MPI_Win_fence(0, win));
  std::vector<int> mine(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) mine[static_cast<size_t>(i)] = (me + 1) * (i % 17);
  for (int r = 0; r < size; ++r)
    for (int twice = 0; twice < 2; ++twice)
      OK(MPI_Accumulate(mine.data(), length, MPI_INT, r, 0, length, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  const int sum = 2 * (size * (size + 1) / 2);
  for (int i = 0; i < length; ++i)
    CHECK_EQ_IN(memory[i], 1000 * me + i + sum * (i % 17), "length %d, at %d", length, i);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));  // the memory may change now
}

void on_window(const check::Program& mpi, MPI_Win win, int* memory) {
  for (const int length : kLengths) {
    all_to_all(mpi, length, win, memory, true);
    all_to_all(mpi, length, win, memory, false);
    accumulate(mpi, length, win, memory);
  }
}

void windows(const check::Program& mpi) {
  const MPI_Aint bytes = static_cast<MPI_Aint>(sizeof(int)) * kLengths[std::size(kLengths) - 1] * mpi.size();
  std::vector<int> memory(static_cast<size_t>(bytes) / sizeof(int));
  MPI_Win win = MPI_WIN_NULL;
  OK(MPI_Win_create(memory.data(), bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  on_window(mpi, win, memory.data());
  OK(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL);
  int* allocated = nullptr;
  OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
  on_window(mpi, win, allocated);
  OK(MPI_Win_free(&win));
}

// Each rank has so many bytes and such a unit: displacements count in the target's.
void units(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size();
  std::vector<unsigned char> memory(static_cast<size_t>(64 * (me + 1)), 0xee);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), me + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_fence(0, win));
  const int next = (me + 1) % size;
  unsigned char byte = static_cast<unsigned char>(me);
  OK(MPI_Put(&byte, 1, MPI_BYTE, next, 63, 1, MPI_BYTE, win));
  int untouched[5] = {1, 2, 3, 4, 5};
  OK(MPI_Put(untouched, 5, MPI_INT, MPI_PROC_NULL, 1'000'000, 5, MPI_INT, win));
  OK(MPI_Get(untouched, 5, MPI_INT, MPI_PROC_NULL, 0, 5, MPI_INT, win));
  OK(MPI_Accumulate(untouched, 5, MPI_INT, MPI_PROC_NULL, 0, 5, MPI_INT, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  for (size_t i = 0; i < memory.size(); ++i)
    CHECK_EQ_IN(memory[i], i == static_cast<size_t>(63 * (me + 1)) ? (me + size - 1) % size : 0xee, "byte %zu", i);
  for (int i = 0; i < 5; ++i) CHECK_EQ(untouched[i], i + 1);
  OK(MPI_Win_free(&win));
}

// One rank has memory, the others have none.
void one_sided_memory(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size(), owner = size - 1;
  std::vector<double> memory(me == owner ? static_cast<size_t>(size) : 0, -1);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
  for (int round = 0; round < 5; ++round) {
    OK(MPI_Win_fence(0, win));
    const double mine = 10.0 * round + me;
    OK(MPI_Put(&mine, 1, MPI_DOUBLE, owner, me, 1, MPI_DOUBLE, win));
    OK(MPI_Win_fence(0, win));
    for (size_t r = 0; r < memory.size(); ++r) CHECK_EQ(memory[r], 10.0 * round + static_cast<double>(r));
    std::vector<double> all(static_cast<size_t>(size));
    OK(MPI_Get(all.data(), size, MPI_DOUBLE, owner, 0, size, MPI_DOUBLE, win));
    OK(MPI_Win_fence(MPI_MODE_NOPUT | MPI_MODE_NOSTORE, win));
    for (int r = 0; r < size; ++r) CHECK_EQ(all[static_cast<size_t>(r)], 10.0 * round + r);
  }
  OK(MPI_Win_free(&win));
}

// Many windows at once, on communicators that overlap.
void several(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size();
  MPI_Comm reversed;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - me, &reversed));
  constexpr int kWindows = 6;
  std::vector<int> memory(kWindows, -1);
  MPI_Win wins[kWindows];
  for (int w = 0; w < kWindows; ++w) {
    OK(MPI_Win_create(&memory[static_cast<size_t>(w)], sizeof(int), 1, MPI_INFO_NULL, w % 2 ? reversed : MPI_COMM_WORLD,
                      &wins[w]));
    OK(MPI_Win_fence(0, wins[w]));
  }
  int mine[kWindows];
  for (int w = kWindows - 1; w >= 0; --w) {
    mine[w] = 100 * w + me;
    const int next = (me + 1) % size, as_target = w % 2 ? size - 1 - next : next;
    OK(MPI_Put(&mine[w], 1, MPI_INT, as_target, 0, 1, MPI_INT, wins[w]));
  }
  for (MPI_Win win : wins) OK(MPI_Win_fence(0, win));
  for (int w = 0; w < kWindows; ++w) CHECK_EQ(memory[static_cast<size_t>(w)], 100 * w + (me + size - 1) % size);
  for (MPI_Win& win : wins) OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&reversed));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  windows(mpi);
  units(mpi);
  one_sided_memory(mpi);
  several(mpi);
}
