/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured around MPI: how fast the machine's cores reach each other at this moment, and
 * how much memory a rank takes. Also the measures that fail on purpose, by which the benchmark's
 * own test sees that a failure is a row and no end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

/* --- a cache line's way from core to core --- */

enum { kLineBatches = 101, kTripsPerBatch = 500, kLineTrips = kLineBatches * kTripsPerBatch };

typedef struct {
  _Alignas(128) atomic_int there;
  _Alignas(128) atomic_int back;
} Line;

static Line line;

static int pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set);
}

static void* answer(void* cpu) {
  pin(*(int*)cpu);
  for (int trip = 1; trip <= kLineTrips; ++trip) {
    while (atomic_load_explicit(&line.there, memory_order_acquire) != trip) continue;
    atomic_store_explicit(&line.back, trip, memory_order_release);
  }
  return NULL;
}

/* Nanoseconds one way. Short batches: whatever else runs on the cores falls out of the median. */
int print_line_latency(int cpu_a, int cpu_b) {
  pthread_t thread;
  double took[kLineBatches];
  if (pin(cpu_a) != 0 || pthread_create(&thread, NULL, answer, &cpu_b) != 0) {
    fprintf(stderr, "bench: cannot run on cores %d and %d: %s\n", cpu_a, cpu_b, strerror(errno));
    return 1;
  }
  int trip = 0;
  for (int batch = 0; batch < kLineBatches; ++batch) {
    const double begin = now();
    for (int i = 0; i < kTripsPerBatch; ++i) {
      atomic_store_explicit(&line.there, ++trip, memory_order_release);
      while (atomic_load_explicit(&line.back, memory_order_acquire) != trip) continue;
    }
    took[batch] = now() - begin;
  }
  pthread_join(thread, NULL);
  printf("BENCH\tline\t%.1f\n", 1e9 * median(took, kLineBatches) / (2 * kTripsPerBatch));
  return 0;
}

/* The same between two ranks, in memory of their own: on a virtual machine, whose cores move from
 * one place of the host to another, a figure means something beside its moment's line only. */
enum { kSharedBatches = 5, kSharedTrips = 16 };
static Line* shared_line;
static int shared_trip;

void share_line(void) {
  char name[64];
  snprintf(name, sizeof name, "/dev/shm/tutti-bench-line-%d", (int)getpid());
  int file = -1, found = 0;
  if (world_rank == 0) {
    file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0 && ftruncate(file, sizeof(Line)) != 0) {
      close(file);
      file = -1;
    }
    MPI_Send(name, sizeof name, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&found, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    unlink(name);
  } else {
    MPI_Recv(name, sizeof name, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    file = open(name, O_RDWR);
    found = file >= 0;
    MPI_Send(&found, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  void* memory = MAP_FAILED;
  if (found && file >= 0) memory = mmap(NULL, sizeof(Line), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (agree(memory == MAP_FAILED) == 0) shared_line = memory;
}

double line_now(void) {
  double took[kSharedBatches];
  if (!shared_line) return 0;
  for (int batch = 0; batch < kSharedBatches; ++batch) {
    const double begin = now();
    for (int i = 0; i < kSharedTrips; ++i) {
      ++shared_trip;
      if (world_rank == 0) atomic_store_explicit(&shared_line->there, shared_trip, memory_order_release);
      atomic_int* theirs = world_rank == 0 ? &shared_line->back : &shared_line->there;
      while (atomic_load_explicit(theirs, memory_order_acquire) != shared_trip) continue;
      if (world_rank != 0) atomic_store_explicit(&shared_line->back, shared_trip, memory_order_release);
    }
    took[batch] = now() - begin;
  }
  return 1e9 * median(took, kSharedBatches) / (2 * kSharedTrips);
}

/* --- memory --- */

static double pss_mib(void) {
  char text[256];
  double kib = -1;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file && fgets(text, sizeof text, file))
    if (sscanf(text, "Pss: %lf kB", &kib) == 1) break;
  if (file) fclose(file);
  return kib / 1024;
}

/* Waits for all ranks without MPI, whose first message may cost memory: each appends a byte. */
static int meet(const char* folder, const char* name, int ranks) {
  char path[4096];
  struct stat facts = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || write(file, "x", 1) != 1) {
    fprintf(stderr, "bench: cannot write to %s: %s\n", path, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  while (fstat(file, &facts) == 0 && facts.st_size < ranks) usleep(1000);
  return close(file);
}

/* All ranks are there when each looks, for pages that several share count by halves and thirds. */
int print_memory(const char* folder, int ranks) {
  char mine[64], theirs[64];
  double silent[2] = {0}, talked[2] = {0};
  meet(folder, "init", ranks);
  silent[0] = silent[1] = pss_mib();
  meet(folder, "looked", ranks);

  for (int distance = 1; distance < ranks; ++distance) /* now everyone has talked to everyone */
    MPI_Sendrecv(memset(mine, 1, sizeof mine), sizeof mine, MPI_BYTE, (world_rank + distance) % ranks, 0, theirs,
                 sizeof theirs, MPI_BYTE, (world_rank - distance + ranks) % ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  meet(folder, "talked", ranks);
  talked[0] = talked[1] = pss_mib();
  meet(folder, "looked_again", ranks);

  printf("BENCH\tmemory\t%.3f\t%.3f\n", silent[0], talked[0]);
  return 0;
}

/* --- failures on purpose --- */

static int run_abort(const Measure* self, size_t bytes, Outcome* out) {
  (void)self, (void)bytes, (void)out;
  abort();
}

static int run_hang(const Measure* self, size_t bytes, Outcome* out) {
  (void)self, (void)bytes, (void)out;
  while (pause() != 0) continue; /* pause() never gives 0 */
  return MPI_SUCCESS;
}

static int run_error(const Measure* self, size_t bytes, Outcome* out) {
  (void)self, (void)bytes, (void)out;
  return MPI_Send(NULL, 0, MPI_BYTE, world_size, 0, MPI_COMM_WORLD); /* there is no such rank */
}

const Measure kFaults[] = {
    {"fault.abort", run_abort, NULL},
    {"fault.hang", run_hang, NULL},
    {"fault.error", run_error, NULL},
    {NULL, NULL, NULL},
};
