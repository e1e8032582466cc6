/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication from rank 0 to rank 1, whose memory the library has found (allocated) or the program has
 * (created): each kind of operation with what completes it there, and the synchronisations with a put in them. Rank 1
 * waits for a message meanwhile, or takes its part where the synchronisation has one.
 *
 * behind.X: rank 1 computes for 200 ms without a call of MPI, and rank 0 does X over and over in the midst of that. The
 * mean counts, in which the calls that had to wait for something have their share. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct Way {
  int created;
  int both; /* rank 1 calls it, too */
  int (*call)(MPI_Win window, char* here, int bytes);
} Way;

static int flushed(int error, MPI_Win window) {
  return error == MPI_SUCCESS ? MPI_Win_flush(1, window) : error;
}

static int put(MPI_Win window, char* here, int bytes) {
  return flushed(MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window), window);
}
static int get(MPI_Win window, char* here, int bytes) {
  return flushed(MPI_Get(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window), window);
}
static int accumulate(MPI_Win window, char* here, int bytes) {
  return flushed(MPI_Accumulate(here, bytes / 8, MPI_INT64_T, 1, 0, bytes / 8, MPI_INT64_T, MPI_SUM, window), window);
}
static int get_accumulate(MPI_Win window, char* here, int bytes) {
  return flushed(MPI_Get_accumulate(here, bytes / 8, MPI_INT64_T, here + bytes, bytes / 8, MPI_INT64_T, 1, 0, bytes / 8,
                                    MPI_INT64_T, MPI_SUM, window),
                 window);
}
static int fetch_and_op(MPI_Win window, char* here, int bytes) {
  (void)bytes;
  return flushed(MPI_Fetch_and_op(here, here + 8, MPI_INT64_T, 1, 0, MPI_SUM, window), window);
}
static int compare_and_swap(MPI_Win window, char* here, int bytes) {
  (void)bytes;
  return flushed(MPI_Compare_and_swap(here, here, here + 8, MPI_INT64_T, 1, 0, window), window);
}
static int put_lock(MPI_Win window, char* here, int bytes) {
  int error = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  if (error == MPI_SUCCESS) error = MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  return error == MPI_SUCCESS ? MPI_Win_unlock(1, window) : error;
}
static int put_lock_all(MPI_Win window, char* here, int bytes) {
  int error = MPI_Win_lock_all(0, window);
  if (error == MPI_SUCCESS) error = MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  return error == MPI_SUCCESS ? MPI_Win_unlock_all(window) : error;
}
static int put_fence(MPI_Win window, char* here, int bytes) {
  int error = MPI_SUCCESS;
  if (world_rank == 0) error = MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  return error == MPI_SUCCESS ? MPI_Win_fence(0, window) : error;
}
static int put_groups(MPI_Win window, char* here, int bytes) {
  static MPI_Group peer = MPI_GROUP_NULL;
  const int other = 1 - world_rank;
  int error = MPI_SUCCESS;
  if (peer == MPI_GROUP_NULL) {
    MPI_Group all;
    error = MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (error == MPI_SUCCESS) error = MPI_Group_incl(all, 1, &other, &peer);
    if (error == MPI_SUCCESS) error = MPI_Group_free(&all);
  }
  if (error != MPI_SUCCESS) return error;
  if (world_rank == 1) {
    error = MPI_Win_post(peer, 0, window);
    return error == MPI_SUCCESS ? MPI_Win_wait(window) : error;
  }
  error = MPI_Win_start(peer, 0, window);
  if (error == MPI_SUCCESS) error = MPI_Put(here, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
  return error == MPI_SUCCESS ? MPI_Win_complete(window) : error;
}

typedef struct {
  const Way* way;
  MPI_Win window;
  char* here;
  int bytes;
} Access;

static int calls_of(void* context, int calls) {
  const Access* a = context;
  int error = MPI_SUCCESS;
  if (world_rank > (a->way->both ? 1 : 0)) return error;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) error = a->way->call(a->window, a->here, a->bytes);
  return error;
}

/* Rank 0's calls while rank 1 computes: ever more in a row, so that the clock, which is looked at between, costs nothing. */
static int calls_behind(Access* a, double begin, double* seconds) {
  static const double kHeadStart = 5e-3, kComputes = 200e-3, kEnough = 50e-3;
  int error = MPI_SUCCESS, calls = 0;
  compute_until(begin + (world_rank == 0 ? kHeadStart : kHeadStart + kComputes));
  if (world_rank != 0) return error;
  const double first = now();
  double last = first;
  for (int more = 1; last - first < kEnough && error == MPI_SUCCESS; more *= 2) {
    error = calls_of(a, more);
    calls += more;
    last = now();
  }
  *seconds = (last - first) / calls;
  return error;
}

static int spells_behind(Access* a, double* seconds) {
  enum { kSpells = 3 };
  double each[kSpells] = {0};
  int error = calls_of(a, 10); /* warms up, and has the lock be there */
  for (int i = 0; i < kSpells && error == MPI_SUCCESS; ++i) error = calls_behind(a, agree(now()), &each[i]);
  *seconds = median(each, kSpells);
  return error;
}

static int measure_window(const Measure* self, size_t bytes, Outcome* out, int behind) {
  const Way* way = self->detail;
  const MPI_Aint size = (MPI_Aint)(bytes < 8 ? 8 : bytes);
  const int locks = way->call != put_lock && way->call != put_lock_all && !way->both;
  if (world_size != 2) return refuse(out, "needs 2 ranks");
  Access a = {.way = way, .bytes = (int)bytes, .here = room(2 * (size_t)size)};
  char *there = NULL, *memory = way->created ? room((size_t)size) : NULL;
  double seconds = 0;
  memset(a.here, way->call == accumulate || way->call == get_accumulate ? 0 : 7, 2 * (size_t)size);
  int error = way->created ? MPI_Win_create(memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &a.window)
                           : MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &there, &a.window);
  if (error != MPI_SUCCESS) return error;
  if (way->created) there = memory;
  memset(there, 0, (size_t)size);
  error = way->call == put_fence ? MPI_Win_fence(0, a.window) : MPI_Barrier(MPI_COMM_WORLD);
  if (error == MPI_SUCCESS && locks) error = MPI_Win_lock_all(0, a.window);
  if (error == MPI_SUCCESS) error = behind ? spells_behind(&a, &seconds) : sample(calls_of, &a, &seconds);
  if (error == MPI_SUCCESS && locks) error = MPI_Win_unlock_all(a.window);
  if (error == MPI_SUCCESS) error = MPI_Barrier(MPI_COMM_WORLD);
  const int puts = way->call == put || way->call == put_lock || way->call == put_lock_all || way->both;
  for (size_t i = 0; world_rank == 1 && error == MPI_SUCCESS && puts && i < bytes && !out->failure[0]; ++i)
    if (there[i] != 7) refuse(out, "byte %zu arrived wrong", i);
  if (error == MPI_SUCCESS) error = MPI_Win_free(&a.window);
  free(a.here);
  free(memory);
  out->value = 1e6 * seconds;
  return error;
}

static int run_window(const Measure* self, size_t bytes, Outcome* out) {
  return measure_window(self, bytes, out, 0);
}
static int run_window_behind(const Measure* self, size_t bytes, Outcome* out) {
  return measure_window(self, bytes, out, 1);
}

/* For the page of the figures: kind.call, in microseconds for one operation and what completes it. */
#define WAYS(name, both) static const Way kAllocated_##name = {0, both, name}, kCreated_##name = {1, both, name};
WAYS(put, 0)
WAYS(get, 0)
WAYS(accumulate, 0)
WAYS(get_accumulate, 0)
WAYS(fetch_and_op, 0)
WAYS(compare_and_swap, 0)
WAYS(put_lock, 0)
WAYS(put_lock_all, 0)
WAYS(put_fence, 1)
WAYS(put_groups, 1)
#define ROWS(name)                                        \
  {"allocated." #name, run_window, &kAllocated_##name}, { \
    "created." #name, run_window, &kCreated_##name        \
  }
#define BEHIND(name)                                                    \
  {"behind.allocated." #name, run_window_behind, &kAllocated_##name}, { \
    "behind.created." #name, run_window_behind, &kCreated_##name        \
  }

const Measure kWindows[] = {
    ROWS(put),          ROWS(get),
    ROWS(accumulate),   ROWS(get_accumulate),
    ROWS(fetch_and_op), ROWS(compare_and_swap),
    ROWS(put_lock),     ROWS(put_lock_all),
    ROWS(put_fence),    ROWS(put_groups),
    BEHIND(put),        BEHIND(get),
    BEHIND(accumulate), BEHIND(put_lock),
    {NULL, NULL, NULL},
};
