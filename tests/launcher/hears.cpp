// SPDX-License-Identifier: BSD-3-Clause
// Ranks that hear of the end of one of them: each leaves its process id in a file, says that it is ready and, when the
// performance variable has told it of a failure, that it knows. It does not go at the launcher's request, which comes
// right behind the news.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
  ::signal(SIGTERM, SIG_IGN);
  int rank = 0, level = 0, index = 0, count = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  if (MPI_T_pvar_get_index("process.failed", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS ||
      MPI_T_pvar_session_create(&session) != MPI_SUCCESS ||
      MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
  unsigned long failed = 0;
  if (MPI_T_pvar_read(session, handle, &failed) != MPI_SUCCESS || failed != 0) MPI_Abort(MPI_COMM_WORLD, 4);
  std::ofstream("pid." + std::to_string(rank)) << getpid() << '\n';
  MPI_Barrier(MPI_COMM_WORLD);
  std::puts("ready");
  std::fflush(stdout);
  while (failed == 0) {
    MPI_T_pvar_read(session, handle, &failed);
    ::usleep(1000);
  }
  std::printf("rank %d knows of %lu\n", rank, failed);
  std::fflush(stdout);
  for (;;) pause();
}
