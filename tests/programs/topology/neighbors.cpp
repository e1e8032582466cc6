// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives in all forms: every block says who sent it along which edge, and each rank
// knows what must arrive. Grids with periodic dimensions of 1 and 2 ranks, where one rank is a neighbour
// several times or its own, and multigraphs. Other MPIs fail some of them: peers.sh tells.
#include <functional>

#include "check.hpp"

namespace {

// One rank's edges: whom block k goes to, and where block k comes from, with the edge's number there.
struct Expected {
  struct Origin {
    int rank, edge;
  };
  std::vector<int> targets;     // MPI_PROC_NULL: nobody
  std::vector<Origin> origins;  // the same
};

int value_of(int rank, int edge, int i) {
  return rank * 10000 + edge * 100 + i;
}
constexpr int kOldValue = -5, kCount = 3;

// What block k of the output must hold; `along_edges`: what is sent differs from edge to edge.
int wanted(const Expected& expected, size_t k, int i, bool along_edges) {
  const auto& [rank, edge] = expected.origins[k];
  return rank == MPI_PROC_NULL ? kOldValue : value_of(rank, along_edges ? edge : 0, i);
}

// Starts and completes a call in one of three forms.
enum class Form { blocking, nonblocking, persistent };
template <class Blocking, class Nonblocking, class Init>
void call(Form form, Blocking blocking, Nonblocking nonblocking, Init init, const std::function<void()>& between) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (form) {
    case Form::blocking:
      OK(blocking());
      return;
    case Form::nonblocking:
      OK(nonblocking(&request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return;
    case Form::persistent:
      OK(init(&request));
      for (int round = 0; round < 3; ++round) {
        if (round > 0) between();
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
      OK(MPI_Request_free(&request));
  }
}

void everything(MPI_Comm comm, const Expected& expected, Form form) {
  int rank;
  OK(MPI_Comm_rank(comm, &rank));
  const size_t out = expected.targets.size(), in = expected.origins.size();
  std::vector<int> send(out * kCount + 1), receive(in * kCount + 1, kOldValue);
  for (size_t k = 0; k < out; ++k)
    for (int i = 0; i < kCount; ++i) send[k * kCount + i] = value_of(rank, static_cast<int>(k), i);
  const std::function<void()> forget = [&] { std::fill(receive.begin(), receive.end(), kOldValue); };
  const auto judge = [&](const char* what, bool along_edges, auto&& at) {
    for (size_t k = 0; k < in; ++k)
      for (int i = 0; i < kCount; ++i)
        CHECK_EQ_IN(receive[at(k) + i], wanted(expected, k, i, along_edges), "%s, block %zu, element %d", what, k, i);
    CHECK_EQ(receive.back(), kOldValue);
    forget();
  };
  const auto dense = [](size_t k) { return k * kCount; };
  const auto backwards = [in](size_t k) { return (in - 1 - k) * kCount; };
  int mine[kCount];
  for (int i = 0; i < kCount; ++i) mine[i] = value_of(rank, 0, i);

  call(
      form, [&] { return MPI_Neighbor_allgather(mine, kCount, MPI_INT, receive.data(), kCount, MPI_INT, comm); },
      [&](MPI_Request* r) {
        return MPI_Ineighbor_allgather(mine, kCount, MPI_INT, receive.data(), kCount, MPI_INT, comm, r);
      },
      [&](MPI_Request* r) {
        return MPI_Neighbor_allgather_init(mine, kCount, MPI_INT, receive.data(), kCount, MPI_INT, comm, MPI_INFO_NULL,
                                           r);
      },
      forget);
  judge("allgather", false, dense);
  call(
      form, [&] { return MPI_Neighbor_alltoall(send.data(), kCount, MPI_INT, receive.data(), kCount, MPI_INT, comm); },
      [&](MPI_Request* r) {
        return MPI_Ineighbor_alltoall(send.data(), kCount, MPI_INT, receive.data(), kCount, MPI_INT, comm, r);
      },
      [&](MPI_Request* r) {
        return MPI_Neighbor_alltoall_init(send.data(), kCount, MPI_INT, receive.data(), kCount, MPI_INT, comm,
                                          MPI_INFO_NULL, r);
      },
      forget);
  judge("alltoall", true, dense);

  // The v and w forms: blocks lie in the other order in the output.
  std::vector<int> send_counts(out, kCount), send_at(out), receive_counts(in, kCount), receive_at(in);
  std::vector<MPI_Aint> send_bytes(out), receive_bytes(in);
  std::vector<MPI_Datatype> send_types(out, MPI_INT), receive_types(in, MPI_INT);
  for (size_t k = 0; k < out; ++k)
    send_at[k] = static_cast<int>(k) * kCount, send_bytes[k] = send_at[k] * static_cast<MPI_Aint>(sizeof(int));
  for (size_t k = 0; k < in; ++k)
    receive_at[k] = static_cast<int>(backwards(k)),
    receive_bytes[k] = receive_at[k] * static_cast<MPI_Aint>(sizeof(int));
  call(
      form,
      [&] {
        return MPI_Neighbor_allgatherv(mine, kCount, MPI_INT, receive.data(), receive_counts.data(), receive_at.data(),
                                       MPI_INT, comm);
      },
      [&](MPI_Request* r) {
        return MPI_Ineighbor_allgatherv(mine, kCount, MPI_INT, receive.data(), receive_counts.data(), receive_at.data(),
                                        MPI_INT, comm, r);
      },
      [&](MPI_Request* r) {
        return MPI_Neighbor_allgatherv_init(mine, kCount, MPI_INT, receive.data(), receive_counts.data(),
                                            receive_at.data(), MPI_INT, comm, MPI_INFO_NULL, r);
      },
      forget);
  judge("allgatherv", false, backwards);
  call(
      form,
      [&] {
        return MPI_Neighbor_alltoallv(send.data(), send_counts.data(), send_at.data(), MPI_INT, receive.data(),
                                      receive_counts.data(), receive_at.data(), MPI_INT, comm);
      },
      [&](MPI_Request* r) {
        return MPI_Ineighbor_alltoallv(send.data(), send_counts.data(), send_at.data(), MPI_INT, receive.data(),
                                       receive_counts.data(), receive_at.data(), MPI_INT, comm, r);
      },
      [&](MPI_Request* r) {
        return MPI_Neighbor_alltoallv_init(send.data(), send_counts.data(), send_at.data(), MPI_INT, receive.data(),
                                           receive_counts.data(), receive_at.data(), MPI_INT, comm, MPI_INFO_NULL, r);
      },
      forget);
  judge("alltoallv", true, backwards);
  call(
      form,
      [&] {
        return MPI_Neighbor_alltoallw(send.data(), send_counts.data(), send_bytes.data(), send_types.data(),
                                      receive.data(), receive_counts.data(), receive_bytes.data(), receive_types.data(),
                                      comm);
      },
      [&](MPI_Request* r) {
        return MPI_Ineighbor_alltoallw(send.data(), send_counts.data(), send_bytes.data(), send_types.data(),
                                       receive.data(), receive_counts.data(), receive_bytes.data(),
                                       receive_types.data(), comm, r);
      },
      [&](MPI_Request* r) {
        return MPI_Neighbor_alltoallw_init(send.data(), send_counts.data(), send_bytes.data(), send_types.data(),
                                           receive.data(), receive_counts.data(), receive_bytes.data(),
                                           receive_types.data(), comm, MPI_INFO_NULL, r);
      },
      forget);
  judge("alltoallw", true, backwards);
}

void all_forms(MPI_Comm comm, const Expected& expected) {
  for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent}) everything(comm, expected, form);
  everything(comm, expected, Form::blocking);  // calls that come again may go another way
}

// Blocks of a grid meet by their direction: what goes down arrives as what comes from above.
void grid(const check::Program& world, std::vector<int> dims, std::vector<int> periods) {
  const int n = static_cast<int>(dims.size());
  if (std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<int>()) > world.size()) return;
  MPI_Comm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, n, dims.data(), periods.data(), 0, &comm));
  if (comm == MPI_COMM_NULL) return;
  Expected expected;
  for (int d = 0; d < n; ++d) {
    int below, above;
    OK(MPI_Cart_shift(comm, d, 1, &below, &above));
    expected.targets.insert(expected.targets.end(), {below, above});
    // From below comes what that rank sends to its upper side.
    expected.origins.push_back({below, 2 * d + 1});
    expected.origins.push_back({above, 2 * d});
  }
  all_forms(comm, expected);
  OK(MPI_Comm_free(&comm));
}

// Rank i sends along 1 + i % 3 edges, to i + k * step.
void multigraph(const check::Program& world, int step) {
  const int size = world.size(), rank = world.rank();
  const auto degree = [](int of) { return 1 + of % 3; };
  Expected expected;
  std::vector<int> sources, targets;
  for (int k = 0; k < degree(rank); ++k) targets.push_back((rank + k * step) % size);
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < degree(i); ++k)
      if ((i + k * step) % size == rank) sources.push_back(i), expected.origins.push_back({i, k});
  expected.targets = targets;
  MPI_Comm comm;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                    static_cast<int>(targets.size()), targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                    &comm));
  all_forms(comm, expected);
  OK(MPI_Comm_free(&comm));
}

// Everybody with everybody, twice.
void complete_graph(const check::Program& world) {
  const int size = world.size();
  std::vector<int> index, edges;
  for (int i = 0; i < size; ++i) {
    for (int k = 0; k < 2 * size; ++k) edges.push_back((i + k) % size);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index.data(), edges.data(), 0, &comm));
  Expected expected;
  for (int k = 0; k < 2 * size; ++k) {
    const int peer = (world.rank() + k) % size;
    expected.targets.push_back(peer);
    // The first edge to a rank meets the first one from it, the second one the second.
    expected.origins.push_back({peer, (size - k % size) % size + (k >= size ? size : 0)});
  }
  all_forms(comm, expected);
  OK(MPI_Comm_free(&comm));
}

// A long halo of a matrix: columns, which have gaps, received as rows.
void halo(const check::Program& world) {
  const int size = world.size(), periods[1] = {1}, n = 300;
  MPI_Comm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &comm));
  std::vector<double> matrix(n * n), rows(2 * n, -1);
  for (int i = 0; i < n * n; ++i) matrix[i] = world.rank() * 1e6 + i;
  MPI_Datatype column;
  OK(MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column));
  OK(MPI_Type_commit(&column));
  const int ones[2] = {1, 1}, lengths[2] = {n, n};
  const MPI_Aint from[2] = {0, (n - 1) * static_cast<MPI_Aint>(sizeof(double))},
                 to[2] = {0, n * static_cast<MPI_Aint>(sizeof(double))};
  const MPI_Datatype columns[2] = {column, column}, doubles[2] = {MPI_DOUBLE, MPI_DOUBLE};
  OK(MPI_Neighbor_alltoallw(matrix.data(), ones, from, columns, rows.data(), lengths, to, doubles, comm));
  const int left = (world.rank() + size - 1) % size, right = (world.rank() + 1) % size;
  for (int i = 0; i < n; ++i) {
    CHECK_EQ(rows[i], left * 1e6 + i * n + n - 1);
    CHECK_EQ(rows[n + i], right * 1e6 + i * n);
  }
  OK(MPI_Type_free(&column));
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size();
  for (const int periodic : {0, 1}) {
    grid(world, {size}, {periodic});
    grid(world, {1}, {periodic});
    grid(world, {2}, {periodic});
    grid(world, {1, 1}, {periodic, 1});
    grid(world, {1, size}, {1, periodic});
    grid(world, {2, 2}, {periodic, 1});
    grid(world, {2, size / 2 > 0 ? size / 2 : 1}, {1, periodic});
    grid(world, {2, 2, 2}, {1, 1, periodic});
    grid(world, {}, {});
  }
  for (const int step : {0, 1, 2}) multigraph(world, step);
  complete_graph(world);
  halo(world);
}
