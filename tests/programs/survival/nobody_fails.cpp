// SPDX-License-Identifier: BSD-3-Clause
// mpi-ext.h on a job that loses nobody: agreements are reductions, communicators shrink to all of their ranks, nobody has
// failed. Blocking and with a request, on one group and between two, and by the names for tools.
#include <mpi-ext.h>

#include "check.hpp"

namespace {

int size_of(MPI_Group group) {
  int size = -1;
  OK(MPI_Group_size(group, &size));
  return size;
}

void nobody_has_failed(MPI_Comm comm) {
  MPI_Group failed = MPI_GROUP_NULL;
  OK(MPIX_Comm_get_failed(comm, &failed));
  CHECK_EQ(size_of(failed), 0);
  int acknowledged = -1;
  OK(MPIX_Comm_ack_failed(comm, 3, &acknowledged));
  CHECK_EQ(acknowledged, 0);
  OK(MPIX_Comm_failure_ack(comm));
  OK(PMPIX_Comm_failure_get_acked(comm, &failed));
  CHECK_EQ(size_of(failed), 0);
  int revoked = -1;
  OK(MPIX_Comm_is_revoked(comm, &revoked));
  CHECK_EQ(revoked, 0);
}

// Each rank clears the bit of its own number; `first`, `count`: whose flags count here.
void agrees(MPI_Comm comm, int rank, int first, int count) {
  int expected = 0x7fff;
  for (int other = first; other < first + count; ++other) expected &= ~(1 << other % 15);
  int flag = 0x7fff & ~(1 << rank % 15);
  OK(MPIX_Comm_agree(comm, &flag));
  CHECK_EQ(flag, expected);
  int flags[2] = {0x7fff & ~(1 << rank % 15), 0x7fff};
  MPI_Request requests[2];
  OK(MPIX_Comm_iagree(comm, &flags[0], &requests[0]));
  OK(MPIX_Comm_iagree(comm, &flags[1], &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(flags[0], expected);
  CHECK_EQ(flags[1], 0x7fff);
}

void is_like(MPI_Comm made, MPI_Comm comm) {
  int result = MPI_UNEQUAL;
  OK(MPI_Comm_compare(made, comm, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
}

void shrinks(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(comm, &made));
  is_like(made, comm);
  OK(MPI_Barrier(made));
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Request request;
  OK(MPIX_Comm_ishrink(made, &other, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  is_like(other, comm);
  OK(MPI_Barrier(other));
  OK(MPI_Comm_free(&other));
  OK(MPI_Comm_free(&made));
}

void between_two_groups(int rank, int size) {
  const int half = size / 2;
  const bool low = rank < half;
  MPI_Comm side, inter;
  OK(MPI_Comm_split(MPI_COMM_WORLD, low, rank, &side));
  OK(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, low ? half : 0, 7, &inter));
  agrees(inter, rank, low ? half : 0, low ? size - half : half);
  shrinks(inter);
  nobody_has_failed(inter);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&side));
}

void classes_and_attribute() {
  int* survives = nullptr;
  int there = 0;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &survives, &there));
  CHECK_EQ(there, 1);
  CHECK_EQ(*survives, 0);
  for (const int code : {MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING, MPIX_ERR_REVOKED}) {
    CHECK(code > MPI_ERR_ABI && code < MPI_ERR_LASTCODE);
    CHECK_EQ(check::error_class(code), code);
    CHECK(check::error_text(code).find("MPIX_ERR_") == 0);
  }
}

// A job that ends when a rank fails has nobody to be told of it.
void revoking_is_refused() {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  FAILS(MPIX_Comm_revoke(comm), MPI_ERR_UNSUPPORTED_OPERATION);
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  for (int i = 0; i < 3; ++i) agrees(MPI_COMM_WORLD, world.rank(), 0, world.size());
  shrinks(MPI_COMM_WORLD);
  nobody_has_failed(MPI_COMM_WORLD);
  if (world.size() > 1) between_two_groups(world.rank(), world.size());
  classes_and_attribute();
  revoking_is_refused();
}
