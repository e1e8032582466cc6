// SPDX-License-Identifier: BSD-3-Clause
// Counters that all ranks change at once: with MPI_Fetch_and_op each value is seen by one alone,
// with MPI_Compare_and_swap nothing is lost, with MPI_Accumulate the sum is right, whatever is
// mixed.
#include "check.hpp"

namespace {

template <class T>
class Memory {
 public:
  Memory(int length, T value) {
    OK(MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(T)) * length, sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &data,
                        &win));
    std::fill(data, data + length, value);
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  void quiet() {
    OK(MPI_Win_flush_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
  }
  ~Memory() {
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
  }
  T* data = nullptr;
  MPI_Win win = MPI_WIN_NULL;
};

void tickets(const check::Program& mpi, int each) {
  const int size = mpi.size();
  Memory<int64_t> memory(2, 0);
  std::vector<int64_t> mine;
  const int64_t one = 1;
  for (int i = 0; i < each; ++i) {
    int64_t ticket = -1;
    OK(MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, size - 1, 1, MPI_SUM, memory.win));
    OK(MPI_Win_flush(size - 1, memory.win));
    CHECK(mine.empty() || ticket > mine.back());
    mine.push_back(ticket);
  }
  std::vector<int64_t> all(static_cast<size_t>(each * size));
  OK(MPI_Gather(mine.data(), each, MPI_INT64_T, all.data(), each, MPI_INT64_T, 0, MPI_COMM_WORLD));
  if (mpi.rank() == 0) {
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i) CHECK_EQ(all[i], static_cast<int64_t>(i));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int64_t last = -1;
  OK(MPI_Fetch_and_op(nullptr, &last, MPI_INT64_T, size - 1, 1, MPI_NO_OP, memory.win));
  OK(MPI_Win_flush(size - 1, memory.win));
  CHECK_EQ(last, static_cast<int64_t>(each) * size);
  memory.quiet();
}

template <class T>
void swaps(const check::Program& mpi, MPI_Datatype type, int each) {
  Memory<T> memory(1, T{});
  for (int i = 0; i < each; ++i) {
    T seen{};
    OK(MPI_Fetch_and_op(nullptr, &seen, type, 0, 0, MPI_NO_OP, memory.win));
    OK(MPI_Win_flush(0, memory.win));
    for (;;) {
      const T wanted = static_cast<T>(seen + 1), compare = seen;
      OK(MPI_Compare_and_swap(&wanted, &compare, &seen, type, 0, 0, memory.win));
      OK(MPI_Win_flush(0, memory.win));
      if (seen == compare) break;
    }
  }
  memory.quiet();
  if (mpi.rank() == 0) CHECK_EQ(memory.data[0], static_cast<T>(each * mpi.size()));
}

// A lock made of MPI_Compare_and_swap guards plain puts and gets.
void own_lock(const check::Program& mpi, int each) {
  Memory<int> memory(2, 0);
  const int free = 0, held = mpi.rank() + 1;
  for (int i = 0; i < each; ++i) {
    int seen = -1;
    do {
      OK(MPI_Compare_and_swap(&held, &free, &seen, MPI_INT, 0, 0, memory.win));
      OK(MPI_Win_flush(0, memory.win));
    } while (seen != free);
    int count = -1;
    OK(MPI_Get(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, memory.win));
    OK(MPI_Win_flush(0, memory.win));
    ++count;
    OK(MPI_Put(&count, 1, MPI_INT, 0, 1, 1, MPI_INT, memory.win));
    OK(MPI_Win_flush(0, memory.win));
    int before = -1;
    OK(MPI_Fetch_and_op(&free, &before, MPI_INT, 0, 0, MPI_REPLACE, memory.win));
    OK(MPI_Win_flush(0, memory.win));
    CHECK_EQ(before, held);
  }
  memory.quiet();
  if (mpi.rank() == 0) CHECK_EQ(memory.data[1], each * mpi.size());
}

// Short and long, with and without fetching, all on the same elements.
void mixture(const check::Program& mpi, int rounds) {
  const int size = mpi.size(), length = 40'000;
  const auto n = static_cast<size_t>(length);
  Memory<uint64_t> memory(length, 0);
  const std::vector<uint64_t> ones(n, 1);
  std::vector<uint64_t> old(n);
  for (int i = 0; i < rounds; ++i)
    for (int r = 0; r < size; ++r) {
      OK(MPI_Accumulate(ones.data(), length, MPI_UINT64_T, r, 0, length, MPI_UINT64_T, MPI_SUM, memory.win));
      OK(MPI_Accumulate(ones.data(), 3, MPI_UINT64_T, r, 7, 3, MPI_UINT64_T, MPI_SUM, memory.win));
      OK(MPI_Get_accumulate(ones.data(), length, MPI_UINT64_T, old.data(), length, MPI_UINT64_T, r, 0, length,
                            MPI_UINT64_T, MPI_SUM, memory.win));
      OK(MPI_Win_flush(r, memory.win));
      for (size_t e = 0; e < n; ++e) {
        const bool often = e >= 7 && e < 10;
        CHECK(old[e] >= static_cast<uint64_t>(often ? 3 : 2) * static_cast<uint64_t>(i) + (often ? 2 : 1));
        CHECK(old[e] < static_cast<uint64_t>(3 * rounds * size));
      }
    }
  memory.quiet();
  for (size_t e = 0; e < n; ++e)
    CHECK_EQ_IN(memory.data[e], static_cast<uint64_t>((e >= 7 && e < 10 ? 3 : 2) * rounds * size), "at %zu", e);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  tickets(mpi, 200);
  swaps<int>(mpi, MPI_INT, 40);
  swaps<int64_t>(mpi, MPI_INT64_T, 40);
  swaps<uint16_t>(mpi, MPI_UINT16_T, 20);
  swaps<unsigned char>(mpi, MPI_BYTE, 8);
  own_lock(mpi, 30);
  mixture(mpi, 3);
}
