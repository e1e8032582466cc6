/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency, bandwidth and message rate between ranks 0 and 1; further ranks look on. */
#include <stdlib.h>

#include "bench.h"

enum { kTag = 1, kAckTag = 2, kWindow = 64 };
static const size_t kBytesInFlight = 16 << 20; /* bounds the window of long messages */

typedef struct {
  char *in, *out;
  size_t bytes, step; /* from one message of a window to the next, where it is sent from */
  int window;
  MPI_Request requests[2 * kWindow];
} Pair;

static void open_pair(Pair* pair, size_t bytes, size_t step, int window) {
  pair->bytes = bytes;
  pair->step = step;
  pair->window = window;
  pair->in = room(bytes * (size_t)window);
  pair->out = room(bytes * (size_t)window);
}

static void close_pair(Pair* pair) {
  free(pair->in);
  free(pair->out);
}

/* One call is there and back. */
static int ping_pong(void* context, int calls) {
  Pair* p = context;
  const int bytes = (int)p->bytes, peer = 1 - world_rank;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    if (world_rank == 0) {
      error = MPI_Send(p->in, bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
      if (error == MPI_SUCCESS)
        error = MPI_Recv(p->out, bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (world_rank == 1) {
      error = MPI_Recv(p->out, bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (error == MPI_SUCCESS) error = MPI_Send(p->in, bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
    }
  }
  return error;
}

/* One call is a window of messages, each into a buffer of its own, and an empty answer. */
static int stream(void* context, int calls) {
  Pair* p = context;
  const int bytes = (int)p->bytes;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS && world_rank < 2; ++i) {
    for (int m = 0; m < p->window && error == MPI_SUCCESS; ++m) {
      char *const from = p->in + p->step * (size_t)m, *const into = p->out + p->bytes * (size_t)m;
      error = world_rank == 0 ? MPI_Isend(from, bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &p->requests[m])
                              : MPI_Irecv(into, bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &p->requests[m]);
    }
    if (error == MPI_SUCCESS) error = MPI_Waitall(p->window, p->requests, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS) return error;
    error = world_rank == 0 ? MPI_Recv(NULL, 0, MPI_BYTE, 1, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                            : MPI_Send(NULL, 0, MPI_BYTE, 0, kAckTag, MPI_COMM_WORLD);
  }
  return error;
}

/* One call is a window of messages each way, each into a buffer of its own. */
static int stream_both_ways(void* context, int calls) {
  Pair* p = context;
  const int bytes = (int)p->bytes, each = p->window, peer = 1 - world_rank;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS && world_rank < 2; ++i) {
    for (int m = 0; m < each && error == MPI_SUCCESS; ++m)
      error = MPI_Irecv(p->out + p->bytes * (size_t)m, bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[m]);
    for (int m = 0; m < each && error == MPI_SUCCESS; ++m)
      error =
          MPI_Isend(p->in + p->step * (size_t)m, bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[each + m]);
    if (error == MPI_SUCCESS) error = MPI_Waitall(2 * each, p->requests, MPI_STATUSES_IGNORE);
  }
  return error;
}

static int measure(size_t bytes, size_t step, int window, Batch batch, double* seconds, Outcome* out) {
  if (world_size < 2) return refuse(out, "needs 2 ranks");
  Pair pair;
  open_pair(&pair, bytes, step, window);
  if (world_rank == 0 || batch == stream_both_ways)
    for (size_t i = 0; i < bytes * (size_t)window; ++i) pair.in[i] = (char)(1 + i % 100);
  const int error = sample(batch, &pair, seconds);
  if (error == MPI_SUCCESS && world_rank == 1)
    for (size_t m = 0; m < (size_t)window && !out->failure[0]; ++m)
      for (size_t i = 0; i < bytes && !out->failure[0]; ++i)
        if (pair.out[m * bytes + i] != (char)(1 + (m * step + i) % 100))
          refuse(out, "byte %zu of message %zu arrived wrong", i, m);
  close_pair(&pair);
  return error;
}

static int run_latency(const Measure* self, size_t bytes, Outcome* out) {
  (void)self;
  double seconds = 0;
  const int error = measure(bytes, bytes, 1, ping_pong, &seconds, out);
  out->value = 1e6 * seconds / 2;
  return error;
}

/* Messages that are under way at once. */
static int window_of(size_t bytes) {
  const size_t fitting = kBytesInFlight / (bytes ? bytes : 1);
  return fitting < 4 ? 4 : fitting > kWindow ? kWindow : (int)fitting;
}

/* With the detail all messages of a window go out of one buffer, as a prototype of ours was measured. */
static int run_bandwidth(const Measure* self, size_t bytes, Outcome* out) {
  double seconds = 1;
  const int window = window_of(bytes);
  const int error = measure(bytes, self->detail ? 0 : bytes, window, stream, &seconds, out);
  out->value = 1e-9 * (double)bytes * window / seconds;
  out->unit = "GB/s";
  return error;
}

/* Both ways at once, out of one buffer on either side; the sum of both. */
static int run_bidirectional(const Measure* self, size_t bytes, Outcome* out) {
  (void)self;
  double seconds = 1;
  const int window = window_of(bytes);
  const int error = measure(bytes, 0, window, stream_both_ways, &seconds, out);
  out->value = 2e-9 * (double)bytes * window / seconds;
  out->unit = "GB/s";
  return error;
}

static int run_rate(const Measure* self, size_t bytes, Outcome* out) {
  (void)self;
  double seconds = 1;
  const int error = measure(bytes, bytes, kWindow, stream, &seconds, out);
  out->value = 1e-6 * kWindow / seconds;
  out->unit = "M/s";
  return error;
}

const Measure kP2p[] = {
    {"latency", run_latency, NULL},
    {"bandwidth", run_bandwidth, NULL},
    {"reused.bandwidth", run_bandwidth, "one buffer"},
    {"reused.bidirectional", run_bidirectional, NULL},
    {"rate", run_rate, NULL},
    {NULL, NULL, NULL},
};
