// SPDX-License-Identifier: BSD-3-Clause
// The last rank fails right behind the first thing that it has ever said to the first one: that it has read the long message
// of a collective. The first one hears of the failure before it has looked for what others have begun to say, and of that
// message once only. Run with mpirun --on-failure=continue on 2 ranks, with TUTTI_PROGRESS_THREAD=off, so that nobody looks
// beside the program, and TUTTI_COLLECTIVES_OVERRIDE='bcast binomial', so that the collective goes by a message.
#include <vector>

#include "dying.hpp"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check::world_rank = rank;
  std::vector<char> data(1 << 20, static_cast<char>(1 - rank));
  MPI_Request request;
  OK(MPI_Ibcast(data.data(), static_cast<int>(data.size()), MPI_CHAR, 0, MPI_COMM_WORLD, &request));
  if (rank == 1) {
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(data.back(), 1);
    ::raise(SIGKILL);
  }
  // This asks what is known of failures, and does not look for messages. Where no process may read another's memory the
  // other one waits for the bytes, which are sent within other calls alone.
  constexpr double kLongest = 10;
  const double begin = MPI_Wtime();
  int flag = 0, message = 0;
  for (int failed = 0; failed == 0;) {
    if (MPI_Wtime() - begin > kLongest) OK(MPI_Iprobe(0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
    MPI_Group group;
    OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &group));
    OK(MPI_Group_size(group, &failed));
    if (failed > 0) OK(MPI_Group_free(&group));
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));  // its part had been done
  for (int i = 0; i < 100; ++i) OK(MPI_Iprobe(0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(check::error_class(MPIX_Comm_agree(MPI_COMM_WORLD, &flag)), MPIX_ERR_PROC_FAILED);
  OK(MPI_Finalize());
  std::puts("ok");
}
