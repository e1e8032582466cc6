// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dist_graph_create (the standard, section 8.5.4) costs by the edges and the logarithm of the ranks: a rank has
// messages with a few others, whoever gives the edges, and however many ranks there are; and the graph is what was given.
#include <algorithm>

#include "../rma/messages.hpp"

namespace {

// Edges of a ring, each given by a rank that it does not join, if there is one, and all by rank 0.
void make(const check::Program& mpi, bool all_by_one, MPI_Comm* ring) {
  const int size = mpi.size();
  std::vector<int> sources, degrees, destinations;
  for (int rank = 0; rank < size; ++rank) {
    const int gives = all_by_one ? 0 : (rank + size / 2) % size;
    if (gives != mpi.rank()) continue;
    sources.push_back(rank), degrees.push_back(1), destinations.push_back((rank + 1) % size);
  }
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), degrees.data(),
                           destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, ring));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  int rounds = 0;
  while (1 << rounds < mpi.size()) ++rounds;
  const Messages messages;
  for (const bool all_by_one : {true, false}) {
    MPI_Comm ring;
    const std::vector<long> sent = messages.by([&] { make(mpi, all_by_one, &ring); });
    const auto told = std::ranges::count_if(sent, [](long n) { return n > 0; });
    CHECK_EQ_IN(told <= 2 * rounds, true, "messages with %d ranks of %d", static_cast<int>(told), mpi.size());
    int in = 0, out = 0, is_weighted = 1;
    OK(MPI_Dist_graph_neighbors_count(ring, &in, &out, &is_weighted));
    CHECK(in == 1 && out == 1 && !is_weighted);
    int source = -1, destination = -1;
    OK(MPI_Dist_graph_neighbors(ring, 1, &source, MPI_UNWEIGHTED, 1, &destination, MPI_UNWEIGHTED));
    CHECK_EQ(source, (mpi.rank() + mpi.size() - 1) % mpi.size());
    CHECK_EQ(destination, (mpi.rank() + 1) % mpi.size());
    OK(MPI_Comm_free(&ring));
  }
}
