/* SPDX-License-Identifier: BSD-3-Clause */
/* What three short collectives cost: many batches of few calls, of which those count that nothing
 * else disturbed. Prints for each the 10th percentile of the batches, in nanoseconds a call.
 * usage: cost [BATCHES] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kCalls = 100, kMostBatches = 100000 };

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

int main(int argc, char** argv) {
  int rank, size, batches = argc > 1 ? atoi(argv[1]) : 4000;
  double in = 1, out = 0;
  static const char* const names[] = {"allreduce", "barrier", "bcast"};
  if (batches < 10 || batches > kMostBatches) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int what = 0; what < 3; ++what) {
    for (int batch = -20; batch < batches; ++batch) { /* the first warm up */
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = now();
      for (int i = 0; i < kCalls; ++i) {
        if (what == 0) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (what == 1) MPI_Barrier(MPI_COMM_WORLD);
        if (what == 2) MPI_Bcast(&in, 1, MPI_DOUBLE, i % size, MPI_COMM_WORLD); /* to and fro */
      }
      if (batch >= 0) took[batch] = (now() - begin) / kCalls;
    }
    qsort(took, (size_t)batches, sizeof took[0], by_value);
    if (rank == 0) printf("%s %.2f\n", names[what], took[batches / 10]);
  }
  MPI_Finalize();
  return 0;
}
