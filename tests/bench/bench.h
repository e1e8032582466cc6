/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benchmark's parts share. One program in plain MPI 3.1, so that each library compiles the
 * same text. Its harness leans on MPI_Send and MPI_Recv alone: a collective that is broken or
 * missing costs its own rows and no other. */
#ifndef TUTTI_TESTS_BENCH_H
#define TUTTI_TESTS_BENCH_H

#include <mpi.h>
#include <stddef.h>

/* What one cell, a measure at one size, found. */
typedef struct {
  double value;
  const char* unit;  /* us, ms, GB/s, M/s, %, MiB */
  char failure[256]; /* what went wrong; empty: nothing */
} Outcome;

typedef struct Measure {
  const char* name;
  int (*run)(const struct Measure* self, size_t bytes, Outcome* out); /* an MPI error code */
  const void* detail;
} Measure;

/* The measures of each file, ended by one without a name. */
extern const Measure kP2p[], kCollectives[], kFresh[], kGroups[], kPartitioned[], kWindows[], kJobs[], kProgress[],
    kFiles[], kFaults[];

/* This process in MPI_COMM_WORLD, and the seconds that one cell shall take. */
extern int world_rank, world_size;
extern double cell_budget;
extern char* program_path; /* of this program, which may be spawned with the argument `child` */

double now(void); /* seconds; one clock for all processes of a node */

/* Largest of all ranks' values, known to all of them afterwards: a barrier too. */
double agree(double mine);

/* Runs `calls` calls of what is measured; an MPI error code. */
typedef int (*Batch)(void* context, int calls);

/* Seconds per call: lower quartile over batches of as many calls as fit the budget; the slowest
 * rank counts. */
int sample(Batch batch, void* context, double* seconds);

double median(double* values, int count); /* sorts them */
void* room(size_t bytes);                 /* page-aligned, written once; ends the job if there is none */
int refuse(Outcome* out, const char* sentence, ...) __attribute__((format(printf, 2, 3)));

/* --- collectives, which progress.c starts too --- */

typedef struct {
  double *in, *out; /* size blocks of `count` doubles each */
  int count, root;
  int *counts, *places; /* the same for the v forms, in doubles */
  int* byte_places;     /* and for the w form */
  MPI_Datatype* types;
} Buffers;

typedef struct {
  const char* name;
  int (*call)(Buffers* b);
  int (*start)(Buffers* b, MPI_Request* request);
  double (*expected)(int block); /* of the result of one call with root 0; negative: none */
} Collective;

extern const Collective kCollectiveTable[];
const Collective* collective_named(const char* name);
void make_buffers(Buffers* b, size_t bytes);
void free_buffers(Buffers* b);

/* Until that time, by now(), without a call of MPI. */
void compute_until(double end);

/* --- a cache line's way from core to core, nanoseconds --- */

/* Between ranks 0 and 1, which call it together; 0 where share_line() found no common memory. */
double line_now(void);
void share_line(void);

/* --- modes that need no harness --- */

int print_line_latency(int cpu_a, int cpu_b); /* exit codes */
int print_memory(const char* folder, int ranks);

#endif
