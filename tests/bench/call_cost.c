/* SPDX-License-Identifier: BSD-3-Clause */
/* What three short collectives and a message of 8 B cost, one that comes every 10 us, and some work without MPI: many batches
 * of few calls, of which those count that nothing else disturbed. Prints for each the 10th
 * percentile of the batches, in nanoseconds a call; of a message one way. Work is one stretch as
 * long as all batches, seconds in which nobody calls MPI, and whatever interrupts it counts.
 * usage: call_cost [BATCHES [multiple | pending]]
 * multiple: under MPI_THREAD_MULTIPLE. pending: while a receive, a send of 1 MiB and an allreduce
 * are under way that end with the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kCalls = 100, kMostBatches = 100000, kLong = 1 << 20 };

static double took[kMostBatches];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* One way, of a message that goes there and back between ranks 0 and 1; of one rank, to nobody. */
static void message(double* in, double* out, int rank, int size, int i) {
  const int peer = size > 1 ? 1 - rank : MPI_PROC_NULL;
  if (rank > 1) return;
  if (i % 2 == rank || size == 1)
    MPI_Send(in, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(out, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* About 10 us. */
static void work(void) {
  static volatile unsigned state = 1;
  unsigned x = state;
  for (int i = 0; i < 10000; ++i) x = x * 1664525u + 1013904223u;
  state = x;
}

/* What only end_pending() ends. */
typedef struct {
  MPI_Comm comm;
  MPI_Request requests[3];
  int sum, one, got, late;
  char* bytes;
} Pending;

static void begin_pending(Pending* p, int rank, int size) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
  p->bytes = calloc(2, kLong);
  p->one = 1;
  p->late = rank == size - 1; /* its allreduce begins at the end */
  MPI_Irecv(&p->got, 1, MPI_INT, previous, 1, p->comm, &p->requests[0]);
  MPI_Issend(p->bytes, kLong, MPI_BYTE, next, 2, p->comm, &p->requests[1]);
  if (!p->late) MPI_Iallreduce(&p->one, &p->sum, 1, MPI_INT, MPI_SUM, p->comm, &p->requests[2]);
}

static int end_pending(Pending* p, int rank, int size) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Request last[2];
  MPI_Isend(&p->one, 1, MPI_INT, next, 1, p->comm, &last[0]);
  MPI_Irecv(p->bytes + kLong, kLong, MPI_BYTE, previous, 2, p->comm, &last[1]);
  if (p->late) MPI_Iallreduce(&p->one, &p->sum, 1, MPI_INT, MPI_SUM, p->comm, &p->requests[2]);
  MPI_Waitall(2, last, MPI_STATUSES_IGNORE);
  MPI_Waitall(3, p->requests, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&p->comm);
  free(p->bytes);
  return p->got == 1 && p->sum == size ? 0 : 4;
}

int main(int argc, char** argv) {
  int rank, size, level, batches = argc > 1 ? atoi(argv[1]) : 4000, status = 0;
  const char* const how = argc > 2 ? argv[2] : "";
  const int wanted = strcmp(how, "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  Pending pending;
  double in = 1, out = 0;
  static const char* const names[] = {"allreduce", "barrier", "bcast", "message", "steady"};
  if (batches < 10 || batches > kMostBatches) return 2;
  MPI_Init_thread(&argc, &argv, wanted, &level);
  if (level < wanted) return 3;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(how, "pending") == 0) begin_pending(&pending, rank, size);
  for (int what = 0; what < 5; ++what) {
    for (int batch = -20; batch < batches; ++batch) { /* the first warm up */
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = now();
      for (int i = 0; i < kCalls; ++i) {
        if (what == 0) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (what == 1) MPI_Barrier(MPI_COMM_WORLD);
        if (what == 2) MPI_Bcast(&in, 1, MPI_DOUBLE, i % size, MPI_COMM_WORLD); /* to and fro */
        if (what == 3) message(&in, &out, rank, size, i);
        if (what == 4) { /* 10^5 calls a second */
          work();
          MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
      }
      if (batch >= 0) took[batch] = (now() - begin) / kCalls;
    }
    qsort(took, (size_t)batches, sizeof took[0], by_value);
    if (rank == 0) printf("%s %.2f\n", names[what], took[batches / 10]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  for (int i = 0; i < batches * kCalls; ++i) work();
  if (rank == 0) printf("work %.2f\n", (now() - begin) / batches / kCalls);
  if (strcmp(how, "pending") == 0) status = end_pending(&pending, rank, size);
  MPI_Finalize();
  return status;
}
