// SPDX-License-Identifier: BSD-3-Clause
// Many at once: 100,000 messages that nobody has asked for yet, 50,000 receives and sends pending,
// and receives posted in the opposite order of tags.
#include "check.hpp"

namespace {

// Ranks in pairs (2k -> 2k+1); the last of an odd number talks to itself.
struct Pair {
  int to = MPI_PROC_NULL, from = MPI_PROC_NULL;
};
Pair pair_of(int rank, int size) {
  if (rank % 2 == 0 && rank + 1 == size) return {rank, rank};
  return rank % 2 ? Pair{MPI_PROC_NULL, rank - 1} : Pair{rank + 1, MPI_PROC_NULL};
}

void unexpected(const Pair& pair, int total) {
  // In batches with a synchronous message: the receiver looks only after the last was sent.
  if (pair.to != MPI_PROC_NULL) {
    std::vector<MPI_Request> requests(total);
    std::vector<int> out(total);
    for (int i = 0; i < total; ++i) {
      out[i] = i * 3;
      OK(MPI_Isend(&out[i], 1, MPI_INT, pair.to, 1, MPI_COMM_WORLD, &requests[i]));
    }
    if (pair.from == MPI_PROC_NULL) {
      OK(MPI_Waitall(total, requests.data(), MPI_STATUSES_IGNORE));
      return;
    }
    for (int i = 0; i < total; ++i) {
      int got = -1;
      OK(MPI_Recv(&got, 1, MPI_INT, pair.from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ(got, i * 3);
    }
    OK(MPI_Waitall(total, requests.data(), MPI_STATUSES_IGNORE));
  } else if (pair.from != MPI_PROC_NULL) {
    for (int i = 0; i < total; ++i) {
      int got = -1;
      OK(MPI_Recv(&got, 1, MPI_INT, pair.from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQ_IN(got, i * 3, "message %d", i);
    }
  }
}

void outstanding(const check::Program& world, int total) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  std::vector<MPI_Request> requests(2 * total);
  std::vector<int> out(total), in(total, -1);
  for (int i = 0; i < total; ++i) OK(MPI_Irecv(&in[i], 1, MPI_INT, from, i % 7, MPI_COMM_WORLD, &requests[i]));
  for (int i = 0; i < total; ++i) {
    out[i] = world.rank() + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, to, i % 7, MPI_COMM_WORLD, &requests[total + i]));
  }
  OK(MPI_Waitall(2 * total, requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < total; ++i) CHECK_EQ(in[i], from + i);
}

// Every receive is found at the far end of the other list.
void opposite(const check::Program& world, int total) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  std::vector<MPI_Request> requests(2 * total);
  std::vector<int> out(total), in(total, -1);
  for (int i = 0; i < total; ++i) {
    out[i] = world.rank() + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = total - 1; i >= 0; --i) OK(MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[total + i]));
  OK(MPI_Waitall(2 * total, requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < total; ++i) CHECK_EQ(in[i], from + i);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int pairs = (world.size() + 1) / 2;
  unexpected(pair_of(world.rank(), world.size()), 100000 / pairs);
  outstanding(world, 50000 / world.size());
  opposite(world, 2000);
}
