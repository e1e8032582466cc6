/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line, the harness and the rows. Rank 0 prints one line per event, fields separated by
 * tabs and flushed at once, so that whoever reads them knows at which cell a run died:
 *   BENCH library TEXT | BENCH pinned yes|no | BENCH begin CELL | BENCH row CELL VALUE UNIT BATCHES |
 *   BENCH fail CELL SENTENCE | BENCH end
 * BATCHES is empty, or LINE:SHARE,... with the cache line's nanoseconds before and after each batch
 * taken as one (0 where they differ) and the batch's seconds against those that VALUE stands for. */
#define _GNU_SOURCE
#include "bench.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMaxBatches = 41, kMinBatches = 3, kMaxCalls = 1 << 20, kAgreeTag = 7001 };
static const double kSteady = 1.2; /* two looks at the line that may be called one */

int world_rank, world_size;
double cell_budget = 0.02;
char* program_path;

/* Of the last sample(): what each batch took, and the cache line's way around each. */
static struct {
  int count;
  double took[kMaxBatches], line[kMaxBatches + 1], quartile;
} batches;

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double agree(double mine) {
  if (world_rank != 0) {
    MPI_Send(&mine, 1, MPI_DOUBLE, 0, kAgreeTag, MPI_COMM_WORLD);
    MPI_Recv(&mine, 1, MPI_DOUBLE, 0, kAgreeTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return mine;
  }
  for (int peer = 1; peer < world_size; ++peer) {
    double theirs = 0;
    MPI_Recv(&theirs, 1, MPI_DOUBLE, peer, kAgreeTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (theirs > mine) mine = theirs;
  }
  for (int peer = 1; peer < world_size; ++peer) MPI_Send(&mine, 1, MPI_DOUBLE, peer, kAgreeTag, MPI_COMM_WORLD);
  return mine;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static int timed(Batch batch, void* context, int calls, double* seconds) {
  agree(0);
  const double start = now();
  const int error = batch(context, calls);
  *seconds = agree(now() - start);
  return error;
}

/* Batches are short against a scheduler's slice and begin when all ranks run; of all batches the
 * lower quartile counts. So a machine that does other things, too, disturbs the figure little: the
 * rest is left to the median over several runs. */
int sample(Batch batch, void* context, double* seconds) {
  const double target = cell_budget / kMaxBatches, begin = now();
  double took[kMaxBatches];
  int calls = 1, error = MPI_SUCCESS;
  batches.count = 0;
  for (;;) { /* warms up, too; the last one counts */
    batches.line[0] = line_now();
    error = timed(batch, context, calls, &batches.took[0]);
    if (error != MPI_SUCCESS) return error;
    double first = batches.took[0];
    if (first >= 0.7 * target) { /* a rank may just have lost its core, of which few calls would tell for ever */
      error = timed(batch, context, calls, &batches.took[0]);
      if (error != MPI_SUCCESS) return error;
      if (batches.took[0] < first) first = batches.took[0];
    }
    if (first >= 0.7 * target || calls >= kMaxCalls) break;
    const double factor = first > 0 ? target / first : 10;
    calls = (int)(calls * (factor < 1.5 ? 1.5 : factor > 10 ? 10 : factor)) + 1;
  }
  batches.line[++batches.count] = line_now();
  while (batches.count < kMaxBatches) {
    error = timed(batch, context, calls, &batches.took[batches.count]);
    if (error != MPI_SUCCESS) return error;
    batches.line[++batches.count] = line_now();
    /* A library that waits badly spends more between the batches than in them. */
    const int time_is_up = agree(world_rank == 0 && now() - begin > 2 * cell_budget) > 0;
    if (time_is_up && (batches.count >= kMinBatches || batches.took[0] > 3 * cell_budget)) break;
  }
  memcpy(took, batches.took, sizeof took);
  qsort(took, (size_t)batches.count, sizeof *took, ascending);
  batches.quartile = took[(batches.count - 1) / 4];
  *seconds = batches.quartile / calls;
  return MPI_SUCCESS;
}

static void print_batches(void) {
  for (int i = 0; i < batches.count; ++i) {
    const double before = batches.line[i], after = batches.line[i + 1];
    const int steady = before < kSteady * after && after < kSteady * before;
    printf("%s%.3g:%.4g", i ? "," : "", steady ? 0.5 * (before + after) : 0, batches.took[i] / batches.quartile);
  }
}

void* room(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes ? bytes : 1) != 0) {
    fprintf(stderr, "bench: there are no %zu bytes of memory; leave out the largest sizes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(memory, 0, bytes ? bytes : 1);
  return memory;
}

int refuse(Outcome* out, const char* sentence, ...) {
  va_list arguments;
  va_start(arguments, sentence);
  vsnprintf(out->failure, sizeof out->failure, sentence, arguments);
  va_end(arguments);
  return MPI_SUCCESS;
}

static const Measure* measure_named(const char* name) {
  const Measure* const tables[] = {kP2p,     kCollectives, kFresh,    kGroups, kPartitioned,
                                   kWindows, kJobs,        kProgress, kFiles,  kFaults};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t)
    for (const Measure* m = tables[t]; m->name; ++m)
      if (strcmp(m->name, name) == 0) return m;
  return NULL;
}

/* "name/bytes"; the size may be left out. */
static void run_cell(const char* cell) {
  char name[64];
  Outcome out = {.unit = "us"};
  const size_t length = strcspn(cell, "/");
  snprintf(name, sizeof name, "%.*s", (int)length, cell);
  const size_t bytes = cell[length] ? strtoull(cell + length + 1, NULL, 10) : 0;
  if (world_rank == 0) printf("BENCH\tbegin\t%s\n", cell);
  fflush(stdout);

  memset(&batches, 0, sizeof batches);
  const Measure* measure = measure_named(name);
  if (!measure) {
    refuse(&out, "there is no measure '%s'", name);
  } else {
    const int error = measure->run(measure, bytes, &out);
    if (error != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING] = "";
      int text_length = 0;
      MPI_Error_string(error, text, &text_length);
      text[strcspn(text, "\n")] = 0;
      refuse(&out, "%s", text);
    }
  }
  const int failed_elsewhere = agree(out.failure[0] != 0) > 0;
  if (world_rank != 0) return;
  if (failed_elsewhere) {
    printf("BENCH\tfail\t%s\t%s\n", cell, out.failure[0] ? out.failure : "another rank failed");
  } else {
    printf("BENCH\trow\t%s\t%.9g\t%s\t", cell, out.value, out.unit);
    if (batches.line[0] > 0) print_batches();
    printf("\n");
  }
  fflush(stdout);
}

/* Does each rank have one core, and one of its own? */
static int print_pinned(void) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  double cpu = -1;
  if (CPU_COUNT(&mine) == 1)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &mine)) cpu = i;
  int pinned = agree(cpu < 0) == 0;
  for (int peer = 0; pinned && peer < world_size; ++peer) {
    const double theirs = agree(world_rank == peer ? cpu : -1);
    pinned = agree(world_rank != peer && theirs == cpu) == 0;
  }
  if (world_rank == 0) printf("BENCH\tpinned\t%s\n", pinned ? "yes" : "no");
  return pinned;
}

static void print_library(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n")] = 0;
  for (char* c = version; *c; ++c)
    if (*c == '\t') *c = ' ';
  if (world_rank == 0) printf("BENCH\tlibrary\t%s\n", version);
}

static int run_cells(int count, char** arguments) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  cell_budget = 1e-3 * atof(arguments[0]);
  print_library();
  if (print_pinned() && world_size == 2) share_line();
  for (int i = 1; i < count; ++i) run_cell(arguments[i]);
  if (world_rank == 0) printf("BENCH\tend\n");
  fflush(stdout);
  return 0;
}

static int usage(void) {
  fputs(
      "usage: bench line CPU CPU           one-way time of a cache line, without MPI\n"
      "       mpirun … bench hello         greets; for start-up times\n"
      "       (bench child                 what `bench cells … spawn/N` spawns)\n"
      "       mpirun … bench memory FOLDER PSS after MPI_Init; FOLDER is empty and shared\n"
      "       mpirun … bench cells MS CELL…  measures, MS milliseconds each; CELL is name/bytes\n",
      stderr);
  return 2;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  program_path = argv[0];
  if (strcmp(mode, "line") == 0 && argc == 4) return print_line_latency(atoi(argv[2]), atoi(argv[3]));
  const int known = (strcmp(mode, "hello") == 0 && argc == 2) || (strcmp(mode, "child") == 0 && argc == 2) ||
                    (strcmp(mode, "memory") == 0 && argc == 3) || (strcmp(mode, "cells") == 0 && argc >= 4);
  if (!known) return usage();

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  int status = 0;
  if (strcmp(mode, "child") == 0) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
  } else if (strcmp(mode, "hello") == 0)
    printf("BENCH\thello\t%d of %d\n", world_rank, world_size);
  else if (strcmp(mode, "memory") == 0)
    status = print_memory(argv[2], world_size);
  else
    status = run_cells(argc - 2, argv + 2);
  MPI_Finalize();
  return status;
}
