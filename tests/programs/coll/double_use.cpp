// SPDX-License-Identifier: BSD-3-Clause
// Calls that name one buffer twice where that is legal, again and again: where one of the two means nothing on
// this rank, where nothing lies in them, and where the places in it are apart. Each kind ten times in a row, two
// kinds in turn, and on several communicators in turn; in each form, since executions of likes are kept.
#include "check.hpp"

namespace {

enum class Form { blocking, nonblocking, persistent };
// What stands for the two buffers of a call in which nothing lies.
enum class Empty { same, none, first, second };

struct Call {
  MPI_Comm comm;
  int n, me, root;
  Form form;
  Empty empty;
  int round;
  int value(int rank, int i) const { return rank * 1000 + i * 10 + round; }
  int sum(int ranks, int i) const {
    int all = 0;
    for (int r = 0; r < ranks; ++r) all += value(r, i);
    return all;
  }
  bool at_root() const { return me == root; }
};

#ifdef OTHER_MPI
#define PERSISTENT(Name, ...) (void)0
#else
#define PERSISTENT(Name, ...)                                   \
  OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
  OK(MPI_Start(&request_));                                     \
  OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                   \
  OK(MPI_Request_free(&request_))
#endif

#define CALL(c, Name, name, ...)                  \
  do {                                            \
    MPI_Request request_;                         \
    if ((c).form == Form::blocking) {             \
      OK(MPI_##Name(__VA_ARGS__));                \
    } else if ((c).form == Form::nonblocking) {   \
      OK(MPI_I##name(__VA_ARGS__, &request_));    \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE)); \
    } else {                                      \
      PERSISTENT(Name, __VA_ARGS__);              \
    }                                             \
  } while (false)

constexpr int kBlock = 3;

// `blocks` of them; what this rank gives stands first.
std::vector<int> mine(const Call& c, int blocks) {
  std::vector<int> x(static_cast<size_t>(blocks * kBlock));
  for (size_t i = 0; i < x.size(); ++i) x[i] = c.value(c.me, static_cast<int>(i));
  return x;
}
// In block `at` of x the i-th element is that of `rank` from `from` on.
void is_block(const Call& c, const std::vector<int>& x, int at, int rank, int from, const char* what) {
  for (int i = 0; i < kBlock; ++i)
    CHECK_EQ_IN(x[static_cast<size_t>(at * kBlock + i)], c.value(rank, from + i), "%s, round %d, block %d", what,
                c.round, at);
}
std::vector<int> equal(int n) {
  return std::vector<int>(static_cast<size_t>(n), kBlock);
}
std::vector<int> places(int n, int first, int unit = 1) {
  std::vector<int> displs;
  for (int r = 0; r < n; ++r) displs.push_back((first + r) * kBlock * unit);
  return displs;
}

// ---- one of two buffers means nothing on all ranks but the root

void reduce(const Call& c) {
  std::vector<int> x = mine(c, 1);
  CALL(c, Reduce, reduce, c.at_root() ? MPI_IN_PLACE : x.data(), x.data(), kBlock, MPI_INT, MPI_SUM, c.root, c.comm);
  for (int i = 0; i < kBlock; ++i)
    CHECK_EQ_IN(x[static_cast<size_t>(i)], c.at_root() ? c.sum(c.n, i) : c.value(c.me, i), "reduce, round %d", c.round);
}
void gather(const Call& c) {
  std::vector<int> x = mine(c, c.n);
  if (c.at_root()) std::rotate(x.begin(), x.end() - c.me * kBlock, x.end());  // the own block is in its place
  CALL(c, Gather, gather, c.at_root() ? MPI_IN_PLACE : x.data(), kBlock, MPI_INT, x.data(), kBlock, MPI_INT, c.root,
       c.comm);
  for (int r = 0; c.at_root() && r < c.n; ++r) is_block(c, x, r, r, 0, "gather");
}
void gatherv(const Call& c) {
  std::vector<int> x = mine(c, c.n);
  if (c.at_root()) std::rotate(x.begin(), x.end() - c.me * kBlock, x.end());
  const std::vector<int> counts = equal(c.n), displs = places(c.n, 0);
  CALL(c, Gatherv, gatherv, c.at_root() ? MPI_IN_PLACE : x.data(), kBlock, MPI_INT, x.data(), counts.data(),
       displs.data(), MPI_INT, c.root, c.comm);
  for (int r = 0; c.at_root() && r < c.n; ++r) is_block(c, x, r, r, 0, "gatherv");
}
void scatter(const Call& c) {
  std::vector<int> x = mine(c, c.n);
  CALL(c, Scatter, scatter, x.data(), kBlock, MPI_INT, c.at_root() ? MPI_IN_PLACE : x.data(), kBlock, MPI_INT, c.root,
       c.comm);
  is_block(c, x, c.at_root() ? c.me : 0, c.root, c.me * kBlock, "scatter");
}
void scatterv(const Call& c) {
  std::vector<int> x = mine(c, c.n);
  const std::vector<int> counts = equal(c.n), displs = places(c.n, 0);
  CALL(c, Scatterv, scatterv, x.data(), counts.data(), displs.data(), MPI_INT, c.at_root() ? MPI_IN_PLACE : x.data(),
       kBlock, MPI_INT, c.root, c.comm);
  is_block(c, x, c.at_root() ? c.me : 0, c.root, c.me * kBlock, "scatterv");
}
// Rank 0 gets nothing.
void exscan(const Call& c) {
  std::vector<int> x = mine(c, 1), result(kBlock);
  int* const into = c.me == 0 ? x.data() : result.data();
  CALL(c, Exscan, exscan, x.data(), into, kBlock, MPI_INT, MPI_SUM, c.comm);
  for (int i = 0; c.me > 0 && i < kBlock; ++i) CHECK_EQ_IN(into[i], c.sum(c.me, i), "exscan, round %d", c.round);
}

// ---- one buffer, with what is sent and what comes in places of their own

void gatherv_apart(const Call& c) {
  std::vector<int> x = mine(c, c.n + 1);
  const std::vector<int> counts = equal(c.n), displs = places(c.n, 1);
  CALL(c, Gatherv, gatherv, x.data(), kBlock, MPI_INT, x.data(), counts.data(), displs.data(), MPI_INT, c.root, c.comm);
  for (int r = 0; c.at_root() && r < c.n; ++r) is_block(c, x, r + 1, r, 0, "gatherv");
}
void scatterv_apart(const Call& c) {
  std::vector<int> x = mine(c, c.n + 1);
  const std::vector<int> counts = equal(c.n), displs = places(c.n, 1);
  CALL(c, Scatterv, scatterv, x.data(), counts.data(), displs.data(), MPI_INT, x.data(), kBlock, MPI_INT, c.root,
       c.comm);
  is_block(c, x, 0, c.root, (c.me + 1) * kBlock, "scatterv");
}
void allgatherv_apart(const Call& c) {
  std::vector<int> x = mine(c, c.n + 1);
  const std::vector<int> counts = equal(c.n), displs = places(c.n, 1);
  CALL(c, Allgatherv, allgatherv, x.data(), kBlock, MPI_INT, x.data(), counts.data(), displs.data(), MPI_INT, c.comm);
  for (int r = 0; r < c.n; ++r) is_block(c, x, r + 1, r, 0, "allgatherv");
}
void alltoallv_apart(const Call& c) {
  std::vector<int> x = mine(c, 2 * c.n);
  const std::vector<int> counts = equal(c.n), from = places(c.n, 0), to = places(c.n, c.n);
  CALL(c, Alltoallv, alltoallv, x.data(), counts.data(), from.data(), MPI_INT, x.data(), counts.data(), to.data(),
       MPI_INT, c.comm);
  for (int r = 0; r < c.n; ++r) is_block(c, x, c.n + r, r, c.me * kBlock, "alltoallv");
}
void alltoallw_apart(const Call& c) {
  std::vector<int> x = mine(c, 2 * c.n);
  const std::vector<int> counts = equal(c.n), from = places(c.n, 0, sizeof(int)), to = places(c.n, c.n, sizeof(int));
  const std::vector<MPI_Datatype> types(static_cast<size_t>(c.n), MPI_INT);
  CALL(c, Alltoallw, alltoallw, x.data(), counts.data(), from.data(), types.data(), x.data(), counts.data(), to.data(),
       types.data(), c.comm);
  for (int r = 0; r < c.n; ++r) is_block(c, x, c.n + r, r, c.me * kBlock, "alltoallw");
}

// ---- nothing lies in the buffers

// Two buffers that are one, or none at all: nobody may touch them.
struct Nothing {
  explicit Nothing(const Call& c)
      : x(1, 7),
        in(c.empty == Empty::none || c.empty == Empty::second ? nullptr : x.data()),
        out(c.empty == Empty::none || c.empty == Empty::first ? nullptr : x.data()),
        zeros(static_cast<size_t>(std::max(c.n, 2))),
        types(zeros.size(), MPI_INT) {}
  ~Nothing() { CHECK_EQ(x[0], 7); }
  std::vector<int> x;
  int *in, *out;
  std::vector<int> zeros;
  std::vector<MPI_Datatype> types;
  const int* none() const { return zeros.data(); }
};

void bcast_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Bcast, bcast, e.out, 0, MPI_INT, c.root, c.comm);
}
void gather_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Gather, gather, e.in, 0, MPI_INT, e.out, 0, MPI_INT, c.root, c.comm);
}
void gatherv_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Gatherv, gatherv, e.in, 0, MPI_INT, e.out, e.none(), e.none(), MPI_INT, c.root, c.comm);
}
void scatter_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Scatter, scatter, e.in, 0, MPI_INT, e.out, 0, MPI_INT, c.root, c.comm);
}
void scatterv_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Scatterv, scatterv, e.in, e.none(), e.none(), MPI_INT, e.out, 0, MPI_INT, c.root, c.comm);
}
void allgather_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Allgather, allgather, e.in, 0, MPI_INT, e.out, 0, MPI_INT, c.comm);
}
void allgatherv_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Allgatherv, allgatherv, e.in, 0, MPI_INT, e.out, e.none(), e.none(), MPI_INT, c.comm);
}
void alltoall_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Alltoall, alltoall, e.in, 0, MPI_INT, e.out, 0, MPI_INT, c.comm);
}
void alltoallv_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Alltoallv, alltoallv, e.in, e.none(), e.none(), MPI_INT, e.out, e.none(), e.none(), MPI_INT, c.comm);
}
void alltoallw_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Alltoallw, alltoallw, e.in, e.none(), e.none(), e.types.data(), e.out, e.none(), e.none(), e.types.data(),
       c.comm);
}
void reduce_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Reduce, reduce, e.in, e.out, 0, MPI_INT, MPI_SUM, c.root, c.comm);
}
void allreduce_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Allreduce, allreduce, e.in, e.out, 0, MPI_INT, MPI_SUM, c.comm);
}
void reduce_scatter_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Reduce_scatter, reduce_scatter, e.in, e.out, e.none(), MPI_INT, MPI_SUM, c.comm);
}
void reduce_scatter_block_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Reduce_scatter_block, reduce_scatter_block, e.in, e.out, 0, MPI_INT, MPI_SUM, c.comm);
}
void scan_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Scan, scan, e.in, e.out, 0, MPI_INT, MPI_SUM, c.comm);
}
void exscan_nothing(const Call& c) {
  Nothing e(c);
  CALL(c, Exscan, exscan, e.in, e.out, 0, MPI_INT, MPI_SUM, c.comm);
}
void barrier(const Call& c) {
  CALL(c, Barrier, barrier, c.comm);
}

using Kind = void (*)(const Call&);

// clang-format off
const Kind kPlain[] = {
    reduce,          gather,           gatherv,         scatter,          scatterv,        exscan,
    gatherv_apart,   scatterv_apart,   allgatherv_apart, alltoallv_apart, alltoallw_apart, bcast_nothing,
    gather_nothing,  gatherv_nothing,  scatter_nothing, scatterv_nothing, allgather_nothing,
    allgatherv_nothing, alltoall_nothing, alltoallv_nothing, alltoallw_nothing, reduce_nothing, allreduce_nothing,
    reduce_scatter_nothing, reduce_scatter_block_nothing, scan_nothing, exscan_nothing, barrier};
// clang-format on

// ---- neighbours: on a ring with nothing in the buffers, and without any neighbour

void neighbor_allgather(const Call& c) {
  Nothing e(c);
  CALL(c, Neighbor_allgather, neighbor_allgather, e.in, 0, MPI_INT, e.out, 0, MPI_INT, c.comm);
}
void neighbor_allgatherv(const Call& c) {
  Nothing e(c);
  CALL(c, Neighbor_allgatherv, neighbor_allgatherv, e.in, 0, MPI_INT, e.out, e.none(), e.none(), MPI_INT, c.comm);
}
void neighbor_alltoall(const Call& c) {
  Nothing e(c);
  CALL(c, Neighbor_alltoall, neighbor_alltoall, e.in, 0, MPI_INT, e.out, 0, MPI_INT, c.comm);
}
void neighbor_alltoallv(const Call& c) {
  Nothing e(c);
  CALL(c, Neighbor_alltoallv, neighbor_alltoallv, e.in, e.none(), e.none(), MPI_INT, e.out, e.none(), e.none(), MPI_INT,
       c.comm);
}
void neighbor_alltoallw(const Call& c) {
  Nothing e(c);
  const std::vector<MPI_Aint> none(2);
  CALL(c, Neighbor_alltoallw, neighbor_alltoallw, e.in, e.none(), none.data(), e.types.data(), e.out, e.none(),
       none.data(), e.types.data(), c.comm);
}
const Kind kOnRing[] = {neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
                        neighbor_alltoallw};

void lone_allgather(const Call& c) {
  Nothing e(c);
  CALL(c, Neighbor_allgather, neighbor_allgather, e.in, 4, MPI_INT, e.out, 4, MPI_INT, c.comm);
}
void lone_alltoall(const Call& c) {
  Nothing e(c);
  CALL(c, Neighbor_alltoall, neighbor_alltoall, e.in, 4, MPI_INT, e.out, 4, MPI_INT, c.comm);
}
const Kind kWithout[] = {neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
                         neighbor_alltoallw, lone_allgather,      lone_alltoall};

// ---- between two groups, of which the first one has the root

struct Sides {
  MPI_Comm comm;
  bool first;  // this rank's group
  int rank, theirs;
};

// What the root's companions pass means nothing, and of the others' buffers one does.
void between(const Sides& s, Form form, int round) {
  const Call c{s.comm, s.theirs, s.rank, 0, form, Empty::same, round};
  const int root = !s.first ? 0 : s.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  std::vector<int> x = mine(c, s.theirs);
  const std::vector<int> counts = equal(s.theirs), displs = places(s.theirs, 0);
  CALL(c, Gather, gather, x.data(), kBlock, MPI_INT, x.data(), kBlock, MPI_INT, root, s.comm);
  for (int r = 0; root == MPI_ROOT && r < s.theirs; ++r) is_block(c, x, r, r, 0, "gather between groups");
  x = mine(c, s.theirs);
  CALL(c, Gatherv, gatherv, x.data(), kBlock, MPI_INT, x.data(), counts.data(), displs.data(), MPI_INT, root, s.comm);
  for (int r = 0; root == MPI_ROOT && r < s.theirs; ++r) is_block(c, x, r, r, 0, "gatherv between groups");
  x = mine(c, std::max(s.theirs, 1));
  CALL(c, Scatter, scatter, x.data(), kBlock, MPI_INT, x.data(), kBlock, MPI_INT, root, s.comm);
  if (!s.first) is_block(c, x, 0, 0, s.rank * kBlock, "scatter between groups");
  x = mine(c, std::max(s.theirs, 1));
  CALL(c, Scatterv, scatterv, x.data(), counts.data(), displs.data(), MPI_INT, x.data(), kBlock, MPI_INT, root, s.comm);
  if (!s.first) is_block(c, x, 0, 0, s.rank * kBlock, "scatterv between groups");
  x = mine(c, 1);
  CALL(c, Reduce, reduce, x.data(), x.data(), kBlock, MPI_INT, MPI_SUM, root, s.comm);
  for (int i = 0; root == MPI_ROOT && i < kBlock; ++i)
    CHECK_EQ_IN(x[static_cast<size_t>(i)], c.sum(s.theirs, i), "reduce between groups, round %d", round);
}

// ---- how they are repeated

Call on(MPI_Comm comm, Form form, Empty empty, int round) {
  Call c{comm, 0, 0, 0, form, empty, round};
  OK(MPI_Comm_size(comm, &c.n));
  OK(MPI_Comm_rank(comm, &c.me));
  c.root = c.n - 1;
  return c;
}

void in_a_row(Kind kind, MPI_Comm comm, Form form) {
  const int rounds = form == Form::persistent ? 2 : 10;
  for (const Empty empty : {Empty::same, Empty::none, Empty::first, Empty::second})
    for (int round = 0; round < rounds; ++round) kind(on(comm, form, empty, round));
}

void in_turn(std::initializer_list<Kind> kinds, const std::vector<MPI_Comm>& comms, Form form) {
  for (int round = 0; round < 10; ++round)
    for (const MPI_Comm comm : comms)
      for (const Kind kind : kinds) kind(on(comm, form, static_cast<Empty>(round / 6), round));
}

void on_topologies(Form form) {
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    int n, periodic = 1, none = 0;
    MPI_Comm ring, lone;
    OK(MPI_Comm_size(comm, &n));
    OK(MPI_Cart_create(comm, 1, &n, &periodic, 0, &ring));
    OK(MPI_Dist_graph_create_adjacent(comm, 0, &none, &none, 0, &none, &none, MPI_INFO_NULL, 0, &lone));
    for (const Kind kind : kOnRing) in_a_row(kind, ring, form);
    for (const Kind kind : kWithout) in_a_row(kind, lone, form);
    in_turn({neighbor_allgather, neighbor_alltoallw}, {ring, lone}, form);
    OK(MPI_Comm_free(&ring));
    OK(MPI_Comm_free(&lone));
  }
}

void between_groups(Form form, int rank, int size) {
  if (size < 2) return;
  Sides s{MPI_COMM_NULL, rank < size / 2, 0, 0};
  MPI_Comm half;
  OK(MPI_Comm_split(MPI_COMM_WORLD, s.first, rank, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, s.first ? size / 2 : 0, 5, &s.comm));
  OK(MPI_Comm_rank(s.comm, &s.rank));
  OK(MPI_Comm_remote_size(s.comm, &s.theirs));
  for (int round = 0; round < (form == Form::persistent ? 2 : 10); ++round) between(s, form, round);
  OK(MPI_Comm_free(&s.comm));
  OK(MPI_Comm_free(&half));
}

// ---- what is wrong stays wrong, however often its likes were right

#ifndef OTHER_MPI
void mistakes(int me, int n) {
  std::vector<int> x(static_cast<size_t>(2 * n * kBlock)), y(x.size());
  const std::vector<int> counts = equal(n), displs = places(n, 0);
  for (int round = 0; round < 6; ++round) {
    OK(MPI_Reduce(x.data(), me == 0 ? y.data() : x.data(), 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    if (me == 0) FAILS(MPI_Reduce(x.data(), x.data(), 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    // Those whom it does not concern take part in the call in which the root does.
    OK(MPI_Allgatherv(x.data(), kBlock, MPI_INT, y.data(), counts.data(), displs.data(), MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_Allgatherv(x.data(), kBlock, MPI_INT, nullptr, counts.data(), displs.data(), MPI_INT, MPI_COMM_WORLD),
          MPI_ERR_BUFFER);
    OK(MPI_Alltoallv(x.data(), counts.data(), displs.data(), MPI_INT, y.data(), counts.data(), displs.data(), MPI_INT,
                     MPI_COMM_WORLD));
    FAILS(MPI_Alltoallv(nullptr, counts.data(), displs.data(), MPI_INT, y.data(), counts.data(), displs.data(), MPI_INT,
                        MPI_COMM_WORLD),
          MPI_ERR_BUFFER);
    OK(MPI_Exscan(x.data(), me == 0 ? x.data() : y.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (me > 0) FAILS(MPI_Exscan(x.data(), x.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  MPI_Comm copy, reversed;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank(), &reversed));
  const std::vector<MPI_Comm> all = {MPI_COMM_WORLD, copy, MPI_COMM_SELF, reversed};
  for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent}) {
    for (const Kind kind : kPlain)
      for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) in_a_row(kind, comm, form);
    on_topologies(form);
    between_groups(form, world.rank(), world.size());
    if (form == Form::persistent) break;
    for (size_t i = 0; i < std::size(kPlain); ++i) {
      in_turn({kPlain[i], kPlain[(i + 1) % std::size(kPlain)]}, {MPI_COMM_WORLD}, form);
      in_turn({kPlain[i]}, all, form);
    }
  }
#ifndef OTHER_MPI
  mistakes(world.rank(), world.size());
#endif
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&reversed));
}
