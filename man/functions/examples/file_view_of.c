/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in the file an element of the view stands: a rank's third pair, and what the view is made of. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int rank, size;
  char representation[MPI_MAX_DATAREP_STRING];
  MPI_File file;
  MPI_Offset begin, byte;
  MPI_Datatype pair, mine, elements, filetype;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 2 * size * sizeof(int),
                          &mine); /* and gaps for the other ranks */
  MPI_Type_commit(&mine);
  MPI_File_open(MPI_COMM_WORLD, "file_view_of.dat",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 2 * rank * sizeof(int), MPI_INT, mine, "native",
                    MPI_INFO_NULL);
  MPI_File_get_byte_offset(file, 4, &byte); /* of its element number 4 */
  MPI_File_get_view(file, &begin, &elements, &filetype, representation);
  printf("rank %d: the view begins at %d, its third pair at %d (%s)\n",
         rank, (int)begin, (int)byte, representation);
  MPI_Type_free(
      &filetype); /* `elements` is MPI_INT, which is not to be freed */
  MPI_File_close(&file);
  MPI_Type_free(&mine), MPI_Type_free(&pair);
  MPI_Finalize();
}

/* mpirun -n 2 prints, in some order:
   rank 0: the view begins at 0, its third pair at 32 (native)
   rank 1: the view begins at 8, its third pair at 40 (native) */
