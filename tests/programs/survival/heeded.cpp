// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict says, and does not, of programs that know of a failure. Arguments: "ignores" (collectives on the
// communicator go on), "acknowledges", "revokes", "waits" (for a rank that takes its time, longer than deadlocks are
// looked for), "differs" (the first rank has started one collective more than the others when the failure is known). The
// last rank fails. Run with mpirun --on-failure=continue.
#include <unistd.h>

#include "dying.hpp"

namespace {

constexpr int kTag = 1;

int error_class_of_barrier(MPI_Comm comm) {
  return check::error_class(MPI_Barrier(comm));
}

// The first rank waits for the second one, by its number and for anybody, and that one for nobody.
void waits(MPI_Comm comm, int rank) {
  int word = 7, acknowledged = 0;
  OK(MPIX_Comm_ack_failed(comm, 1, &acknowledged));
  CHECK_EQ(acknowledged, 1);
  if (rank == 0) {
    OK(MPI_Recv(&word, 1, MPI_INT, 1, kTag, comm, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, MPI_STATUS_IGNORE));
  } else if (rank == 1) {
    for (int i = 0; i < 2; ++i) {
      ::usleep(2'500'000);
      OK(MPI_Send(&word, 1, MPI_INT, 0, kTag, comm));
    }
  }
}

// The first rank has started a collective to which the others never come, since they hear of the failure before. They free
// the communicator before it does, and keep it waiting for longer than members of a communicator are given to answer what
// they are asked.
void differs(MPI_Comm comm, int rank, int victim) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm rest = MPI_COMM_NULL;
  OK(MPI_Barrier(comm));
  if (rank == 0) OK(MPI_Ibarrier(comm, &request));
  dying::fails(comm, victim);
  if (rank == 0) CHECK_EQ(check::error_class(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPIX_ERR_PROC_FAILED);
  OK(MPIX_Comm_failure_ack(comm));
  OK(MPIX_Comm_shrink(comm, &rest));
  if (rank == 0) OK(MPI_Barrier(rest));
  OK(MPI_Comm_free(&comm));
  if (rank != 0) {
    OK(MPI_Barrier(rest));
    ::usleep(1'500'000);
  }
  OK(MPI_Barrier(rest));
  OK(MPI_Comm_free(&rest));
}

void goes_on(MPI_Comm comm, const std::string& how, int rank, int victim) {
  dying::fails(comm, victim);
  CHECK_EQ(error_class_of_barrier(comm), MPIX_ERR_PROC_FAILED);
  if (how == "ignores") {
    for (int i = 0; i < 3; ++i) CHECK_EQ(error_class_of_barrier(comm), MPIX_ERR_PROC_FAILED);
  } else if (how == "acknowledges") {
    OK(MPIX_Comm_failure_ack(comm));
    for (int i = 0; i < 3; ++i) CHECK_EQ(error_class_of_barrier(comm), MPIX_ERR_PROC_FAILED);
  } else if (how == "revokes") {
    int flag = 1;
    MPIX_Comm_agree(comm, &flag);  // so that nobody is revoked before the first error
    OK(MPIX_Comm_revoke(comm));
    for (int i = 0; i < 3; ++i) CHECK_EQ(error_class_of_barrier(comm), MPIX_ERR_REVOKED);
  } else {
    waits(comm, rank);
  }
  MPI_Comm rest = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(comm, &rest));
  OK(MPI_Barrier(rest));
  OK(MPI_Comm_free(&rest));
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const std::string how = argc > 1 ? argv[1] : "";
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check::world_rank = rank;
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  how == "differs" ? differs(comm, rank, size - 1) : goes_on(comm, how, rank, size - 1);
  OK(MPI_Finalize());
  if (rank == 0) std::puts("ok");
}
