/* SPDX-License-Identifier: BSD-3-Clause */
/* The same data from rank 0 to rank 1 as one message, as a message for each of 16 parts, and as a partitioned
 * operation of 16 partitions, which are made ready one by one or at once. All are persistent; one round is the
 * data and an empty answer. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { kTag = 1, kAckTag = 2, kParts = 16 };

typedef enum { one_message, messages, partitions, range } Way;
static const Way kOne = one_message, kMessages = messages, kPartitions = partitions, kRange = range;

typedef struct {
  Way way;
  char* data;
  size_t bytes;
  int count; /* of requests */
  MPI_Request requests[kParts];
} Parts;

static int open_parts(Parts* p) {
  const int parts = p->way == one_message ? 1 : kParts, sends = world_rank == 0, peer = 1 - world_rank;
  const size_t part = p->bytes / (size_t)parts;
  int error = MPI_SUCCESS;
  p->count = 0;
  if (p->way == partitions || p->way == range) {
#if MPI_VERSION >= 4
    error = sends ? MPI_Psend_init(p->data, parts, (MPI_Count)part, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &p->requests[0])
                  : MPI_Precv_init(p->data, parts, (MPI_Count)part, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &p->requests[0]);
    p->count = 1;
#endif
    return error;
  }
  for (int i = 0; i < parts && error == MPI_SUCCESS; ++i, ++p->count) {
    char* const at = p->data + part * (size_t)i;
    error = sends ? MPI_Send_init(at, (int)part, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[i])
                  : MPI_Recv_init(at, (int)part, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &p->requests[i]);
  }
  return error;
}

static int make_ready(Parts* p) {
  int error = MPI_SUCCESS;
#if MPI_VERSION >= 4
  if (p->way == range) return MPI_Pready_range(0, kParts - 1, p->requests[0]);
  for (int i = 0; i < kParts && p->way == partitions && error == MPI_SUCCESS; ++i)
    error = MPI_Pready(i, p->requests[0]);
#else
  (void)p;
#endif
  return error;
}

static int rounds(void* context, int calls) {
  Parts* p = context;
  int error = MPI_SUCCESS;
  for (int i = 0; i < calls && error == MPI_SUCCESS && world_rank < 2; ++i) {
    error = MPI_Startall(p->count, p->requests);
    if (error == MPI_SUCCESS && world_rank == 0) error = make_ready(p);
    if (error == MPI_SUCCESS) error = MPI_Waitall(p->count, p->requests, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS) return error;
    error = world_rank == 0 ? MPI_Recv(NULL, 0, MPI_BYTE, 1, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                            : MPI_Send(NULL, 0, MPI_BYTE, 0, kAckTag, MPI_COMM_WORLD);
  }
  return error;
}

static int run_parts(const Measure* self, size_t bytes, Outcome* out) {
  Parts p = {.way = *(const Way*)self->detail, .bytes = bytes};
  double seconds = 0;
  int error = MPI_SUCCESS;
  if (world_size < 2) return refuse(out, "needs 2 ranks");
  if (MPI_VERSION < 4 && (p.way == partitions || p.way == range)) return refuse(out, "has no partitioned operations");
  p.data = room(bytes);
  if (world_rank == 0)
    for (size_t i = 0; i < bytes; ++i) p.data[i] = (char)(1 + i % 100);
  if (world_rank < 2) error = open_parts(&p);
  if (error == MPI_SUCCESS) error = sample(rounds, &p, &seconds);
  for (int i = 0; i < p.count && world_rank < 2; ++i) MPI_Request_free(&p.requests[i]);
  for (size_t i = 0; world_rank == 1 && error == MPI_SUCCESS && i < bytes && !out->failure[0]; ++i)
    if (p.data[i] != (char)(1 + i % 100)) refuse(out, "byte %zu arrived wrong", i);
  free(p.data);
  out->value = 1e6 * seconds;
  return error;
}

const Measure kPartitioned[] = {
    {"parts.one_message", run_parts, &kOne},
    {"parts.messages", run_parts, &kMessages},
    {"parts.partitions", run_parts, &kPartitions},
    {"parts.range", run_parts, &kRange},
    {NULL, NULL, NULL},
};
