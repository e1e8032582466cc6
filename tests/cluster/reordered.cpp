// SPDX-License-Identifier: BSD-3-Clause
// Topologies whose ranks may be others than they were: neighbours share a node more often than before, the mapping calls
// agree with the constructors, and what neighbours send each other is right.
#include <string>

#include "check.hpp"

namespace {

int rank, size;
std::vector<std::string> node_of;  // by rank of MPI_COMM_WORLD

int world_rank(MPI_Comm comm, int of) {
  MPI_Group here, all;
  OK(MPI_Comm_group(comm, &here));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  int there = -1;
  OK(MPI_Group_translate_ranks(here, 1, &of, all, &there));
  OK(MPI_Group_free(&here));
  OK(MPI_Group_free(&all));
  return there;
}

// How many of all ranks' neighbours, given by rank in comm, are on another node.
int apart(MPI_Comm comm, const std::vector<int>& neighbours) {
  int mine = 0, all = 0;
  for (const int neighbour : neighbours)
    if (neighbour >= 0)
      mine += node_of[static_cast<size_t>(world_rank(comm, neighbour))] != node_of[static_cast<size_t>(rank)];
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm));
  return all;
}

std::vector<int> cart_neighbours(MPI_Comm grid, int ndims) {
  std::vector<int> both(static_cast<size_t>(2 * ndims));
  for (int d = 0; d < ndims; ++d)
    OK(MPI_Cart_shift(grid, d, 1, &both[static_cast<size_t>(2 * d)], &both[static_cast<size_t>(2 * d + 1)]));
  return both;
}

// Each neighbour tells its rank.
void exchange(MPI_Comm comm, const std::vector<int>& sources) {
  int me;
  OK(MPI_Comm_rank(comm, &me));
  std::vector<int> told(sources.size(), -5);
  OK(MPI_Neighbor_allgather(&me, 1, MPI_INT, told.data(), 1, MPI_INT, comm));
  for (size_t i = 0; i < sources.size(); ++i) CHECK_EQ(told[i], sources[i] >= 0 ? sources[i] : -5);
}

int grid(int reorder) {
  const int dims[] = {4, 3}, periods[] = {0, 1};
  MPI_Comm made;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &made));
  int me, mapped = -1;
  OK(MPI_Comm_rank(made, &me));
  if (reorder) {
    OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    CHECK_EQ(mapped, me);
  } else {
    CHECK_EQ(rank, me);
  }
  const std::vector<int> neighbours = cart_neighbours(made, 2);
  exchange(made, neighbours);
  const int crosses = apart(made, neighbours);
  OK(MPI_Comm_free(&made));
  return crosses;
}

// Rank r of the graph is joined to r + 4 and r + 8: four triangles.
std::vector<int> triangle(int of) {
  return {(of + 4) % size, (of + 8) % size};
}

int graph(int reorder) {
  std::vector<int> index, edges;
  for (int r = 0; r < size; ++r) {
    for (const int to : triangle(r)) edges.push_back(to);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm made;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), reorder, &made));
  int me, mapped = -1;
  OK(MPI_Comm_rank(made, &me));
  if (reorder) {
    OK(MPI_Graph_map(MPI_COMM_WORLD, size, index.data(), edges.data(), &mapped));
    CHECK_EQ(mapped, me);
  }
  exchange(made, triangle(me));
  const int crosses = apart(made, triangle(me));
  OK(MPI_Comm_free(&made));
  return crosses;
}

int distributed(int reorder, bool adjacent) {
  const std::vector<int> mine = triangle(rank);
  MPI_Comm made;
  const int degree = 2, weights[] = {2, 3};
  if (adjacent)
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, mine.data(), weights, 2, mine.data(), weights, MPI_INFO_NULL,
                                      reorder, &made));
  else
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, mine.data(), weights, MPI_INFO_NULL, reorder, &made));
  int me;
  OK(MPI_Comm_rank(made, &me));
  std::vector<int> sources(2), destinations(2), in(2), out(2);
  OK(MPI_Dist_graph_neighbors(made, 2, sources.data(), in.data(), 2, destinations.data(), out.data()));
  std::vector<int> expected = triangle(me);
  CHECK_EQ(destinations[0], expected[0]);
  CHECK_EQ(destinations[1], expected[1]);
  CHECK_EQ(out[0], 2);
  CHECK_EQ(out[1], 3);
  std::sort(sources.begin(), sources.end());
  std::sort(expected.begin(), expected.end());
  CHECK_EQ(sources[0], expected[0]);
  CHECK_EQ(sources[1], expected[1]);
  const int crosses = apart(made, destinations);
  OK(MPI_Comm_free(&made));
  return crosses;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  rank = mpi.rank();
  size = mpi.size();
  CHECK_EQ(size, 12);
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length;
  OK(MPI_Get_processor_name(name, &length));
  std::vector<char> names(static_cast<size_t>(size) * sizeof name);
  OK(MPI_Allgather(name, sizeof name, MPI_CHAR, names.data(), sizeof name, MPI_CHAR, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) node_of.emplace_back(&names[static_cast<size_t>(r) * sizeof name]);
  const int kinds[4][2] = {{grid(0), grid(1)},
                           {graph(0), graph(1)},
                           {distributed(0, true), distributed(1, true)},
                           {distributed(0, false), distributed(1, false)}};
  const char* const called[] = {"grid", "graph", "adjacent", "distributed"};
  if (rank == 0)
    for (int i = 0; i < 4; ++i) std::printf("%s: %d before, %d after\n", called[i], kinds[i][0], kinds[i][1]);
}
