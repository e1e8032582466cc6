// SPDX-License-Identifier: BSD-3-Clause
// The large-count form of every collective that moves data, blocking and nonblocking, with the same
// arguments: all of the result, and that nothing else was written. Blocks of the v and w forms differ
// in size and lie backwards, one element apart. NOT_OPENMPI: 4.1 lacks these forms.
#include "check.hpp"

namespace {

constexpr int kNothing = -1;
constexpr int kRoom = 2000;
int out[kRoom];

// Element i of what `from` has for `to`.
int value(int from, int to, int i) {
  return from * 10000 + to * 1000 + i;
}

using Ints = std::vector<int>;

// Calls both forms on a fresh `out`, which begins with `before` and must end up as `expected`.
template <class Blocking, class Nonblocking, class... Arguments>
void both(const char* what, const Ints& before, const Ints& expected, Blocking blocking, Nonblocking nonblocking,
          Arguments... arguments) {
  const auto prepare = [&] {
    std::fill(out, out + kRoom, kNothing);
    std::copy(before.begin(), before.end(), out);
  };
  const auto verify = [&](const char* form) {
    for (int i = 0; i < kRoom; ++i)
      CHECK_EQ_IN(out[i], i < static_cast<int>(expected.size()) ? expected[i] : kNothing, "element %d of %s, %s", i,
                  what, form);
  };
  prepare();
  OK(blocking(arguments...));
  verify("blocking");
  prepare();
  MPI_Request request = MPI_REQUEST_NULL;
  OK(nonblocking(arguments..., &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  verify("nonblocking");
}

// Where blocks of several sizes lie in a buffer.
struct Blocks {
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> places;
  Ints data;

  // Block r has counted(r) elements; element i of it is filled(r, i).
  template <class Counted, class Filled>
  Blocks(int size, Counted counted, Filled filled) : counts(size), places(size) {
    for (int r = size - 1; r >= 0; --r) {
      counts[r] = counted(r);
      places[r] = data.size();
      for (int i = 0; i < counts[r]; ++i) data.push_back(filled(r, i));
      data.push_back(kNothing);
    }
  }
};

constexpr MPI_Count n = 5;

void of_equal_blocks(const check::Program& world) {
  const int size = world.size(), rank = world.rank(), root = size - 1;
  const Ints nothing;
  Ints mine, from_all, of_root, to_all, swapped, from_root;
  for (int i = 0; i < n; ++i) {
    mine.push_back(value(rank, 0, i));
    of_root.push_back(value(root, 0, i));
    from_root.push_back(value(root, rank, i));
  }
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) {
      from_all.push_back(value(r, 0, i));
      to_all.push_back(value(rank, r, i));
      swapped.push_back(value(r, rank, i));
    }
  both("bcast", rank == root ? of_root : nothing, of_root, MPI_Bcast_c, MPI_Ibcast_c, out, n, MPI_INT, root,
       MPI_COMM_WORLD);
  both("gather", nothing, rank == root ? from_all : nothing, MPI_Gather_c, MPI_Igather_c, mine.data(), n, MPI_INT, out,
       n, MPI_INT, root, MPI_COMM_WORLD);
  both("scatter", nothing, from_root, MPI_Scatter_c, MPI_Iscatter_c, to_all.data(), n, MPI_INT, out, n, MPI_INT, root,
       MPI_COMM_WORLD);
  both("allgather", nothing, from_all, MPI_Allgather_c, MPI_Iallgather_c, mine.data(), n, MPI_INT, out, n, MPI_INT,
       MPI_COMM_WORLD);
  both("alltoall", nothing, swapped, MPI_Alltoall_c, MPI_Ialltoall_c, to_all.data(), n, MPI_INT, out, n, MPI_INT,
       MPI_COMM_WORLD);
  both("alltoall in place", to_all, swapped, MPI_Alltoall_c, MPI_Ialltoall_c, MPI_IN_PLACE, MPI_Count{0},
       MPI_DATATYPE_NULL, out, n, MPI_INT, MPI_COMM_WORLD);
}

void of_unequal_blocks(const check::Program& world) {
  const int size = world.size(), rank = world.rank(), root = size / 2;
  const Ints nothing;
  const auto one_each = [](int r) { return r + 1; };
  const Blocks from_all(size, one_each, [](int r, int i) { return value(r, 0, i); });
  const Blocks to_all(size, one_each, [&](int r, int i) { return value(rank, r, i); });
  const MPI_Count own = rank + 1;
  Ints mine, from_root;
  for (int i = 0; i < own; ++i) {
    mine.push_back(value(rank, 0, i));
    from_root.push_back(value(root, rank, i));
  }
  both("gatherv", nothing, rank == root ? from_all.data : nothing, MPI_Gatherv_c, MPI_Igatherv_c, mine.data(), own,
       MPI_INT, out, from_all.counts.data(), from_all.places.data(), MPI_INT, root, MPI_COMM_WORLD);
  both("scatterv", nothing, from_root, MPI_Scatterv_c, MPI_Iscatterv_c, to_all.data.data(), to_all.counts.data(),
       to_all.places.data(), MPI_INT, out, own, MPI_INT, root, MPI_COMM_WORLD);
  both("allgatherv", nothing, from_all.data, MPI_Allgatherv_c, MPI_Iallgatherv_c, mine.data(), own, MPI_INT, out,
       from_all.counts.data(), from_all.places.data(), MPI_INT, MPI_COMM_WORLD);

  // Even counts, so that alltoallw can receive pairs.
  const Blocks sent(
      size, [&](int to) { return 2 * (rank + 2 * to); }, [&](int to, int i) { return value(rank, to, i); });
  const Blocks got(
      size, [&](int from) { return 2 * (from + 2 * rank); }, [&](int from, int i) { return value(from, rank, i); });
  both("alltoallv", nothing, got.data, MPI_Alltoallv_c, MPI_Ialltoallv_c, sent.data.data(), sent.counts.data(),
       sent.places.data(), MPI_INT, out, got.counts.data(), got.places.data(), MPI_INT, MPI_COMM_WORLD);

  MPI_Datatype pair;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  const std::vector<MPI_Datatype> ints(size, MPI_INT);
  std::vector<MPI_Datatype> types(size, pair);
  auto counts = got.counts;
  auto sent_at = sent.places, got_at = got.places;
  for (int r = 0; r < size; ++r) {
    if (r % 2)
      types[r] = MPI_INT;
    else
      counts[r] /= 2;
    sent_at[r] *= sizeof(int);
    got_at[r] *= sizeof(int);
  }
  both("alltoallw", nothing, got.data, MPI_Alltoallw_c, MPI_Ialltoallw_c, sent.data.data(), sent.counts.data(),
       sent_at.data(), ints.data(), out, counts.data(), got_at.data(), types.data(), MPI_COMM_WORLD);
  OK(MPI_Type_free(&pair));
}

void reductions(const check::Program& world) {
  const int size = world.size(), rank = world.rank(), root = size - 1;
  const Ints nothing;
  // Sums over the ranks [0, end) of elements [first, first + count).
  const auto sums = [](int end, int first, int count) {
    Ints result(count);
    for (int r = 0; r < end; ++r)
      for (int i = 0; i < count; ++i) result[i] += value(r, 0, first + i);
    return result;
  };
  const std::vector<MPI_Count> counts = [&] {
    std::vector<MPI_Count> result(size);
    for (int r = 0; r < size; ++r) result[r] = r % 2 ? r + 2 : 2 * r;  // none for rank 0
    return result;
  }();
  const int first = static_cast<int>(std::accumulate(counts.begin(), counts.begin() + rank, MPI_Count{0}));
  Ints mine;
  for (int i = 0; i < kRoom; ++i) mine.push_back(value(rank, 0, i));
  const Ints total = sums(size, 0, n);

  both("reduce", nothing, rank == root ? total : nothing, MPI_Reduce_c, MPI_Ireduce_c, mine.data(), out, n, MPI_INT,
       MPI_SUM, root, MPI_COMM_WORLD);
  both("allreduce", nothing, total, MPI_Allreduce_c, MPI_Iallreduce_c, mine.data(), out, n, MPI_INT, MPI_SUM,
       MPI_COMM_WORLD);
  both("allreduce in place", Ints(mine.begin(), mine.begin() + n), total, MPI_Allreduce_c, MPI_Iallreduce_c,
       MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  both("reduce_scatter_block", nothing, sums(size, static_cast<int>(rank * n), n), MPI_Reduce_scatter_block_c,
       MPI_Ireduce_scatter_block_c, mine.data(), out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  both("reduce_scatter", nothing, sums(size, first, static_cast<int>(counts[rank])), MPI_Reduce_scatter_c,
       MPI_Ireduce_scatter_c, mine.data(), out, counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  both("scan", nothing, sums(rank + 1, 0, n), MPI_Scan_c, MPI_Iscan_c, mine.data(), out, n, MPI_INT, MPI_SUM,
       MPI_COMM_WORLD);
  // What rank 0 gets of an exscan is undefined.
  int undefined[n];
  both("exscan", nothing, rank ? sums(rank, 0, n) : nothing, MPI_Exscan_c, MPI_Iexscan_c, mine.data(),
       rank ? out : undefined, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  of_equal_blocks(world);
  of_unequal_blocks(world);
  reductions(world);
}
