// SPDX-License-Identifier: BSD-3-Clause
// What the programs have in common that go on after failures that come at any time: calls that may fail by them, operations
// whose data are checked where they end well, agreeing, and going on without those who have failed.
#pragma once

#include <mpi-ext.h>

#include <string>
#include <vector>

#include "check.hpp"

namespace going_on {

inline bool is_of_survival(int code) {
  const int its_class = check::error_class(code);
  return its_class == MPIX_ERR_PROC_FAILED || its_class == MPIX_ERR_REVOKED ||
         its_class == MPIX_ERR_PROC_FAILED_PENDING;
}

// True: it has gone well here.
inline bool good(int code, const char* what) {
  if (code == MPI_SUCCESS) return true;
  if (!is_of_survival(code)) check::fail(__FILE__, __LINE__, std::string(what) + ": " + check::error_text(code));
  return false;
}

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  OK(MPI_Comm_rank(comm, &rank));
  return rank;
}
inline int size_of(MPI_Comm comm) {
  int size = 0;
  OK(MPI_Comm_size(comm, &size));
  return size;
}

inline bool allreduce(MPI_Comm comm, int length) {
  const int members = size_of(comm);
  std::vector<int> ones(static_cast<size_t>(length), 1), sums(static_cast<size_t>(length));
  if (!good(MPI_Allreduce(ones.data(), sums.data(), length, MPI_INT, MPI_SUM, comm), "allreduce")) return false;
  for (const int sum : sums) CHECK_EQ(sum, members);
  return true;
}

inline bool bcast(MPI_Comm comm, int length) {
  std::vector<int> data(static_cast<size_t>(length), rank_in(comm) == 0 ? 7 : 0);
  if (!good(MPI_Bcast(data.data(), length, MPI_INT, 0, comm), "bcast")) return false;
  for (const int each : data) CHECK_EQ(each, 7);
  return true;
}

// Each to the next one, in messages of all lengths.
inline bool ring(MPI_Comm comm, int length) {
  const int mine = rank_in(comm), members = size_of(comm);
  const int to = (mine + 1) % members, from = (mine + members - 1) % members;
  std::vector<int> out(static_cast<size_t>(length), mine), in(static_cast<size_t>(length), -1);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const bool begun = good(MPI_Irecv(in.data(), length, MPI_INT, from, 1, comm, &requests[0]), "irecv") &
                     good(MPI_Isend(out.data(), length, MPI_INT, to, 1, comm, &requests[1]), "isend");
  if (!begun) {
    // Revoked between the two, or before both: what has begun ends with the revocation.
    for (MPI_Request& each : requests)
      if (each != MPI_REQUEST_NULL) good(MPI_Wait(&each, MPI_STATUS_IGNORE), "wait");
    return false;
  }
  bool well = true;
  MPI_Status statuses[2];
  for (int i = 0; i < 2; ++i) well &= good(MPI_Wait(&requests[i], &statuses[i]), "wait");
  if (well)
    for (const int each : in) CHECK_EQ(each, from);
  return well;
}

inline bool nonblocking(MPI_Comm comm, int length) {
  const int members = size_of(comm);
  std::vector<int> ones(static_cast<size_t>(length), 1), sums(static_cast<size_t>(length));
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  bool well =
      good(MPI_Iallreduce(ones.data(), sums.data(), length, MPI_INT, MPI_SUM, comm, &requests[0]), "iallreduce");
  well = well && good(MPI_Ibarrier(comm, &requests[1]), "ibarrier");
  for (MPI_Request& each : requests)
    if (each != MPI_REQUEST_NULL) well &= good(MPI_Wait(&each, MPI_STATUS_IGNORE), "wait of collectives");
  if (well)
    for (const int sum : sums) CHECK_EQ(sum, members);
  return well;
}

inline bool everybody(MPI_Comm comm, int length) {
  const int mine = rank_in(comm), members = size_of(comm);
  length = std::max(1, length / 16);
  std::vector<int> out(static_cast<size_t>(length * members), mine), in(static_cast<size_t>(length * members), -1);
  if (!good(MPI_Alltoall(out.data(), length, MPI_INT, in.data(), length, MPI_INT, comm), "alltoall")) return false;
  for (int i = 0; i < length * members; ++i) CHECK_EQ(in[static_cast<size_t>(i)], i / length);
  return true;
}

// True: it has gone well everywhere, and all say the same.
inline bool agreed(MPI_Comm comm, bool well) {
  int flag = well;
  const int code = MPIX_Comm_agree(comm, &flag);
  if (check::error_class(code) == MPIX_ERR_REVOKED) check::fail(__FILE__, __LINE__, "an agreement was revoked");
  return good(code, "agree") && flag;
}

inline bool communicators(MPI_Comm comm, int) {
  MPI_Comm made = MPI_COMM_NULL;
  const int mine = rank_in(comm);
  const bool is_made = good(MPI_Comm_split(comm, mine % 2, mine, &made), "split");
  // Where one rank has an error others may have the communicator, and would wait in it for that one, who lives.
  if (!agreed(comm, is_made)) {
    if (is_made) OK(MPI_Comm_free(&made));
    return false;
  }
  int sum = 0, one = 1;
  const int half = size_of(made);
  const bool well = good(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made), "allreduce of a half");
  if (well) CHECK_EQ(sum, half);
  OK(MPI_Comm_free(&made));
  return well;
}

// Until all of the new communicator say that they have it. `latest`: the highest step of any.
inline MPI_Comm without_failed(MPI_Comm comm, int step, int* latest) {
  OK(MPIX_Comm_revoke(comm));
  for (;;) {
    MPI_Comm made = MPI_COMM_NULL;
    OK(MPIX_Comm_shrink(comm, &made));
    OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    OK(MPI_Comm_free(&comm));
    comm = made;
    if (agreed(comm, good(MPI_Allreduce(&step, latest, 1, MPI_INT, MPI_MAX, comm), "steps"))) return comm;
    OK(MPIX_Comm_revoke(comm));
  }
}

}  // namespace going_on
