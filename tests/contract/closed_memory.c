/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive buffers in a program under AddressSanitizer, for closed_memory.py, on two ranks:
 *
 *   closed_memory KIND
 *
 * Rank 1 touches a receive buffer too early, or what is beside it, which is right. Without arguments it prints the
 * kinds, the wrong ones with what the sanitizer calls it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static volatile int sink;

static void send_ints(int count, int tag) {
  int some[256] = {0};
  MPI_Send(some, count, MPI_INT, 1, tag, MPI_COMM_WORLD);
}
static void receive(void* at, int count, int tag, MPI_Request* request) {
  MPI_Irecv(at, count, MPI_INT, 0, tag, MPI_COMM_WORLD, request);
}

/* ---- wrong */

static void one_int(void) {
  MPI_Request request;
  int x = 1;
  if (rank == 0) return send_ints(1, 0);
  receive(&x, 1, 0, &request);
  sink = x;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
/* The second of two that share eight bytes. */
static void second_of_eight(void) {
  MPI_Request request;
  int* pair = calloc(2, sizeof(int));
  if (rank == 0)
    send_ints(1, 0);
  else {
    receive(pair + 1, 1, 0, &request);
    sink = pair[0];
    sink = pair[1];
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(pair);
}
static void both_of_eight(void) {
  MPI_Request requests[2];
  int* pair = calloc(2, sizeof(int));
  if (rank == 0) {
    send_ints(1, 0);
    send_ints(1, 1);
  } else {
    receive(pair, 1, 0, &requests[0]);
    receive(pair + 1, 1, 1, &requests[1]);
    sink = pair[0];
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  free(pair);
}
/* Its message is there, and the program has not asked for it. */
static void after_another_call(void) {
  MPI_Request request;
  int other = 0, *all = calloc(100, sizeof(int));
  if (rank == 0) {
    send_ints(100, 0);
    send_ints(1, 1);
  } else {
    receive(all, 100, 0, &request);
    MPI_Recv(&other, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sink = all[50];
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(all);
}
static void freed(void) {
  MPI_Request request;
  int* all = calloc(100, sizeof(int));
  if (rank == 0) {
    send_ints(100, 0);
    free(all);
    return;
  }
  receive(all, 100, 0, &request);
  free(all);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- right */

/* Two that share eight bytes, completed one after the other, a neighbour that nobody receives, and the end of the
 * allocation. */
static void neighbours(void) {
  MPI_Request requests[2];
  char* bytes = calloc(13, 1);
  if (rank == 0) {
    MPI_Send(bytes, 3, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Send(bytes, 2, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Send(bytes, 4, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
  } else {
    MPI_Irecv(bytes + 1, 3, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(bytes + 4, 2, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[1]);
    sink = bytes[0] + bytes[6] + bytes[12];
    bytes[0] = bytes[7] = 1;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    sink = bytes[1] + bytes[2] + bytes[3] + bytes[6];
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Irecv(bytes + 9, 4, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[0]);
    sink = bytes[8];
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    memset(bytes, 1, 13);
  }
  free(bytes);
}
/* Structures of which one member is received: the others are the program's. */
static void gaps(void) {
  struct part {
    char mine;
    int received;
    short also_mine;
  } parts[50];
  MPI_Datatype raw, type;
  MPI_Request request;
  int i, one = 1;
  MPI_Aint at = 4;
  MPI_Datatype of_int = MPI_INT;
  memset(parts, 0, sizeof parts);
  if (rank == 0) return send_ints(50, 0);
  MPI_Type_create_struct(1, &one, &at, &of_int, &raw);
  MPI_Type_create_resized(raw, 0, sizeof(struct part), &type);
  MPI_Type_commit(&type);
  MPI_Irecv(parts, 50, type, 0, 0, MPI_COMM_WORLD, &request);
  for (i = 0; i < 50; i++) parts[i].mine = parts[i].also_mine = 1;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (i = 0; i < 50; i++) sink = parts[i].received;
  MPI_Type_free(&type);
  MPI_Type_free(&raw);
}
static void reused(void) {
  MPI_Request request;
  int round, done, i;
  for (round = 0; round < 200; round++) {
    int count = 1 + round % 100;
    int* all = malloc(count * sizeof(int));
    if (rank == 0)
      send_ints(count, 0);
    else {
      receive(all, count, 0, &request);
      for (done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      for (i = 0; i < count; i++) sink = all[i];
    }
    free(all);
  }
}
static void deep(int depth, MPI_Request* request) {
  int local[50];
  memset(local, depth, sizeof local);
  if (depth > 0)
    deep(depth - 1, request);
  else {
    receive(local, 50, 0, request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  sink = local[7];
}
static void on_the_stack(void) {
  MPI_Request request;
  int round;
  for (round = 0; round < 20; round++)
    if (rank == 0)
      send_ints(50, 0);
    else
      deep(round, &request);
}
static void persistent(void) {
  MPI_Request request;
  int round, done, *all = calloc(100, sizeof(int));
  if (rank == 0)
    for (round = 0; round < 10; round++) send_ints(100, 0);
  else {
    MPI_Recv_init(all, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    for (round = 0; round < 10; round++) {
      all[50] = round;
      MPI_Start(&request);
      if (round % 2)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      else
        for (done = 0; !done;) MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE);
      sink = all[50];
    }
    MPI_Request_free(&request);
  }
  free(all);
}
static void cancelled(void) {
  MPI_Request request;
  int* all = calloc(100, sizeof(int));
  receive(all, 100, 5, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  memset(all, 1, 100 * sizeof(int));
  free(all);
}
static void status_asked(void) {
  MPI_Request request;
  int done, *all = calloc(100, sizeof(int));
  if (rank == 0)
    send_ints(100, 0);
  else {
    receive(all, 100, 0, &request);
    for (done = 0; !done;) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    memset(all, 1, 100 * sizeof(int));
    MPI_Request_free(&request);
  }
  free(all);
}
/* A function of the program's reads and writes the buffer meanwhile. */
static void add(void* in, void* into, int* count, MPI_Datatype* type) {
  int i;
  (void)type;
  for (i = 0; i < *count; i++) ((int*)into)[i] += ((int*)in)[i];
}
static void own_operation(void) {
  MPI_Request request;
  MPI_Op op;
  int round, mine[64] = {0}, all[64];
  MPI_Op_create(add, 1, &op);
  for (round = 0; round < 20; round++) {
    MPI_Iallreduce(mine, all, 64, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sink = all[3];
    MPI_Iscan(MPI_IN_PLACE, mine, 64, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sink = mine[3];
  }
  MPI_Op_free(&op);
}
static void long_ones(void) {
  MPI_Request request;
  const int count = 3 << 20;
  int round;
  char* all = calloc(count, 1);
  for (round = 0; round < 3; round++) {
    if (rank == 0)
      MPI_Send(all, count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else {
      MPI_Irecv(all, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      memset(all, round, count);
    }
    MPI_Iallreduce(MPI_IN_PLACE, all, count / 4, MPI_INT, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(all, round, count);
  }
  free(all);
}

static const struct {
  const char *name, *told;
  void (*run)(void);
} kinds[] = {
    {"one_int", "use-after-poison", one_int},
    {"second_of_eight", "heap-buffer-overflow", second_of_eight},
    {"both_of_eight", "use-after-poison", both_of_eight},
    {"after_another_call", "use-after-poison", after_another_call},
    {"freed", "heap-use-after-free", freed},
    {"neighbours", "", neighbours},
    {"gaps", "", gaps},
    {"reused", "", reused},
    {"on_the_stack", "", on_the_stack},
    {"persistent", "", persistent},
    {"cancelled", "", cancelled},
    {"status_asked", "", status_asked},
    {"own_operation", "", own_operation},
    {"long_ones", "", long_ones},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

int main(int argc, char** argv) {
  int i;
  if (argc < 2) {
    for (i = 0; i < kKinds; i++) printf("%s;%s\n", kinds[i].name, kinds[i].told);
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (i = 0; i < kKinds; i++)
    if (strcmp(kinds[i].name, argv[1]) == 0) kinds[i].run();
  MPI_Finalize();
  return 0;
}
