// SPDX-License-Identifier: BSD-3-Clause
// Every kind of collective, blocking or not, with data that depend on all that could be mixed up, and with
// what must stand in its buffers at the end. For programs that have many of them under way at once.
#pragma once

#include "check.hpp"

namespace check::coll {

struct Arena {
  MPI_Comm comm = MPI_COMM_NULL;
  int size = 0, rank = 0;
};

inline int value(int rank, int i, unsigned seed) {
  return static_cast<int>(check::mix(rank, i, seed) % 1000003);
}

// One operation under way: its buffers and what must stand in them at the end.
struct Operation {
  std::vector<int> in, out, expected, counts, places;
  std::vector<MPI_Datatype> types;
  MPI_Request request = MPI_REQUEST_NULL;
  std::string what;
  bool blocking = false;
};

#define EITHER(op, blocking_call, nonblocking_call, ...) \
  OK((op).blocking ? blocking_call(__VA_ARGS__) : nonblocking_call(__VA_ARGS__, &(op).request))

using Start = void (*)(const Arena&, Operation&, int count, int root, unsigned seed);

inline void fill(const Arena& a, Operation& op, int count, unsigned seed) {
  op.in.resize(count);
  for (int i = 0; i < count; ++i) op.in[i] = value(a.rank, i, seed);
}
inline int sum(int from, int to, int i, unsigned seed) {
  unsigned total = 0;
  for (int r = from; r < to; ++r) total += value(r, i, seed);
  return static_cast<int>(total);
}

inline void bcast(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(value(root, i, seed));
  if (a.rank == root) op.out = op.expected;
  EITHER(op, MPI_Bcast, MPI_Ibcast, op.out.data(), count, MPI_INT, root, a.comm);
}
inline void allreduce(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(sum(0, a.size, i, seed));
  EITHER(op, MPI_Allreduce, MPI_Iallreduce, op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, a.comm);
}
inline void reduce(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  fill(a, op, count, seed);
  if (a.rank == root) op.out.assign(count, -1);
  for (int i = 0; a.rank == root && i < count; ++i) op.expected.push_back(sum(0, a.size, i, seed));
  EITHER(op, MPI_Reduce, MPI_Ireduce, op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, root, a.comm);
}
inline void scan(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(sum(0, a.rank + 1, i, seed));
  EITHER(op, MPI_Scan, MPI_Iscan, op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, a.comm);
}
// The first rank's result says nothing.
inline void exscan(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(a.rank == 0 ? -1 : sum(0, a.rank, i, seed));
  EITHER(op, MPI_Exscan, MPI_Iexscan, op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, a.comm);
}
inline void gather(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  fill(a, op, count, seed);
  if (a.rank == root)
    for (int r = 0; r < a.size; ++r)
      for (int i = 0; i < count; ++i) op.expected.push_back(value(r, i, seed));
  op.out.assign(op.expected.size(), -1);
  EITHER(op, MPI_Gather, MPI_Igather, op.in.data(), count, MPI_INT, op.out.data(), count, MPI_INT, root, a.comm);
}
inline void scatter(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  if (a.rank == root) fill(a, op, count * a.size, seed);
  for (int i = 0; i < count; ++i) op.expected.push_back(value(root, a.rank * count + i, seed));
  op.out.assign(count, -1);
  EITHER(op, MPI_Scatter, MPI_Iscatter, op.in.data(), count, MPI_INT, op.out.data(), count, MPI_INT, root, a.comm);
}
inline void allgather(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count, seed);
  for (int r = 0; r < a.size; ++r)
    for (int i = 0; i < count; ++i) op.expected.push_back(value(r, i, seed));
  op.out.assign(op.expected.size(), -1);
  EITHER(op, MPI_Allgather, MPI_Iallgather, op.in.data(), count, MPI_INT, op.out.data(), count, MPI_INT, a.comm);
}
inline void allgatherv(const Arena& a, Operation& op, int count, int, unsigned seed) {
  for (int r = 0; r < a.size; ++r) {
    op.counts.push_back((count + r) % 3 == 0 ? 0 : count + r);
    op.places.push_back(op.expected.size());
    for (int i = 0; i < op.counts[r]; ++i) op.expected.push_back(value(r, i, seed));
  }
  fill(a, op, op.counts[a.rank], seed);
  op.out.assign(op.expected.size(), -1);
  EITHER(op, MPI_Allgatherv, MPI_Iallgatherv, op.in.data(), op.in.size(), MPI_INT, op.out.data(), op.counts.data(),
         op.places.data(), MPI_INT, a.comm);
}
inline void alltoall(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count * a.size, seed);
  for (int r = 0; r < a.size; ++r)
    for (int i = 0; i < count; ++i) op.expected.push_back(value(r, a.rank * count + i, seed));
  op.out.assign(count * a.size, -1);
  EITHER(op, MPI_Alltoall, MPI_Ialltoall, op.in.data(), count, MPI_INT, op.out.data(), count, MPI_INT, a.comm);
}
// Of a length each, some of none and some long.
inline int unequal(int count, int a, int b) {
  return (a + b) % 3 == 0 ? 0 : (a * b) % 4 == 3 ? count * 5 : count / (a + b + 1);
}
inline void gatherv(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  fill(a, op, unequal(count, a.rank, 1), seed);
  for (int r = 0; a.rank == root && r < a.size; ++r) {
    op.counts.push_back(unequal(count, r, 1));
    op.places.push_back(op.expected.size());
    for (int i = 0; i < op.counts[r]; ++i) op.expected.push_back(value(r, i, seed));
  }
  op.out.assign(op.expected.size(), -1);
  EITHER(op, MPI_Gatherv, MPI_Igatherv, op.in.data(), op.in.size(), MPI_INT, op.out.data(), op.counts.data(),
         op.places.data(), MPI_INT, root, a.comm);
}
inline void scatterv(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  int total = 0;
  for (int r = 0; a.rank == root && r < a.size; ++r) {
    op.counts.push_back(unequal(count, r, 1));
    op.places.push_back(r * count);  // blocks may overlap that are only sent
    total = std::max(total, op.places[r] + op.counts[r]);
  }
  fill(a, op, total, seed);
  for (int i = 0; i < unequal(count, a.rank, 1); ++i) op.expected.push_back(value(root, a.rank * count + i, seed));
  op.out.assign(op.expected.size(), -1);
  EITHER(op, MPI_Scatterv, MPI_Iscatterv, op.in.data(), op.counts.data(), op.places.data(), MPI_INT, op.out.data(),
         op.out.size(), MPI_INT, root, a.comm);
}
// In place at times, where both ways are of one length. True: so it is.
inline bool blocks_for_all(const Arena& a, Operation& op, int count, unsigned seed) {
  for (int r = 0; r < a.size; ++r) {
    op.counts.push_back(unequal(count, a.rank, r));
    op.places.push_back(op.in.size());
    for (int i = 0; i < op.counts[r]; ++i) {
      op.in.push_back(value(a.rank * 64 + r, i, seed));
      op.expected.push_back(value(r * 64 + a.rank, i, seed));
    }
  }
  const bool in_place = seed % 3 == 0;
  op.out = in_place ? op.in : std::vector<int>(op.expected.size(), -1);
  return in_place;
}
inline void alltoallv(const Arena& a, Operation& op, int count, int, unsigned seed) {
  const bool in_place = blocks_for_all(a, op, count, seed);
  EITHER(op, MPI_Alltoallv, MPI_Ialltoallv, in_place ? MPI_IN_PLACE : op.in.data(), op.counts.data(), op.places.data(),
         MPI_INT, op.out.data(), op.counts.data(), op.places.data(), MPI_INT, a.comm);
}
inline void alltoallw(const Arena& a, Operation& op, int count, int, unsigned seed) {
  const bool in_place = blocks_for_all(a, op, count, seed);
  op.types.assign(a.size, MPI_INT);
  for (int& place : op.places) place *= sizeof(int);
  EITHER(op, MPI_Alltoallw, MPI_Ialltoallw, in_place ? MPI_IN_PLACE : op.in.data(), op.counts.data(), op.places.data(),
         op.types.data(), op.out.data(), op.counts.data(), op.places.data(), op.types.data(), a.comm);
}
inline void reduce_scatter(const Arena& a, Operation& op, int count, int, unsigned seed) {
  int before = 0, all = 0;
  for (int r = 0; r < a.size; ++r) {
    op.counts.push_back(unequal(count, r, 1));
    if (r < a.rank) before += op.counts[r];
    all += op.counts[r];
  }
  fill(a, op, all, seed);
  op.out.assign(op.counts[a.rank], -1);
  for (int i = 0; i < op.counts[a.rank]; ++i) op.expected.push_back(sum(0, a.size, before + i, seed));
  EITHER(op, MPI_Reduce_scatter, MPI_Ireduce_scatter, op.in.data(), op.out.data(), op.counts.data(), MPI_INT, MPI_SUM,
         a.comm);
}
inline void reduce_scatter_block(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count * a.size, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(sum(0, a.size, a.rank * count + i, seed));
  EITHER(op, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM,
         a.comm);
}
inline void barrier(const Arena& a, Operation& op, int, int, unsigned) {
  EITHER(op, MPI_Barrier, MPI_Ibarrier, a.comm);
}

// `each`: its count is of a block for each rank.
inline const struct {
  Start start;
  const char* name;
  bool each;
} kKinds[] = {{bcast, "bcast", false},
              {allreduce, "allreduce", false},
              {reduce, "reduce", false},
              {scan, "scan", false},
              {exscan, "exscan", false},
              {gather, "gather", true},
              {scatter, "scatter", true},
              {allgather, "allgather", true},
              {allgatherv, "allgatherv", true},
              {gatherv, "gatherv", false},
              {scatterv, "scatterv", false},
              {alltoall, "alltoall", true},
              {alltoallv, "alltoallv", false},
              {alltoallw, "alltoallw", false},
              {reduce_scatter, "reduce_scatter", false},
              {reduce_scatter_block, "reduce_scatter_block", true},
              {barrier, "barrier", false}};

// Waits for it, if it has not been waited for, and looks at its data.
inline void finish(Operation& op) {
  OK(MPI_Wait(&op.request, MPI_STATUS_IGNORE));
  CHECK_EQ_IN(op.out.size(), op.expected.size(), "%s", op.what.c_str());
  for (size_t i = 0; i < op.out.size(); ++i)
    CHECK_EQ_IN(op.out[i], op.expected[i], "%s, element %zu", op.what.c_str(), i);
}

}  // namespace check::coll
