// SPDX-License-Identifier: BSD-3-Clause
// `hold FILE` has it open until it is told a line, `delete FILE` deletes it. files.py runs them.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

void say(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0, error_class = 0;
  MPI_Error_class(code, &error_class);
  MPI_Error_string(code, text, &length);
  std::printf("%s%s\n",
              error_class == MPI_ERR_FILE_IN_USE ? "in use: "
              : error_class == MPI_ERR_NOT_SAME  ? "not same: "
                                                 : "",
              text);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc == 3 && std::strcmp(argv[1], "hold") == 0) {
    MPI_File file;
    const int code = MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (code != MPI_SUCCESS) {
      say(code);
      MPI_Finalize();
      return 0;
    }
    std::printf("rank %d is process %d\n", rank, static_cast<int>(::getpid()));
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::getchar();
    MPI_File_close(&file);
    if (rank == 0) std::printf("closed\n");
  } else if (argc == 3 && std::strcmp(argv[1], "delete") == 0) {
    const int code = MPI_File_delete(argv[2], MPI_INFO_NULL);
    if (code == MPI_SUCCESS)
      std::printf("deleted\n");
    else
      say(code);
  } else {
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Finalize();
}
