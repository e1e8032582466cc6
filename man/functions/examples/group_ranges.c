/* SPDX-License-Identifier: BSD-3-Clause */
/* Every second rank, and the others, without a list of them: ranges of a first, a last and a step. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size, n_even, n_odd, same;
  MPI_Group all, even, odd, both;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int every_second[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_incl(all, 1, every_second, &even);
  MPI_Group_range_excl(all, 1, every_second, &odd);
  MPI_Group_size(even, &n_even);
  MPI_Group_size(odd, &n_odd);
  MPI_Group_union(even, odd, &both);
  MPI_Group_compare(all, both,
                    &same); /* the same ranks, in another order */
  if (rank == 0)
    printf("%d even and %d odd ranks, %s\n", n_even, n_odd,
           same == MPI_SIMILAR ? "which are all" : "and more");
  MPI_Group_free(&both), MPI_Group_free(&odd), MPI_Group_free(&even);
  MPI_Group_free(&all);
  MPI_Finalize();
}

/* mpirun -n 3 prints, in some order:
   2 even and 1 odd ranks, which are all */
