// SPDX-License-Identifier: BSD-3-Clause
// The strong progress rule: what was started completes while ranks compute, sleep, or are blocked
// outside of MPI. Judged by the order of events (board.hpp): those who are away come back when it is
// done, and not before.
#include "board.hpp"

namespace {

using check::Outside;

struct Test {
  const check::Program& world;
  check::Board& board;
  check::Slowest slowest;
};

std::string described(const char* what, Outside how) {
  return std::string(what) + " with the others " + check::name_of(how);
}

// Rank 0 sends and waits; its neighbour has posted the receive and gone away.
void message(Test& test, Outside how, bool large) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int outside = test.board.next_event(), done = test.board.next_event();
  if (test.world.rank() > 1) return;
  std::vector<int> data(large ? 1 << 18 : 10, test.world.rank() == 0 ? 7 : -1);
  MPI_Request request;
  const std::string what = described(large ? "a megabyte sent" : "a short synchronous send", how);
  if (test.world.rank() == 0) {
    test.board.away_until(Outside::sleeping, outside, 1, "the other's receive", __FILE__, __LINE__);
    const double began = check::seconds();
    OK(MPI_Issend(data.data(), data.size(), MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test.slowest.saw(check::seconds() - began, what);
    test.board.tell(done);
  } else {
    OK(MPI_Irecv(data.data(), data.size(), MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
    test.board.tell(outside);
    test.board.away_until(how, done, 0, what, __FILE__, __LINE__);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(data.front(), 7);
    CHECK_EQ(data.back(), 7);
  }
}

// A megabyte sent by a rank that then goes away; the receiver waits.
void sender_away(Test& test, Outside how) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int outside = test.board.next_event(), done = test.board.next_event();
  if (test.world.rank() > 1) return;
  std::vector<int> data(1 << 18, test.world.rank() == 0 ? 8 : -1);
  MPI_Request request;
  const std::string what = described("a megabyte received", how);
  if (test.world.rank() == 0) {
    OK(MPI_Isend(data.data(), data.size(), MPI_INT, 1, 3, MPI_COMM_WORLD, &request));
    test.board.tell(outside);
    test.board.away_until(how, done, 1, what, __FILE__, __LINE__);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    test.board.away_until(Outside::sleeping, outside, 0, "the other's send", __FILE__, __LINE__);
    const double began = check::seconds();
    OK(MPI_Recv(data.data(), data.size(), MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    test.slowest.saw(check::seconds() - began, what);
    test.board.tell(done);
    CHECK_EQ(data.back(), 8);
  }
}

// All have started the collective; all but one are away; that one waits.
void collective(Test& test, Outside how, const char* name, const std::function<void(MPI_Request*)>& start,
                const std::function<void()>& verify) {
  const std::string what = described(name, how);
  const int waiter = test.world.size() - 1, done = test.board.next_event();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request request;
  start(&request);
  if (test.world.rank() == waiter) {
    const double began = check::seconds();
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test.slowest.saw(check::seconds() - began, what);
    test.board.tell(done);
  } else {
    test.board.away_until(how, done, waiter, what, __FILE__, __LINE__);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  verify();
}

// Nobody waits: the data of all are where they belong before anybody comes back.
void everybody_away(Test& test, Outside how) {
  const int rank = test.world.rank(), size = test.world.size(), there = test.board.next_event();
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<int> out(1 << 18, rank), in(out.size(), -1);
  int mine = rank, sum = -1;
  MPI_Request requests[4];
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Irecv(in.data(), in.size(), MPI_INT, from, 4, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out.data(), out.size(), MPI_INT, to, 4, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]));
  test.board.all_see(
      how, there, "a message around and an allreduce",
      [&] {
        const volatile int *last = &in.back(), *total = &sum;
        return *last == from && *total == size * (size - 1) / 2;
      },
      __FILE__, __LINE__);
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(sum, size * (size - 1) / 2);
  for (int each : in) CHECK_EQ(each, from);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  check::Board board(world);
  Test test{world, board, {}};
  // Everyone knows everyone: connections made late are the business of other tests.
  std::vector<int> all(world.size());
  OK(MPI_Alltoall(std::vector<int>(world.size(), 1).data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));

  const int sum_expected = world.size() * (world.size() + 1) / 2;
  std::vector<double> mine(1 << 15, world.rank() + 1), sums(mine.size());
  std::vector<int> data(1 << 17);
  const auto allreduce = [&](MPI_Request* request) {
    OK(MPI_Iallreduce(mine.data(), sums.data(), mine.size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request));
  };
  const auto summed = [&] {
    for (double each : sums) CHECK_EQ(each, sum_expected);
  };
  const auto bcast = [&](MPI_Request* request) {
    std::fill(data.begin(), data.end(), world.rank() == 0 ? 3 : -1);
    OK(MPI_Ibcast(data.data(), data.size(), MPI_INT, 0, MPI_COMM_WORLD, request));
  };
  const auto received = [&] {
    for (int each : data) CHECK_EQ(each, 3);
  };
  const auto barrier = [&](MPI_Request* request) { OK(MPI_Ibarrier(MPI_COMM_WORLD, request)); };

  for (const Outside how : {Outside::computing, Outside::sleeping, Outside::reading}) {
    collective(test, how, "an allreduce", allreduce, summed);
    collective(test, how, "a broadcast", bcast, received);
    collective(test, how, "a barrier", barrier, [] {});
    if (world.size() == 1) continue;
    for (const bool large : {true, false}) message(test, how, large);
    sender_away(test, how);
    everybody_away(test, how);
  }
  test.slowest.report();
}
