/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of calls in a program under AddressSanitizer, for memory_of_buffers.py, on two ranks:
 *
 *   memory_of_buffers KIND right|short|freed
 *
 * Rank 1 gives a buffer that is as long as the call says, shorter, or freed. Without arguments it prints the kinds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 50 };
static int rank, *buffer, *other;

static void by_send(void) {
  if (rank == 1)
    MPI_Send(buffer, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void by_recv(void) {
  if (rank == 1)
    MPI_Recv(buffer, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD);
}
static void by_irecv(void) {
  MPI_Request request;
  if (rank == 1)
    MPI_Irecv(buffer, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Isend(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
/* The last element of a vector has no gap behind it. */
static void by_vector(void) {
  MPI_Datatype halves;
  MPI_Type_vector(kCount / 2, 1, 2, MPI_INT, &halves);
  MPI_Type_commit(&halves);
  if (rank == 1)
    MPI_Recv(buffer + 1, 1, halves, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(other, kCount / 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Type_free(&halves);
}
static void by_bcast(void) {
  MPI_Bcast(rank == 1 ? buffer : other, kCount, MPI_INT, 0, MPI_COMM_WORLD);
}
static void by_allreduce(void) {
  MPI_Allreduce(other, rank == 1 ? buffer : other + kCount, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void by_igather(void) {
  MPI_Request request;
  MPI_Igather(other, kCount / 2, MPI_INT, buffer, kCount / 2, MPI_INT, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void by_put(void) {
  MPI_Win win;
  MPI_Win_create(other, kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  if (rank == 1) MPI_Put(buffer, kCount, MPI_INT, 0, 0, kCount, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}
static void by_file(void) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "memory_of_buffers.data", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  if (rank == 1) MPI_File_write_at(file, 0, buffer, kCount, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static const struct {
  const char* name;
  void (*run)(void);
} kinds[] = {
    {"MPI_Send", by_send},          {"MPI_Recv", by_recv},   {"MPI_Irecv", by_irecv},
    {"MPI_Recv,vector", by_vector}, {"MPI_Bcast", by_bcast}, {"MPI_Allreduce", by_allreduce},
    {"MPI_Igather", by_igather},    {"MPI_Put", by_put},     {"MPI_File_write_at", by_file},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

int main(int argc, char** argv) {
  int i, is_short;
  if (argc < 3) {
    for (i = 0; i < kKinds; i++) printf("%s\n", kinds[i].name);
    return 0;
  }
  is_short = strcmp(argv[2], "short") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = calloc(2 * kCount, sizeof(int));
  buffer = calloc(is_short ? kCount - 1 : kCount, sizeof(int));
  if (strcmp(argv[2], "freed") == 0) free(buffer);
  for (i = 0; i < kKinds; i++)
    if (strcmp(kinds[i].name, argv[1]) == 0) kinds[i].run();
  if (strcmp(argv[2], "freed") != 0) free(buffer);
  free(other);
  MPI_Finalize();
  return 0;
}
