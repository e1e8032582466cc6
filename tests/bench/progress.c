/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens to a started operation while processes compute.
 *
 * hidden.X: how much of an operation's time vanishes behind computation. Both ranks compute a fixed
 * piece of work, so that whatever the library takes from it shows.
 * behind.X: every rank but 0 starts the operation and computes for a fixed time without a call of
 * MPI; rank 0 starts it in the middle of that and waits: for how long? */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { kTag = 3, kRounds = 15, kBehindRounds = 3 };
static const double kWorkSeconds = 2e-3, kHeadStart = 5e-3;

static volatile double kept_alive = 0.5;

/* From a value that the compiler does not know: of some it sees that they never change, and leaves the
 * loop out. */
static void work(long steps) {
  double x = kept_alive;
  for (long i = 0; i < steps; ++i) x = x * 0.999999 + 1e-6;
  kept_alive = x;
}

static void compute_until(double end) {
  while (now() < end) work(1000);
}

/* A Collective, or NULL for a message in each direction. */
static int start(const Collective* c, Buffers* b, MPI_Request requests[2]) {
  requests[0] = requests[1] = MPI_REQUEST_NULL;
  if (c) return c->start(b, requests);
  const int peer = world_rank ^ 1;
  const int error = MPI_Irecv(b->out, b->count, MPI_DOUBLE, peer, kTag, MPI_COMM_WORLD, requests);
  if (error != MPI_SUCCESS) return error;
  return MPI_Isend(b->in, b->count, MPI_DOUBLE, peer, kTag, MPI_COMM_WORLD, requests + 1);
}

/* One round: communication, work, or both; the slowest rank's time. */
static int one_round(const Collective* c, Buffers* b, int communicates, long steps, double* took) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int error = MPI_SUCCESS;
  agree(0);
  const double begin = now();
  if (communicates) error = start(c, b, requests);
  if (error != MPI_SUCCESS) return error;
  work(steps);
  error = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  *took = agree(now() - begin);
  return error;
}

static const Collective* collective_of(const Measure* self) {
  const char* name = strchr(self->name, '.') + 1;
  return name[0] == 'i' ? collective_named(name + 1) : NULL;
}

static int run_hidden(const Measure* self, size_t bytes, Outcome* out) {
  if (world_size % 2) return refuse(out, "needs an even number of ranks");
  const Collective* c = collective_of(self);
  Buffers b;
  make_buffers(&b, bytes);
  long steps = 1000;
  double pure[kRounds], computing[kRounds], both[kRounds], took = 0;
  for (;;) { /* how many steps take that long? */
    agree(0);
    const double begin = now();
    work(steps);
    took = agree(now() - begin);
    if (took >= kWorkSeconds) break;
    steps *= 2;
  }
  steps = (long)((double)steps * kWorkSeconds / took);
  int error = MPI_SUCCESS;
  for (int i = -2; i < kRounds && error == MPI_SUCCESS; ++i) { /* two to warm up */
    const int at = i < 0 ? 0 : i;
    error = one_round(c, &b, 1, 0, &pure[at]);
    if (error == MPI_SUCCESS) error = one_round(c, &b, 0, steps, &computing[at]);
    if (error == MPI_SUCCESS) error = one_round(c, &b, 1, steps, &both[at]);
  }
  free_buffers(&b);
  if (error != MPI_SUCCESS) return error;
  const double alone = median(pure, kRounds);
  const double seen = median(both, kRounds) - median(computing, kRounds);
  const double share = 100 * (alone - seen) / alone;
  out->value = share > 100 ? 100 : share < 0 ? 0 : share;
  out->unit = "%";
  return MPI_SUCCESS;
}

static int start_behind(const Collective* c, Buffers* b, MPI_Request* request) {
  b->root = 1; /* a root that computes */
  if (c) return c->start(b, request);
  if (world_rank == 0)
    return MPI_Isend(b->in, b->count, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, request);
  return MPI_Irecv(b->out, b->count, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, request);
}

/* Waiting alone is timed at rank 0; the time of a rank that computes is not. */
static int run_behind(const Measure* self, size_t bytes, Outcome* out) {
  if (world_size < 2) return refuse(out, "needs 2 ranks");
  const Collective* c = collective_of(self);
  const double computes = 1e-3 * *(const double*)self->detail;
  const int takes_part = c || world_rank < 2;
  Buffers b;
  make_buffers(&b, bytes);
  double waits[kBehindRounds];
  int error = MPI_SUCCESS;
  for (int i = -1; i < kBehindRounds && error == MPI_SUCCESS; ++i) { /* one to warm up, without */
    MPI_Request request = MPI_REQUEST_NULL;
    const double begin = agree(now());
    if (world_rank == 0) compute_until(begin + kHeadStart);
    const double waiting = now();
    if (takes_part) error = start_behind(c, &b, &request);
    if (world_rank != 0 && i >= 0) compute_until(begin + kHeadStart + computes);
    if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i >= 0) waits[i] = now() - waiting;
  }
  free_buffers(&b);
  out->value = 1e3 * median(waits, kBehindRounds);
  out->unit = "ms";
  return error;
}

static const double kLong = 200, kShort = 100; /* ms of computation */

const Measure kProgress[] = {
    {"hidden.exchange", run_hidden, NULL},      {"hidden.iallreduce", run_hidden, NULL},
    {"hidden.ibcast", run_hidden, NULL},        {"hidden.iallgather", run_hidden, NULL},
    {"hidden.ialltoall", run_hidden, NULL},     {"behind.send", run_behind, &kLong},
    {"behind.ibarrier", run_behind, &kShort},   {"behind.ibcast", run_behind, &kShort},
    {"behind.iallreduce", run_behind, &kShort}, {"behind.iallgather", run_behind, &kShort},
    {"behind.ialltoall", run_behind, &kShort},  {NULL, NULL, NULL},
};
