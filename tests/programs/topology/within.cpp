// SPDX-License-Identifier: BSD-3-Clause
// `reorder` inside of a node (the standard, chapter 8): on a made-up map of two sockets with two caches each, whose ranks
// are dealt to the sockets in turns, neighbours come to share a socket and a cache, what Cart_map and Graph_map say is
// what the constructors do, and messages go where they should.
#include <cstdlib>

#include "check.hpp"

namespace {

// Of world rank r.
int socket_of(int r) {
  return r % 2;
}
int cache_of(int r) {
  return r % 4;
}

// The launcher's word, for more ranks than there are.
void make_up_a_map() {
  std::string map;
  for (int r = 0; r < 64; ++r)
    map += (r ? "," : "") + std::to_string(socket_of(r)) + "." + std::to_string(socket_of(r)) + "." +
           std::to_string(cache_of(r)) + "." + std::to_string(r);
  setenv("TUTTI_NODE_PLACES", map.c_str(), 1);
}

struct Crossing {
  int sockets = 0, caches = 0;
};
// Of a line of vertices, by the world rank of each.
Crossing of_line(const std::vector<int>& who) {
  Crossing c;
  for (size_t v = 0; v + 1 < who.size(); ++v) {
    c.sockets += socket_of(who[v]) != socket_of(who[v + 1]);
    c.caches += cache_of(who[v]) != cache_of(who[v + 1]);
  }
  return c;
}

// A line, whatever made it: rank r has the neighbours r - 1 and r + 1.
void check_line(MPI_Comm line, int world_rank, int size) {
  int rank = -1;
  OK(MPI_Comm_rank(line, &rank));
  std::vector<int> who(static_cast<size_t>(size), -1), before(who.size());
  OK(MPI_Allgather(&world_rank, 1, MPI_INT, who.data(), 1, MPI_INT, line));
  for (size_t r = 0; r < before.size(); ++r) before[r] = static_cast<int>(r);
  const Crossing now = of_line(who), then = of_line(before);
  CHECK(now.sockets <= then.sockets);
  if (now.sockets == then.sockets) CHECK(now.caches <= then.caches);
  if (size >= 3) CHECK_EQ(now.sockets, 1);
  if (size == 8) CHECK_EQ(now.caches, 3);
  for (const int step : {-1, 1}) {
    const int to = rank + step < 0 || rank + step >= size ? MPI_PROC_NULL : rank + step;
    const int from = rank - step < 0 || rank - step >= size ? MPI_PROC_NULL : rank - step;
    int got = -1;
    OK(MPI_Sendrecv(&world_rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, line, MPI_STATUS_IGNORE));
    if (from != MPI_PROC_NULL) CHECK_EQ(got, who[static_cast<size_t>(from)]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  make_up_a_map();
  check::Program program(&argc, &argv);
  const int rank = program.rank(), size = program.size(), open = 0;
  MPI_Comm line;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 1, &line));
  int place = -1, mapped = -1;
  OK(MPI_Comm_rank(line, &place));
  OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &size, &open, &mapped));
  CHECK_EQ(mapped, place);
  check_line(line, rank, size);
  OK(MPI_Comm_free(&line));

  std::vector<int> index, edges;
  for (int v = 0; v < size; ++v) {
    if (v > 0) edges.push_back(v - 1);
    if (v + 1 < size) edges.push_back(v + 1);
    index.push_back(static_cast<int>(edges.size()));
  }
  edges.push_back(0);  // never asked for
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 1, &line));
  OK(MPI_Comm_rank(line, &place));
  OK(MPI_Graph_map(MPI_COMM_WORLD, size, index.data(), edges.data(), &mapped));
  CHECK_EQ(mapped, place);
  check_line(line, rank, size);
  OK(MPI_Comm_free(&line));

  std::vector<int> peers;
  if (rank > 0) peers.push_back(rank - 1);
  if (rank + 1 < size) peers.push_back(rank + 1);
  const int degree = static_cast<int>(peers.size());
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peers.data(), MPI_UNWEIGHTED, degree, peers.data(),
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &line));
  check_line(line, rank, size);
  OK(MPI_Comm_free(&line));

  // Of a part of the ranks, whose sockets are of one kind: nothing to gain, and nothing lost.
  MPI_Comm half;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  int half_rank, half_size;
  OK(MPI_Comm_rank(half, &half_rank));
  OK(MPI_Comm_size(half, &half_size));
  OK(MPI_Cart_create(half, 1, &half_size, &open, 1, &line));
  OK(MPI_Comm_rank(line, &place));
  std::vector<int> who(static_cast<size_t>(half_size)), before(who.size());
  OK(MPI_Allgather(&rank, 1, MPI_INT, who.data(), 1, MPI_INT, line));
  for (size_t i = 0; i < before.size(); ++i) before[i] = 2 * static_cast<int>(i) + rank % 2;
  CHECK(of_line(who).caches <= of_line(before).caches);
  OK(MPI_Comm_free(&line));
  OK(MPI_Comm_free(&half));
  return 0;
}
