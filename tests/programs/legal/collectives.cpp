// SPDX-License-Identifier: BSD-3-Clause
// The legal programs of the standard's section on the correctness of collective communication
// (6.12): each must end, in silence, with the right data.
#include <thread>

#include "check.hpp"

namespace {

// A nonblocking barrier around a blocking broadcast.
void barrier_around_bcast(const check::Program& world) {
  MPI_Request request;
  int value = world.rank() == 0 ? 42 : -1;
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(value, 42);
}

// Collectives on a communicator and its duplicate, started in opposite orders.
void opposite_orders(const check::Program& world) {
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  int a = world.rank() == 0 ? 1 : -1, b = world.rank() == 0 ? 2 : -1;
  MPI_Request requests[2];
  if (world.rank() % 2) {
    OK(MPI_Ibcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Ibcast(&b, 1, MPI_INT, 0, copy, &requests[1]));
  } else {
    OK(MPI_Ibcast(&b, 1, MPI_INT, 0, copy, &requests[1]));
    OK(MPI_Ibcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
  }
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(a, 1);
  CHECK_EQ(b, 2);
  OK(MPI_Comm_free(&copy));
}

// A barrier that must progress inside of a blocking receive: the sender sends only after its own end
// of the barrier is through.
void barrier_inside_receive(const check::Program& world) {
  MPI_Request request;
  int value = -1;
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  if (world.rank() == world.size() - 1) {
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int r = 0; r + 1 < world.size(); ++r) OK(MPI_Send(&r, 1, MPI_INT, r, 5, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(&value, 1, MPI_INT, world.size() - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, world.rank());
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

// A barrier, a send and a receive, completed by one Waitall.
void mixed_waitall(const check::Program& world) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const int out = world.rank() * 3;
  int in = -1;
  MPI_Request requests[3];
  // The message and the barrier start in different orders on neighbours: they do not order each other.
  if (world.rank() % 2) OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(&out, 1, MPI_INT, to, 6, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Irecv(&in, 1, MPI_INT, from, 6, MPI_COMM_WORLD, &requests[2]));
  if (world.rank() % 2 == 0) OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(in, from * 3);
}

// Three broadcasts in a pipeline with the computation on what has come.
void pipelined_bcasts(const check::Program& world) {
  constexpr int kStages = 3, kCount = 20000;
  std::vector<std::vector<int>> data(kStages, std::vector<int>(kCount, -1));
  MPI_Request requests[kStages];
  for (int s = 0; s < kStages; ++s) {
    if (world.rank() == 0) std::iota(data[s].begin(), data[s].end(), s * 1000);
    OK(MPI_Ibcast(data[s].data(), kCount, MPI_INT, 0, MPI_COMM_WORLD, &requests[s]));
  }
  for (int s = 0; s < kStages; ++s) {
    OK(MPI_Wait(&requests[s], MPI_STATUS_IGNORE));
    long long sum = 0;
    for (int each : data[s]) sum += each;
    CHECK_EQ(sum, static_cast<long long>(kCount) * (kCount - 1) / 2 + static_cast<long long>(kCount) * s * 1000);
  }
}

// Three overlapping pairs of three ranks; each rank takes part in two reductions, in either order.
void three_pairs(const check::Program& world) {
  if (world.size() < 3) return;
  MPI_Comm pairs[3];  // {0, 1}, {1, 2}, {2, 0}
  const int rank = world.rank();
  for (int p = 0; p < 3; ++p) {
    const bool in = rank == p || rank == (p + 1) % 3;
    OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, rank, &pairs[p]));
  }
  for (int orders = 0; orders < 8 && rank < 3; ++orders) {  // one bit per rank
    const int first = orders >> rank & 1 ? rank : (rank + 2) % 3;
    const int second = first == rank ? (rank + 2) % 3 : rank;
    const int mine = rank + 10;
    int sums[3] = {-1, -1, -1};
    MPI_Request requests[2];
    OK(MPI_Iallreduce(&mine, &sums[first], 1, MPI_INT, MPI_SUM, pairs[first], &requests[0]));
    OK(MPI_Iallreduce(&mine, &sums[second], 1, MPI_INT, MPI_SUM, pairs[second], &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int p : {first, second}) CHECK_EQ(sums[p], p + (p + 1) % 3 + 20);
  }
  for (MPI_Comm& pair : pairs)
    if (pair != MPI_COMM_NULL) OK(MPI_Comm_free(&pair));
}

// The second of two broadcasts is waited for first.
void second_before_first(const check::Program& world) {
  int a = world.rank() == 0 ? 5 : -1, b = world.rank() == world.size() - 1 ? 6 : -1;
  MPI_Request first, second;
  OK(MPI_Ibcast(&a, 1, MPI_INT, 0, MPI_COMM_WORLD, &first));
  OK(MPI_Ibcast(&b, 1, MPI_INT, world.size() - 1, MPI_COMM_WORLD, &second));
  OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
  CHECK_EQ(b, 6);
  OK(MPI_Wait(&first, MPI_STATUS_IGNORE));
  CHECK_EQ(a, 5);
}

// Two threads in collectives, on two communicators.
void two_threads(const check::Program& world) {
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  const auto work = [&](MPI_Comm comm, int seed) {
    for (int i = 0; i < 30; ++i) {
      int value = world.rank() == i % world.size() ? seed + i : -1, sum = -1;
      OK(MPI_Bcast(&value, 1, MPI_INT, i % world.size(), comm));
      CHECK_EQ(value, seed + i);
      OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
      CHECK_EQ(sum, (seed + i) * world.size());
    }
  };
  std::thread other(work, copy, 1000);
  work(MPI_COMM_WORLD, 5000);
  other.join();
  OK(MPI_Comm_free(&copy));
}

// Rank 0 broadcasts, then sends; rank 2 sends, then takes the broadcast; rank 1 receives from anyone
// before and behind it. Either message may match either receive: it depends on whether the root of
// the broadcast waits for the others, which it may or may not.
enum class Matching { any, first_of_2, first_of_0 };

// What makes a matching certain: rank 1 lets the sender whose turn is second go only when it has
// the first message. `forced` says which one may go at once. With `nonblocking`, the broadcast is
// started by all and waited for at the end, so that nothing is assumed of a root that returns
// early.
void wildcards(const check::Program& world, Matching forced, bool nonblocking) {
  if (world.size() < 3) return;
  constexpr int kData = 7, kGo = 8;
  const int rank = world.rank();
  const int held = forced == Matching::any ? -1 : forced == Matching::first_of_2 ? 0 : 2;
  for (int i = 0; i < 20; ++i) {
    int value = rank == 0 ? 9 + i : -1;
    MPI_Request cast = MPI_REQUEST_NULL;
    const auto broadcast = [&] {
      if (nonblocking)
        OK(MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &cast));
      else
        OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    };
    const auto send = [&] {
      int go = -1;
      if (rank == held) {
        OK(MPI_Recv(&go, 1, MPI_INT, 1, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(go, i);
      }
      OK(MPI_Send(&rank, 1, MPI_INT, 1, kData, MPI_COMM_WORLD));
    };
    if (rank == 1) {
      int a = -1, b = -1;
      MPI_Status first, second;
      MPI_Request go = MPI_REQUEST_NULL;
      OK(MPI_Recv(&a, 1, MPI_INT, MPI_ANY_SOURCE, kData, MPI_COMM_WORLD, &first));
      if (held >= 0) OK(MPI_Isend(&i, 1, MPI_INT, held, kGo, MPI_COMM_WORLD, &go));
      broadcast();
      OK(MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, kData, MPI_COMM_WORLD, &second));
      OK(MPI_Wait(&go, MPI_STATUS_IGNORE));
      CHECK_EQ(first.MPI_SOURCE, a);
      CHECK_EQ(second.MPI_SOURCE, b);
      CHECK_EQ(a + b, 2);
      CHECK(a != b);
      if (held >= 0) CHECK_EQ(b, held);
    } else if (rank == 0) {
      broadcast();
      send();
    } else if (rank == 2) {
      send();
      broadcast();
    } else {
      broadcast();
    }
    OK(MPI_Wait(&cast, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 9 + i);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

void wildcards_around_bcast(const check::Program& world) {
  wildcards(world, Matching::any, false);
}
// The receive before the broadcast takes the message of rank 2; that of rank 0 is not sent before.
void wildcard_takes_sender_first(const check::Program& world) {
  wildcards(world, Matching::first_of_2, false);
}
// The receive before the broadcast takes the message that the root sends behind it: legal wherever
// the root returns before rank 1 has begun, as it does here with an int. Rank 2's is not sent
// before.
void wildcard_takes_root_first(const check::Program& world) {
  wildcards(world, Matching::first_of_0, false);
}
// The same two where nothing hangs on whether a root waits.
void wildcard_takes_sender_first_nonblocking(const check::Program& world) {
  wildcards(world, Matching::first_of_2, true);
}
void wildcard_takes_root_first_nonblocking(const check::Program& world) {
  wildcards(world, Matching::first_of_0, true);
}

// Both messages are taken before the broadcast: the senders have sent before it.
void wildcards_before_bcast(const check::Program& world) {
  if (world.size() < 3) return;
  const int rank = world.rank();
  for (int i = 0; i < 20; ++i) {
    int value = rank == 0 ? 11 : -1;
    if (rank == 1) {
      int got[2] = {-1, -1};
      OK(MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Recv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
      CHECK_EQ(got[0] + got[1], 2);
      CHECK(got[0] != got[1]);
    } else if (rank == 0 || rank == 2) {
      OK(MPI_Send(&rank, 1, MPI_INT, 1, 8, MPI_COMM_WORLD));
      OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    } else {
      OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    CHECK_EQ(value, 11);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

struct Example {
  const char* name;
  void (*run)(const check::Program&);
};
constexpr Example kExamples[] = {
    {"barrier_around_bcast", barrier_around_bcast},
    {"opposite_orders", opposite_orders},
    {"barrier_inside_receive", barrier_inside_receive},
    {"mixed_waitall", mixed_waitall},
    {"pipelined_bcasts", pipelined_bcasts},
    {"three_pairs", three_pairs},
    {"second_before_first", second_before_first},
    {"two_threads", two_threads},
    {"wildcards_around_bcast", wildcards_around_bcast},
    {"wildcard_takes_sender_first", wildcard_takes_sender_first},
    {"wildcard_takes_root_first", wildcard_takes_root_first},
    {"wildcard_takes_sender_first_nonblocking", wildcard_takes_sender_first_nonblocking},
    {"wildcard_takes_root_first_nonblocking", wildcard_takes_root_first_nonblocking},
    {"wildcards_before_bcast", wildcards_before_bcast},
};

}  // namespace

// Without an argument all of them, else the one that it names, or with a dash in front all others.
int main(int argc, char** argv) {
  std::string named = argc > 1 ? argv[1] : "";
  const bool all_others = named.starts_with("-");
  if (all_others) named.erase(0, 1);
  check::Program world(&argc, &argv, MPI_THREAD_MULTIPLE);
  bool known = false;
  for (const Example& example : kExamples) {
    known |= named.empty() || named == example.name;
    if (!named.empty() && (named == example.name) == all_others) continue;
    for (int round = 0; round < 10; ++round) example.run(world);
  }
  CHECK(known);
}
