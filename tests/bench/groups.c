/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives on a periodic grid of two dimensions, and collectives between the two halves of the ranks.
 * `bytes` is one block: what goes to one neighbour, or from one rank to one of the other half; of bcast and allreduce
 * the whole vector. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct {
  MPI_Comm comm; /* the grid, or the intercommunicator */
  double *in, *out;
  int count;  /* of a block, in doubles */
  int blocks; /* of `in` and `out` each */
  int side;   /* 0: the half that has rank 0 */
  int local;  /* rank in this half */
  int sender; /* whose turn it is to be the root, of the first half */
} Groups;

enum { kNeighbours = 4, kTag = 5 };

static double given(int rank, int block) {
  return rank * 100 + block;
}

static int fill(Groups* g, size_t bytes, int blocks) {
  g->count = (int)(bytes / sizeof(double));
  g->blocks = blocks;
  g->in = room(bytes * (size_t)blocks);
  g->out = room(bytes * (size_t)blocks);
  for (int block = 0; block < blocks; ++block)
    for (int i = 0; i < g->count; ++i) g->in[g->count * block + i] = given(world_rank, block);
  return MPI_SUCCESS;
}

static void end(Groups* g) {
  free(g->in);
  free(g->out);
  if (g->comm != MPI_COMM_NULL) MPI_Comm_free(&g->comm);
}

static void check_block(const Groups* g, int block, double expected, Outcome* out) {
  for (int i = 0; i < g->count; ++i)
    if (g->out[g->count * block + i] != expected) {
      refuse(out, "wrong result: rank %d, block %d, element %d is %g, should be %g", world_rank, block, i,
             g->out[g->count * block + i], expected);
      return;
    }
}

/* --- neighbours --- */

static int make_grid(Groups* g, size_t bytes) {
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  int error = MPI_Dims_create(world_size, 2, dims);
  if (error == MPI_SUCCESS) error = MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &g->comm);
  return error == MPI_SUCCESS ? fill(g, bytes, kNeighbours) : error;
}

static int neighbor_alltoall(Groups* g) {
  return MPI_Neighbor_alltoall(g->in, g->count, MPI_DOUBLE, g->out, g->count, MPI_DOUBLE, g->comm);
}
static int neighbor_allgather(Groups* g) {
  return MPI_Neighbor_allgather(g->in, g->count, MPI_DOUBLE, g->out, g->count, MPI_DOUBLE, g->comm);
}
static int ineighbor_alltoall(Groups* g) {
  MPI_Request request;
  const int error =
      MPI_Ineighbor_alltoall(g->in, g->count, MPI_DOUBLE, g->out, g->count, MPI_DOUBLE, g->comm, &request);
  return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

/* A dimension of two ranks has one peer on both sides, and which of its blocks comes first differs between libraries. */
static void check_neighbours(const Groups* g, int all_to_all, Outcome* out) {
  int dims[2], periods[2], mine[2];
  MPI_Cart_get(g->comm, 2, dims, periods, mine);
  for (int block = 0; block < kNeighbours; ++block) {
    int before, behind;
    if (all_to_all && dims[block / 2] <= 2) continue;
    MPI_Cart_shift(g->comm, block / 2, 1, &before, &behind);
    check_block(g, block, given(block % 2 ? behind : before, all_to_all ? block ^ 1 : 0), out);
  }
}

/* --- between two halves --- */

static int make_halves(Groups* g, size_t bytes) {
  MPI_Comm half;
  g->side = world_rank >= world_size / 2;
  int error = MPI_Comm_split(MPI_COMM_WORLD, g->side, world_rank, &half);
  if (error != MPI_SUCCESS) return error;
  MPI_Comm_rank(half, &g->local);
  error = MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, g->side ? 0 : world_size / 2, kTag, &g->comm);
  MPI_Comm_free(&half);
  return error == MPI_SUCCESS ? fill(g, bytes, world_size) : error;
}

static int inter_bcast(Groups* g) {
  const int root = g->sender;
  if (++g->sender == world_size / 2) g->sender = 0;
  if (g->side) return MPI_Bcast(g->out, g->count, MPI_DOUBLE, root, g->comm);
  return MPI_Bcast(g->in, g->count, MPI_DOUBLE, g->local == root ? MPI_ROOT : MPI_PROC_NULL, g->comm);
}
static int inter_allreduce(Groups* g) {
  return MPI_Allreduce(g->in, g->out, g->count, MPI_DOUBLE, MPI_SUM, g->comm);
}
static int inter_alltoall(Groups* g) {
  return MPI_Alltoall(g->in, g->count, MPI_DOUBLE, g->out, g->count, MPI_DOUBLE, g->comm);
}

static void check_halves(const Groups* g, int (*call)(Groups*), Outcome* out) {
  const int half = world_size / 2, first = g->side ? 0 : half;
  double sum = 0;
  if (call == inter_bcast && g->side) check_block(g, 0, given(0, 0), out);
  for (int r = 0; r < world_size - half; ++r)
    sum += first + r < (g->side ? half : world_size) ? given(first + r, 0) : 0;
  if (call == inter_allreduce) check_block(g, 0, sum, out);
  if (call == inter_alltoall) check_block(g, 0, given(first, g->local), out);
}

/* --- the measures --- */

typedef struct {
  int (*make)(Groups* g, size_t bytes);
  int (*call)(Groups* g);
} Kind;

typedef struct {
  const Kind* kind;
  Groups groups;
} Work;

static int repeatedly(void* context, int calls) {
  Work* w = context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS; ++i) error = w->kind->call(&w->groups);
  return error;
}

static int run_groups(const Measure* self, size_t bytes, Outcome* out) {
  Work work = {.kind = self->detail, .groups = {.comm = MPI_COMM_NULL}};
  double seconds = 0;
  if (world_size < 2) return refuse(out, "needs 2 ranks");
  int error = work.kind->make(&work.groups, bytes);
  if (error == MPI_SUCCESS) error = repeatedly(&work, 1);
  if (error == MPI_SUCCESS) {
    if (work.kind->make == make_grid)
      check_neighbours(&work.groups, work.kind->call != neighbor_allgather, out);
    else
      check_halves(&work.groups, work.kind->call, out);
    error = sample(repeatedly, &work, &seconds);
  }
  end(&work.groups);
  out->value = 1e6 * seconds;
  return error;
}

static const Kind kNeighborAlltoall = {make_grid, neighbor_alltoall},
                  kNeighborAllgather = {make_grid, neighbor_allgather},
                  kIneighborAlltoall = {make_grid, ineighbor_alltoall}, kInterBcast = {make_halves, inter_bcast},
                  kInterAllreduce = {make_halves, inter_allreduce}, kInterAlltoall = {make_halves, inter_alltoall};

const Measure kGroups[] = {
    {"neighbor_alltoall", run_groups, &kNeighborAlltoall},
    {"neighbor_allgather", run_groups, &kNeighborAllgather},
    {"ineighbor_alltoall", run_groups, &kIneighborAlltoall},
    {"inter.bcast", run_groups, &kInterBcast},
    {"inter.allreduce", run_groups, &kInterAllreduce},
    {"inter.alltoall", run_groups, &kInterAlltoall},
    {NULL, NULL, NULL},
};
