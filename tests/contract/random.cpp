// SPDX-License-Identifier: BSD-3-Clause
// Random programs of collectives over random overlapping communicators, legal ones and such that one
// rank exchanges two calls on one communicator. What the checker says is compared with the rule
// itself, evaluated directly.   usage: random SEEDS
#include "check.hpp"
#include "contract/rule.hpp"

namespace {

struct Collective {
  int comm;      // which communicator
  int function;  // what is called
};

constexpr int kFunctions = 6;
int call(int function, MPI_Comm comm) {
  static double in[64], out[64];
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  switch (function) {
      // clang-format off
    case 0: return MPI_Barrier(comm);
    case 1: return MPI_Bcast(in, 1, MPI_DOUBLE, 0, comm);
    case 2: return MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, comm);
    case 3: return MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    case 4: code = MPI_Ibarrier(comm, &request); break;
    default: code = MPI_Iallgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm, &request); break;
      // clang-format on
  }
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

// One program, the same on all ranks for one seed.
struct Program {
  std::vector<std::vector<int>> members;  // by communicator
  std::vector<Collective> collectives;
  tutti::contract::Starts starts;

  Program(unsigned seed, int size) : starts(static_cast<size_t>(size)) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int c = 0, n = 1 + below(4); c < n; ++c) {
      std::vector<int> some;
      for (int r = 0; r < size; ++r)
        if (below(3) > 0) some.push_back(r);
      if (some.size() < 2) some = {0, size - 1};
      members.push_back(some);
    }
    for (int i = 0, n = 5 + below(20); i < n; ++i) {
      collectives.push_back({below(static_cast<int>(members.size())), below(kFunctions)});
      for (const int r : members[static_cast<size_t>(collectives.back().comm)])
        starts[static_cast<size_t>(r)].push_back(i);
    }
    if (seed % 2 == 0) return;
    // One rank exchanges two that follow each other on one communicator.
    auto& mine = starts[static_cast<size_t>(below(size))];
    for (int tries = 0; tries < 20 && mine.size() > 1; ++tries) {
      const size_t a = static_cast<size_t>(below(static_cast<int>(mine.size()) - 1));
      const Collective &x = collectives[static_cast<size_t>(mine[a])],
                       &y = collectives[static_cast<size_t>(mine[a + 1])];
      if (x.comm != y.comm || x.function == y.function) continue;
      std::swap(mine[a], mine[a + 1]);
      return;
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const check::Program world(&argc, &argv);
  const unsigned seeds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 100;
  int legal = 0, illegal = 0, missed = 0, falsely = 0;
  MPI_Group everyone;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &everyone));
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const Program program(seed, world.size());
    std::vector<MPI_Comm> comms;
    for (const auto& members : program.members) {
      MPI_Group group;
      MPI_Comm made;
      OK(MPI_Group_incl(everyone, static_cast<int>(members.size()), members.data(), &group));
      OK(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
      OK(MPI_Group_free(&group));
      if (made != MPI_COMM_NULL) OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
      comms.push_back(made);
    }
    int failed = 0, anywhere = 0;
    for (const int i : program.starts[static_cast<size_t>(world.rank())]) {
      const Collective& c = program.collectives[static_cast<size_t>(i)];
      failed |= call(c.function, comms[static_cast<size_t>(c.comm)]) != MPI_SUCCESS;
    }
    for (MPI_Comm& comm : comms)
      if (comm != MPI_COMM_NULL) {
        failed |= MPI_Barrier(comm) != MPI_SUCCESS;  // all hear of it
        MPI_Comm_free(&comm);
      }
    OK(MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    const bool wrong = tutti::contract::violation(program.starts).has_value();
    ++(wrong ? illegal : legal);
    if (wrong && !anywhere) ++missed;
    if (!wrong && anywhere) ++falsely;
    if (wrong != static_cast<bool>(anywhere) && world.rank() == 0) std::fprintf(stderr, "seed %u\n", seed);
  }
  OK(MPI_Group_free(&everyone));
  if (world.rank() == 0)
    std::printf("%d illegal programs, %d missed; %d legal programs, %d accused falsely\n", illegal, missed, legal,
                falsely);
  CHECK(missed == 0 && falsely == 0 && illegal > 0 && legal > 0);
  return 0;
}
