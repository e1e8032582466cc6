/* SPDX-License-Identifier: BSD-3-Clause */
/* What the model of `tutti plan` (runtime/model/costs.hpp) wants to know of a machine: prints lines of a name, a number and a
 * unit. Two ranks, on cores of their own of one node (usage: bench_model node), or of two nodes (bench_model between).
 * Of the batches of a figure a quarter took less: what disturbs most of them does not show, and none is a stroke of luck. */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatches = 51, kTurns = 200, kRow = 16, kLine = 64 };

static int rank;

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double quarter(double* all, int count) {
  qsort(all, (size_t)count, sizeof *all, by_size);
  return all[count / 4];
}

/* What a look at the clock adds to what is between two of them. */
static double clock_costs(void) {
  double all[kBatches];
  for (int i = 0; i < kBatches; ++i) {
    const double start = MPI_Wtime();
    for (int k = 0; k < kTurns; ++k) (void)MPI_Wtime();
    all[i] = (MPI_Wtime() - start) / (kTurns + 1);
  }
  return quarter(all, kBatches);
}

static void compute(double seconds) {
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
  }
}

/* Half of a round trip of so many bytes. */
static double half_trip(void* buffer, int bytes, int turns) {
  double all[kBatches];
  for (int i = 0; i < kBatches; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int k = 0; k < turns; ++k) {
      if (rank == 0) {
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      }
    }
    all[i] = (MPI_Wtime() - start) / (2 * turns);
  }
  return quarter(all, kBatches);
}

/* What a message of 8 bytes keeps a core busy: rank 0 sends a row of them to receives that are posted, rank 1 receives a row
 * that has come long ago. The mean of both ends, at rank 0. */
static double overhead(double clock) {
  double all[kBatches], words[kRow] = {0};
  for (int i = 0; i < 2 * kBatches; ++i) {
    const int posted = i % 2 == 0;
    MPI_Request requests[kRow];
    if (rank == 1 && posted)
      for (int k = 0; k < kRow; ++k) MPI_Irecv(&words[k], 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[k]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && !posted) compute(500e-6);
    const double start = MPI_Wtime();
    if (rank == 0)
      for (int k = 0; k < kRow; ++k) MPI_Send(&words[k], 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    else if (!posted)
      for (int k = 0; k < kRow; ++k) MPI_Recv(&words[k], 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (posted == (rank == 0)) all[i / 2] = (MPI_Wtime() - start - clock) / kRow;
    if (rank == 1 && posted) MPI_Waitall(kRow, requests, MPI_STATUSES_IGNORE);
  }
  const double mine = quarter(all, kBatches);
  double both = 0;
  MPI_Allreduce(&mine, &both, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return both / 2;
}

/* Of long messages what each further byte takes. */
static double seconds_per_byte(void) {
  enum { kLong = 4 << 20 };
  char* const buffer = malloc(kLong);
  memset(buffer, 1, kLong);
  const double half = half_trip(buffer, kLong / 2, 3), whole = half_trip(buffer, kLong, 3);
  free(buffer);
  return (whole - half) / (kLong / 2);
}

/* A receive that is posted this long after the send has begun is late; a send that takes half of it has waited for it. */
static const double kLate = 2e-3;

/* Does a blocking send of so many bytes return before its receive is posted? Asked of most of five, since a rank may lose its
 * core meanwhile. The same answer at both ranks. */
static int leaves_alone(char* buffer, int bytes) {
  enum { kAsked = 5 };
  int alone = 0;
  for (int i = 0; i < kAsked; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      compute(kLate);
      MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      const double start = MPI_Wtime();
      MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      alone += MPI_Wtime() - start < kLate / 2;
    }
  }
  MPI_Bcast(&alone, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return 2 * alone > kAsked;
}

/* The most bytes of a message that leaves before its receive is posted, within 1 KiB. */
static void eager(void) {
  enum { kStep = 1 << 10, kMost = 4 << 20 };
  char* const buffer = malloc(kMost);
  memset(buffer, 1, kMost);
  int leaves = 0, waits = kMost / kStep; /* in kStep */
  while (waits - leaves > 1) {
    const int middle = leaves + (waits - leaves) / 2;
    if (leaves_alone(buffer, middle * kStep))
      leaves = middle;
    else
      waits = middle;
  }
  free(buffer);
  if (rank == 0) printf("%-15s %8d B\n", "eager", leaves * kStep);
}

static void messages(const char* overhead_name, const char* latency_name, const char* bytes_name) {
  double word = 0;
  half_trip(&word, sizeof word, kTurns); /* both know each other from here on */
  const double trip = half_trip(&word, sizeof word, kTurns), busy = overhead(clock_costs()), byte = seconds_per_byte();
  if (rank != 0) return;
  printf("%-15s %8.3f us\n%-15s %8.3f us\n", overhead_name, busy * 1e6, latency_name,
         trip > 2 * busy ? (trip - 2 * busy) * 1e6 : 0.0);
  if (byte > 0) printf("%-15s %8.3f GB/s\n", bytes_name, 1e-9 / byte);
}

/* ---- memory that both have */

typedef struct {
  _Alignas(kLine) atomic_int value;
} Flag;
typedef struct {
  Flag turn[2], line[kRow];
  _Alignas(kLine) char bytes[128 << 10];
} Shared;

static void await_flag(Flag* flag, int value) {
  while (atomic_load_explicit(&flag->value, memory_order_acquire) != value) {
  }
}
static void raise_flag(Flag* flag, int value) {
  atomic_store_explicit(&flag->value, value, memory_order_release);
}

/* Rank 1 answers with so many lines, at each of which rank 0 looks; a round trip. */
static double lines_trip(Shared* shared, int lines, int* turn) {
  double all[kBatches];
  for (int i = 0; i < kBatches; ++i) {
    const double start = MPI_Wtime();
    for (int k = 0; k < kTurns; ++k) {
      const int now = ++*turn;
      if (rank == 0) {
        raise_flag(&shared->turn[0], now);
        for (int line = 0; line < lines; ++line) await_flag(&shared->line[line], now);
      } else {
        await_flag(&shared->turn[0], now);
        for (int line = 0; line < lines; ++line) raise_flag(&shared->line[line], now);
      }
    }
    all[i] = (MPI_Wtime() - start) / kTurns;
  }
  return quarter(all, kBatches);
}

/* Rank 0 copies what rank 1 has just written: by byte. */
static double copy(Shared* shared, int* turn) {
  static char own[sizeof shared->bytes];
  double all[kBatches];
  for (int i = 0; i < kBatches; ++i) {
    const int now = ++*turn;
    if (rank == 1) {
      await_flag(&shared->turn[0], now);
      memset(shared->bytes, i, sizeof shared->bytes);
      raise_flag(&shared->turn[1], now);
      continue;
    }
    raise_flag(&shared->turn[0], now);
    await_flag(&shared->turn[1], now);
    const double start = MPI_Wtime();
    memcpy(own, shared->bytes, sizeof own);
    all[i] = (MPI_Wtime() - start) / sizeof own;
    if (own[i] != (char)i) abort();
  }
  return rank == 0 ? quarter(all, kBatches) : 0;
}

static void memory(void) {
  MPI_Win window;
  void* base = NULL;
  MPI_Aint bytes;
  int unit, turn = 0;
  MPI_Win_allocate_shared(rank == 0 ? sizeof(Shared) + kLine : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &base);
  Shared* const shared = (Shared*)(((size_t)base + kLine - 1) / kLine * kLine);
  if (rank == 0) memset(shared, 0, sizeof *shared);
  MPI_Barrier(MPI_COMM_WORLD);
  lines_trip(shared, kRow, &turn);
  const double one = lines_trip(shared, 1, &turn), row = lines_trip(shared, kRow, &turn), byte = copy(shared, &turn);
  if (rank == 0)
    printf("%-15s %8.3f us\n%-15s %8.3f us\n%-15s %8.3f GB/s\n", "flag", one / 2 * 1e6, "look",
           row > one ? (row - one) / (kRow - 1) * 1e6 : 0.0, "copy", 1e-9 / byte);
  MPI_Win_free(&window);
}

/* ---- plans */

/* A persistent collective call of this rank alone, which hands so many neighbours, all of them itself, a word each: a step of
 * its plan for each of them. */
static double call_of(int steps) {
  int* const itself = malloc((size_t)steps * sizeof *itself);
  double *const from = calloc((size_t)steps, sizeof *from), *const to = calloc((size_t)steps, sizeof *to);
  double all[kBatches];
  MPI_Comm neighbours;
  MPI_Request call;
  for (int i = 0; i < steps; ++i) itself[i] = 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, steps, itself, MPI_UNWEIGHTED, steps, itself, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &neighbours);
  MPI_Neighbor_alltoall_init(from, 1, MPI_DOUBLE, to, 1, MPI_DOUBLE, neighbours, MPI_INFO_NULL, &call);
  for (int i = 0; i < kBatches; ++i) {
    const double start = MPI_Wtime();
    for (int k = 0; k < kTurns; ++k) {
      MPI_Start(&call);
      MPI_Wait(&call, MPI_STATUS_IGNORE);
    }
    all[i] = (MPI_Wtime() - start) / kTurns;
  }
  MPI_Request_free(&call);
  MPI_Comm_free(&neighbours);
  free(to), free(from), free(itself);
  return quarter(all, kBatches);
}

static void plans(void) {
  enum { kFew = 16, kMany = 528 };
  call_of(kFew);
  const double few = call_of(kFew), many = call_of(kMany);
  if (rank == 0) printf("%-15s %8.3f us\n", "step", (many - few) / (kMany - kFew) * 1e6);
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || argc != 2) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -n 2 bench_model node|between\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (strcmp(argv[1], "node") == 0) {
    memory();
    messages("local_overhead", "local_latency", "read");
    plans();
  } else {
    messages("overhead", "latency", "bandwidth");
    eager();
  }
  MPI_Finalize();
  return 0;
}
