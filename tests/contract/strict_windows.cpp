// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict has to say at MPI_Finalize of windows: updates of two ranks under locks that they share, whenever
// these come; and what is right.
#include <atomic>
#include <chrono>
#include <iterator>
#include <thread>

#include "strict_cases.hpp"

namespace strict {
namespace {

// An epoch of MPI_Win_lock_all.
struct Locked {
  explicit Locked(bool memory_of_all = false) {
    if (memory_of_all)
      MPI_Win_allocate_shared(sizeof into, sizeof(int), MPI_INFO_NULL, world, &memory, &window);
    else
      MPI_Win_create(into, sizeof into, sizeof(int), MPI_INFO_NULL, world, &window);
    MPI_Win_lock_all(0, window);
  }
  ~Locked() {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  void put(int at, int to = 1) const {
    MPI_Put(&value, 1, MPI_INT, to, at, 1, MPI_INT, window);  // LINE puts_unordered
    MPI_Win_flush(to, window);
  }
  void add(int at, MPI_Op op) const {
    MPI_Accumulate(&value, 1, MPI_INT, 1, at, 1, MPI_INT, op, window);  // LINE adds_unordered
    MPI_Win_flush(1, window);
  }
  void get(int at, int from = 1) const {
    MPI_Get(two, 1, MPI_INT, from, at, 1, MPI_INT, window);  // LINE gets_unordered
    MPI_Win_flush(from, window);
  }
  void swap(int at) const {
    MPI_Compare_and_swap(&value, &value, two, MPI_INT, 1, at, window);  // LINE swaps_unordered
    MPI_Win_flush(1, window);
  }
  void put_without_end(int at) const {
    MPI_Put(&value, 1, MPI_INT, 1, at, 1, MPI_INT, window);  // LINE puts_across_barrier
  }
  MPI_Win window = MPI_WIN_NULL;
  int* memory = into;
};

// Long behind the other one's operation, so that time alone does not let the two meet.
void late() {
  if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// Until another process has stored there.
void poll(int& flag) {
  while (std::atomic_ref(flag).load() == 0) std::this_thread::yield();
}

}  // namespace

// clang-format off
Cases window_cases() {
  return {
    {"puts_unordered",
     [] {
       const Locked w;
       late();
       if (rank != 1) w.put(3);
     }},
    {"puts_since_barrier",
     [] {
       const Locked w;
       if (rank == 0) w.put(3);
       MPI_Barrier(world);
       late();
       if (rank != 1) w.put(3);
     }},
    {"adds_unordered",
     [] {
       const Locked w;
       late();
       if (rank != 1) w.add(3, rank == 0 ? MPI_SUM : MPI_MAX);
     }},
    {"gets_unordered",
     [] {
       const Locked w;
       late();
       if (rank == 0) w.put(3);
       if (rank == 2) w.get(3);
     }},
    {"swaps_unordered",
     [] {
       const Locked w;
       late();
       if (rank == 0) w.put(3);
       if (rank == 2) w.swap(3);
     }},
    {"puts_across_barrier",  // it is not known to be complete when the others go on
     [] {
       const Locked w;
       if (rank == 0) w.put_without_end(3);
       MPI_Barrier(world);
       late();
       if (rank == 2) w.put(3);
     }},
    {"gets_behind_barrier",
     [] {
       const Locked w;
       if (rank == 0) w.put_without_end(3);
       MPI_Barrier(world);
       late();
       if (rank == 2) w.get(3);
     }},
    // ---- right: silent
    {"gets_ordered",
     [] {
       const Locked w;
       if (rank == 0) w.put(3);
       MPI_Barrier(world);
       w.get(3);
       MPI_Barrier(world);
       if (rank == 2) w.put(3);
       if (rank == 2) send(0);
       if (rank == 0) recv(2);
       if (rank == 0) w.get(3);
       MPI_Barrier(world);
       if (rank == 0) w.put(3);
       if (rank == 0) w.get(3);
     }},
    {"swaps_among_updates",
     [] {
       const Locked w;
       if (rank == 0) w.swap(3);
       if (rank == 2) w.swap(3);
     }},
    {"puts_apart_across_barrier",
     [] {
       const Locked w;
       if (rank == 0) w.put_without_end(3);
       MPI_Barrier(world);
       if (rank == 2) w.put(4);
       MPI_Barrier(world);
       MPI_Win_flush_all(w.window);
       MPI_Barrier(world);
       if (rank == 2) w.get(3);
       if (rank == 0) w.get(4);
     }},
    {"puts_ordered_by_message",
     [] {
       const Locked w;
       if (rank == 0) w.put(3);
       if (rank == 0) send(2);
       if (rank == 2) recv(0);
       if (rank == 2) w.put(3);
     }},
    {"puts_ordered_by_test",  // and by a third rank
     [] {
       const Locked w;
       if (rank == 0) w.put(3);
       if (rank == 0) send(1);
       if (rank == 1) recv(0);
       if (rank == 1) send(2);
       if (rank != 2) return;
       MPI_Request request;
       MPI_Irecv(two, 1, MPI_INT, 1, 1, world, &request);
       for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
       w.put(3);
     }},
    {"puts_ordered_by_barrier",
     [] {
       const Locked w;
       if (rank == 0) w.put(3);
       MPI_Barrier(world);
       if (rank == 2) w.put(3);
     }},
    {"puts_ordered_by_memory",  // rank 2 looks at its own
     [] {
#ifdef __SANITIZE_THREAD__
       return;  // it tells of what is stored there meanwhile
#endif
       into[0] = 0;
       MPI_Barrier(world);
       const Locked w;
       if (rank == 0) w.put(3);
       if (rank == 0) w.put(0, 2);
       if (rank == 2) poll(into[0]);
       if (rank == 2) w.put(3);
     }},
    {"puts_ordered_by_shared_memory",
     [] {
       const Locked w(true);
       std::atomic_ref(w.memory[0]).store(0);
       MPI_Barrier(world);
       int* flag = w.memory + (rank == 0 ? 2 : 0) * static_cast<int>(std::size(into));
       if (rank == 0) w.put(3);
       if (rank == 0) std::atomic_ref(*flag).store(1);
       if (rank == 2) poll(*flag);
       if (rank == 2) w.put(3);
     }},
    {"puts_ordered_by_lock",  // rank 2 comes to it behind rank 0, which has it before both go on
     [] {
       MPI_Win first, second;
       MPI_Win_create(into, sizeof into, sizeof(int), MPI_INFO_NULL, world, &first);
       MPI_Win_create(into, sizeof into, sizeof(int), MPI_INFO_NULL, world, &second);
       if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, first);
       MPI_Barrier(world);
       if (rank == 2) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, first);
       if (rank != 1) {
         MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, second);
         MPI_Put(&value, 1, MPI_INT, 1, 3, 1, MPI_INT, second);
         MPI_Win_unlock(1, second);
         MPI_Win_unlock(1, first);
       }
       MPI_Win_free(&first);
       MPI_Win_free(&second);
     }},
    {"updates_apart",
     [] {
       const Locked w;
       if (rank != 1) {
         w.put(rank);
         w.add(5, MPI_SUM);
       }
     }},
  };
}
// clang-format on

}  // namespace strict
