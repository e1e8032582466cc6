// SPDX-License-Identifier: BSD-3-Clause
// Passive target: locks that exclude each other, that are shared, many at once; lock_all with
// flushes; operations with requests, mixed with point-to-point messages. NOT_MPICH: 4.0 does not
// end with more ranks than cores.
#include <algorithm>

#include "check.hpp"

namespace {

// Read, add, write under an exclusive lock: nothing is lost.
void counter(const check::Program& mpi, int rounds) {
  const int me = mpi.rank(), size = mpi.size();
  long* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win));
  memory[0] = memory[1] = 0;
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < rounds; ++i)
    for (int k = 0; k < size; ++k) {
      const int r = (me + k) % size;
      long seen[2] = {-1, -1};
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, win));
      OK(MPI_Get(seen, 2, MPI_LONG, r, 0, 2, MPI_LONG, win));
      OK(MPI_Win_flush(r, win));
      CHECK_EQ(seen[1], 2 * seen[0]);
      ++seen[0];
      OK(MPI_Put(&seen[0], 1, MPI_LONG, r, 0, 1, MPI_LONG, win));
      seen[1] += 2;
      OK(MPI_Put(&seen[1], 1, MPI_LONG, r, 1, 1, MPI_LONG, win));
      OK(MPI_Win_unlock(r, win));
    }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  CHECK_EQ(memory[0], static_cast<long>(rounds) * size);
  CHECK_EQ(memory[1], 2L * rounds * size);
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
}

// What is started behind a lock that has to wait comes after what was done under the one before: short data and long
// ones, with a request and without, of two windows in turn.
void queued(const check::Program& mpi) {
  constexpr int kLong = 3000;
  const int me = mpi.rank(), size = mpi.size();
  std::vector<long> memory(kLong + 1, 0), sums(1, 0), block(kLong);
  MPI_Win win, other;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(long)), sizeof(long), MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
  OK(MPI_Win_create(sums.data(), sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &other));
  for (int round = 0; round < 20; ++round) {
    const int r = (me + round) % size;
    const long one = 1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, r, 0, other));
    OK(MPI_Accumulate(&one, 1, MPI_LONG, r, 0, 1, MPI_LONG, MPI_SUM, other));
    for (const bool with_request : {false, true}) {
      long count = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, win));
      if (with_request)
        OK(MPI_Rget(block.data(), kLong, MPI_LONG, r, 1, kLong, MPI_LONG, win, &request));
      else
        OK(MPI_Get(block.data(), kLong, MPI_LONG, r, 1, kLong, MPI_LONG, win));
      OK(MPI_Get(&count, 1, MPI_LONG, r, 0, 1, MPI_LONG, win));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Win_flush_local(r, win));
      CHECK_EQ(block.front(), count);
      CHECK_EQ(block.back(), count);
      ++count;
      std::ranges::fill(block, count);
      OK(MPI_Put(block.data(), kLong, MPI_LONG, r, 1, kLong, MPI_LONG, win));
      OK(MPI_Put(&count, 1, MPI_LONG, r, 0, 1, MPI_LONG, win));
      OK(MPI_Win_unlock(r, win));
    }
    OK(MPI_Win_unlock(r, other));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, other));
  CHECK_EQ(memory.front(), 40L);
  CHECK_EQ(sums.front(), 20L);
  OK(MPI_Win_unlock(me, other));
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&other));
  OK(MPI_Win_free(&win));
}

// Locks on several ranks at once, in one order everywhere.
void several(const check::Program& mpi) {
  const int me = mpi.rank(), size = mpi.size();
  std::vector<int> memory(static_cast<size_t>(size), 0);
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size() * sizeof(int)), sizeof(int), MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
  for (int round = 0; round < 10; ++round) {
    for (int r = 0; r < size; ++r) OK(MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, r, 0, win));
    const int mine = round * 100 + me;
    for (int r = 0; r < size; ++r) OK(MPI_Put(&mine, 1, MPI_INT, r, me, 1, MPI_INT, win));
    for (int r = size - 1; r >= 0; --r) OK(MPI_Win_unlock(r, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, me, MPI_MODE_NOCHECK, win));
    for (int r = 0; r < size; ++r) CHECK_EQ(memory[static_cast<size_t>(r)], round * 100 + r);
    OK(MPI_Win_unlock(me, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Win_free(&win));
}

// lock_all: everybody works at everybody's memory; flushes make it visible.
void lock_all(const check::Program& mpi, int assertion) {
  const int me = mpi.rank(), size = mpi.size(), length = 3000;
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(int)) * length * size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &memory, &win));
  std::fill(memory, memory + length * size, -1);
  OK(MPI_Win_lock_all(assertion, win));
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  std::vector<int> mine(length), back(length, -5);
  for (int round = 0; round < 4; ++round) {
    const int n = round % 2 ? length : 10;
    for (int k = 0; k < size; ++k) {
      const int r = (me + k) % size;
      for (int i = 0; i < n; ++i) mine[static_cast<size_t>(i)] = static_cast<int>(check::mix(round, me * 64 + r, i));
      OK(MPI_Put(mine.data(), n, MPI_INT, r, static_cast<MPI_Aint>(me) * length, n, MPI_INT, win));
      if (k % 2) {
        OK(MPI_Win_flush(r, win));
      } else {
        OK(MPI_Win_flush_local(r, win));  // the buffer is mine again
        std::fill(mine.begin(), mine.end(), 0);
        OK(MPI_Win_flush_all(win));
      }
      OK(MPI_Get(back.data(), n, MPI_INT, r, static_cast<MPI_Aint>(me) * length, n, MPI_INT, win));
      OK(MPI_Win_flush_local_all(win));
      for (int i = 0; i < n; ++i)
        CHECK_EQ_IN(back[static_cast<size_t>(i)], static_cast<int>(check::mix(round, me * 64 + r, i)),
                    "round %d, rank %d, at %d", round, r, i);
    }
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < length; ++i)
      CHECK_EQ_IN(memory[r * length + i], static_cast<int>(check::mix(3, r * 64 + me, i)), "of %d at %d", r, i);
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
}

// Requests of both kinds in one array, completed in every way.
void requests(const check::Program& mpi, int length) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  const auto n = static_cast<size_t>(length);
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(static_cast<MPI_Aint>(3 * n * sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                      &win));
  for (size_t i = 0; i < n; ++i) memory[i] = static_cast<int>(check::mix(me, i)), memory[n + i] = memory[2 * n + i] = 5;
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int way = 0; way < 4; ++way) {
    std::vector<int> out(n), got(n, -1), old(n, -1), sent(n, me), received(n, -1);
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<int>(check::mix(me, i, 9 + way));
    const std::vector<int> one(n, 1);
    MPI_Request all[7];
    OK(MPI_Irecv(received.data(), length, MPI_INT, before, way, MPI_COMM_WORLD, &all[0]));
    OK(MPI_Rput(out.data(), length, MPI_INT, next, length, length, MPI_INT, win, &all[1]));
    OK(MPI_Rget(got.data(), length, MPI_INT, next, 0, length, MPI_INT, win, &all[2]));
    OK(MPI_Isend(sent.data(), length, MPI_INT, next, way, MPI_COMM_WORLD, &all[3]));
    OK(MPI_Raccumulate(one.data(), length, MPI_INT, next, 2 * length, length, MPI_INT, MPI_SUM, win, &all[4]));
    OK(MPI_Rget_accumulate(one.data(), length, MPI_INT, old.data(), length, MPI_INT, next, 2 * length, length, MPI_INT,
                           MPI_SUM, win, &all[5]));
    OK(MPI_Rput(out.data(), 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win, &all[6]));
    if (way == 0) {
      OK(MPI_Waitall(7, all, MPI_STATUSES_IGNORE));
    } else if (way == 1) {
      for (int left = 7; left > 0; --left) {
        int index;
        OK(MPI_Waitany(7, all, &index, MPI_STATUS_IGNORE));
        CHECK(index != MPI_UNDEFINED);
      }
    } else if (way == 2) {
      int flag = 0;
      while (!flag) OK(MPI_Testall(7, all, &flag, MPI_STATUSES_IGNORE));
    } else {
      for (int done = 0; done < 7;) {
        int count, indices[7];
        MPI_Status statuses[7];
        OK(MPI_Waitsome(7, all, &count, indices, statuses));
        done += count;
      }
    }
    for (const MPI_Request r : all) CHECK(r == MPI_REQUEST_NULL);
    for (size_t i = 0; i < n; ++i) {
      CHECK_EQ(received[i], before);
      CHECK_EQ_IN(got[i], static_cast<int>(check::mix(next, i)), "way %d at %zu", way, i);
      CHECK_EQ_IN(old[i], 5 + 2 * way + 1, "way %d at %zu", way, i);
    }
    OK(MPI_Win_flush(next, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
    for (size_t i = 0; i < n; ++i) {
      CHECK_EQ_IN(memory[n + i], static_cast<int>(check::mix(before, i, 9 + way)), "way %d at %zu", way, i);
      CHECK_EQ_IN(memory[2 * n + i], 5 + 2 * (way + 1), "way %d at %zu", way, i);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  counter(mpi, 30);
  queued(mpi);
  several(mpi);
  lock_all(mpi, 0);
  lock_all(mpi, MPI_MODE_NOCHECK);
  requests(mpi, 1);
  requests(mpi, 700);
  requests(mpi, 60'000);
}
