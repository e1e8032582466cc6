/* SPDX-License-Identifier: BSD-3-Clause */
/* A right program with two threads, which a sanitizer has nothing to say of; with an argument it has one
 * fault of its own: "leak", "race" or "overflow"; or "abort", of which no sanitizer has anything to say. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLong = 1 << 18 };
static int rank, size, shared[1000], bad;
static MPI_Comm second;

static void ring(MPI_Comm comm, int count, int first) {
  int *const to = malloc(sizeof(int) * (size_t)count), *const from = calloc((size_t)count, sizeof(int)), i;
  MPI_Request requests[2];
  for (i = 0; i < count; i++) to[i] = first + rank + i;
  MPI_Irecv(from, count, MPI_INT, (rank + size - 1) % size, 0, comm, &requests[0]);
  MPI_Isend(to, count, MPI_INT, (rank + 1) % size, 0, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (i = 0; i < count; i++)
    if (from[i] != first + (rank + size - 1) % size + i) __atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
  free(to);
  free(from);
}

static void count(void) {
  int i;
  for (i = 0; i < 1000; i++) shared[i]++;
}

static void* other_thread(void* racy) {
  int round;
  if (racy) count(); /* nothing orders this and the other thread's below: all that they do in MPI is later */
  for (round = 0; round < 20; round++) ring(second, 10 + round * 100, round);
  return NULL;
}

/* A session behind MPI_Finalize: what the first life of the library has left is no leak. */
static void again(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm world;
  int sum = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
  if (sum != size * (size - 1) / 2) bad = 1;
  MPI_Comm_free(&world);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

int main(int argc, char** argv) {
  const char* const fault = argc > 1 ? argv[1] : "";
  int provided, sum = 0, put = 0, round;
  pthread_t thread;
  MPI_Datatype pair;
  MPI_Win win;
  int* memory;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  pthread_create(&thread, NULL, other_thread, strcmp(fault, "race") == 0 ? shared : NULL);
  if (strcmp(fault, "race") == 0) count();
  for (round = 0; round < 20; round++) {
    ring(MPI_COMM_WORLD, 10, round);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2) __atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
  }
  ring(MPI_COMM_WORLD, kLong, 7);
  pthread_join(thread, NULL);
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_free(&pair);
  MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_fence(0, win);
  put = rank + 1;
  MPI_Put(&put, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  if (*memory != (rank + size - 1) % size + 1) bad = 1;
  MPI_Win_free(&win);
  MPI_Comm_free(&second);
  if (strcmp(fault, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(fault, "leak") == 0) {
    char* volatile lost = malloc(123);
    lost[0] = 1;
    lost = NULL;
  }
  if (strcmp(fault, "overflow") == 0) {
    volatile int at = 5;
    char* const four = calloc(4, 1);
    four[at] = 1;
    free(four);
  }
  MPI_Finalize();
  again();
  if (bad) printf("wrong: data\n");
  return bad;
}
