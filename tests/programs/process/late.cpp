// SPDX-License-Identifier: BSD-3-Clause
// Jobs that make each other wait, while one of them is outside of MPI, for longer than it takes until a deadlock is
// looked for: in a receive, in a collective over both, in MPI_Comm_spawn and in MPI_Finalize. Nobody is accused.
#include <thread>

#include "check.hpp"

namespace {

void stay_away() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program program(&argc, &argv);
  MPI_Comm other;
  OK(MPI_Comm_get_parent(&other));
  int word = 1;
  if (other != MPI_COMM_NULL) {
    stay_away();
    OK(MPI_Send(&word, 1, MPI_INT, program.rank(), 0, other));
    OK(MPI_Recv(&word, 1, MPI_INT, program.rank(), 1, other, MPI_STATUS_IGNORE));
    CHECK_EQ(word, 2);
    OK(MPI_Barrier(other));
    stay_away();
    return 0;
  }
  OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, program.size(), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                    MPI_ERRCODES_IGNORE));
  OK(MPI_Recv(&word, 1, MPI_INT, program.rank(), 0, other, MPI_STATUS_IGNORE));
  CHECK_EQ(word, 1);
  stay_away();
  word = 2;
  OK(MPI_Send(&word, 1, MPI_INT, program.rank(), 1, other));
  if (program.rank() == 0) stay_away();
  OK(MPI_Barrier(other));
  OK(MPI_Comm_free(&other));
  return 0;
}
