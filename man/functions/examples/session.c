/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator without MPI_Init. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, sum;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "of the example", MPI_INFO_NULL,
                             MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  printf("rank %d: the sum is %d\n", rank, sum);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

/* mpirun -n 3 prints, in some order:
   rank 0: the sum is 3
   rank 1: the sum is 3
   rank 2: the sum is 3 */
