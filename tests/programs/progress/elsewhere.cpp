// SPDX-License-Identifier: BSD-3-Clause
// The strong progress rule where it is hardest: operations of 8 bytes to a megabyte whose peers
// compute, sleep, read, or wait in MPI for something else entirely; chains of operations in which
// each waits for the one before, all in the middle of one long computation; and a rank that has
// nothing pending at all and yet has to answer. Judged by the order of events (board.hpp): never
// after the computation.
#include <optional>

#include "board.hpp"

namespace {

using check::Outside;

struct Test {
  const check::Program& world;
  check::Board& board;
  MPI_Comm other;
  check::Slowest slowest;
};

struct Started {
  std::vector<int> in, out;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Kind {
  const char* name;
  void (*start)(Started&, int count, int size, MPI_Comm comm);
};
const Kind kKinds[] = {
    {"ibarrier", [](Started& s, int, int, MPI_Comm c) { OK(MPI_Ibarrier(c, &s.request)); }},
    {"ibcast", [](Started& s, int n, int,
                  MPI_Comm c) { OK(MPI_Ibcast(s.out.data(), n, MPI_INT, 0, c, &s.request)); }},
    {"iallreduce",
     [](Started& s, int n, int, MPI_Comm c) {
       OK(MPI_Iallreduce(s.in.data(), s.out.data(), n, MPI_INT, MPI_SUM, c, &s.request));
     }},
    {"iallgather",
     [](Started& s, int n, int size, MPI_Comm c) {
       OK(MPI_Iallgather(s.in.data(), n / size, MPI_INT, s.out.data(), n / size, MPI_INT, c,
                         &s.request));
     }},
    {"ialltoall",
     [](Started& s, int n, int size, MPI_Comm c) {
       OK(MPI_Ialltoall(s.in.data(), n / size, MPI_INT, s.out.data(), n / size, MPI_INT, c,
                        &s.request));
     }},
};

// All but the last are away, outside of MPI in this way, or (no way) blocked in a receive on
// another communicator, whose message comes when the last one is done.
void collective(Test& test, const Kind& kind, int bytes, std::optional<Outside> how) {
  const int rank = test.world.rank(), size = test.world.size(), last = size - 1;
  const int count = std::max(bytes / 4, size), done = test.board.next_event();
  const std::string what = std::string(kind.name) + " of " + std::to_string(bytes) + " bytes";
  Started s{std::vector<int>(count, rank + 1), std::vector<int>(count, rank + 1)};
  OK(MPI_Barrier(MPI_COMM_WORLD));
  kind.start(s, count, size, MPI_COMM_WORLD);
  int go = 1;
  if (rank == last) {
    const double began = check::seconds();
    OK(MPI_Wait(&s.request, MPI_STATUS_IGNORE));
    test.slowest.saw(check::seconds() - began,
                     what + " with the others " + (how ? check::name_of(*how) : "in MPI"));
    test.board.tell(done);
    for (int i = 0; !how && i < last; ++i) OK(MPI_Send(&go, 1, MPI_INT, i, 0, test.other));
  } else if (how) {
    test.board.away_until(*how, done, last, what, __FILE__, __LINE__);
  } else {
    OK(MPI_Recv(&go, 1, MPI_INT, last, 0, test.other, MPI_STATUS_IGNORE));
  }
  OK(MPI_Wait(&s.request, MPI_STATUS_IGNORE));
  if (kind.name == std::string("ibcast"))
    for (int each : s.out) CHECK_EQ(each, 1);
  if (kind.name == std::string("iallreduce"))
    for (int each : s.out) CHECK_EQ(each, size * (size + 1) / 2);
}

// A megabyte to a rank that has posted its receive and is blocked in MPI on another communicator
// until the sender is done.
void message(Test& test) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int posted = test.board.next_event();
  if (test.world.rank() > 1) return;
  std::vector<int> data(1 << 18, test.world.rank() == 0 ? 7 : -1);
  MPI_Request request;
  int go = 1;
  if (test.world.rank() == 0) {
    test.board.away_until(Outside::sleeping, posted, 1, "the other's receive", __FILE__, __LINE__);
    const double began = check::seconds();
    OK(MPI_Issend(data.data(), data.size(), MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test.slowest.saw(check::seconds() - began, "a megabyte sent to one in MPI");
    OK(MPI_Send(&go, 1, MPI_INT, 1, 0, test.other));
  } else {
    OK(MPI_Irecv(data.data(), data.size(), MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
    test.board.tell(posted);
    OK(MPI_Recv(&go, 1, MPI_INT, 0, 0, test.other, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(data.front(), 7);
    CHECK_EQ(data.back(), 7);
  }
}

// Each round begins when the one before has ended on all ranks, large enough that it is itself an
// exchange of several dependent rounds; nobody waits for any of it in MPI.
void chain(Test& test) {
  constexpr int kRounds = 3;
  const int size = test.world.size(), there = test.board.next_event();
  std::vector<double> in(1 << 17, test.world.rank() + 1);
  const double expected = size * (size + 1) / 2;
  std::vector<MPI_Request> requests(kRounds);
  std::vector<std::vector<double>> sums(kRounds, std::vector<double>(in.size(), -1));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kRounds; ++i)
    OK(MPI_Iallreduce(in.data(), sums[i].data(), in.size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                      &requests[i]));
  test.board.all_see(
      Outside::computing, there, "a chain of three allreduces",
      [&] {
        for (const auto& sum : sums)
          for (size_t i = 0; i < sum.size(); i += 64)
            if (const volatile double* each = &sum[i]; *each != expected) return false;
        return true;
      },
      __FILE__, __LINE__);
  OK(MPI_Waitall(kRounds, requests.data(), MPI_STATUSES_IGNORE));
  for (const auto& sum : sums)
    for (double each : sum) CHECK_EQ(each, expected);
}

// The others have nothing pending and compute: they answer a cancelled send all the same.
void answer(Test& test) {
  const int last = test.world.size() - 1, done = test.board.next_event();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (test.world.rank() == last) {
    usleep(30000);  // their progress threads have time to find nothing to do
    int value = 1, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    const double began = check::seconds();
    OK(MPI_Issend(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    test.slowest.saw(check::seconds() - began, "a cancelled send");
    test.board.tell(done);
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
  } else {
    test.board.away_until(Outside::computing, done, last, "a cancelled send", __FILE__, __LINE__);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  check::Board board(world);
  MPI_Comm other;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  Test test{world, board, other, {}};
  // Everyone knows everyone: connections made late are the business of other tests.
  std::vector<int> all(world.size());
  OK(MPI_Alltoall(std::vector<int>(world.size(), 1).data(), 1, MPI_INT, all.data(), 1, MPI_INT,
                  MPI_COMM_WORLD));
  for (const std::optional<Outside> how :
       {std::optional(Outside::computing), std::optional(Outside::sleeping),
        std::optional(Outside::reading), std::optional<Outside>()})
    for (const Kind& kind : kKinds)
      for (int bytes : {8, 64 << 10, 1 << 20}) collective(test, kind, bytes, how);
  message(test);
  chain(test);
  answer(test);
  test.slowest.report();
  OK(MPI_Comm_free(&other));
}
