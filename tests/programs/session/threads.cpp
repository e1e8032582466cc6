// SPDX-License-Identifier: BSD-3-Clause
// Threads with a session each: they begin and end sessions at the same time, and make communicators with
// other tags of the same group at the same time, which do not meet.
#include <thread>

#include "session.hpp"

namespace {

constexpr int kThreads = 4, kRounds = 25;

void work(int thread) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Session mine = session::begin("MPI_THREAD_MULTIPLE");
    MPI_Group group = session::group(mine);
    const std::string tag = "thread " + std::to_string(thread);
    MPI_Comm comm = session::comm(group, tag.c_str());
    session::use(comm, thread * 1000 + round);
    // The communicators of all threads are others.
    int rank = -1;
    OK(MPI_Comm_rank(comm, &rank));
    int seen[2] = {rank == 0 ? thread : -1, rank == 0 ? round : -1};
    OK(MPI_Bcast(seen, 2, MPI_INT, 0, comm));
    CHECK_EQ(seen[0], thread);
    CHECK_EQ(seen[1], round);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    session::end(mine);
  }
}

// One session of all threads.
void share(MPI_Session shared, int thread) {
  MPI_Group group = session::group(shared);
  for (int round = 0; round < kRounds; ++round) {
    const std::string tag = "org.tutti.shared." + std::to_string(thread);
    MPI_Comm comm = session::comm(group, tag.c_str());
    session::use(comm, thread * 7 + round);
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Group_free(&group));
}

template <class Work>
void in_threads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& t : threads) t.join();
}

}  // namespace

int main() {
  in_threads(work);
  MPI_Session shared = session::begin("MPI_THREAD_MULTIPLE");
  in_threads([shared](int thread) { share(shared, thread); });
  session::end(shared);
  std::puts("ok");
  return 0;
}
