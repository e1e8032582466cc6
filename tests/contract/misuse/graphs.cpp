// SPDX-License-Identifier: BSD-3-Clause
#include "misuse/misuse.hpp"

namespace misuse {

// Edges that only one of their ends knows of: the graph is refused under strict, otherwise neighbourhood collectives over
// it alone are. The handler of MPI_COMM_WORLD returns.
void graphs(Judge& judge, bool strict, int rank, int size) {
  const Text kind = "edges that one end knows";
  if (size < 2) return;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size, twice[] = {before, before};
  const auto adjacent = [&](const Text& name, int indegree, const int* sources, int outdegree, int wanted,
                            const Text& words) {
    MPI_Comm made = MPI_COMM_NULL;
    const int code = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, indegree, sources, MPI_UNWEIGHTED, outdegree, &next,
                                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    if (wanted && strict)
      judge.wrong(kind, name, code, wanted, words);
    else
      judge.right(kind, name, code);
    if (made == MPI_COMM_NULL) return;
    int in_graph, out_graph, weighted;
    judge.right(kind, name, MPI_Dist_graph_neighbors_count(made, &in_graph, &out_graph, &weighted));
    CHECK(in_graph == indegree && out_graph == outdegree && !weighted);
    OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    MPI_Comm copy;
    OK(MPI_Comm_dup(made, &copy));
    MPI_Request request = MPI_REQUEST_NULL;
    const auto exchanged = [&](const Text& call, int got) {
      if (wanted)
        judge.wrong(kind, name + ", " + call, got, MPI_ERR_TOPOLOGY, words);
      else
        judge.right(kind, name + ", " + call, got);
    };
    exchanged("MPI_Neighbor_allgather", MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, made));
    exchanged("MPI_Neighbor_alltoall of a duplicate", MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, copy));
    exchanged("MPI_Ineighbor_alltoall", MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, made, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&made));
  };
  const Text me = std::to_string(rank);
  adjacent("a ring", 1, &before, 1, 0, "");
  adjacent("nobody receives", 0, nullptr, 1, MPI_ERR_TOPOLOGY, "");
  adjacent("nobody sends", 1, &before, 0, MPI_ERR_TOPOLOGY, ", which does not send to it");
  adjacent("received twice", 2, twice, 1, MPI_ERR_TOPOLOGY, "edges");
  adjacent("one rank alone is wrong", 1, &before, rank == 0 ? 0 : 1, MPI_ERR_TOPOLOGY, "");

  // A ring in one direction is a graph, and none whose ranks are mutual neighbours; with two ranks it is both.
  std::vector<int> index, edges;
  for (int r = 0; r < size; ++r) {
    index.push_back(r + 1);
    edges.push_back((r + 1) % size);
  }
  MPI_Comm graph;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &graph));
  OK(MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN));
  const int code = MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, graph);
  if (size == 2)
    judge.right(kind, "MPI_Graph_create", code);
  else
    judge.wrong(kind, "MPI_Graph_create", code, MPI_ERR_TOPOLOGY, "rank " + me + " has other edges to rank ");
  OK(MPI_Comm_free(&graph));
}

}  // namespace misuse
