// SPDX-License-Identifier: BSD-3-Clause
// As many collectives outstanding on one communicator as memory allows: 100,000 barriers, 100,000
// allreduces, thousands of several kinds, completed in any order.
// NOT_MPICH: it runs out of requests. NOT_OPENMPI: its time grows with the square.
#include "check.hpp"

namespace {

void barriers(int total) {
  std::vector<MPI_Request> requests(total);
  for (MPI_Request& request : requests) OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  OK(MPI_Waitall(total, requests.data(), MPI_STATUSES_IGNORE));
}

void allreduces(const check::Program& world, int total) {
  std::vector<MPI_Request> requests(total);
  std::vector<int> in(total), out(total, -1);
  for (int i = 0; i < total; ++i) {
    in[i] = i + world.rank();
    OK(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = total - 1; i >= 0; i -= 1000) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));  // the last first
  OK(MPI_Waitall(total, requests.data(), MPI_STATUSES_IGNORE));
  const int ranks = world.size() * (world.size() - 1) / 2;
  for (int i = 0; i < total; ++i) CHECK_EQ_IN(out[i], i * world.size() + ranks, "call %d", i);
}

void kinds(const check::Program& world, int each) {
  const int size = world.size(), rank = world.rank();
  std::vector<MPI_Request> requests;
  std::vector<int> in(each), rooted(each), sums(each, -1), scans(each, -1);
  std::vector<int> gathered(each * size, -1), swapped(each * size, -1), outs(each * size);
  requests.reserve(each * 5);
  const auto next = [&] { return requests.emplace_back(), &requests.back(); };
  for (int i = 0; i < each; ++i) {
    in[i] = rank * 7 + i;
    rooted[i] = rank == i % size ? i * 3 : -1;
    for (int r = 0; r < size; ++r) outs[i * size + r] = rank * 100 + r + i;
    OK(MPI_Ibcast(&rooted[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, next()));
    OK(MPI_Iscan(&in[i], &scans[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, next()));
    OK(MPI_Iallgather(&in[i], 1, MPI_INT, &gathered[i * size], 1, MPI_INT, MPI_COMM_WORLD, next()));
    OK(MPI_Ialltoall(&outs[i * size], 1, MPI_INT, &swapped[i * size], 1, MPI_INT, MPI_COMM_WORLD, next()));
    OK(MPI_Ireduce(&in[i], &sums[i], 1, MPI_INT, MPI_MAX, i % size, MPI_COMM_WORLD, next()));
  }
  std::mt19937 order(rank);
  std::shuffle(requests.begin(), requests.end(), order);
  OK(MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < each; ++i) {
    CHECK_EQ(rooted[i], i * 3);
    CHECK_EQ(scans[i], rank * (rank + 1) / 2 * 7 + (rank + 1) * i);
    if (rank == i % size) CHECK_EQ(sums[i], (size - 1) * 7 + i);
    for (int r = 0; r < size; ++r) {
      CHECK_EQ(gathered[i * size + r], r * 7 + i);
      CHECK_EQ(swapped[i * size + r], r * 100 + rank + i);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  // What a rank holds is the same everywhere; what the machine moves grows with the ranks.
  const int total = world.size() <= 3 ? 300000 : 25000;
  barriers(total);
  allreduces(world, total);
  kinds(world, world.size() <= 4 ? 10000 : 2000);
}
