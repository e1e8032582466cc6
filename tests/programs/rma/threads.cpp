// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: threads with a window each, threads that share an epoch of one window, and
// operations beside messages and collectives of other threads.
// NOT_MPICH: its threads spin, which takes minutes on few cores.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "check.hpp"

namespace {

constexpr int kThreads = 4;

void together(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// A lock that one thread waits for is none that another thread's call waits for. Of ranks 0 and 1 each has a thread that
// holds its own part of a window and takes a lock of another window, which is free; and a thread that wants the part that
// the other rank holds, which that gives up when it has had both. `by_all`: that one asks by MPI_Win_lock_all.
void locks_of_two_threads(int me, int size, bool by_all) {
  enum { of_rank_0, of_rank_1, free_ones, kWindows };
  std::vector<long> memory(kWindows);
  MPI_Win wins[kWindows];
  for (int w = 0; w < kWindows; ++w)
    OK(MPI_Win_create(&memory[static_cast<size_t>(w)], sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &wins[w]));
  const int other = 1 - me;
  for (int round = 0; me < 2 && size > 1 && round < 10; ++round) {
    const MPI_Win held = wins[me], wanted = wins[other], is_free = wins[free_ones];
    int heard;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, held));
    OK(MPI_Sendrecv(&me, 1, MPI_INT, other, round, &heard, 1, MPI_INT, other, round, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    std::atomic<bool> asks{false};
    std::thread asking([&] {
      const long one = 1;
      asks = true;
      OK(by_all ? MPI_Win_lock_all(0, wanted) : MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, wanted));
      OK(MPI_Accumulate(&one, 1, MPI_LONG, other, 0, 1, MPI_LONG, MPI_SUM, wanted));
      OK(by_all ? MPI_Win_unlock_all(wanted) : MPI_Win_unlock(other, wanted));
    });
    while (!asks) std::this_thread::yield();
    usleep(2000);  // it is amid its call as a rule, which the other thread's need not be behind
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, is_free));
    OK(MPI_Win_unlock(me, is_free));
    OK(MPI_Win_unlock(me, held));
    asking.join();
    OK(MPI_Sendrecv(&me, 1, MPI_INT, other, round, &heard, 1, MPI_INT, other, round, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, held));
    CHECK_EQ(memory[static_cast<size_t>(me)], round + 1L);
    OK(MPI_Win_unlock(me, held));
  }
  for (MPI_Win& win : wins) OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv, MPI_THREAD_MULTIPLE);
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;

  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  together([&](int t) {
    long* memory = nullptr;
    MPI_Win win;
    OK(MPI_Win_allocate(1000 * sizeof(long), sizeof(long), MPI_INFO_NULL, comms[t], &memory, &win));
    for (int i = 0; i < 15; ++i) {
      const int length = i % 4 == 0 ? 1000 : 3;
      std::vector<long> out(static_cast<size_t>(length), 1000L * me + 10 * t + i);
      OK(MPI_Win_fence(0, win));
      OK(MPI_Put(out.data(), length, MPI_LONG, next, 0, length, MPI_LONG, win));
      OK(MPI_Win_fence(0, win));
      for (int k = 0; k < length; ++k) CHECK_EQ(memory[k], 1000L * before + 10 * t + i);
      OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
      *memory = 0;
      OK(MPI_Barrier(comms[t]));
      for (int k = 0; k < 5; ++k) {
        const long one = 1;
        OK(MPI_Win_lock(k % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_unlock(0, win));
      }
      OK(MPI_Barrier(comms[t]));
      if (me == 0) CHECK_EQ(*memory, 5L * size);
      OK(MPI_Barrier(comms[t]));
    }
    OK(MPI_Win_free(&win));
  });

  for (const bool by_all : {false, true}) locks_of_two_threads(me, size, by_all);

  // One epoch for all threads of all ranks.
  long* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(20'001 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  std::fill(memory, memory + 20'001, 0);
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  together([&](int t) {
    const std::vector<long> ones(20'000, 1);
    std::vector<long> seen(20'000);
    for (int i = 0; i < 20; ++i) {
      long ticket = -1, value = -1;
      const long one = 1;
      OK(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, next, 0, MPI_SUM, win));
      OK(MPI_Win_flush(next, win));
      CHECK(ticket >= i && ticket < 20L * kThreads * (size + 1));
      if (t == 0) {
        OK(MPI_Sendrecv(&one, 1, MPI_LONG, next, i, &value, 1, MPI_LONG, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(value, 1);
      } else if (t == 1) {
        MPI_Request request;
        OK(MPI_Raccumulate(ones.data(), 20'000, MPI_LONG, before, 1, 20'000, MPI_LONG, MPI_SUM, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      } else if (t == 2) {
        MPI_Request request;
        // Not MPI_Rget, of which nothing is defined while others accumulate there.
        OK(MPI_Rget_accumulate(nullptr, 0, MPI_LONG, seen.data(), 20'000, MPI_LONG, next, 1, 20'000, MPI_LONG,
                               MPI_NO_OP, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (const long s : seen) CHECK(s >= 0 && s <= 20);
      } else {
        OK(MPI_Allreduce(&one, &value, 1, MPI_LONG, MPI_SUM, comms[0]));
        CHECK_EQ(value, static_cast<long>(size));
      }
    }
  });
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
  CHECK_EQ(memory[0], 20L * kThreads);
  for (int i = 1; i <= 20'000; ++i) CHECK_EQ(memory[i], 20L);
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Win_free(&win));
  for (MPI_Comm& comm : comms) OK(MPI_Comm_free(&comm));
}
