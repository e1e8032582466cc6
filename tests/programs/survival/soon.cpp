// SPDX-License-Identifier: BSD-3-Clause
// How soon a failure right behind MPI_Init is heard of: the last rank kills itself 5 ms later, and rank 0, which waits for a
// message of it, prints after how many microseconds it has an error. Run with mpirun --on-failure=continue.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <ratio>

#include "dying.hpp"

namespace {

constexpr int kTime = 1, kNever = 2;

// Of the machine's clock, so that two ranks of it compare.
double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  double killed = 0;
  if (rank == size - 1) {
    ::usleep(5000);
    killed = now();
    for (int other = 0; other < rank; ++other) OK(MPI_Send(&killed, 1, MPI_DOUBLE, other, kTime, MPI_COMM_WORLD));
    ::raise(SIGKILL);
  }
  int word = 0;
  OK(MPI_Recv(&killed, 1, MPI_DOUBLE, size - 1, kTime, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const int code = MPI_Recv(&word, 1, MPI_INT, size - 1, kNever, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double after = now() - killed;
  CHECK_EQ(check::error_class(code), MPIX_ERR_PROC_FAILED);
  if (rank == 0) std::printf("%.0f us\n", after);
  OK(MPI_Finalize());
}
