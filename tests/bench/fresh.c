/* SPDX-License-Identifier: BSD-3-Clause */
/* Data as programs have them: computed just before a call, and read just after it. Where the same buffers
 * go out over and over, as in the other measures, they lie in a cache that all cores read alike, and the
 * single copy of a kernel looks better than it is. Each figure is the time of writing, the call and
 * reading together, less that of writing and reading alone. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { kTag = 4, kDoublesOfALine = 8, kWarmUp = 64 }; /* so often until all memory is there */

typedef struct {
  const char* name;
  int in_all, out_all; /* blocks for all ranks, not one */
} Blocks;
static const Blocks kBlocks[] = {
    {"alltoall", 1, 1}, {"scatter", 1, 0}, {"allgather", 0, 1}, {"gather", 0, 1}, {"reduce_scatter", 1, 0}};

typedef struct Fresh {
  int (*once)(struct Fresh*);
  const Collective* collective;
  Buffers buffers;
  int in_blocks, out_blocks, communicates;
  int turn; /* what is written says which one it is of */
  int wrong;
} Fresh;

static void write_all(double* data, long count, double value) {
  for (long i = 0; i < count; ++i) data[i] = value;
}

/* A look at each line; how many are not what was written for this turn. */
static int read_all(const double* data, long count, double value) {
  int wrong = 0;
  for (long i = 0; i < count; i += kDoublesOfALine) wrong += data[i] != value;
  return wrong;
}

/* There and back. */
static int message(Fresh* f) {
  Buffers* b = &f->buffers;
  const int peer = 1 - world_rank;
  int error = MPI_SUCCESS;
  for (int half = 0; half < 2 && error == MPI_SUCCESS; ++half) {
    if (half == world_rank) {
      write_all(b->in, b->count, f->turn);
      if (f->communicates) error = MPI_Send(b->in, b->count, MPI_DOUBLE, peer, kTag, MPI_COMM_WORLD);
    } else {
      if (f->communicates)
        error = MPI_Recv(b->out, b->count, MPI_DOUBLE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int wrong = read_all(b->out, b->count, f->turn);
      if (f->communicates) f->wrong += wrong;
    }
  }
  return error;
}

/* Each sends and receives, as with a neighbour in a grid. */
static int exchange(Fresh* f) {
  Buffers* b = &f->buffers;
  const int peer = 1 - world_rank;
  int error = MPI_SUCCESS;
  write_all(b->in, b->count, f->turn);
  if (f->communicates)
    error = MPI_Sendrecv(b->in, b->count, MPI_DOUBLE, peer, kTag, b->out, b->count, MPI_DOUBLE, peer, kTag,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int wrong = read_all(b->out, b->count, f->turn);
  if (f->communicates) f->wrong += wrong;
  return error;
}

/* The root of those that have one moves on. What reductions make of it is the matter of other measures. */
static int collective(Fresh* f) {
  Buffers* b = &f->buffers;
  const int is_bcast = strcmp(f->collective->name, "bcast") == 0;
  double* const result = is_bcast ? b->in : b->out;
  if (!is_bcast || world_rank == b->root) write_all(b->in, (long)b->count * f->in_blocks, f->turn);
  const int error = f->communicates ? f->collective->call(b) : MPI_SUCCESS;
  const int wrong = read_all(result, (long)b->count * f->out_blocks, f->turn);
  if (f->communicates && is_bcast) f->wrong += wrong;
  if (++b->root == world_size) b->root = 0;
  return error;
}

static int repeatedly(void* context, int calls) {
  Fresh* f = context;
  int error = MPI_SUCCESS;
  f->buffers.root = 0;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    ++f->turn;
    error = f->once(f);
  }
  return error;
}

static int run_fresh(const Measure* self, size_t bytes, Outcome* out) {
  const char* name = strchr(self->name, '.') + 1;
  const int there_and_back = strcmp(name, "latency") == 0;
  Fresh f = {.collective = collective_named(name), .in_blocks = 1, .out_blocks = 1};
  f.once = f.collective ? collective : there_and_back ? message : exchange;
  if (!f.collective && world_size != 2) return refuse(out, "needs 2 ranks");
  for (size_t i = 0; i < sizeof kBlocks / sizeof *kBlocks; ++i) {
    if (strcmp(kBlocks[i].name, name) != 0) continue;
    if (kBlocks[i].in_all) f.in_blocks = world_size;
    if (kBlocks[i].out_all) f.out_blocks = world_size;
  }
  make_buffers(&f.buffers, bytes);
  double alone = 0, whole = 0;
  int error = sample(repeatedly, &f, &alone);
  f.communicates = 1;
  if (error == MPI_SUCCESS) error = repeatedly(&f, kWarmUp);
  if (error == MPI_SUCCESS) error = sample(repeatedly, &f, &whole);
  free_buffers(&f.buffers);
  if (f.wrong) refuse(out, "%d lines arrived wrong", f.wrong);
  out->value = 1e6 * (whole > alone ? whole - alone : 0) / (there_and_back ? 2 : 1);
  return error;
}

const Measure kFresh[] = {
    {"fresh.latency", run_fresh, NULL},
    {"fresh.exchange", run_fresh, NULL},
    {"fresh.bcast", run_fresh, NULL},
    {"fresh.reduce", run_fresh, NULL},
    {"fresh.allreduce", run_fresh, NULL},
    {"fresh.reduce_scatter", run_fresh, NULL},
    {"fresh.gather", run_fresh, NULL},
    {"fresh.scatter", run_fresh, NULL},
    {"fresh.allgather", run_fresh, NULL},
    {"fresh.alltoall", run_fresh, NULL},
    {NULL, NULL, NULL},
};
