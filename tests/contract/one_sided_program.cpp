// SPDX-License-Identifier: BSD-3-Clause
// Uses of windows that are right, and so silent; one_sided_wrong.cpp has their wrong twins. argv[1] names one case, or
// "right", which runs all right ones. Uses the MPI interface alone. On three ranks.
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "one_sided_cases.hpp"

namespace {

using namespace one_sided;

// ---- right: silent

void epochs_by_fence() {
  fenced([](W w) { w.put(rank); });           // side by side
  fenced([](W w) { w.put(rank * 32, 32); });  // halves
  fenced([](W w) { w.get(0, 8); });           // all read
  fenced([](W w) { w.add(0, 8); });           // one operation
  fenced([](W w) { w.add(0, 8), w.add(4, 8); });
  fenced([](W w) { w.add(0, 8, MPI_REPLACE); });
  fenced([](W w) { w.fetch(0); });
  fenced([](W w) { w.fetch(0, rank ? MPI_NO_OP : MPI_SUM); });
  fenced([](W w) { rank ? w.get(0) : w.fetch(0, MPI_NO_OP); });  // both read
  fenced([](W w) { MPI_Compare_and_swap(&two, &one, got, I, 2, 5, w.win); });
  fenced([](W w) { rank ? w.fetch(5, MPI_REPLACE) : void(MPI_Compare_and_swap(&two, &one, got, I, 2, 5, w.win)); });
  fenced([](W w) {  // one type by several names
    MPI_Accumulate(given, 1, rank ? MPI_INT : MPI_INT32_T, 2, 0, 1, rank ? MPI_INT : MPI_INT32_T, MPI_SUM, w.win);
  });
  fenced([](W w) {  // what one origin accumulates is done in its order, whatever it is
    if (rank == 0) w.add(0, 1, MPI_REPLACE), w.add(0), w.add(0, 1, MPI_MAX);
  });
  fenced([](W w) {  // 0 or none
    MPI_Put(given, 0, I, 2, 0, 0, I, w.win);
    MPI_Put(given, 1, I, MPI_PROC_NULL, 0, 1, I, w.win);
  });
  fenced([](W w) {  // interleaved
    MPI_Datatype every_other;
    MPI_Type_vector(8, 1, 2, I, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Put(given, 8, I, 2, rank, 1, every_other, w.win);
    MPI_Type_free(&every_other);
  });
  fenced([](W w) { w.put(0, 1, 1 - rank); });  // one at each
  const Window w;
  w.fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT);
  if (rank < 2) w.get(0);
  for (int i = 0; i < 20; ++i) {  // fences between
    w.fence();
    if (rank == i % 2) w.put(0);
    if (rank == 2 && i % 3) w.put(8);
  }
  w.fence();
  if (rank == 0) w.put(0, 1, 1);
  w.fence();
  if (rank == 1) w.get(0, 1, 1);
  w.fence();
  // Many at one place and many places.
  for (int i = 0; i < 6000; ++i) w.add(0, 1, MPI_SUM, 1);
  w.fence();
  for (int i = 0; i < 10; ++i) w.put(rank * 10 + i, 1, 1);
  w.fence(MPI_MODE_NOSUCCEED);
}

// A rank sends what lies in its window, and whoever puts there afterwards has heard of that, or puts elsewhere.
void sends_from_window() {
  const Window w;
  w.fence();
  if (rank == 2) MPI_Send(w.memory, 1, I, 1, 0, world);
  if (rank == 1) MPI_Recv(got, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
  if (rank == 1) w.put(0);
  if (rank == 0) w.put(1);
  w.fence();
  if (rank == 0) w.put(2);
  w.fence();
  if (rank == 2) MPI_Send(w.memory + 2, 1, I, 1, 0, world);
  if (rank == 1) MPI_Recv(got, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
  if (rank == 0) w.get(2);
  w.fence();
}

void epochs_by_post() {
  posted([](W w) { w.put(rank); });
  posted([](W w) { w.add(0, 8); });
  const Window w;
  MPI_Group target = only(w, {2}), zero = only(w, {0}), first = only(w, {1});
  for (int round = 0; round < 10; ++round) {  // one origin by turns
    if (rank == 2) MPI_Win_post(round % 2 ? zero : first, 0, w.win), MPI_Win_wait(w.win);
    if (rank == (round % 2 ? 0 : 1)) {
      MPI_Win_start(target, 0, w.win);
      w.put(0);
      MPI_Win_complete(w.win);
    }
  }
  for (int round = 0; round < 5; ++round) {  // both sides, tested
    int flag = 0;
    MPI_Win_post(w.group, round % 2 ? MPI_MODE_NOPUT : 0, w.win);
    MPI_Win_start(w.group, 0, w.win);
    if (round % 2)
      w.get(0, 8, (rank + 1) % size);
    else
      w.put(0, 8, (rank + 1) % size);
    MPI_Win_complete(w.win);
    while (!flag) MPI_Win_test(w.win, &flag);
  }
  MPI_Win_post(w.group, MPI_MODE_NOCHECK, w.win);
  MPI_Barrier(world);
  MPI_Win_start(w.group, MPI_MODE_NOCHECK, w.win);
  w.put(0, 8, (rank + 1) % size);
  MPI_Win_complete(w.win);
  MPI_Win_wait(w.win);
  for (MPI_Group* group : {&target, &zero, &first}) MPI_Group_free(group);
}

void epochs_by_lock() {
  locked([](W w) { w.put(rank); });
  locked([](W w) { w.add(0, 8); });
  locked([](W w) {  // flushed between
    if (rank == 0) w.put(0), MPI_Win_flush(2, w.win), w.put(0), MPI_Win_flush_all(w.win), w.get(0);
  });
  locked([](W w) {  // what is read is complete when it is here
    if (rank != 0) return;
    MPI_Request request;
    MPI_Rget(got, 1, I, 2, 0, 1, I, w.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    w.put(0);
    MPI_Win_flush(2, w.win);
    w.get(0);
    MPI_Win_flush_local(2, w.win);
    w.put(0);
  });
  locked([](W w) {
    if (rank != 0) return;
    MPI_Request request;
    MPI_Rput(given, 1, I, 2, 0, 1, I, w.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(2, w.win);
    w.put(0);
  });
  const Window w;
  for (int i = 0; i < 20; ++i) {  // alone
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w.win);
    w.put(0, 16);
    MPI_Win_unlock(2, w.win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, w.win);
    w.get(0, 16);
    MPI_Win_unlock(2, w.win);
    MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, w.win);
    w.get(0, 16);
    MPI_Win_unlock(2, w.win);
  }
  MPI_Barrier(world);
  // Shared, and handed on by messages: what is flushed is complete.
  MPI_Win_lock_all(0, w.win);
  for (int i = 0; i < 50; ++i) {
    int token = 0;
    if (rank == i % 2) {
      if (i > 0) MPI_Recv(&token, 1, I, 1 - rank, i, world, MPI_STATUS_IGNORE);
      w.put(0, 16);
      MPI_Win_flush(2, w.win);
      w.get(0, 16);
      i % 3 ? MPI_Win_flush_local(2, w.win) : MPI_Win_flush_all(w.win);
      MPI_Send(&token, 1, I, 1 - rank, i + 1, world);
    } else if (rank < 2 && i == 49) {
      MPI_Recv(&token, 1, I, 1 - rank, i + 1, world, MPI_STATUS_IGNORE);
    }
  }
  // Counters, and a reader that gets what others add.
  for (int i = 0; i < 50; ++i) {
    w.fetch(32, rank == 2 ? MPI_NO_OP : MPI_SUM);
    MPI_Win_flush(2, w.win);
    w.add(33, 2);
  }
  MPI_Win_unlock_all(w.win);
  // Who waits with a lock for what the target does, and the target that uses what is complete.
  MPI_Barrier(world);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, w.win);
    w.put(0, 8);
    MPI_Win_flush(2, w.win);
    MPI_Send(&one, 1, I, 2, 0, world);
    MPI_Recv(got, 8, I, 2, 0, world, MPI_STATUS_IGNORE);
    w.put(0, 8);
    MPI_Win_unlock(2, w.win);
  } else if (rank == 2) {
    MPI_Recv(got, 1, I, 0, 0, world, MPI_STATUS_IGNORE);
    MPI_Win_sync(w.win);
    MPI_Send(w.memory, 8, I, 0, 0, world);
  }
  MPI_Barrier(world);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, MPI_MODE_NOCHECK, w.win);
    w.put(0);
    MPI_Win_unlock(2, w.win);
  }
}

void memory_of_its_own() {
  const Window w;
  w.fence();
  if (rank == 2) MPI_Sendrecv(&two, 1, I, 2, 0, w.memory + 8, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
  if (rank == 0) w.put(0, 8);  // beside it
  w.fence();
  if (rank == 2) MPI_Sendrecv(&two, 1, I, 2, 0, w.memory, 1, I, 2, 0, world, MPI_STATUS_IGNORE);  // nobody's
  w.fence();
  if (rank == 0) w.put(0, 8);  // the epoch before is over
  w.fence();
  if (rank == 2) MPI_Send(w.memory, 8, I, 0, 0, world);
  if (rank == 0) MPI_Recv(got, 8, I, 2, 0, world, MPI_STATUS_IGNORE);
  w.fence();
  if (rank == 2) {  // rank 0 puts when it knows that the receive is over
    MPI_Recv(w.memory, 8, I, 0, 0, world, MPI_STATUS_IGNORE);
    MPI_Win_sync(w.win);
    MPI_Send(&one, 1, I, 0, 0, world);
  }
  if (rank == 0) {
    MPI_Send(given, 8, I, 2, 0, world);
    MPI_Recv(got, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
    w.put(0, 8);
  }
  w.fence();
  MPI_Bcast(w.memory, 8, I, 0, world);
  w.fence();
  if (rank == 0) w.get(0, 8);  // beside what the target receives
  if (rank == 2) MPI_Get(w.memory + 8, 8, I, 1, 0, 8, I, w.win);
  w.fence();
  if (rank == 0) w.get(8, 8);  // what it has received
  w.fence();
  if (rank == 2) MPI_Sendrecv(&two, 1, I, 2, 0, w.memory + 8, 1, I, 2, 0, world, MPI_STATUS_IGNORE);  // and was got
  for (int i = 0; i < 20; ++i) {                                                                      // by turns
    w.fence();
    if (i % 2 == 0 && rank == 0) w.get(0, 16);
    if (i % 2 == 1 && rank == 2) MPI_Get(w.memory, 16, I, 1, 0, 16, I, w.win);
  }
  w.fence(MPI_MODE_NOSUCCEED);
  MPI_Win_lock_all(0, w.win);  // what is got is complete before the other one receives
  if (rank == 0) {
    w.get(0, 8);
    MPI_Win_flush(2, w.win);
    MPI_Send(given, 8, I, 2, 0, world);
  } else if (rank == 2) {
    MPI_Recv(w.memory, 8, I, 0, 0, world, MPI_STATUS_IGNORE);
  }
  MPI_Win_unlock_all(w.win);
  w.fence();
  if (rank == 0) w.get(0, 8);  // others read what it sends
  if (rank == 2) MPI_Sendrecv(w.memory, 1, I, 2, 0, got, 1, I, 2, 0, world, MPI_STATUS_IGNORE);
  w.fence();
}

void other_windows() {
  MPI_Win win;
  static int bytes[16];
  MPI_Datatype every_other;
  MPI_Type_vector(4, 1, 2, I, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Win_create(bytes, sizeof bytes, 1, MPI_INFO_NULL, world, &win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(given, 4, I, 2, 4 * rank, 4, I, MPI_SUM, win);  // whole elements meet
  MPI_Accumulate(given, 4, I, 2, 8, 1, every_other, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Type_free(&every_other);
  int* mine = nullptr;
  MPI_Win_allocate_shared(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &mine, &win);
  for (int i = 0; i < 10; ++i) {
    MPI_Win_fence(0, win);
    MPI_Put(given, 4, I, (rank + 1) % size, 0, 4, I, win);
    MPI_Get(got, 4, I, (rank + 1) % size, 8, 4, I, win);
  }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);

  int attached[8] = {};
  MPI_Aint address, all[3];
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
  MPI_Win_attach(win, attached, sizeof attached);
  MPI_Get_address(attached, &address);
  MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, world);
  MPI_Win_fence(0, win);
  MPI_Put(given, 1, I, 2, all[2] + rank * static_cast<MPI_Aint>(sizeof(int)), 1, I, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(given, 4, I, 2, all[2], 4, I, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_detach(win, attached);
  MPI_Win_free(&win);

  // Hints that hold.
  MPI_Info info = hint("same_size", "true");
  for (const char* key : {"same_disp_unit", "no_locks"}) MPI_Info_set(info, key, "true");
  MPI_Info_set(info, "accumulate_ops", "same_op");
  MPI_Win_create(attached, sizeof attached, sizeof(int), info, world, &win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(given, 4, I, 2, 0, 4, I, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Info_free(&info);

  // Two windows on one memory have epochs of their own.
  static int common[8];
  MPI_Win pair[2];
  for (MPI_Win& each : pair) MPI_Win_create(common, sizeof common, sizeof(int), MPI_INFO_NULL, world, &each);
  for (MPI_Win& each : pair) {
    MPI_Win_fence(0, each);
    if (rank == 0) MPI_Put(given, 8, I, 1, 0, 8, I, each);
    MPI_Win_fence(0, each);
  }
  for (MPI_Win& each : pair) MPI_Win_free(&each);
}

const std::vector<Case> kRight = {{"epochs_by_fence", epochs_by_fence},     {"sends_from_window", sends_from_window},
                                  {"epochs_by_post", epochs_by_post},       {"epochs_by_lock", epochs_by_lock},
                                  {"memory_of_its_own", memory_of_its_own}, {"other_windows", other_windows}};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  int ran = 0;
  for (const Case& each : wrong_cases())
    if (name == each.name) each.run(), ++ran;
  for (const Case& each : kRight)
    if (name == "right" || name == each.name) each.run(), ++ran;
  if (!ran || size != 3) fail("there is no such case, or there are not three ranks");
  MPI_Finalize();
  if (rank == 0) std::puts("through");
  return 0;
}
