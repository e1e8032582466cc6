// SPDX-License-Identifier: BSD-3-Clause
// A seeded random sequence of nonblocking collectives on overlapping communicators, mixed with
// point-to-point messages and blocking collectives, completed in random order; all data is checked.
#include <utility>

#include "coll/kinds.hpp"

namespace {

using namespace check::coll;

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
  for (int step = 0; step < 700; ++step) {
    const unsigned kind = common() % (std::size(kKinds) + 1), where = common() % places.size(), seed = common();
    const unsigned drawn = common();
    const int count = drawn % 50 == 0 ? 20000 : drawn % 7 == 0 ? 0 : drawn % 300;
    const Arena& a = places[where];
    if (kind < std::size(kKinds)) {
      if (a.comm != MPI_COMM_NULL) {
        pending.emplace_back();
        pending.back().what =
            std::string(kKinds[kind].name) + " of " + std::to_string(count) + " in step " + std::to_string(step);
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
