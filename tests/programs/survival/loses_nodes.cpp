// SPDX-License-Identifier: BSD-3-Clause
// Ranks whose nodes are taken away from outside, while all work: a step is an allreduce and an agreement on whether it has
// gone well everywhere, and where it has not, those who are left make a communicator of themselves. It ends when as few are
// left as the argument says, who use what they have once more. With "finalize" behind it those who are left wait in
// MPI_Finalize for the ends of the others instead, of whom they have heard nothing before; with "busily" the steps are
// messages, collectives and new communicators in turns, of all lengths. Run with mpirun --on-failure=continue on several
// nodes.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "going_on.hpp"

namespace {

int members_of(MPI_Comm comm) {
  int members = 0;
  OK(MPI_Comm_size(comm, &members));
  return members;
}

// True: it has gone well everywhere. The sum is right wherever there is one.
bool step(MPI_Comm comm) {
  int one = 1, sum = 0;
  const int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (code == MPI_SUCCESS)
    CHECK_EQ(sum, members_of(comm));
  else
    CHECK(check::error_class(code) == MPIX_ERR_PROC_FAILED || check::error_class(code) == MPIX_ERR_REVOKED);
  if (code != MPI_SUCCESS) OK(MPIX_Comm_revoke(comm));  // others wait in the allreduce for this one
  int good = code == MPI_SUCCESS;
  return MPIX_Comm_agree(comm, &good) == MPI_SUCCESS && good;
}

// The next step of those who do something else in each.
bool busy_step(MPI_Comm comm, int number) {
  using namespace going_on;
  constexpr bool (*kOperations[])(MPI_Comm, int) = {allreduce, bcast, ring, nonblocking, communicators, everybody};
  constexpr int kLengths[] = {1, 100, 5000, 100'000, 300'000};
  const unsigned chance = check::mix(7, 3, static_cast<unsigned>(number));
  return agreed(comm, kOperations[chance % std::size(kOperations)](comm, kLengths[chance / 8 % std::size(kLengths)]));
}

void lose_busily(MPI_Comm& comm, int left) {
  for (int number = 0; members_of(comm) > left; ++number)
    if (!busy_step(comm, number)) comm = going_on::without_failed(comm, number, &number);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  CHECK(argc > 1);
  const int left = std::atoi(argv[1]);
  const std::string way = argc > 2 ? argv[2] : "";
  const bool at_end = way == "finalize";
  int rank = 0;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check::world_rank = rank;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  step(comm);
  std::printf("rank %d is ready\n", rank);
  std::fflush(stdout);
  if (at_end && rank >= left)
    for (;;) ::pause();
  if (way == "busily") lose_busily(comm, left);
  while (!at_end && members_of(comm) > left) {
    if (step(comm)) {
      ::usleep(20'000);
      continue;
    }
    MPI_Comm rest = MPI_COMM_NULL;
    OK(MPIX_Comm_shrink(comm, &rest));
    OK(MPI_Comm_free(&comm));
    comm = rest;
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  }
  if (!at_end) {
    CHECK(step(comm));
    std::printf("rank %d goes on\n", rank);
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
}
