// SPDX-License-Identifier: BSD-3-Clause
// Agreements among those of which some wait elsewhere, where the job goes on without ranks that fail. Wrong ones, of which
// the deadlock is to be told: "receives" (the last rank waits for a message of one that agrees), "ends" (it ends), "starts"
// (all have begun to agree, and wait for each other's messages), "shrinks" (it waits in a barrier). Right ones: "late" (it
// takes its time), "begun" (all have begun to agree, and a message comes late), "dead" (it fails while the others agree).
// Run with mpirun --on-failure=continue and a standstill limit of a second. And "held", for why.py: the last rank fails, one
// before it does nothing until it is ended, and the others agree.
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "check.hpp"

namespace {

constexpr int kTag = 1;

void await_message(int from) {
  int word = 0;
  OK(MPI_Recv(&word, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

void take_time() {
  ::usleep(2'500'000);
}

void agree() {
  int flag = 1;
  OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
  CHECK_EQ(flag, 1);
}

void shrink() {
  MPI_Comm rest = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest));
  OK(MPI_Comm_free(&rest));
}

// Begins to agree, does `meanwhile`, and waits for the agreement.
template <class Meanwhile>
void agree_beside(Meanwhile&& meanwhile) {
  int flag = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &request));
  meanwhile();
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 1);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  CHECK(argc > 1);
  const std::string how = argv[1];
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check::world_rank = rank;
  const bool is_last = rank == size - 1;
  if (how == "receives") {
    is_last ? await_message(0) : agree();
  } else if (how == "ends") {
    if (!is_last) agree();
  } else if (how == "starts") {
    agree_beside([&] { await_message((rank + 1) % size); });
  } else if (how == "shrinks") {
    is_last ? static_cast<void>(MPI_Barrier(MPI_COMM_WORLD)) : shrink();
  } else if (how == "late") {
    if (is_last) take_time();
    agree();
    if (rank == 0) take_time();
    shrink();
  } else if (how == "begun") {
    const int word = 7;
    agree_beside([&] {
      if (is_last) take_time();
      if (is_last) OK(MPI_Send(&word, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD));
      if (rank == 0) await_message(size - 1);
    });
  } else if (how == "dead") {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (is_last) take_time();
    if (is_last) ::raise(SIGKILL);
    int flag = 1;
    CHECK_EQ(check::error_class(MPIX_Comm_agree(MPI_COMM_WORLD, &flag)), MPIX_ERR_PROC_FAILED);
    CHECK_EQ(flag, 1);
  } else if (how == "held") {
    if (is_last) ::raise(SIGKILL);
    while (rank == size - 2) ::pause();
    agree();
  } else {
    CHECK(false);
  }
  OK(MPI_Finalize());
}
