/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of files are returned unless the program wants it otherwise: here a missing file is no mishap, others are. */
#include <mpi.h>
#include <stdio.h>

int main(void) {
  int class, number = 0;
  MPI_File file;
  MPI_Init(NULL, NULL);
  int code = MPI_File_open(MPI_COMM_SELF, "no_such_file.dat",
                           MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    printf("%s\n", class == MPI_ERR_NO_SUCH_FILE ? "there is none yet"
                                                 : "it cannot be opened");
  }
  MPI_File_open(
      MPI_COMM_SELF, "file_error.dat",
      MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
      MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  MPI_File_write(file, &number, 1, MPI_INT,
                 MPI_STATUS_IGNORE); /* works, or ends the job */
  MPI_File_close(&file);
  MPI_Finalize();
}

/* mpirun -n 1 prints, in some order:
   there is none yet */
