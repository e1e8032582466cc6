/* SPDX-License-Identifier: BSD-3-Clause
 * Small wrong programs that end with the report; reports.sh says what it must be.   usage: fatal CASE */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static int is(const char* name, const char* wanted) {
  return strcmp(name, wanted) == 0;
}

static int is_stopped(int process) {
  char path[64];
  char state = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE* stat = fopen(path, "r");
  if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = 0;
  if (stat) fclose(stat);
  return state == 'T';
}

static void exchange(const char* name) {
  int x = rank, all[8] = {0}, gathered[8] = {0}, counts[8], places[8];
  MPI_Request request;
  MPI_Comm comm;
  for (int i = 0; i < 8; i++) counts[i] = 1, places[i] = i;
  if (is(name, "order")) {
    if (rank == 1)
      MPI_Barrier(MPI_COMM_WORLD); /* LINE order */
    else
      MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
  } else if (is(name, "answers_late")) { /* rank 1 is stopped while the others ask for its call */
    int stopped = getpid();
    MPI_Bcast(&stopped, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "solver");
    if (rank == 1) {
      MPI_Bcast(&x, 1, MPI_INT, 1, comm); /* LINE answers_late */
      if (fork() == 0) {
        sleep(3); /* so long it does not answer: more than four times what the others wait at first */
        kill(stopped, SIGCONT);
        _exit(0);
      }
      raise(SIGSTOP);
    } else {
      while (!is_stopped(stopped)) usleep(1000);
      if (rank == 2) usleep(300000); /* rank 0 asks it, too, before it calls */
    }
    MPI_Barrier(comm);
  } else if (is(name, "form")) {
    if (rank == 1) {
      MPI_Ibarrier(MPI_COMM_WORLD, &request); /* LINE form */
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  } else if (is(name, "root")) {
    MPI_Bcast(&x, 1, MPI_INT, rank == 1 ? 1 : 0, MPI_COMM_WORLD); /* LINE root */
  } else if (is(name, "two_roots") || is(name, "two_roots_freed") || is(name, "two_roots_left")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &comm); /* ranks 0 and 1 show their data to nobody */
    do MPI_Bcast(&x, 1, MPI_INT, rank % 2, comm);           /* LINE two_roots */
    while (rank < 2 && is(name, "two_roots"));
    if (is(name, "two_roots_freed")) MPI_Comm_free(&comm);
  } else if (is(name, "op")) {
    MPI_Allreduce(&x, all, 1, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD); /* LINE op */
  } else if (is(name, "count")) {
    MPI_Bcast(all, rank == 1 ? 4 : 2, MPI_INT, 0, MPI_COMM_WORLD); /* LINE count */
  } else if (is(name, "type")) {
    MPI_Bcast(all, 2, rank == 1 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD); /* LINE type */
  } else if (is(name, "persistent_pair")) {
    MPI_Request gather;
    MPI_Gatherv_init(all, rank == 1 ? 2 : 1, MPI_INT, gathered, counts, places, MPI_INT, 0, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &gather); /* LINE persistent_pair */
    MPI_Start(&gather);
    MPI_Wait(&gather, MPI_STATUS_IGNORE);
    MPI_Request_free(&gather);
  } else if (is(name, "pair")) {
    MPI_Gatherv(all, rank == 1 ? 2 : 1, MPI_INT, gathered, counts, places, MPI_INT, 0, MPI_COMM_WORLD); /* LINE pair */
  } else if (is(name, "constructor")) {
    if (rank == 1)
      MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm); /* LINE constructor */
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  } else if (is(name, "finalize")) {
    if (rank != 1) MPI_Barrier(MPI_COMM_WORLD); /* LINE finalize */
  } else if (is(name, "finalize_other")) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    if (rank != 1) MPI_Barrier(comm); /* LINE finalize_other */
  } else if (is(name, "freed")) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "solver");
    if (rank == 1)
      MPI_Comm_free(&comm);
    else
      MPI_Bcast(&x, 1, MPI_INT, 1, comm); /* LINE freed */
    if (rank == 1) sleep(5);
  } else if (is(name, "freed_comm")) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* LINE made */
    copy = comm;
    MPI_Comm_free(&comm); /* LINE gone */
    if (rank == 1)
      MPI_Bcast(&x, 1, MPI_INT, 1, copy); /* LINE freed_comm */
    else
      MPI_Recv(&x, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(name, "uncommitted")) {
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type); /* LINE made_type */
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    if (rank == 1)
      MPI_Send(all, 1, type, 0, 4, comm); /* LINE uncommitted */
    else
      MPI_Recv(&x, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(name, "truncated")) {
    MPI_Irecv(all, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);        /* LINE posted */
    if (rank == 1) MPI_Send(counts, 3, MPI_INT, 0, 4, MPI_COMM_WORLD); /* LINE sent_long */
    MPI_Wait(&request, MPI_STATUS_IGNORE);                             /* LINE truncated */
  } else if (is(name, "truncated_all")) {
    MPI_Request each[3];
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(all + 2 * i, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, &each[i]);
      if (rank == 1) MPI_Send(counts, 3, MPI_INT, 0, 4, MPI_COMM_WORLD); /* LINE sent_each */
    }
    MPI_Waitall(3, each, MPI_STATUSES_IGNORE); /* LINE truncated_all */
  } else if (is(name, "free_active")) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);    /* LINE started */
    if (rank == 1) MPI_Request_free(&request); /* LINE free_active */
    MPI_Recv(&x, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is(name, "overlap")) {
    MPI_Irecv(all, 4, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);         /* LINE posted_first */
    if (rank == 1) MPI_Send(all + 3, 2, MPI_INT, 0, 4, MPI_COMM_WORLD); /* LINE overlap */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(name, "message_types")) {
    if (rank == 1) MPI_Send(all, 2, MPI_INT, 0, 4, MPI_COMM_WORLD);                      /* LINE sent_ints */
    if (rank == 0) MPI_Recv(all, 3, MPI_FLOAT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* LINE message_types */
  } else if (is(name, "message_types_later")) {
    if (rank == 0) MPI_Irecv(all, 3, MPI_FLOAT, 1, 4, MPI_COMM_WORLD, &request); /* LINE posted_floats */
    if (rank == 1) MPI_Send(all, 2, MPI_INT, 0, 4, MPI_COMM_WORLD);              /* LINE sent_later */
    if (rank == 0) MPI_Waitany(1, &request, counts, MPI_STATUS_IGNORE);          /* LINE message_types_later */
  } else if (strncmp(name, "message_types_freed", 19) == 0) {                    /* complete, and never waited for */
    int is_over = 0;
    if (rank == 0 && is(name, "message_types_freed")) MPI_Irecv(all, 3, MPI_FLOAT, 1, 4, MPI_COMM_WORLD, &request);
    if (rank == 0 && is(name, "message_types_freed_pair"))
      MPI_Isendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 4, all, 3, MPI_FLOAT, 1, 4, MPI_COMM_WORLD, &request);
    if (rank == 0 && is(name, "message_types_freed_started")) {
      MPI_Recv_init(all, 3, MPI_FLOAT, 1, 4, MPI_COMM_WORLD, &request);
      MPI_Start(&request);
    }
    if (rank == 1) MPI_Send(all, 2, MPI_INT, 0, 4, MPI_COMM_WORLD);
    while (rank == 0 && !is_over) MPI_Request_get_status(request, &is_over, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Request_free(&request); /* LINE message_types_freed */
  } else if (is(name, "own_block")) {
    MPI_Allgather(all, 1, MPI_FLOAT, gathered, 1, MPI_INT, MPI_COMM_WORLD); /* LINE own_block */
  } else if (is(name, "own_block_scatter")) {
    MPI_Scatter(gathered, 1, MPI_INT, all, 3, MPI_INT, 0, MPI_COMM_WORLD); /* LINE own_block_scatter */
  } else if (is(name, "scatter_type")) {
    const MPI_Datatype type = rank == 1 ? MPI_FLOAT : MPI_INT;
    MPI_Scatter(gathered, 1, MPI_INT, all, 1, type, 0, MPI_COMM_WORLD); /* LINE scatter_type */
  } else if (is(name, "number_as_buffer")) {
    MPI_Recv((void*)1, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* LINE number_as_buffer */
  } else if (is(name, "count_for_type")) {
    MPI_Bcast(all, 4, (MPI_Datatype)1, 0, MPI_COMM_WORLD); /* LINE count_for_type */
  } else if (is(name, "alone")) {
    MPI_Send(all, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  } else if (is(name, "open_epoch")) {
    MPI_Win win;
    MPI_Win_create(all, sizeof all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    if (rank == 1) MPI_Win_free(&win); /* LINE open_epoch */
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(name, "no_target")) {
    MPI_Win win;
    MPI_Win_create(all, sizeof all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 1) MPI_Put(counts, 1, MPI_INT, 7, 0, 1, MPI_INT, win); /* LINE no_target */
    MPI_Win_fence(0, win);
  } else if (is(name, "two_roots_between")) { /* rank 1 leads the one group, ranks 0 and 2 are the other */
    MPI_Comm local;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &comm);
    for (int i = 0; i < 1000; i++) { /* what the second root sends need not be looked at in the first call */
      MPI_Bcast(&x, 1, MPI_INT, rank % 2 ? 0 : MPI_ROOT, comm); /* LINE two_roots_between */
      MPI_Barrier(comm);
    }
  } else if (is(name, "other_group")) {
    MPI_Comm local;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &comm);
    if (rank == 1) MPI_Send(&x, 1, MPI_INT, 2, 4, comm); /* LINE other_group */
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strncmp(name, "group_", 6) == 0) { /* of ranks 0 and 1, who do not give the same */
    const int both[2] = {0, 1}, turned[2] = {1, 0};
    MPI_Group all, some;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, rank == 1 && is(name, "group_order") ? turned : both, &some);
    if (rank < 2)
      MPI_Comm_create_group(MPI_COMM_WORLD, some, rank && is(name, "group_tag") ? 9 : 3, &comm); /* LINE group */
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(name, "leaders_tag")) {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 1 - rank % 2, rank == 1 ? 8 : 7, &comm); /* LINE leaders_tag */
  } else if (is(name, "glued")) {
    if (rank == 1) {
      fputs("half a line", stderr);
      MPI_Bcast(all, 4, (MPI_Datatype)1, 0, MPI_COMM_WORLD); /* LINE glued */
    }
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (strncmp(name, "file_", 5) == 0) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "fatal.dat", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    if (is(name, "file_handled")) MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    const int code = rank == 1 ? MPI_File_read_all(file, all, 4, MPI_INT, MPI_STATUS_IGNORE)
                               : MPI_File_write_all(file, all, 4, MPI_INT, MPI_STATUS_IGNORE);
    int of = MPI_SUCCESS;
    if (is(name, "file_asked")) MPI_Error_class(code, &of);
    MPI_File_close(&file);
    puts("done");
    fflush(stdout);
  } else if (is(name, "null_type")) {
    MPI_Send(all, 2, MPI_DATATYPE_NULL, 1, 4, MPI_COMM_WORLD); /* LINE null_type */
  } else if (is(name, "persistent_left")) {
    MPI_Request reduction;
    MPI_Allreduce_init(&x, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reduction); /* LINE init */
    if (rank == 1) MPI_Finalize(), exit(0);
    MPI_Start(&reduction);                   /* LINE start_left */
    MPI_Wait(&reduction, MPI_STATUS_IGNORE); /* LINE persistent_left */
  } else if (is(name, "exit")) {
    if (rank == 1) exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (is(name, "outside")) { /* where tutti why is to find them: computing, reading, asleep */
    char byte;
    int ends[2];
    if (pipe(ends) != 0) abort();
    if (rank == 0)
      for (;;) __asm__ volatile("");
    if (rank == 1)
      while (read(ends[0], &byte, 1) < 0) continue;
    if (rank == 2)
      for (;;) pause();
  } else if (is(name, "stopped")) {
    if (rank == 1) sleep(20);
    MPI_Bcast(&x, 1, MPI_INT, 1, MPI_COMM_WORLD); /* LINE stopped */
  } else {
    fprintf(stderr, "no case %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
  exchange(argc > 1 ? argv[1] : "");
  MPI_Finalize();
  return 0;
}
