/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 works, and looks between two pieces of work whether rank 1 has a question. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  enum { QUESTION = 1, ANSWER = 2 };
  int rank, question, answer, there;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    question = 7;
    MPI_Send(&question, 1, MPI_INT, 0, QUESTION, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    printf("the square of %d is %d\n", question, answer);
  }
  for (int answered = 0; rank == 0 && !answered;) {
    /* a piece of work would be here */
    MPI_Iprobe(1, QUESTION, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (!there) continue;
    MPI_Recv(&question, 1, MPI_INT, 1, QUESTION, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    answer = question * question;
    MPI_Send(&answer, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD);
    answered = 1;
  }
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   the square of 7 is 49 */
