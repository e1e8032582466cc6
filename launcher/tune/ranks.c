/* SPDX-License-Identifier: BSD-3-Clause */
/* What 'tutti tune' starts on two ranks: a program like a user's, which takes the time of collectives, or of messages, of
 * several lengths, with buffers that are used over and over (reused) and with data that are written just before a call and
 * read just after it (fresh). Rank 0 prints a line for each:
 *
 *   tune: COLLECTIVE BYTES reused|fresh SECONDS
 *
 * Which algorithms, and which ways, are told to the library by settings; this program knows of none. It judges nothing.
 * usage: tutti-tune collectives|messages [LONGEST] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kDoublesOfALine = 8, kSamples = 3, kWindow = 8, kLeastFresh = 8 << 10 };
static const double kSampleSeconds = 0.0015;

static int me;
static double *in, *out;

typedef struct {
  long count; /* doubles of a vector, or of a block */
  int root;   /* moves on with each call, so that nobody runs ahead */
} Call;

static void write_all(double* data, long count, double value) {
  for (long i = 0; i < count; ++i) data[i] = value;
}
static double read_all(const double* data, long count) {
  double sum = 0;
  for (long i = 0; i < count; i += kDoublesOfALine) sum += data[i];
  return sum;
}

static void bcast(const Call* c) {
  MPI_Bcast(in, (int)c->count, MPI_DOUBLE, c->root, MPI_COMM_WORLD);
}
static void reduce(const Call* c) {
  MPI_Reduce(in, out, (int)c->count, MPI_DOUBLE, MPI_SUM, c->root, MPI_COMM_WORLD);
}
static void allreduce(const Call* c) {
  MPI_Allreduce(in, out, (int)c->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(const Call* c) {
  MPI_Gather(in, (int)c->count, MPI_DOUBLE, out, (int)c->count, MPI_DOUBLE, c->root, MPI_COMM_WORLD);
}
static void scatter(const Call* c) {
  MPI_Scatter(in, (int)c->count, MPI_DOUBLE, out, (int)c->count, MPI_DOUBLE, c->root, MPI_COMM_WORLD);
}
static void allgather(const Call* c) {
  MPI_Allgather(in, (int)c->count, MPI_DOUBLE, out, (int)c->count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void alltoall(const Call* c) {
  MPI_Alltoall(in, (int)c->count, MPI_DOUBLE, out, (int)c->count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void reduce_scatter_block(const Call* c) { /* its length is that of the whole vector */
  MPI_Reduce_scatter_block(in, out, (int)(c->count / 2), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void scan(const Call* c) {
  MPI_Scan(in, out, (int)c->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void exscan(const Call* c) {
  MPI_Exscan(in, out, (int)c->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
/* One there and one back. */
static void message(const Call* c) {
  if (me == 0) MPI_Send(in, (int)c->count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(out, (int)c->count, MPI_DOUBLE, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me == 1) MPI_Send(in, (int)c->count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
}
/* Both ways at once. */
static void exchange(const Call* c) {
  MPI_Sendrecv(in, (int)c->count, MPI_DOUBLE, 1 - me, 0, out, (int)c->count, MPI_DOUBLE, 1 - me, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
/* Several that follow each other, out of one buffer. */
static void stream(const Call* c) {
  MPI_Request requests[kWindow];
  for (int i = 0; i < kWindow; ++i) {
    if (me == 0)
      MPI_Isend(in, (int)c->count, MPI_DOUBLE, 1, i, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Irecv(out, (int)c->count, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
}

typedef struct {
  const char* name;
  void (*call)(const Call*);
  int in_blocks, out_blocks;
} Row;
static const Row kCollectives[] = {
    {"bcast", bcast, 1, 0},
    {"reduce", reduce, 1, 1},
    {"allreduce", allreduce, 1, 1},
    {"gather", gather, 1, 2},
    {"scatter", scatter, 2, 1},
    {"allgather", allgather, 1, 2},
    {"alltoall", alltoall, 2, 2},
    {"scan", scan, 1, 1},
    {"exscan", exscan, 1, 1},
    {"reduce_scatter_block", reduce_scatter_block, 1, 1},
    {NULL, NULL, 0, 0},
};
static const Row kMessages[] = {
    {"message", message, 1, 1}, {"exchange", exchange, 1, 1}, {"stream", stream, 1, 0}, {NULL, NULL, 0, 0}};

/* How long `calls` of them take, one with the other; without `row` the writing and reading alone. */
static double sample(const Row* row, const Row* data, Call* call, int calls, int fresh) {
  static volatile double kept; /* so that the reading is done */
  double begin, mine, all;
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    if (fresh) write_all(in, call->count * data->in_blocks, i);
    if (row) row->call(call);
    if (fresh) kept = read_all(data->out_blocks ? out : in, call->count * (data->out_blocks ? data->out_blocks : 1));
    call->root = 1 - call->root;
  }
  (void)kept;
  mine = (MPI_Wtime() - begin) / calls;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static double least_of(const Row* row, const Row* data, Call* call, int fresh) {
  double once = sample(row, data, call, 2, fresh); /* makes plans, and memory be there */
  once = sample(row, data, call, 4, fresh);
  int calls = once > 0 ? (int)(kSampleSeconds / once) : 1000;
  calls = calls < 2 ? 2 : calls > 20000 ? 20000 : calls;
  double least = sample(row, data, call, calls, fresh);
  for (int i = 1; i < kSamples; ++i) {
    const double next = sample(row, data, call, calls, fresh);
    if (next < least) least = next;
  }
  return least;
}

static void measure(const Row* row, long bytes) {
  Call call = {bytes / (long)sizeof(double), 0};
  double seconds = least_of(row, row, &call, 0);
  if (me == 0) printf("tune: %s %ld reused %.9f\n", row->name, bytes, seconds);
  if (bytes < kLeastFresh) return;
  const double alone = least_of(NULL, row, &call, 1);
  seconds = least_of(row, row, &call, 1) - alone;
  if (me == 0) printf("tune: %s %ld fresh %.9f\n", row->name, bytes, seconds > 1e-9 ? seconds : 1e-9);
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int messages = argc > 1 && strcmp(argv[1], "messages") == 0;
  const long longest = argc > 2 ? atol(argv[2]) : 4L << 20;
  if (size != 2 || longest < 64) {
    if (me == 0) fprintf(stderr, "this program is started by 'tutti tune', on two ranks\n");
    MPI_Finalize();
    return 2;
  }
  in = malloc(2 * (size_t)longest);
  out = malloc(2 * (size_t)longest);
  if (!in || !out) {
    fprintf(stderr, "there is no memory for four times %ld bytes\n", longest);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(in, 0, 2 * (size_t)longest);
  memset(out, 0, 2 * (size_t)longest);
  for (const Row* row = messages ? kMessages : kCollectives; row->name; ++row)
    for (long bytes = messages ? 64L << 10 : 64; bytes <= longest; bytes *= 4) measure(row, bytes);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
