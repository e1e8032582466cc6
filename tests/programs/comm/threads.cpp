// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: threads with a communicator each in collectives, threads that share one by
// tags, and threads that wait for each other's messages.
// NOT_MPICH: its threads spin, which takes minutes on few cores.
#include <thread>

#include "check.hpp"

namespace {

constexpr int kThreads = 4;

void together(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// Seconds that a message takes between two ranks and back.
double to_and_fro(int rank, MPI_Comm comm) {
  constexpr int kTimes = 1000;
  int value = 0;
  const double began = check::seconds();
  for (int i = 0; i < kTimes; ++i) {
    if (rank == 0) OK(MPI_Send(&i, 1, MPI_INT, 1, 1, comm));
    OK(MPI_Recv(&value, 1, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(value, i);
    if (rank == 1) OK(MPI_Send(&i, 1, MPI_INT, 0, 1, comm));
  }
  return (check::seconds() - began) / kTimes;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv, MPI_THREAD_MULTIPLE);
  const int rank = world.rank(), size = world.size();
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;

  MPI_Comm own[kThreads];
  for (MPI_Comm& comm : own) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  together([&](int t) {
    for (int i = 0; i < 40; ++i) {
      int mine = rank * (t + 1) + i, sum = -1, root = rank == i % size ? i * 10 + t : -1;
      OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own[t]));
      CHECK_EQ(sum, size * (size - 1) / 2 * (t + 1) + size * i);
      OK(MPI_Bcast(&root, 1, MPI_INT, i % size, own[t]));
      CHECK_EQ(root, i * 10 + t);
      MPI_Request request;
      OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, own[t], &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK_EQ(sum, (size - 1) * (t + 1) + i);
      OK(MPI_Barrier(own[t]));
    }
  });

  together([&](int t) {
    for (int i = 0; i < 100; ++i) {
      const int length = i % 10 == 0 ? 20000 : 1 + i;
      std::vector<int> out(length, rank * 1000 + t * 100 + i), in(length, -1);
      MPI_Status status;
      OK(MPI_Sendrecv(out.data(), length, MPI_INT, to, t, in.data(), length, MPI_INT, from, t, MPI_COMM_WORLD,
                      &status));
      CHECK_EQ(status.MPI_TAG, t);
      CHECK_EQ(in.front(), from * 1000 + t * 100 + i);
      CHECK_EQ(in.back(), from * 1000 + t * 100 + i);
    }
  });

  // Within the process: half of the threads block in receives that the others' sends end.
  together([&](int t) {
    for (int i = 0; i < 200; ++i) {
      int value = i;
      if (t % 2) {
        OK(MPI_Send(&value, 1, MPI_INT, 0, t, MPI_COMM_SELF));
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 100 + t, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK_EQ(value, i + 1);
      } else {
        OK(MPI_Recv(&value, 1, MPI_INT, 0, t + 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK_EQ(value, i);
        ++value;
        OK(MPI_Send(&value, 1, MPI_INT, 0, 101 + t, MPI_COMM_SELF));
      }
    }
  });

  // A thread that waits on one communicator keeps none on another from going on.
  const bool judged = size == 2 && !std::getenv("TUTTI_CONTRACT_STRESS");  // which takes its time
  const double alone = judged ? to_and_fro(rank, own[1]) : 0;
  int awaited = -1;
  std::thread waiting(
      [&] { OK(MPI_Recv(&awaited, 1, MPI_INT, from, 0, own[0], MPI_STATUS_IGNORE)); });
  for (int i = 0; i < 1000; ++i) {
    int sum = -1, in = -1;
    OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, own[1]));
    CHECK_EQ(sum, size * i);
    OK(MPI_Sendrecv(&i, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, own[1], MPI_STATUS_IGNORE));
    CHECK_EQ(in, i);
  }
  // Nor does it make what the other does slow: of some tries one takes about as long as without it.
  for (int tries = 0, again = judged; again; ++tries) {
    again = to_and_fro(rank, own[1]) > 5 * alone + 5e-6;
    OK(MPI_Allreduce(MPI_IN_PLACE, &again, 1, MPI_INT, MPI_MAX, own[1]));
    if (again && tries == 20)
      check::fail(__FILE__, __LINE__, "beside a thread that waits messages take much longer than the " +
                                          std::to_string(alone * 1e6) + " us without");
  }
  OK(MPI_Send(&rank, 1, MPI_INT, to, 0, own[0]));
  waiting.join();
  CHECK_EQ(awaited, from);

  // One thread waits for what another started.
  MPI_Request request;
  int got = -1;
  OK(MPI_Irecv(&got, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &request));
  std::thread waiter([&] { OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); });
  OK(MPI_Send(&rank, 1, MPI_INT, to, 9, MPI_COMM_WORLD));
  waiter.join();
  CHECK_EQ(got, from);

  // Matched probes: many threads share a queue of messages, each message is taken once.
  std::vector<int> taken(kThreads);
  std::vector<MPI_Request> sends(kThreads * 25);
  for (MPI_Request& send : sends) OK(MPI_Isend(&rank, 1, MPI_INT, to, 10, MPI_COMM_WORLD, &send));
  together([&](int t) {
    for (int i = 0; i < 25; ++i) {
      MPI_Message message;
      int value = -1;
      OK(MPI_Mprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
      CHECK_EQ(value, from);
      ++taken[t];
    }
  });
  CHECK_EQ(std::accumulate(taken.begin(), taken.end(), 0), sends.size());
  OK(MPI_Waitall(sends.size(), sends.data(), MPI_STATUSES_IGNORE));
  for (MPI_Comm& comm : own) OK(MPI_Comm_free(&comm));
}
