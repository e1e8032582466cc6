/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that read, ranks that write: who does either, who both, who one only. */
#include <mpi.h>
#include <stdio.h>

static void show(const char *what, MPI_Group group) {
  int size, mine;
  MPI_Group_size(group, &size);
  MPI_Group_rank(group, &mine);
  if (mine == 0)
    printf("%s: %d ranks\n", what, size); /* not a member: MPI_UNDEFINED */
  MPI_Group_free(&group);
}

int main(void) {
  MPI_Group all, readers, writers, found;
  MPI_Init(NULL, NULL);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 3, (int[]){0, 1, 2}, &readers);
  MPI_Group_incl(all, 2, (int[]){2, 3}, &writers);
  MPI_Group_union(readers, writers, &found);
  show("read or write", found);
  MPI_Group_intersection(readers, writers, &found);
  show("read and write", found);
  MPI_Group_difference(readers, writers, &found);
  show("only read", found);
  MPI_Group_free(&writers);
  MPI_Group_free(&readers);
  MPI_Group_free(&all);
  MPI_Finalize();
}

/* mpirun -n 4 prints, in some order:
   read or write: 4 ranks
   read and write: 1 ranks
   only read: 2 ranks */
