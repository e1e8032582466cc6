/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator whose user promises never to receive with MPI_ANY_TAG. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, there, length = 8;
  char value[8];
  MPI_Info promises, kept;
  MPI_Comm comm;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&promises);
  MPI_Info_set(promises, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, promises, &comm);
  MPI_Info_set(promises, "mpi_assert_no_any_source", "true");
  MPI_Comm_set_info(comm, promises); /* all ranks say the same */
  MPI_Info_free(&promises);
  MPI_Comm_get_info(comm, &kept);
  MPI_Info_get_string(kept, "mpi_assert_no_any_tag", &length, value,
                      &there);
  if (rank == 0)
    printf("no MPI_ANY_TAG: %s\n", there ? value : "not known");
  MPI_Info_free(&kept);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   no MPI_ANY_TAG: true */
