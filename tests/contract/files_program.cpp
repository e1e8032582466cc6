// SPDX-License-Identifier: BSD-3-Clause
// Two jobs and one file: `hold FILE` has it open until it is told a line, `delete FILE` deletes it. files.py runs them.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc == 3 && std::strcmp(argv[1], "hold") == 0) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
      MPI_Abort(MPI_COMM_WORLD, 2);
    std::printf("rank %d is process %d\n", rank, static_cast<int>(::getpid()));
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::getchar();
    MPI_File_close(&file);
    if (rank == 0) std::printf("closed\n");
  } else if (argc == 3 && std::strcmp(argv[1], "delete") == 0) {
    const int code = MPI_File_delete(argv[2], MPI_INFO_NULL);
    char text[MPI_MAX_ERROR_STRING] = "deleted";
    int length = 0, error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    if (error_class != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    std::printf("%s%s\n", error_class == MPI_ERR_FILE_IN_USE ? "in use: " : "", text);
  } else {
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
}
