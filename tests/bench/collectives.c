/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective, blocking and as start and wait. `bytes` is one rank's block: what it sends to,
 * or gets from, each other; of bcast, reduce, allreduce and the scans the whole vector. The root
 * moves on with each call, so that no rank can run ahead of the others by more than a round. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int barrier(Buffers* b) {
  return (void)b, MPI_Barrier(MPI_COMM_WORLD);
}
static int ibarrier(Buffers* b, MPI_Request* r) {
  return (void)b, MPI_Ibarrier(MPI_COMM_WORLD, r);
}
static int bcast(Buffers* b) {
  return MPI_Bcast(b->in, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD);
}
static int ibcast(Buffers* b, MPI_Request* r) {
  return MPI_Ibcast(b->in, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD, r);
}
static int reduce(Buffers* b) {
  return MPI_Reduce(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, b->root, MPI_COMM_WORLD);
}
static int ireduce(Buffers* b, MPI_Request* r) {
  return MPI_Ireduce(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, b->root, MPI_COMM_WORLD, r);
}
static int allreduce(Buffers* b) {
  return MPI_Allreduce(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int iallreduce(Buffers* b, MPI_Request* r) {
  return MPI_Iallreduce(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int reduce_scatter(Buffers* b) {
  return MPI_Reduce_scatter(b->in, b->out, b->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int ireduce_scatter(Buffers* b, MPI_Request* r) {
  return MPI_Ireduce_scatter(b->in, b->out, b->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int reduce_scatter_block(Buffers* b) {
  return MPI_Reduce_scatter_block(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int ireduce_scatter_block(Buffers* b, MPI_Request* r) {
  return MPI_Ireduce_scatter_block(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int scan(Buffers* b) {
  return MPI_Scan(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int iscan(Buffers* b, MPI_Request* r) {
  return MPI_Iscan(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int exscan(Buffers* b) {
  return MPI_Exscan(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static int iexscan(Buffers* b, MPI_Request* r) {
  return MPI_Iexscan(b->in, b->out, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int gather(Buffers* b) {
  return MPI_Gather(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD);
}
static int igather(Buffers* b, MPI_Request* r) {
  return MPI_Igather(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD, r);
}
static int gatherv(Buffers* b) {
  return MPI_Gatherv(b->in, b->count, MPI_DOUBLE, b->out, b->counts, b->places, MPI_DOUBLE, b->root, MPI_COMM_WORLD);
}
static int igatherv(Buffers* b, MPI_Request* r) {
  return MPI_Igatherv(b->in, b->count, MPI_DOUBLE, b->out, b->counts, b->places, MPI_DOUBLE, b->root, MPI_COMM_WORLD,
                      r);
}
static int scatter(Buffers* b) {
  return MPI_Scatter(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD);
}
static int iscatter(Buffers* b, MPI_Request* r) {
  return MPI_Iscatter(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD, r);
}
static int scatterv(Buffers* b) {
  return MPI_Scatterv(b->in, b->counts, b->places, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD);
}
static int iscatterv(Buffers* b, MPI_Request* r) {
  return MPI_Iscatterv(b->in, b->counts, b->places, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, b->root, MPI_COMM_WORLD,
                       r);
}
static int allgather(Buffers* b) {
  return MPI_Allgather(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int iallgather(Buffers* b, MPI_Request* r) {
  return MPI_Iallgather(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, MPI_COMM_WORLD, r);
}
static int allgatherv(Buffers* b) {
  return MPI_Allgatherv(b->in, b->count, MPI_DOUBLE, b->out, b->counts, b->places, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int iallgatherv(Buffers* b, MPI_Request* r) {
  return MPI_Iallgatherv(b->in, b->count, MPI_DOUBLE, b->out, b->counts, b->places, MPI_DOUBLE, MPI_COMM_WORLD, r);
}
static int alltoall(Buffers* b) {
  return MPI_Alltoall(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static int ialltoall(Buffers* b, MPI_Request* r) {
  return MPI_Ialltoall(b->in, b->count, MPI_DOUBLE, b->out, b->count, MPI_DOUBLE, MPI_COMM_WORLD, r);
}
static int alltoallv(Buffers* b) {
  return MPI_Alltoallv(b->in, b->counts, b->places, MPI_DOUBLE, b->out, b->counts, b->places, MPI_DOUBLE,
                       MPI_COMM_WORLD);
}
static int ialltoallv(Buffers* b, MPI_Request* r) {
  return MPI_Ialltoallv(b->in, b->counts, b->places, MPI_DOUBLE, b->out, b->counts, b->places, MPI_DOUBLE,
                        MPI_COMM_WORLD, r);
}
static int alltoallw(Buffers* b) {
  return MPI_Alltoallw(b->in, b->counts, b->byte_places, b->types, b->out, b->counts, b->byte_places, b->types,
                       MPI_COMM_WORLD);
}
static int ialltoallw(Buffers* b, MPI_Request* r) {
  return MPI_Ialltoallw(b->in, b->counts, b->byte_places, b->types, b->out, b->counts, b->byte_places, b->types,
                        MPI_COMM_WORLD, r);
}

/* --- what stands in a block of the result after one call with root 0; negative: not this rank's
 * --- */

/* The input: block j of rank r holds r + 1 + 100 j. */
static double given(int rank, int block) {
  return rank + 1 + 100.0 * block;
}
static double sum_below(int ranks) {
  return 0.5 * ranks * (ranks + 1);
}

static double nothing(int block) {
  return (void)block, -1;
}
static double from_root(int block) {
  return block == 0 ? given(0, 0) : -1;
}
static double own_part(int block) {
  return block == 0 ? given(0, world_rank) : -1;
}
static double total(int block) {
  return block == 0 ? sum_below(world_size) : -1;
}
static double total_at_root(int block) {
  return world_rank == 0 ? total(block) : -1;
}
static double own_total(int block) {
  return block == 0 ? sum_below(world_size) + 100.0 * world_size * world_rank : -1;
}
static double prefix(int block) {
  return block == 0 ? sum_below(world_rank + 1) : -1;
}
static double prefix_before(int block) {
  return block == 0 && world_rank > 0 ? sum_below(world_rank) : -1;
}
static double all_parts(int block) {
  return given(block, 0);
}
static double all_parts_at_root(int block) {
  return world_rank == 0 ? given(block, 0) : -1;
}
static double transposed(int block) {
  return given(block, world_rank);
}

const Collective kCollectiveTable[] = {
    {"barrier", barrier, ibarrier, nothing},
    {"bcast", bcast, ibcast, from_root},
    {"reduce", reduce, ireduce, total_at_root},
    {"allreduce", allreduce, iallreduce, total},
    {"reduce_scatter", reduce_scatter, ireduce_scatter, own_total},
    {"reduce_scatter_block", reduce_scatter_block, ireduce_scatter_block, own_total},
    {"scan", scan, iscan, prefix},
    {"exscan", exscan, iexscan, prefix_before},
    {"gather", gather, igather, all_parts_at_root},
    {"gatherv", gatherv, igatherv, all_parts_at_root},
    {"scatter", scatter, iscatter, own_part},
    {"scatterv", scatterv, iscatterv, own_part},
    {"allgather", allgather, iallgather, all_parts},
    {"allgatherv", allgatherv, iallgatherv, all_parts},
    {"alltoall", alltoall, ialltoall, transposed},
    {"alltoallv", alltoallv, ialltoallv, transposed},
    {"alltoallw", alltoallw, ialltoallw, transposed},
    {NULL, NULL, NULL, NULL},
};

const Collective* collective_named(const char* name) {
  const Collective* c = kCollectiveTable;
  while (c->name && strcmp(c->name, name) != 0) ++c;
  return c->name ? c : NULL;
}

void make_buffers(Buffers* b, size_t bytes) {
  const int size = world_size;
  b->count = (int)(bytes / sizeof(double));
  b->root = 0;
  b->in = room(bytes * (size_t)size);
  b->out = room(bytes * (size_t)size);
  b->counts = room(sizeof(int) * (size_t)size);
  b->places = room(sizeof(int) * (size_t)size);
  b->byte_places = room(sizeof(int) * (size_t)size);
  b->types = room(sizeof(MPI_Datatype) * (size_t)size);
  for (int block = 0; block < size; ++block) {
    b->counts[block] = b->count;
    b->places[block] = b->count * block;
    b->byte_places[block] = (int)(bytes * (size_t)block);
    b->types[block] = MPI_DOUBLE;
    for (int i = 0; i < b->count; ++i) b->in[b->count * block + i] = given(world_rank, block);
  }
}

void free_buffers(Buffers* b) {
  free(b->in);
  free(b->out);
  free(b->counts);
  free(b->places);
  free(b->byte_places);
  free(b->types);
}

/* --- the measures --- */

typedef struct {
  const Collective* collective;
  Buffers buffers;
} Work;

static int call_repeatedly(void* context, int calls) {
  Work* w = context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    error = w->collective->call(&w->buffers);
    if (++w->buffers.root == world_size) w->buffers.root = 0;
  }
  w->buffers.root = 0;
  return error;
}

static int start_repeatedly(void* context, int calls) {
  Work* w = context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    error = w->collective->start(&w->buffers, &request);
    if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (++w->buffers.root == world_size) w->buffers.root = 0;
  }
  w->buffers.root = 0;
  return error;
}

static void check(const Work* w, Outcome* out) {
  const Buffers* b = &w->buffers;
  const double* result = w->collective->call == bcast ? b->in : b->out;
  for (int block = 0; block < world_size; ++block) {
    const double expected = w->collective->expected(block);
    for (int i = 0; expected >= 0 && i < b->count; ++i) {
      const double found = result[b->count * block + i];
      if (found == expected) continue;
      refuse(out, "wrong result: rank %d, block %d, element %d is %g, should be %g", world_rank, block, i, found,
             expected);
      return;
    }
  }
}

static int run_collective(const Measure* self, size_t bytes, Outcome* out) {
  const int nonblocking = self->name[0] == 'i';
  Work work = {.collective = collective_named(self->name + nonblocking)};
  const Batch batch = nonblocking ? start_repeatedly : call_repeatedly;
  double seconds = 0;
  make_buffers(&work.buffers, bytes);
  int error = batch(&work, 1); /* the first call, whose result is known */
  if (error == MPI_SUCCESS) {
    check(&work, out);
    error = sample(batch, &work, &seconds);
  }
  free_buffers(&work.buffers);
  out->value = 1e6 * seconds;
  return error;
}

const Measure kCollectives[] = {
    {"barrier", run_collective, NULL},
    {"ibarrier", run_collective, NULL},
    {"bcast", run_collective, NULL},
    {"ibcast", run_collective, NULL},
    {"reduce", run_collective, NULL},
    {"ireduce", run_collective, NULL},
    {"allreduce", run_collective, NULL},
    {"iallreduce", run_collective, NULL},
    {"reduce_scatter", run_collective, NULL},
    {"ireduce_scatter", run_collective, NULL},
    {"reduce_scatter_block", run_collective, NULL},
    {"ireduce_scatter_block", run_collective, NULL},
    {"scan", run_collective, NULL},
    {"iscan", run_collective, NULL},
    {"exscan", run_collective, NULL},
    {"iexscan", run_collective, NULL},
    {"gather", run_collective, NULL},
    {"igather", run_collective, NULL},
    {"gatherv", run_collective, NULL},
    {"igatherv", run_collective, NULL},
    {"scatter", run_collective, NULL},
    {"iscatter", run_collective, NULL},
    {"scatterv", run_collective, NULL},
    {"iscatterv", run_collective, NULL},
    {"allgather", run_collective, NULL},
    {"iallgather", run_collective, NULL},
    {"allgatherv", run_collective, NULL},
    {"iallgatherv", run_collective, NULL},
    {"alltoall", run_collective, NULL},
    {"ialltoall", run_collective, NULL},
    {"alltoallv", run_collective, NULL},
    {"ialltoallv", run_collective, NULL},
    {"alltoallw", run_collective, NULL},
    {"ialltoallw", run_collective, NULL},
    {NULL, NULL, NULL},
};
