// SPDX-License-Identifier: BSD-3-Clause
// What the files of one_sided_program share: a window of three ranks, and the ways in which two of them reach the third.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <functional>
#include <vector>

namespace one_sided {

constexpr int kInts = 64;
inline const MPI_Comm world = MPI_COMM_WORLD;
inline const MPI_Datatype I = MPI_INT;
inline int rank, size;  // of the process in MPI_COMM_WORLD
inline int one = 1, two = 2, got[kInts], given[kInts];

inline void fail(const char* what) {
  std::fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(world, 3);
}

// A window of kInts ints at each rank, all 0.
struct Window {
  MPI_Win win = MPI_WIN_NULL;
  int* memory = nullptr;
  MPI_Group group = MPI_GROUP_NULL;

  explicit Window(MPI_Info info = MPI_INFO_NULL) {
    MPI_Win_allocate(kInts * sizeof(int), sizeof(int), info, world, &memory, &win);
    for (int i = 0; i < kInts; ++i) memory[i] = 0;
    MPI_Win_get_group(win, &group);
    MPI_Barrier(world);
  }
  ~Window() {
    MPI_Group_free(&group);
    MPI_Win_free(&win);
  }
  void fence(int assertion = 0) const { MPI_Win_fence(assertion, win); }
  void put(int at, int count = 1, int to = 2) const { MPI_Put(given, count, I, to, at, count, I, win); }    // LINE put
  void get(int at, int count = 1, int from = 2) const { MPI_Get(got, count, I, from, at, count, I, win); }  // LINE get
  void add(int at, int count = 1, MPI_Op op = MPI_SUM, int to = 2) const {
    MPI_Accumulate(given, count, I, to, at, count, I, op, win);  // LINE add
  }
  void fetch(int at, MPI_Op op = MPI_SUM, int to = 2) const {
    MPI_Fetch_and_op(given, got, I, to, at, op, win);  // LINE fetch
  }
};

inline MPI_Info hint(const char* key, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

inline MPI_Group only(const Window& w, std::vector<int> ranks) {
  MPI_Group group;
  MPI_Group_incl(w.group, static_cast<int>(ranks.size()), ranks.data(), &group);
  return group;
}

// Ranks 0 and 1 do `there` to the memory of rank 2 between two fences.
inline void fenced(const std::function<void(const Window&)>& there, MPI_Info info = MPI_INFO_NULL) {
  const Window w(info);
  w.fence();
  if (rank < 2) there(w);
  w.fence();
}
// The same with post, start, complete and wait.
inline void posted(const std::function<void(const Window&)>& there) {
  const Window w;
  MPI_Group target = only(w, {2}), origins = only(w, {0, 1});
  if (rank < 2) {
    MPI_Win_start(target, 0, w.win);
    there(w);
    MPI_Win_complete(w.win);
  } else {
    MPI_Win_post(origins, 0, w.win);
    MPI_Win_wait(w.win);
  }
  MPI_Group_free(&target);
  MPI_Group_free(&origins);
}
// Rank 2 has got what ranks 0 and 1 have started so far: their messages come behind it.
inline void arrived() {
  int heard;
  for (const int from : {0, 1}) {
    if (rank == from) MPI_Sendrecv(&one, 1, I, 2, 7, &heard, 1, I, 2, 7, world, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Recv(&heard, 1, I, from, 7, world, MPI_STATUS_IGNORE);
  }
  for (const int to : {0, 1})
    if (rank == 2) MPI_Send(&one, 1, I, to, 7, world);
}
// And with locks that ranks share; all has arrived before anybody completes what it does.
inline void locked(const std::function<void(const Window&)>& there) {
  const Window w;
  MPI_Win_lock_all(0, w.win);
  if (rank < 2) there(w);
  arrived();
  MPI_Win_unlock_all(w.win);
}

struct Case {
  const char* name;
  std::function<void()> run;
};

using W = const Window&;

std::vector<Case> wrong_cases();  // one_sided_wrong.cpp

}  // namespace one_sided
