// SPDX-License-Identifier: BSD-3-Clause
// Windows of MPI_Win_allocate, whose memory the ranks of a node share: what MPI_Win_shared_query says of them and that
// it is the memory; operations while their target is away; who sleeps while it waits and is woken; updates of many that
// overlap, at addresses that are aligned and that are not; locks of all against locks of one. NOT_OPENMPI NOT_MPICH:
// theirs tell nothing of such windows.
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "check.hpp"

namespace {

int me, size;

// What a rank here can load and store: all of it or nothing, and its own part in any case.
void asked_for() {
  const auto bytes_of = [](int r) { return static_cast<MPI_Aint>(sizeof(int)) * (r % 3 == 1 ? 0 : 5000 + r); };
  int* mine = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(bytes_of(me), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  OK(MPI_Win_lock_all(0, win));
  const int length = static_cast<int>(bytes_of(me) / static_cast<MPI_Aint>(sizeof(int)));
  for (int i = 0; i < length; ++i) mine[i] = 100'000 * me + i;
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_sync(win));
  for (int r = 0; r < size; ++r) {
    MPI_Aint bytes = -1;
    int unit = -1, *there = nullptr;
    OK(MPI_Win_shared_query(win, r, &bytes, &unit, &there));
    CHECK_EQ(unit, static_cast<int>(sizeof(int)));
    if (r == me) CHECK(there == mine);
    if (bytes == 0) {
      CHECK(r != me || bytes_of(r) == 0);
      if (bytes_of(r) > 0) CHECK(there == nullptr);
      continue;
    }
    CHECK_EQ(bytes, bytes_of(r));
    for (int i = 0; i < static_cast<int>(bytes) / static_cast<int>(sizeof(int)); ++i)
      CHECK_EQ(there[i], 100'000 * r + i);
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

// The target looks at its memory, without a call of MPI, until all others have come by: by locks, updates and puts.
[[maybe_unused]] void away() {
  std::atomic<long>* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  for (int i = 0; i < 3; ++i) memory[i].store(0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) {
    const timespec some{0, 100'000};
    while (memory[2].load() < size - 1) nanosleep(&some, nullptr);
  } else {
    const long one = 1;
    long seen = -1, next;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    next = seen + 1;
    OK(MPI_Put(&next, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Fetch_and_op(&one, &seen, MPI_LONG, 0, 1, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    CHECK(seen >= 0 && seen < size - 1);
    OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  if (me == 0)
    for (int i = 0; i < 3; ++i) CHECK_EQ(memory[i].load(), static_cast<long>(size - 1));
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
}

// Who waits for a lock, for a post, for a complete and for a fence has gone to sleep by the time that it comes.
void asleep() {
  const timespec long_enough{0, 30'000'000};
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  *memory = 0;
  MPI_Group all;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int late = 0; late < std::min(size, 3); ++late) {
    if (me == late) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == late)
      nanosleep(&long_enough, nullptr);
    else
      OK(MPI_Win_lock((me + late) % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == late) nanosleep(&long_enough, nullptr);
    OK(MPI_Win_post(all, 0, win));
    OK(MPI_Win_start(all, 0, win));
    OK(MPI_Put(&me, 1, MPI_INT, (me + 1) % size, 0, 1, MPI_INT, win));
    if (me == late) nanosleep(&long_enough, nullptr);
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_EQ(*memory, (me + size - 1) % size);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Group_free(&all));
  OK(MPI_Win_free(&win));
}

// All add to the same bytes, from all sides: one element each time, many, and with gaps; no addition is lost.
template <class T>
void together(MPI_Datatype type, int shift) {
  constexpr int kLength = 3000, kRounds = 12;
  unsigned char* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(kLength * static_cast<MPI_Aint>(sizeof(T)) + 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                      &win));
  std::memset(memory, 0, kLength * sizeof(T) + 16);
  MPI_Datatype gaps;
  OK(MPI_Type_vector(kLength / 2, 1, 2, type, &gaps));
  OK(MPI_Type_commit(&gaps));
  const std::vector<T> ones(kLength, T{1});
  // What each call fetches, until the fence.
  std::vector<std::vector<T>> fetched(static_cast<size_t>(kRounds * size), std::vector<T>(kLength / 2 + 1));
  OK(MPI_Win_fence(0, win));
  for (int round = 0; round < kRounds; ++round)
    for (int r = 0; r < size; ++r) {
      T* const seen = fetched[static_cast<size_t>(round * size + r)].data();
      OK(MPI_Accumulate(ones.data(), kLength, type, r, shift, kLength, type, MPI_SUM, win));
      OK(MPI_Get_accumulate(ones.data(), kLength / 2, type, seen, kLength / 2, type, r, shift, 1, gaps, MPI_SUM, win));
      OK(MPI_Fetch_and_op(ones.data(), seen + kLength / 2, type, r, shift, MPI_SUM, win));
    }
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kLength; ++i) {
    T value;
    std::memcpy(&value, memory + shift + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    const int expected = kRounds * size * (i == 0 ? 3 : i % 2 == 0 ? 2 : 1);
    CHECK_EQ_IN(static_cast<long>(value), static_cast<long>(static_cast<T>(expected)), "element %d at %d", i, shift);
  }
  OK(MPI_Type_free(&gaps));
  OK(MPI_Win_free(&win));
}

// Locks of all share, and keep out those who want one alone; what two elements say stays the same.
void all_against_one() {
  long* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  memory[0] = memory[1] = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  long changes = 0, all_changes;
  for (int round = 0; round < 60; ++round) {
    const int target = (round + me) % size;
    long seen[2];
    if ((round + me) % 3 == 0) {
      OK(MPI_Win_lock_all(0, win));
      for (int r = 0; r < size; ++r) {
        OK(MPI_Get(seen, 2, MPI_LONG, r, 0, 2, MPI_LONG, win));
        OK(MPI_Win_flush(r, win));
        CHECK_EQ(seen[0], seen[1]);
      }
      OK(MPI_Win_unlock_all(win));
    } else {
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
      OK(MPI_Get(seen, 2, MPI_LONG, target, 0, 2, MPI_LONG, win));
      OK(MPI_Win_flush(target, win));
      CHECK_EQ(seen[0], seen[1]);
      for (int k = 0; k < 2; ++k) {
        ++seen[k];
        OK(MPI_Put(&seen[k], 1, MPI_LONG, target, k, 1, MPI_LONG, win));
      }
      OK(MPI_Win_unlock(target, win));
      ++changes;
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  long mine = memory[0], sum;
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(&changes, &all_changes, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, all_changes);
  OK(MPI_Win_free(&win));
}

// Of odd alignment, and of a size that no node has: other memory, and all works as it does.
void hints() {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", me % 2 ? "65536" : "128"));
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &memory, &win));
  CHECK_EQ(reinterpret_cast<uintptr_t>(memory) % (me % 2 ? 65536 : 128), uintptr_t{0});
  OK(MPI_Info_free(&info));
  *memory = -1;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&me, 1, MPI_INT, (me + 1) % size, 0, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK_EQ(*memory, (me + size - 1) % size);
  OK(MPI_Win_free(&win));
}

// So many MiB for each, for which there is no room on the node: nobody is told, and it works by messages.
void without_room(int mebibytes) {
  const MPI_Aint bytes = static_cast<MPI_Aint>(mebibytes) << 20;
  char* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  for (int r = 0; r < size; ++r) {
    MPI_Aint there = -1;
    int unit;
    char* base;
    OK(MPI_Win_shared_query(win, r, &there, &unit, &base));
    CHECK_EQ(there, r == me ? bytes : MPI_Aint{0});
    CHECK(base == (r == me ? memory : nullptr));
  }
  const char mine = static_cast<char>(1 + me);
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (me + 1) % size, 0, win));
  OK(MPI_Put(&mine, 1, MPI_CHAR, (me + 1) % size, bytes - 1, 1, MPI_CHAR, win));
  OK(MPI_Win_unlock((me + 1) % size, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  CHECK_EQ(memory[bytes - 1], static_cast<char>(1 + (me + size - 1) % size));
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
}

}  // namespace

// The argument, if there is one: MiB for which there is no room.
int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  me = mpi.rank();
  size = mpi.size();
  asked_for();
#ifndef __SANITIZE_THREAD__  // in such a build operations are messages, and stored by the library beside the loads
  away();
#endif
  asleep();
  for (const int shift : {0, 1, 6}) {
    together<signed char>(MPI_SIGNED_CHAR, shift);
    together<short>(MPI_SHORT, shift);
    together<int>(MPI_INT, shift);
    together<double>(MPI_DOUBLE, shift);
    together<long double>(MPI_LONG_DOUBLE, shift);
  }
  all_against_one();
  hints();
  if (argc > 1) without_room(std::atoi(argv[1]));
}
