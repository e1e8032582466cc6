// SPDX-License-Identifier: BSD-3-Clause
// A seeded random sequence of nonblocking collectives on overlapping communicators, mixed with
// point-to-point messages and blocking collectives, completed in random order; all data is checked.
#include "check.hpp"

namespace {

struct Arena {
  MPI_Comm comm = MPI_COMM_NULL;
  int size = 0, rank = 0;
};

int value(int rank, int i, unsigned seed) { return static_cast<int>(check::mix(rank, i, seed) % 1000003); }

// One operation under way: its buffers and what must stand in them at the end.
struct Operation {
  std::vector<int> in, out, expected, counts, places;
  MPI_Request request = MPI_REQUEST_NULL;
  std::string what;
};

using Start = void (*)(const Arena&, Operation&, int count, int root, unsigned seed);

void fill(const Arena& a, Operation& op, int count, unsigned seed) {
  op.in.resize(count);
  for (int i = 0; i < count; ++i) op.in[i] = value(a.rank, i, seed);
}
int sum(int from, int to, int i, unsigned seed) {
  unsigned total = 0;
  for (int r = from; r < to; ++r) total += value(r, i, seed);
  return static_cast<int>(total);
}

void bcast(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(value(root, i, seed));
  if (a.rank == root) op.out = op.expected;
  OK(MPI_Ibcast(op.out.data(), count, MPI_INT, root, a.comm, &op.request));
}
void allreduce(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(sum(0, a.size, i, seed));
  OK(MPI_Iallreduce(op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, a.comm, &op.request));
}
void reduce(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  fill(a, op, count, seed);
  if (a.rank == root) op.out.assign(count, -1);
  for (int i = 0; a.rank == root && i < count; ++i) op.expected.push_back(sum(0, a.size, i, seed));
  OK(MPI_Ireduce(op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, root, a.comm, &op.request));
}
void scan(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(sum(0, a.rank + 1, i, seed));
  OK(MPI_Iscan(op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, a.comm, &op.request));
}
void gather(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  fill(a, op, count, seed);
  if (a.rank == root)
    for (int r = 0; r < a.size; ++r)
      for (int i = 0; i < count; ++i) op.expected.push_back(value(r, i, seed));
  op.out.assign(op.expected.size(), -1);
  OK(MPI_Igather(op.in.data(), count, MPI_INT, op.out.data(), count, MPI_INT, root, a.comm, &op.request));
}
void allgatherv(const Arena& a, Operation& op, int count, int, unsigned seed) {
  for (int r = 0; r < a.size; ++r) {
    op.counts.push_back((count + r) % 3 == 0 ? 0 : count + r);
    op.places.push_back(op.expected.size());
    for (int i = 0; i < op.counts[r]; ++i) op.expected.push_back(value(r, i, seed));
  }
  fill(a, op, op.counts[a.rank], seed);
  op.out.assign(op.expected.size(), -1);
  OK(MPI_Iallgatherv(op.in.data(), op.in.size(), MPI_INT, op.out.data(), op.counts.data(), op.places.data(), MPI_INT,
                     a.comm, &op.request));
}
void alltoall(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count * a.size, seed);
  for (int r = 0; r < a.size; ++r)
    for (int i = 0; i < count; ++i) op.expected.push_back(value(r, a.rank * count + i, seed));
  op.out.assign(count * a.size, -1);
  OK(MPI_Ialltoall(op.in.data(), count, MPI_INT, op.out.data(), count, MPI_INT, a.comm, &op.request));
}
// Of a length each, some of none and some long.
int unequal(int count, int a, int b) {
  return (a + b) % 3 == 0 ? 0 : (a * b) % 4 == 3 ? count * 5 : count / (a + b + 1);
}
void gatherv(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  fill(a, op, unequal(count, a.rank, 1), seed);
  for (int r = 0; a.rank == root && r < a.size; ++r) {
    op.counts.push_back(unequal(count, r, 1));
    op.places.push_back(op.expected.size());
    for (int i = 0; i < op.counts[r]; ++i) op.expected.push_back(value(r, i, seed));
  }
  op.out.assign(op.expected.size(), -1);
  OK(MPI_Igatherv(op.in.data(), op.in.size(), MPI_INT, op.out.data(), op.counts.data(),
                  op.places.data(), MPI_INT, root, a.comm, &op.request));
}
void scatterv(const Arena& a, Operation& op, int count, int root, unsigned seed) {
  int total = 0;
  for (int r = 0; a.rank == root && r < a.size; ++r) {
    op.counts.push_back(unequal(count, r, 1));
    op.places.push_back(r * count);  // blocks may overlap that are only sent
    total = std::max(total, op.places[r] + op.counts[r]);
  }
  fill(a, op, total, seed);
  for (int i = 0; i < unequal(count, a.rank, 1); ++i)
    op.expected.push_back(value(root, a.rank * count + i, seed));
  op.out.assign(op.expected.size(), -1);
  OK(MPI_Iscatterv(op.in.data(), op.counts.data(), op.places.data(), MPI_INT, op.out.data(),
                   op.out.size(), MPI_INT, root, a.comm, &op.request));
}
// In place at times, where both ways are of one length.
void alltoallv(const Arena& a, Operation& op, int count, int, unsigned seed) {
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
  OK(MPI_Ialltoallv(in_place ? MPI_IN_PLACE : op.in.data(), op.counts.data(), op.places.data(),
                    MPI_INT, op.out.data(), op.counts.data(), op.places.data(), MPI_INT, a.comm,
                    &op.request));
}
void reduce_scatter_block(const Arena& a, Operation& op, int count, int, unsigned seed) {
  fill(a, op, count * a.size, seed);
  op.out.assign(count, -1);
  for (int i = 0; i < count; ++i) op.expected.push_back(sum(0, a.size, a.rank * count + i, seed));
  OK(MPI_Ireduce_scatter_block(op.in.data(), op.out.data(), count, MPI_INT, MPI_SUM, a.comm, &op.request));
}
void barrier(const Arena& a, Operation& op, int, int, unsigned) { OK(MPI_Ibarrier(a.comm, &op.request)); }

const struct { Start start; const char* name; } kKinds[] = {
    {bcast, "bcast"}, {allreduce, "allreduce"}, {reduce, "reduce"}, {scan, "scan"}, {gather, "gather"},
    {allgatherv, "allgatherv"}, {gatherv, "gatherv"}, {scatterv, "scatterv"}, {alltoall, "alltoall"},
    {alltoallv, "alltoallv"}, {reduce_scatter_block, "reduce_scatter_block"}, {barrier, "barrier"}};

std::vector<Arena> arenas(const check::Program& world) {
  std::vector<Arena> all;
  const auto add = [&](MPI_Comm comm) {
    Arena a{comm};
    if (comm != MPI_COMM_NULL) {
      OK(MPI_Comm_size(comm, &a.size));
      OK(MPI_Comm_rank(comm, &a.rank));
    }
    all.push_back(a);
  };
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  add(comm);
  OK(MPI_Comm_split(MPI_COMM_WORLD, world.rank() % 2, 0, &comm));
  add(comm);
  OK(MPI_Comm_split(MPI_COMM_WORLD, world.rank() / 2, -world.rank(), &comm));
  add(comm);
  OK(MPI_Comm_split(MPI_COMM_WORLD, world.rank() == 0 ? MPI_UNDEFINED : 1, 0, &comm));
  add(comm);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  auto places = arenas(world);
  std::mt19937 common(12345), own(world.rank());  // what is called when; what is waited for when
  std::vector<Operation> pending;
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const auto finish = [](Operation& op) {
    OK(MPI_Wait(&op.request, MPI_STATUS_IGNORE));
    CHECK_EQ_IN(op.out.size(), op.expected.size(), "%s", op.what.c_str());
    for (size_t i = 0; i < op.out.size(); ++i)
      CHECK_EQ_IN(op.out[i], op.expected[i], "%s, element %zu", op.what.c_str(), i);
  };
  for (int step = 0; step < 700; ++step) {
    const unsigned kind = common() % (std::size(kKinds) + 1), where = common() % places.size(),
                   seed = common();
    const unsigned drawn = common();
    const int count = drawn % 50 == 0 ? 20000 : drawn % 7 == 0 ? 0 : drawn % 300;
    const Arena& a = places[where];
    if (kind < std::size(kKinds)) {
      if (a.comm != MPI_COMM_NULL) {
        pending.emplace_back();
        pending.back().what = std::string(kKinds[kind].name) + " of " + std::to_string(count) + " in step " +
                              std::to_string(step);
        kKinds[kind].start(a, pending.back(), count, seed % a.size, seed);
      }
    } else {
      Operation send, receive;
      send.what = receive.what = "message of step " + std::to_string(step);
      for (int i = 0; i < count; ++i) {
        send.in.push_back(value(world.rank(), i, seed));
        receive.expected.push_back(value(from, i, seed));
      }
      receive.out.assign(count, -1);
      OK(MPI_Isend(send.in.data(), count, MPI_INT, to, 3, MPI_COMM_WORLD, &send.request));
      OK(MPI_Irecv(receive.out.data(), count, MPI_INT, from, 3, MPI_COMM_WORLD, &receive.request));
      pending.push_back(std::move(send));
      pending.push_back(std::move(receive));
    }
    if (step % 50 == 49) {  // a blocking one between nonblocking ones
      int one = 1, ranks = 0;
      OK(MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, places[0].comm));
      CHECK_EQ(ranks, world.size());
    }
    // Tests of random ones never block, so any order is legal; waits come when all have started all.
    for (int tries = 0; tries < 3 && !pending.empty(); ++tries) {
      Operation& op = pending[own() % pending.size()];
      int flag = 0;
      OK(MPI_Test(&op.request, &flag, MPI_STATUS_IGNORE));
      if (!flag) continue;
      finish(op);
      if (&op != &pending.back()) op = std::move(pending.back());
      pending.pop_back();
    }
  }
  std::shuffle(pending.begin(), pending.end(), own);
  for (Operation& op : pending) finish(op);
  for (Arena& a : places)
    if (a.comm != MPI_COMM_NULL) OK(MPI_Comm_free(&a.comm));
}
