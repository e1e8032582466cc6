// SPDX-License-Identifier: BSD-3-Clause
// What the programs of sessions share: they begin without MPI_Init, and the launcher's rank is what
// mpi://WORLD says.
#pragma once

#include "check.hpp"

namespace session {

inline MPI_Session begin(const char* thread_level = nullptr) {
  MPI_Info info = MPI_INFO_NULL;
  if (thread_level) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", thread_level));
  }
  MPI_Session made = MPI_SESSION_NULL;
  OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &made));
  CHECK(made != MPI_SESSION_NULL);
  if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
  return made;
}

inline void end(MPI_Session& session) {
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

inline MPI_Group group(MPI_Session session, const char* pset = "mpi://WORLD") {
  MPI_Group made = MPI_GROUP_NULL;
  OK(MPI_Group_from_session_pset(session, pset, &made));
  return made;
}

inline MPI_Comm comm(MPI_Group group, const char* tag) {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  return made;
}

inline MPI_Comm comm(MPI_Session session, const char* pset, const char* tag) {
  MPI_Group of = group(session, pset);
  MPI_Comm made = comm(of, tag);
  OK(MPI_Group_free(&of));
  return made;
}

// Everybody's rank, added up, and a message round the ring, with all data checked.
inline void use(MPI_Comm comm, int seed) {
  int rank = -1, size = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  std::vector<long> mine(100), sum(100);
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = rank + seed * static_cast<long>(i);
  OK(MPI_Allreduce(mine.data(), sum.data(), 100, MPI_LONG, MPI_SUM, comm));
  for (size_t i = 0; i < sum.size(); ++i)
    CHECK_EQ(sum[i], static_cast<long>(size) * (size - 1) / 2 + seed * static_cast<long>(i) * size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int to[2] = {rank, seed}, from[2] = {-1, -1};
  OK(MPI_Sendrecv(to, 2, MPI_INT, next, 5, from, 2, MPI_INT, previous, 5, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(from[0], previous);
  CHECK_EQ(from[1], seed);
}

}  // namespace session
