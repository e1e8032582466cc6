// SPDX-License-Identifier: BSD-3-Clause
// Sessions beside the World Model: before MPI_Init, across MPI_Finalize and after it. The argument says which
// of them there are: b, a, f, in this order; none of them: one after MPI_Finalize alone, where MPI is closed.
#include "session.hpp"

namespace {

void world_is(bool begun, bool over) {
  int flag = -1;
  OK(MPI_Initialized(&flag));
  CHECK_EQ(flag, static_cast<int>(begun));
  OK(MPI_Finalized(&flag));
  CHECK_EQ(flag, static_cast<int>(over));
}

void use_once(MPI_Session session, const char* tag, int seed) {
  MPI_Comm comm = session::comm(session, "mpi://WORLD", tag);
  session::use(comm, seed);
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "baf";
  const auto has = [&](char one) { return which.find(one) != std::string::npos; };
  world_is(false, false);
  MPI_Session before = MPI_SESSION_NULL;
  if (has('b')) {
    MPI_Session first = session::begin();
    use_once(first, "first", 1);
    session::end(first);
    before = session::begin();
    use_once(before, "before", 2);
  }
  world_is(false, false);
  int provided = -1;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
  CHECK(provided >= MPI_THREAD_SERIALIZED);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &check::world_rank));
  const int rank = check::world_rank;
  world_is(true, false);
  session::use(MPI_COMM_WORLD, 3);
  if (before != MPI_SESSION_NULL) {
    use_once(before, "while", 4);
    session::end(before);
  }
  session::use(MPI_COMM_WORLD, 5);
  MPI_Session across = MPI_SESSION_NULL;
  MPI_Comm kept = MPI_COMM_NULL;
  if (has('a')) {
    across = session::begin();
    kept = session::comm(across, "mpi://WORLD", "across");
    session::use(kept, 6);
  }
  OK(MPI_Finalize());
  world_is(true, true);
  if (across != MPI_SESSION_NULL) {
    session::use(kept, 7);
    int size = 0;
    CHECK_EQ(check::error_class(MPI_Comm_size(kept, &size)), MPI_SUCCESS);
    OK(MPI_Comm_free(&kept));
    use_once(across, "later", 8);
    session::end(across);
  }
  if (has('f') || which == "-") {
    for (int round = 0; round < 3; ++round) {
      MPI_Session after = session::begin();
      use_once(after, "after", 9 + round);
      world_is(true, true);
      session::end(after);
    }
  }
  world_is(true, true);
  if (rank == 0) std::puts("ok");
  return 0;
}
