/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job does in which nobody fails, to be run with --on-failure=continue and without: latency of 8 bytes, the time of a
 * message of 64 KiB and of 1 MiB in a stream of them, and collectives of 8 bytes and of 64 KiB, in microseconds, each the least
 * of some spells and the most of all ranks, as lines of "name time". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSpells = 20, kWindow = 16, kMost = 1 << 20 };

static int rank, size;
static char *out, *in;

static void ping_pong(int bytes) {
  if (rank == 0) {
    MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  }
}
static void stream(int bytes) {
  MPI_Request requests[kWindow];
  if (rank == 0) {
    for (int i = 0; i < kWindow; ++i) MPI_Isend(out, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(in, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    for (int i = 0; i < kWindow; ++i) MPI_Irecv(in, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    MPI_Send(out, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
  }
}
static void barrier(int bytes) {
  (void)bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(int bytes) {
  MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void allreduce(int bytes) {
  MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*run)(int bytes);
  int bytes, times, each; /* what is timed is `each` of what is told */
} kCases[] = {
    {"latency_8", ping_pong, 8, 20000, 2},
    {"message_64K", stream, 65536, 200, kWindow},
    {"message_1M", stream, 1 << 20, 8, kWindow},
    {"barrier", barrier, 0, 10000, 1},
    {"bcast_8", bcast, 8, 10000, 1},
    {"allreduce_8", allreduce, 8, 10000, 1},
    {"bcast_64K", bcast, 65536, 1000, 1},
    {"allreduce_64K", allreduce, 65536, 1000, 1},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  out = calloc(kMost, 1);
  in = calloc(kMost, 1);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    double least = 1e9;
    const int times = kCases[i].times / (size > 2 ? 4 : 1) + 1;
    for (int spell = 0; spell < kSpells; ++spell) {
      double spent, all;
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (int k = 0; k < times; ++k) kCases[i].run(kCases[i].bytes);
      spent = (MPI_Wtime() - begin) * 1e6 / times / kCases[i].each;
      MPI_Allreduce(&spent, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (all < least) least = all;
    }
    if (rank == 0) printf("%s %.4f\n", kCases[i].name, least);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
