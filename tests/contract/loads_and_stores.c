/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of MPI against loads and stores of the program, for loads_and_stores.py, on two ranks:
 *
 *   loads_and_stores KIND none|load|store during|after
 *
 * KIND is a row of the table below; one rank loads or stores a byte that the operation uses, before it is complete or
 * after. Without arguments it prints the table: the kinds, and which accesses are wrong before the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 64 };
static int rank, bad_rank, *buffer, *other;
static char what, when;
static volatile int sink;

/* The program's own access to the buffer of the rank that is meant. */
static void access_now(char now, int who, volatile int* at) {
  if (now != when || rank != who) return;
  if (what == 'l') sink = at[3];
  if (what == 's') at[3] = 7;
}

/* ---- point to point: rank 0 sends to rank 1 */

static void wait_for(MPI_Request* request, int who) {
  access_now('d', who, buffer);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  access_now('a', who, buffer);
}
static void send_by(int (*start)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) {
  MPI_Request request;
  if (rank == 1) {
    MPI_Recv(other, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  start(buffer, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  wait_for(&request, 0);
}
static void isend(void) {
  send_by(MPI_Isend);
}
static void issend(void) {
  send_by(MPI_Issend);
}
static void irecv(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Send(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  MPI_Irecv(buffer, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void irecv_test(void) {
  MPI_Request request;
  int done = 0;
  if (rank == 0) {
    MPI_Send(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  MPI_Irecv(buffer, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  access_now('d', 1, buffer);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  access_now('a', 1, buffer);
}
/* Every other element: what lies between is the program's. */
static void irecv_vector(void) {
  MPI_Request request;
  MPI_Datatype pairs;
  if (rank == 0) {
    MPI_Send(other, kCount / 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  MPI_Type_vector(kCount / 2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Irecv(buffer + 1, 1, pairs, 0, 0, MPI_COMM_WORLD, &request);
  buffer[4] = 1;
  wait_for(&request, 1);
  MPI_Type_free(&pairs);
}
static void imrecv(void) {
  MPI_Request request;
  MPI_Message message;
  if (rank == 0) {
    MPI_Send(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  MPI_Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(buffer, kCount, MPI_INT, &message, &request);
  wait_for(&request, 1);
}
static void isendrecv(void) {
  MPI_Request request;
  MPI_Isendrecv(other, kCount, MPI_INT, 1 - rank, 0, buffer, kCount, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void persistent_send(void) {
  MPI_Request request;
  int round;
  if (rank == 1) {
    for (round = 0; round < 2; round++) MPI_Recv(other, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Send_init(buffer, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
  for (round = 0; round < 2; round++) {
    buffer[3] = round;
    MPI_Start(&request);
    wait_for(&request, 0);
  }
  MPI_Request_free(&request);
}
static void persistent_receive(void) {
  MPI_Request request;
  int round;
  if (rank == 0) {
    for (round = 0; round < 2; round++) MPI_Send(other, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv_init(buffer, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
  for (round = 0; round < 2; round++) {
    MPI_Start(&request);
    wait_for(&request, 1);
    sink = buffer[3];
  }
  MPI_Request_free(&request);
}

/* ---- partitions */

static void partitions(int sends, int who) {
  MPI_Request request;
  int i;
  if (rank == 0)
    MPI_Psend_init(sends ? buffer : other, 4, kCount / 4, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  else
    MPI_Precv_init(sends ? other : buffer, 4, kCount / 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  for (i = 0; i < 4 && rank == 0; i++) {
    (sends ? buffer : other)[i * kCount / 4] = i;
    MPI_Pready(i, request);
  }
  wait_for(&request, who);
  MPI_Request_free(&request);
}
static void psend(void) {
  partitions(1, 0);
}
static void precv(void) {
  partitions(0, 1);
}

/* ---- collectives: rank 1 has the buffer */

static void ibcast(void) {
  MPI_Request request;
  MPI_Ibcast(buffer, kCount, MPI_INT, 0, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void ibcast_root(void) {
  MPI_Request request;
  MPI_Ibcast(buffer, kCount, MPI_INT, 1, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void iallreduce_in(void) {
  MPI_Request request;
  MPI_Iallreduce(buffer, other, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void iallreduce_out(void) {
  MPI_Request request;
  MPI_Iallreduce(other, buffer, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void igather_root(void) {
  MPI_Request request;
  MPI_Igather(other, kCount / 2, MPI_INT, buffer, kCount / 2, MPI_INT, 1, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void ialltoall(void) {
  MPI_Request request;
  MPI_Ialltoall(other, kCount / 2, MPI_INT, buffer, kCount / 2, MPI_INT, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}
static void persistent_allreduce(void) {
  MPI_Request request;
  int round;
  MPI_Allreduce_init(other, buffer, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (round = 0; round < 2; round++) {
    MPI_Start(&request);
    wait_for(&request, 1);
  }
  MPI_Request_free(&request);
}

/* ---- files */

static MPI_File open_own(void) {
  char name[64];
  MPI_File file;
  sprintf(name, "loads_and_stores.%d", rank);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 0, other, kCount, MPI_INT, MPI_STATUS_IGNORE);
  return file;
}
static void file_iwrite(void) {
  MPI_Request request;
  MPI_File file = open_own();
  MPI_File_iwrite_at(file, 0, buffer, kCount, MPI_INT, &request);
  wait_for(&request, 1);
  MPI_File_close(&file);
}
static void file_iread(void) {
  MPI_Request request;
  MPI_File file = open_own();
  MPI_File_iread_at(file, 0, buffer, kCount, MPI_INT, &request);
  wait_for(&request, 1);
  MPI_File_close(&file);
}
static void file_read_split(void) {
  MPI_File file = open_own();
  MPI_File_read_at_all_begin(file, 0, buffer, kCount, MPI_INT);
  access_now('d', 1, buffer);
  MPI_File_read_at_all_end(file, buffer, MPI_STATUS_IGNORE);
  access_now('a', 1, buffer);
  MPI_File_close(&file);
}

/* ---- windows: rank 0 accesses the memory of rank 1 */

enum Act { put, get, accumulate };
static MPI_Win win;
static int* memory;

static void act(enum Act kind) {
  if (kind == put) MPI_Put(buffer, kCount, MPI_INT, 1, 0, kCount, MPI_INT, win);
  if (kind == get) MPI_Get(buffer, kCount, MPI_INT, 1, 0, kCount, MPI_INT, win);
  if (kind == accumulate) MPI_Accumulate(buffer, kCount, MPI_INT, 1, 0, kCount, MPI_INT, MPI_SUM, win);
}
static int* in_question(void) {
  return bad_rank == 0 ? buffer : memory;
}
static void open_window(void) {
  memory = calloc(kCount, sizeof(int));
  MPI_Win_create(memory, kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}
static void close_window(void) {
  MPI_Win_free(&win);
  sink = memory[3];
  free(memory);
}
static void by_fence(enum Act kind) {
  open_window();
  memory[3] = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) act(kind);
  access_now('d', bad_rank, in_question());
  MPI_Win_fence(0, win);
  access_now('a', bad_rank, in_question());
  MPI_Win_fence(0, win);
  if (rank == 0) act(kind);
  MPI_Win_fence(0, win);
  close_window();
}
static void by_lock(enum Act kind) {
  open_window();
  memory[3] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    act(kind);
    if (bad_rank == 0) access_now('d', 0, buffer);
    MPI_Win_unlock(1, win);
    if (bad_rank == 0) access_now('a', 0, buffer);
  } else if (bad_rank == 1) {
    access_now('d', 1, memory);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    if (bad_rank == 1) access_now('a', 1, memory);
    memory[5]++;
    MPI_Win_unlock(1, win);
  }
  close_window();
}
static void by_post(enum Act kind) {
  MPI_Group world, others;
  int there = 1 - rank;
  open_window();
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &there, &others);
  memory[3] = 1;
  if (rank == 1) {
    MPI_Win_post(others, 0, win);
    if (bad_rank == 1) access_now('d', 1, memory);
    MPI_Win_wait(win);
    if (bad_rank == 1) access_now('a', 1, memory);
  } else {
    MPI_Win_start(others, 0, win);
    act(kind);
    if (bad_rank == 0) access_now('d', 0, buffer);
    MPI_Win_complete(win);
    if (bad_rank == 0) access_now('a', 0, buffer);
  }
  MPI_Group_free(&others);
  MPI_Group_free(&world);
  close_window();
}
static void rput(void) {
  MPI_Request request;
  open_window();
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Rput(buffer, kCount, MPI_INT, 1, 0, kCount, MPI_INT, win, &request);
    wait_for(&request, 0);
  }
  MPI_Win_unlock_all(win);
  close_window();
}
static void rget(void) {
  MPI_Request request;
  open_window();
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Rget(buffer, kCount, MPI_INT, 1, 0, kCount, MPI_INT, win, &request);
    wait_for(&request, 0);
  }
  MPI_Win_unlock_all(win);
  close_window();
}
static void fence_put(void) {
  by_fence(put);
}
static void fence_get(void) {
  by_fence(get);
}
static void fence_accumulate(void) {
  by_fence(accumulate);
}
static void lock_put(void) {
  by_lock(put);
}
static void lock_get(void) {
  by_lock(get);
}
static void lock_accumulate(void) {
  by_lock(accumulate);
}
static void post_put(void) {
  by_post(put);
}
static void post_get(void) {
  by_post(get);
}
/* Both add to the same place, which is no race. */
static void both_accumulate(void) {
  open_window();
  MPI_Win_fence(0, win);
  act(accumulate);
  access_now('d', bad_rank, in_question());
  MPI_Win_fence(0, win);
  access_now('a', bad_rank, in_question());
  close_window();
}

static const struct {
  const char *name, *wrong; /* l: to load before the end; s: to store */
  int who;                  /* whose access is meant */
  void (*run)(void);
} kinds[] = {
    {"MPI_Isend", "s", 0, isend},
    {"MPI_Issend", "s", 0, issend},
    {"MPI_Irecv", "ls", 1, irecv},
    {"MPI_Irecv,MPI_Test", "ls", 1, irecv_test},
    {"MPI_Irecv,vector", "ls", 1, irecv_vector},
    {"MPI_Imrecv", "ls", 1, imrecv},
    {"MPI_Isendrecv", "ls", 1, isendrecv},
    {"MPI_Send_init", "s", 0, persistent_send},
    {"MPI_Recv_init", "ls", 1, persistent_receive},
    {"MPI_Psend_init", "s", 0, psend},
    {"MPI_Precv_init", "ls", 1, precv},
    {"MPI_Ibcast", "ls", 1, ibcast},
    {"MPI_Ibcast,root", "s", 1, ibcast_root},
    {"MPI_Iallreduce,in", "s", 1, iallreduce_in},
    {"MPI_Iallreduce,out", "ls", 1, iallreduce_out},
    {"MPI_Igather,root", "ls", 1, igather_root},
    {"MPI_Ialltoall", "ls", 1, ialltoall},
    {"MPI_Allreduce_init", "ls", 1, persistent_allreduce},
    {"MPI_File_iwrite_at", "s", 1, file_iwrite},
    {"MPI_File_iread_at", "ls", 1, file_iread},
    {"MPI_File_read_at_all_begin", "ls", 1, file_read_split},
    {"origin,MPI_Put,fence", "s", 0, fence_put},
    {"origin,MPI_Get,fence", "ls", 0, fence_get},
    {"origin,MPI_Put,lock", "s", 0, lock_put},
    {"origin,MPI_Get,lock", "ls", 0, lock_get},
    {"origin,MPI_Put,start", "s", 0, post_put},
    {"origin,MPI_Get,start", "ls", 0, post_get},
    {"origin,MPI_Rput", "s", 0, rput},
    {"origin,MPI_Rget", "ls", 0, rget},
    {"target,MPI_Put,fence", "ls", 1, fence_put},
    {"target,MPI_Get,fence", "s", 1, fence_get},
    {"target,MPI_Accumulate,fence", "ls", 1, fence_accumulate},
    {"target,MPI_Put,lock", "ls", 1, lock_put},
    {"target,MPI_Get,lock", "s", 1, lock_get},
    {"target,MPI_Accumulate,lock", "ls", 1, lock_accumulate},
    {"target,MPI_Put,post", "ls", 1, post_put},
    {"target,MPI_Get,post", "s", 1, post_get},
    {"target,both accumulate", "ls", 1, both_accumulate},
};
enum { kKinds = sizeof kinds / sizeof *kinds };

int main(int argc, char** argv) {
  int i;
  if (argc < 4) {
    for (i = 0; i < kKinds; i++) printf("%s;%s\n", kinds[i].name, kinds[i].wrong);
    return 0;
  }
  what = argv[2][0];
  when = argv[3][0];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  buffer = calloc(kCount, sizeof(int));
  other = calloc(kCount, sizeof(int));
  for (i = 0; i < kKinds; i++)
    if (strcmp(kinds[i].name, argv[1]) == 0) {
      bad_rank = kinds[i].who;
      kinds[i].run();
    }
  MPI_Barrier(MPI_COMM_WORLD);
  free(buffer);
  free(other);
  MPI_Finalize();
  return 0;
}
