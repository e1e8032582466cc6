/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of a library's own as a request, which the program waits for as it does for messages. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static int query(void *count, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, *(int *)count);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

static int release(void *count) {
  (void)count;
  return MPI_SUCCESS;
}

static int cancel(void *count, int complete) {
  (void)count, (void)complete;
  return MPI_SUCCESS;
}

static void *work(void *request) { /* the library's work would be here */
  MPI_Grequest_complete(*(MPI_Request *)request);
  return NULL;
}

int main(void) {
  int provided, done = 3, count;
  MPI_Request request, copy;
  MPI_Status status;
  pthread_t thread;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Grequest_start(query, release, cancel, &done, &request);
  copy = request;
  pthread_create(&thread, NULL, work, &copy);
  MPI_Wait(&request, &status);
  pthread_join(thread, NULL);
  MPI_Get_count(&status, MPI_INT, &count);
  printf("%d pieces are done\n", count);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   3 pieces are done */
