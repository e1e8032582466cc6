// SPDX-License-Identifier: BSD-3-Clause
// Messages do not overtake: same pair and matching receives keep their order, whatever their sizes,
// tags and wildcards, and whichever of send and receive comes first.
#include "check.hpp"

namespace {

constexpr int kMessages = 400;
size_t length(int i) {  // in ints; mixes inline, eager and rendezvous
  static const size_t lengths[] = {1, 3, 500, 1, 2000, 20, 40000, 1};
  return lengths[i % 8];
}

void send_all(int to, int seed, std::vector<std::vector<int>>& data, std::vector<MPI_Request>& requests) {
  for (int i = 0; i < kMessages; ++i) {
    data.emplace_back(length(i), seed + i);
    requests.emplace_back();
    OK(MPI_Isend(data.back().data(), data.back().size(), MPI_INT, to, i % 3, MPI_COMM_WORLD, &requests.back()));
  }
}

void verify(const std::vector<int>& in, const MPI_Status& status, int i, int seed) {
  int count = -1;
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ_IN(count, length(i), "message %d", i);
  CHECK_EQ(status.MPI_TAG, i % 3);
  CHECK_EQ_IN(in[0], seed + i, "message %d", i);
  CHECK_EQ_IN(in[count - 1], seed + i, "message %d", i);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  for (int variant = 0; variant < 4; ++variant) {
    const bool receives_first = variant & 1, any_source = variant & 2;
    const int source = any_source ? MPI_ANY_SOURCE : from;
    std::vector<std::vector<int>> out, in;
    std::vector<MPI_Request> sends, receives(kMessages);
    for (int i = 0; i < kMessages; ++i) in.emplace_back(length(6), -1);
    const auto post = [&] {
      for (int i = 0; i < kMessages; ++i) {
        const int tag = any_source || i % 2 ? MPI_ANY_TAG : i % 3;
        OK(MPI_Irecv(in[i].data(), in[i].size(), MPI_INT, source, tag, MPI_COMM_WORLD, &receives[i]));
      }
    };
    if (receives_first) post();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    send_all(to, world.rank() * 100000, out, sends);
    if (!receives_first) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      post();
    }
    std::vector<MPI_Status> statuses(kMessages);
    OK(MPI_Waitall(kMessages, receives.data(), statuses.data()));
    OK(MPI_Waitall(kMessages, sends.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < kMessages; ++i) verify(in[i], statuses[i], i, from * 100000);
  }

  // Tags taken out of order: each receive finds the first of its tag.
  std::vector<std::vector<int>> out;
  std::vector<MPI_Request> sends;
  send_all(to, world.rank() * 100000, out, sends);
  std::vector<int> in(length(6));
  for (int tag = 2; tag >= 0; --tag)
    for (int i = tag; i < kMessages; i += 3) {
      MPI_Status status;
      OK(MPI_Recv(in.data(), in.size(), MPI_INT, from, tag, MPI_COMM_WORLD, &status));
      verify(in, status, i, from * 100000);
    }
  OK(MPI_Waitall(kMessages, sends.data(), MPI_STATUSES_IGNORE));
}
