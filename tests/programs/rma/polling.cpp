// SPDX-License-Identifier: BSD-3-Clause
// A token goes round, and each rank looks for it in its own part of a window again and again, by each call that need not
// wait for anybody. With more ranks than cores it comes soon only if who looks in vain gives up its core now and then: a
// rank that keeps it makes each step last some turns of the scheduler, and the program longer than its limit.
// NOT_MPICH: 4.0 does not end with more ranks than cores.
#include "check.hpp"

namespace {

constexpr int kRounds = 5;

struct Way {
  bool in_one_epoch;  // between MPI_Win_lock_all and MPI_Win_unlock_all
  std::function<long(MPI_Win win, int me, const volatile long* memory)> look;
};

long fetch(MPI_Win win, int me, int (*complete)(int rank, MPI_Win win)) {
  long seen = -1, nothing = 0;
  OK(MPI_Fetch_and_op(&nothing, &seen, MPI_LONG, me, 0, MPI_NO_OP, win));
  OK(complete(me, win));
  return seen;
}

long under_lock(MPI_Win win, int me, int type) {
  OK(MPI_Win_lock(type, me, 0, win));
  return fetch(win, me, MPI_Win_unlock);
}

const Way kWays[] = {
    {true,
     [](MPI_Win win, int, const volatile long* memory) {
       OK(MPI_Win_sync(win));
       return *memory;
     }},
    {true, [](MPI_Win win, int me, const volatile long*) { return fetch(win, me, MPI_Win_flush); }},
    {true, [](MPI_Win win, int me, const volatile long*) { return fetch(win, me, MPI_Win_flush_local); }},
    {true,
     [](MPI_Win win, int me, const volatile long*) {
       long seen = -1, none = -1;
       OK(MPI_Compare_and_swap(&none, &none, &seen, MPI_LONG, me, 0, win));
       OK(MPI_Win_flush_local_all(win));
       return seen;
     }},
    {true,
     [](MPI_Win win, int me, const volatile long*) {
       long seen = -1;
       MPI_Request request;
       OK(MPI_Rget_accumulate(nullptr, 0, MPI_LONG, &seen, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_NO_OP, win, &request));
       OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
       return seen;
     }},
    {false, [](MPI_Win win, int me, const volatile long*) { return under_lock(win, me, MPI_LOCK_SHARED); }},
    {false, [](MPI_Win win, int me, const volatile long*) { return under_lock(win, me, MPI_LOCK_EXCLUSIVE); }},
    {false,
     [](MPI_Win win, int me, const volatile long*) {
       long seen = -1;
       OK(MPI_Win_lock_all(0, win));
       OK(MPI_Get_accumulate(nullptr, 0, MPI_LONG, &seen, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_NO_OP, win));
       OK(MPI_Win_unlock_all(win));
       return seen;
     }},
};

void pass_on(MPI_Win win, int next, long token, bool in_one_epoch) {
  if (!in_one_epoch) OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  OK(MPI_Accumulate(&token, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_REPLACE, win));
  OK(in_one_epoch ? MPI_Win_flush(next, win) : MPI_Win_unlock(next, win));
}

void go_round(const check::Program& mpi, const Way& way, MPI_Win win, long* memory) {
  const int me = mpi.rank(), next = (me + 1) % mpi.size();
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win));
  *memory = 0;
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (way.in_one_epoch) OK(MPI_Win_lock_all(0, win));
  for (long token = 1; token <= kRounds; ++token) {
    if (me == 0) pass_on(win, next, token, way.in_one_epoch);
    while (way.look(win, me, memory) != token) {
    }
    if (me != 0) pass_on(win, next, token, way.in_one_epoch);
  }
  if (way.in_one_epoch) OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Program mpi(&argc, &argv);
  long own = 0, *shared = nullptr;
  MPI_Win created, allocated;
  OK(MPI_Win_create(&own, sizeof own, sizeof own, MPI_INFO_NULL, MPI_COMM_WORLD, &created));
  OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &allocated));
  for (const Way& way : kWays) {
    go_round(mpi, way, created, &own);
    go_round(mpi, way, allocated, shared);
  }
  OK(MPI_Win_free(&allocated));
  OK(MPI_Win_free(&created));
}
