/* SPDX-License-Identifier: BSD-3-Clause */
/* A server and a client that find each other by a name: here two parts of one job, else two jobs. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int rank, number = 0;
  char port[MPI_MAX_PORT_NAME], service[40];
  MPI_Comm other;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* All jobs of a user see the name: this one is of this job alone. */
  snprintf(service, sizeof service, "example of process %d", (int)getpid());
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
  }
  MPI_Bcast(service, sizeof service, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    MPI_Recv(&number, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
    printf("the client has sent %d\n", number);
    MPI_Comm_disconnect(&other);
    MPI_Unpublish_name(service, MPI_INFO_NULL, port);
    MPI_Close_port(port);
  } else if (rank == 1) {
    MPI_Lookup_name(service, MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    number = 42;
    MPI_Send(&number, 1, MPI_INT, 0, 0, other);
    MPI_Comm_disconnect(&other);
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the client has sent 42 */
