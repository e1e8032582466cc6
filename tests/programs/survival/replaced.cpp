// SPDX-License-Identifier: BSD-3-Clause
// Ranks that fail are replaced: those who are left shrink, spawn as many as are missing, merge and put all in the old order;
// and again when another rank fails, one of those that were spawned among them. Run with mpirun --on-failure=continue, on
// three ranks or more.
#include "check.hpp"
#include "dying.hpp"

namespace {

constexpr int kRounds = 3;

// Whose turn it is to fail: the last one, then the one that has replaced it, then another of the first job.
int victim(int round, int size) {
  return round < 2 ? size - 1 : 1;
}

MPI_Comm in_order(MPI_Comm merged, int rank) {
  MPI_Comm whole = MPI_COMM_NULL;
  OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
  OK(MPI_Comm_split(merged, 0, rank, &whole));
  int mine = -1;
  OK(MPI_Comm_rank(whole, &mine));
  CHECK_EQ(mine, rank);
  OK(MPI_Comm_free(&merged));
  return whole;
}

// A new rank's: it hears which one it is, and which round.
MPI_Comm joined(MPI_Comm parent, int* round) {
  int told[2];
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  OK(MPI_Recv(told, 2, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE));
  *round = told[1];
  MPI_Comm merged = MPI_COMM_NULL;
  OK(MPI_Intercomm_merge(parent, 1, &merged));
  return in_order(merged, told[0]);
}

MPI_Comm repaired(MPI_Comm comm, char* program, int round) {
  MPI_Comm left = MPI_COMM_NULL, between = MPI_COMM_NULL, merged = MPI_COMM_NULL;
  int rank = 0, size = 0, mine = 0, count = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPIX_Comm_shrink(comm, &left));
  OK(MPI_Comm_rank(left, &mine));
  OK(MPI_Comm_size(left, &count));
  CHECK_EQ(count, size - 1);
  OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, size - count, MPI_INFO_NULL, 0, left, &between, MPI_ERRCODES_IGNORE));
  OK(MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN));
  if (mine == 0) {
    const int told[] = {victim(round, size), round + 1};
    OK(MPI_Send(told, 2, MPI_INT, 0, 1, between));
  }
  OK(MPI_Intercomm_merge(between, 0, &merged));
  OK(MPI_Comm_free(&left));
  OK(MPI_Comm_free(&comm));
  return in_order(merged, rank);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm parent, comm;
  OK(MPI_Comm_get_parent(&parent));
  int round = 0, rank = 0, size = 0, sum = 0, one = 1;
  if (parent == MPI_COMM_NULL)
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  else
    comm = joined(parent, &round);
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Comm_rank(comm, &rank));
  check::world_rank = rank;
  for (; round < kRounds; ++round) {
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size);
    dying::fails(comm, victim(round, size));
    FAILS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
    int good = 1;
    FAILS(MPIX_Comm_agree(comm, &good), MPIX_ERR_PROC_FAILED);
    comm = repaired(comm, argv[0], round);
  }
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQ(sum, size);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  if (rank == 0) std::puts("ok");
}
