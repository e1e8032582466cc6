// SPDX-License-Identifier: BSD-3-Clause
// Counts the messages that a program of a test has the library send, by MPI_T: those of windows, too.
#pragma once

#include "check.hpp"

// To each rank of a communicator, so far.
class Messages {
 public:
  explicit Messages(MPI_Comm comm = MPI_COMM_WORLD) {
    int level, index = -1, count = 0, size = 0;
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&session_));
    OK(MPI_T_pvar_get_index("messages.sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session_, index, &comm, &sent_, &count));
    CHECK_EQ(count, size);
    ranks_ = static_cast<size_t>(size);
    OK(MPI_T_pvar_start(session_, sent_));
  }
  ~Messages() {
    MPI_T_pvar_handle_free(session_, &sent_);
    MPI_T_pvar_session_free(&session_);
    MPI_T_finalize();
  }
  Messages(const Messages&) = delete;

  // To each rank, by what `call` does.
  template <class Call>
  std::vector<long> by(Call&& call) const {
    const std::vector<unsigned long> before = now();
    call();
    const std::vector<unsigned long> after = now();
    std::vector<long> sent;
    for (size_t r = 0; r < after.size(); ++r) sent.push_back(static_cast<long>(after[r] - before[r]));
    return sent;
  }

 private:
  std::vector<unsigned long> now() const {
    std::vector<unsigned long> counts(ranks_);
    OK(MPI_T_pvar_read(session_, sent_, counts.data()));
    return counts;
  }

  size_t ranks_ = 0;
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle sent_ = MPI_T_PVAR_HANDLE_NULL;
};
