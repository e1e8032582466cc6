// SPDX-License-Identifier: BSD-3-Clause
// The strong progress rule: what was started completes while ranks compute, sleep, or are blocked
// outside of MPI. Judged by the clock of the rank that waits: it must be done well before the others
// come back. Bounds are generous (the machine may have fewer cores than ranks), the absence long.
#include <unistd.h>

#include <thread>

#include "check.hpp"

namespace {

constexpr double kAway = 0.6;   // seconds outside of MPI
constexpr double kSoon = 0.45;  // by when what was started is done

enum class Outside { computing, sleeping, reading };

// Returns after kAway seconds without a call of MPI.
void stay_away(Outside how) {
  if (how == Outside::computing) {
    volatile double sink = 1;
    for (const double end = check::seconds() + kAway; check::seconds() < end;)
      for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
  } else if (how == Outside::sleeping) {
    usleep(static_cast<useconds_t>(kAway * 1e6));
  } else {
    int ends[2];
    char byte = 0;
    CHECK(pipe(ends) == 0);
    std::thread writer([&] {
      usleep(static_cast<useconds_t>(kAway * 1e6));
      CHECK(write(ends[1], &byte, 1) == 1);
    });
    CHECK(read(ends[0], &byte, 1) == 1);
    writer.join();
    close(ends[0]);
    close(ends[1]);
  }
}

void done_soon(double began, const char* what, int line) {
  const double took = check::seconds() - began;
  if (took > kSoon)
    check::fail(__FILE__, line, std::string(what) + " took " + std::to_string(took) + " s while the others were away");
}

// Rank 0 sends a megabyte and waits; its neighbour has posted the receive and gone away.
void message(const check::Program& world, Outside how, bool large) {
  OK(MPI_Barrier(MPI_COMM_WORLD));  // the first is back from where it was
  if (world.rank() > 1) return;
  std::vector<int> data(large ? 1 << 18 : 10, world.rank() == 0 ? 7 : -1);
  MPI_Request request;
  int ready = 1;
  if (world.rank() == 0) {
    OK(MPI_Recv(&ready, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    usleep(30000);  // the neighbour is outside by now
    const double began = check::seconds();
    OK(MPI_Issend(data.data(), data.size(), MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    done_soon(began, "a send into a posted receive", __LINE__);
  } else {
    OK(MPI_Irecv(data.data(), data.size(), MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Send(&ready, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
    stay_away(how);
    int flag = 0;
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);  // nothing was left to do but to notice
    CHECK_EQ(data.front(), 7);
    CHECK_EQ(data.back(), 7);
  }
}

// A megabyte sent by a rank that then goes away; the receiver waits.
void sender_away(const check::Program& world, Outside how) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() > 1) return;
  std::vector<int> data(1 << 18, world.rank() == 0 ? 8 : -1);
  MPI_Request request;
  if (world.rank() == 0) {
    OK(MPI_Isend(data.data(), data.size(), MPI_INT, 1, 3, MPI_COMM_WORLD, &request));
    stay_away(how);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    usleep(30000);
    const double began = check::seconds();
    OK(MPI_Recv(data.data(), data.size(), MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    done_soon(began, "a receive from a sender that is away", __LINE__);
    CHECK_EQ(data.back(), 8);
  }
}

// All have started the collective; all but one are away; that one waits.
void collective(const check::Program& world, Outside how, const char* what,
                const std::function<void(MPI_Request*)>& start, const std::function<void()>& verify) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request request;
  const int waiter = world.size() - 1;
  start(&request);
  if (world.rank() == waiter) {
    const double began = check::seconds();
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    done_soon(began, what, __LINE__);
  } else {
    stay_away(how);
    int flag = 0;
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    if (how != Outside::computing) CHECK(flag);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  verify();
}

// Nobody waits: what all have started is done when they come back.
void everybody_away(Outside how) {
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<int> out(1 << 18, rank), in(out.size(), -1);
  int mine = rank, sum = -1;
  MPI_Request requests[4];
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Irecv(in.data(), in.size(), MPI_INT, from, 4, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out.data(), out.size(), MPI_INT, to, 4, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]));
  stay_away(how);
  for (MPI_Request& each : requests) {
    int flag = 0;
    OK(MPI_Request_get_status(each, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
  }
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(sum, size * (size - 1) / 2);
  CHECK_EQ(in.front(), from);
  CHECK_EQ(in.back(), from);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
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

  // Many ranks that compute leave no core to anybody: there, they sleep or read.
  const bool crowded = world.size() > static_cast<int>(std::thread::hardware_concurrency());
  collective(world, crowded ? Outside::sleeping : Outside::computing, "an allreduce", allreduce, summed);
  collective(world, Outside::sleeping, "a broadcast", bcast, received);
  collective(world, Outside::reading, "a barrier", barrier, [] {});
  if (world.size() > 1) {
    message(world, Outside::computing, true);
    message(world, Outside::sleeping, false);
    sender_away(world, Outside::reading);
    everybody_away(Outside::sleeping);
  }
}
