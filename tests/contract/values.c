/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that MPI brings, and values that a program sends without having any, for values.py, on two ranks:
 *
 *   values KIND
 *
 * Without arguments it prints the kinds, "wrong" behind those that send, or look at, what has no value. A right one asks
 * each value that it gets. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

/* A branch on each byte. */
static void ask(const void* at, size_t bytes) {
  const volatile char* byte = at;
  size_t i, zeros = 0;
  for (i = 0; i < bytes; i++)
    if (byte[i] == 0) zeros++;
  if (zeros > bytes) abort();
}
static int* numbers(int count) {
  int i, *made = malloc(count * sizeof *made);
  for (i = 0; i < count; i++) made[i] = i;
  return made;
}

/* ---- right */

static void messages(void) {
  static const int counts[] = {1, 100, 5000, 1000000};
  unsigned i;
  for (i = 0; i < sizeof counts / sizeof *counts; i++) {
    int count = counts[i], *all = rank == 0 ? numbers(count) : malloc(count * sizeof *all), got, flag = 0;
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    if (rank == 0) {
      MPI_Send(all, count, MPI_INT, 1, 7, MPI_COMM_WORLD);
      MPI_Isend(all, count, MPI_INT, 1, 8, MPI_COMM_WORLD, &requests[0]);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      MPI_Send(all, count, MPI_INT, 1, 9, MPI_COMM_WORLD);
    } else {
      MPI_Recv(all, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      ask(all, count * sizeof *all);
      ask(&status.MPI_SOURCE, sizeof(int));
      ask(&status.MPI_TAG, sizeof(int));
      MPI_Get_count(&status, MPI_INT, &got);
      if (got != count) abort();
      free(all);
      all = malloc(count * sizeof *all);
      MPI_Irecv(all, count, MPI_INT, 0, 8, MPI_COMM_WORLD, &requests[0]);
      requests[1] = MPI_REQUEST_NULL;
      while (!flag) MPI_Testall(2, requests, &flag, statuses);
      if (requests[0] != MPI_REQUEST_NULL || statuses[0].MPI_TAG != 8) abort();
      ask(all, count * sizeof *all);
      free(all);
      all = malloc(count * sizeof *all);
      MPI_Probe(0, 9, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG != 9) abort();
      MPI_Recv(all, count, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ask(all, count * sizeof *all);
    }
    free(all);
  }
}
static void add(void* in, void* into, int* count, MPI_Datatype* type) {
  int i;
  if (*type != MPI_INT) abort();
  for (i = 0; i < *count; i++) {
    ask((int*)in + i, sizeof(int));
    if (((int*)into)[i] >= 0) ((int*)into)[i] += ((int*)in)[i];
  }
}
static void collectives(void) {
  MPI_Request request;
  MPI_Op op;
  int i, *mine = numbers(64), *all = malloc(128 * sizeof(int));
  MPI_Op_create(add, 1, &op);
  for (i = 0; i < 10; i++) {
    MPI_Allreduce(mine, all, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ask(all, 64 * sizeof(int));
    free(all), all = malloc(128 * sizeof(int));
    MPI_Allreduce(mine, all, 64, MPI_INT, op, MPI_COMM_WORLD);
    ask(all, 64 * sizeof(int));
    free(all), all = malloc(128 * sizeof(int));
    MPI_Iallgather(mine, 64, MPI_INT, all, 64, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ask(all, 128 * sizeof(int));
    free(all), all = malloc(128 * sizeof(int));
    if (rank == 0) memcpy(all, mine, 64 * sizeof(int));
    MPI_Bcast(all, 64, MPI_INT, 0, MPI_COMM_WORLD);
    ask(all, 64 * sizeof(int));
    MPI_Iallreduce(MPI_IN_PLACE, all, 64, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ask(all, 64 * sizeof(int));
    free(all), all = malloc(128 * sizeof(int));
  }
  MPI_Op_free(&op);
  free(mine);
  free(all);
}
static void windows(void) {
  MPI_Win win;
  int *memory = malloc(100 * sizeof(int)), *got = malloc(100 * sizeof(int)), *mine = numbers(100);
  MPI_Win_create(memory, 100 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(mine, 100, MPI_INT, 1 - rank, 0, 100, MPI_INT, win);
  MPI_Win_fence(0, win);
  ask(memory, 100 * sizeof(int));
  MPI_Get(got, 100, MPI_INT, 1 - rank, 0, 100, MPI_INT, win);
  MPI_Win_fence(0, win);
  ask(got, 100 * sizeof(int));
  MPI_Win_free(&win);
  free(memory);
  free(got);
  free(mine);
}
static void files(void) {
  MPI_File file;
  MPI_Request request;
  MPI_Offset size;
  char name[64];
  int *mine = numbers(100), *got = malloc(100 * sizeof(int));
  sprintf(name, "values.%d", rank);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 0, mine, 100, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 0, got, 100, MPI_INT, MPI_STATUS_IGNORE);
  ask(got, 100 * sizeof(int));
  free(got), got = malloc(100 * sizeof(int));
  MPI_File_iread_at(file, 0, got, 100, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ask(got, 100 * sizeof(int));
  MPI_File_get_size(file, &size);
  if (size != 400) abort();
  MPI_File_close(&file);
  free(mine);
  free(got);
}
static void answers(void) {
  char* text = malloc(MPI_MAX_LIBRARY_VERSION_STRING);
  char value[100];
  int length, flag, major, minor, dims[2] = {0, 0}, coords[2], periods[2] = {0, 0}, ranks[2] = {0, 1}, others[2],
                                  *level;
  MPI_Comm half, grid;
  MPI_Group world;
  MPI_Info info;
  MPI_Datatype type;
  MPI_Aint low, extent;
  MPI_Get_library_version(text, &length);
  if (strlen(text) != (size_t)length) abort();
  MPI_Get_processor_name(text, &length);
  if (strlen(text) != (size_t)length) abort();
  MPI_Get_version(&major, &minor);
  if (major < 3) abort();
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
  if (half == MPI_COMM_NULL) abort();
  MPI_Comm_set_name(half, "half");
  MPI_Comm_get_name(half, text, &length);
  if (strcmp(text, "half") != 0) abort();
  MPI_Comm_free(&half);
  if (half != MPI_COMM_NULL) abort();
  MPI_Dims_create(2, 2, dims);
  if (dims[0] * dims[1] != 2) abort();
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_coords(grid, rank, 2, coords);
  ask(coords, sizeof coords);
  MPI_Comm_free(&grid);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(world, 2, ranks, world, others);
  ask(others, sizeof others);
  MPI_Group_free(&world);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  length = sizeof value;
  MPI_Info_get_string(info, "key", &length, value, &flag);
  if (!flag || strcmp(value, "value") != 0) abort();
  MPI_Info_free(&info);
  MPI_Type_vector(3, 2, 4, MPI_INT, &type);
  MPI_Type_get_extent(type, &low, &extent);
  if (low != 0 || extent != 10 * sizeof(int)) abort();
  MPI_Type_free(&type);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &level, &flag);
  if (!flag || *level < 32767) abort();
  free(text);
}
/* Padding, and a string that is shorter than its array: a program may send these. */
static void padding(void) {
  struct part {
    char c;
    int i;
  }* part = malloc(sizeof *part);
  char* name = malloc(64);
  if (rank == 0) {
    part->c = 1;
    part->i = 2;
    strcpy(name, "short");
    MPI_Send(part, sizeof *part, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Send(name, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(part, sizeof *part, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(name, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (part->i != 2 || strcmp(name, "short") != 0) abort();
  }
  free(part);
  free(name);
}

/* ---- wrong */

static void send(void) {
  int *all = malloc(100 * sizeof(int)), *got = malloc(100 * sizeof(int));
  if (rank == 0) {
    memset(all, 0, 99 * sizeof(int));
    MPI_Send(all, 100, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(got, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(all);
  free(got);
}
static void bytes(void) {
  char *all = malloc(100), *got = malloc(100);
  if (rank == 0)
    MPI_Send(all, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  else
    MPI_Recv(got, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(all);
  free(got);
}
static void allreduce(void) {
  double *mine = malloc(10 * sizeof(double)), all[10];
  MPI_Allreduce(mine, all, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(mine);
}
static void put(void) {
  MPI_Win win;
  int *memory = calloc(10, sizeof(int)), *mine = malloc(10 * sizeof(int));
  MPI_Win_create(memory, 10 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(mine, 10, MPI_INT, 1 - rank, 0, 10, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  free(mine);
  free(memory);
}
/* It had a value before. */
static void early(void) {
  MPI_Request request;
  int* all = calloc(100, sizeof(int));
  if (rank == 1) {
    MPI_Irecv(all, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    ask(all, 100 * sizeof(int));
    MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(all, 100, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  free(all);
}

static const struct {
  const char *name, *is;
  void (*run)(void);
} kinds[] = {
    {"messages", "right", messages},
    {"collectives", "right", collectives},
    {"windows", "right", windows},
    {"files", "right", files},
    {"answers", "right", answers},
    {"padding", "right", padding},
    {"send", "wrong", send},
    {"bytes", "wrong", bytes},
    {"allreduce", "wrong", allreduce},
    {"put", "wrong", put},
    {"early", "wrong in valgrind", early},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

int main(int argc, char** argv) {
  int i;
  if (argc < 2) {
    for (i = 0; i < kKinds; i++) printf("%s;%s\n", kinds[i].name, kinds[i].is);
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (i = 0; i < kKinds; i++)
    if (strcmp(kinds[i].name, argv[1]) == 0) kinds[i].run();
  MPI_Finalize();
  return 0;
}
