/* SPDX-License-Identifier: BSD-3-Clause
 * Right programs in which rank 0 waits for others that are late, by calls of every kind; whom.py says for whom. Rank 0
 * prints its job's name before it waits.   usage: whom CASE, with 4 ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* which;
static int is(const char* name) {
  return strcmp(which, name) == 0;
}

/* Rank 2 has locked the memory of rank 1, and keeps it. */
static void wait_for_lock(int rank) {
  int *memory, one = 1;
  MPI_Win window;
  MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  if (rank == 2) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_flush(1, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
  MPI_Win_unlock(1, window);
}

static void wait_as_rank_0(void) {
  static int sent[1 << 20], into[4];
  MPI_Request requests[3];
  int index;
  if (is("receive")) {
    MPI_Recv(into, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is("receive_from_any")) {
    MPI_Recv(into, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is("receive_beside_barrier")) { /* the barrier waits for all, and nobody waits for the barrier */
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(into, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is("receive_beside_receive")) {
    MPI_Irecv(into, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(into, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is("send")) {
    MPI_Ssend(sent, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
  } else if (is("long_send")) {
    MPI_Send(sent, 1 << 20, MPI_INT, 3, 0, MPI_COMM_WORLD);
  } else if (is("probe")) {
    MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (is("waitany") || is("waitall") || is("waitsome")) { /* of a send, a receive and a collective */
    MPI_Issend(sent, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(into, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    if (is("waitany"))
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    else if (is("waitsome"))
      MPI_Waitsome(3, requests, &index, into, MPI_STATUSES_IGNORE);
    else
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  } else if (is("wait_for_bcast")) {
    MPI_Ibcast(into, 1, MPI_INT, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  } else if (is("barrier")) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int rank;
  which = argc > 1 ? argv[1] : "";
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    printf("%s\n", getenv("TUTTI_JOB"));
    fflush(stdout);
  }
  if (is("lock")) wait_for_lock(rank);
  if (rank == 0) wait_as_rank_0();
  for (;;) pause(); /* whom.py ends the job */
}
