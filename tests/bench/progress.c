/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens to a started operation while processes compute.
 *
 * hidden.X: how much of an operation's time vanishes behind computation. Both ranks compute a fixed
 * piece of work, so that whatever the library takes from it shows.
 * behind.X: every rank but 0 starts the operation and computes for a fixed time without a call of
 * MPI; rank 0 starts it in the middle of that and waits: for how long?
 * asleep.X, reading.X, elsewhere.X: the same with ranks that sleep, that block in read(), or that wait in
 * MPI on another communicator, until rank 0 is done. */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

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

void compute_until(double end) {
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
  if (world_rank == 0) return MPI_Isend(b->in, b->count, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD, request);
  return MPI_Irecv(b->out, b->count, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, request);
}

typedef struct {
  enum { kComputes, kSleeps, kReads, kElsewhere } way;
  double ms;
} Away;

static int stay_away(const Away* away, double end, MPI_Comm other) {
  const double left = end - now();
  const struct timespec time = {.tv_sec = (time_t)left, .tv_nsec = (long)(1e9 * (left - (double)(time_t)left))};
  if (away->way == kElsewhere) return MPI_Recv(NULL, 0, MPI_INT, 0, kTag, other, MPI_STATUS_IGNORE);
  if (away->way == kComputes) compute_until(end);
  if (left <= 0 || away->way == kComputes) return MPI_SUCCESS;
  if (away->way == kReads) {
    unsigned long long times = 0;
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const struct itimerspec once = {.it_value = time};
    timerfd_settime(timer, 0, &once, NULL);
    if (read(timer, &times, sizeof times) < 0) times = 0;
    close(timer);
  } else {
    nanosleep(&time, NULL);
  }
  return MPI_SUCCESS;
}

/* Waiting alone is timed at rank 0; the time of a rank that is away is not. */
static int run_behind(const Measure* self, size_t bytes, Outcome* out) {
  if (world_size < 2) return refuse(out, "needs 2 ranks");
  const Collective* c = collective_of(self);
  const Away* away = self->detail;
  MPI_Comm other = MPI_COMM_NULL;
  const int takes_part = c || world_rank < 2;
  Buffers b;
  make_buffers(&b, bytes);
  double waits[kBehindRounds];
  int error = away->way == kElsewhere ? MPI_Comm_dup(MPI_COMM_WORLD, &other) : MPI_SUCCESS;
  for (int i = -1; i < kBehindRounds && error == MPI_SUCCESS; ++i) { /* one to warm up, without */
    MPI_Request request = MPI_REQUEST_NULL;
    const double begin = agree(now());
    if (world_rank == 0) compute_until(begin + kHeadStart);
    const double waiting = now();
    if (takes_part) error = start_behind(c, &b, &request);
    if (world_rank != 0 && i >= 0 && error == MPI_SUCCESS)
      error = stay_away(away, begin + kHeadStart + 1e-3 * away->ms, other);
    if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i >= 0) waits[i] = now() - waiting;
    if (world_rank == 0 && i >= 0 && other != MPI_COMM_NULL)
      for (int peer = 1; peer < world_size && error == MPI_SUCCESS; ++peer)
        error = MPI_Send(NULL, 0, MPI_INT, peer, kTag, other);
  }
  if (other != MPI_COMM_NULL) MPI_Comm_free(&other);
  free_buffers(&b);
  out->value = 1e3 * median(waits, kBehindRounds);
  out->unit = "ms";
  return error;
}

static const Away kLong = {kComputes, 200}, kShort = {kComputes, 100}, kAsleep = {kSleeps, 100},
                  kReading = {kReads, 100}, kInMpi = {kElsewhere, 100};

const Measure kProgress[] = {
    {"hidden.exchange", run_hidden, NULL},         {"hidden.iallreduce", run_hidden, NULL},
    {"hidden.ibcast", run_hidden, NULL},           {"hidden.iallgather", run_hidden, NULL},
    {"hidden.ialltoall", run_hidden, NULL},        {"behind.send", run_behind, &kLong},
    {"behind.ibarrier", run_behind, &kShort},      {"behind.ibcast", run_behind, &kShort},
    {"behind.iallreduce", run_behind, &kShort},    {"behind.iallgather", run_behind, &kShort},
    {"behind.ialltoall", run_behind, &kShort},     {"asleep.send", run_behind, &kAsleep},
    {"asleep.iallreduce", run_behind, &kAsleep},   {"reading.send", run_behind, &kReading},
    {"reading.iallreduce", run_behind, &kReading}, {"elsewhere.send", run_behind, &kInMpi},
    {"elsewhere.iallreduce", run_behind, &kInMpi}, {NULL, NULL, NULL},
};
