// SPDX-License-Identifier: BSD-3-Clause
// The strong progress rule where it is hardest: operations of 8 bytes to a megabyte whose peers
// compute, or wait in MPI for something else entirely; chains of operations in which each waits for
// the one before, all in the middle of one long computation; and a rank that has nothing pending at
// all and yet has to answer. Never after the computation; the bound is for machines that do much
// else, too.
#include <unistd.h>

#include <thread>

#include "check.hpp"

namespace {

constexpr double kAway = 0.5, kSoon = 0.35;  // seconds

void compute(double seconds) {
  volatile double sink = 1;
  for (const double end = check::seconds() + seconds; check::seconds() < end;)
    for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
}

// Many ranks that compute leave no core to anybody: there, all but one sleep.
void stay_away(const check::Program& world, double seconds) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (world.rank() == 0 || world.size() <= cores) return compute(seconds);
  usleep(static_cast<useconds_t>(seconds * 1e6));
}

void done_soon(double began, const std::string& what, int line) {
  const double took = check::seconds() - began;
  if (took > kSoon)
    check::fail(__FILE__, line,
                what + " took " + std::to_string(took) + " s while the others were away");
}

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

// All but the last are away, computing or blocked in a receive on another communicator, whose
// message comes when the last one is done.
void collectives(const check::Program& world, MPI_Comm other, bool in_mpi) {
  const int last = world.size() - 1;
  for (const Kind& kind : kKinds)
    for (int bytes : {8, 64 << 10, 1 << 20}) {
      const int count = std::max(bytes / 4, world.size());
      Started s{std::vector<int>(count, world.rank() + 1),
                std::vector<int>(count, world.rank() + 1)};
      OK(MPI_Barrier(MPI_COMM_WORLD));
      kind.start(s, count, world.size(), MPI_COMM_WORLD);
      const std::string what = std::string(kind.name) + " of " + std::to_string(bytes) + " bytes";
      int go = 1;
      if (world.rank() == last) {
        const double began = check::seconds();
        OK(MPI_Wait(&s.request, MPI_STATUS_IGNORE));
        done_soon(began, what, __LINE__);
        for (int i = 0; in_mpi && i < last; ++i) OK(MPI_Send(&go, 1, MPI_INT, i, 0, other));
      } else if (in_mpi) {
        OK(MPI_Recv(&go, 1, MPI_INT, last, 0, other, MPI_STATUS_IGNORE));
      } else {
        stay_away(world, kAway);
      }
      OK(MPI_Wait(&s.request, MPI_STATUS_IGNORE));
      if (kind.name == std::string("ibcast"))
        for (int each : s.out) CHECK_EQ(each, 1);
      if (kind.name == std::string("iallreduce"))
        for (int each : s.out) CHECK_EQ(each, world.size() * (world.size() + 1) / 2);
    }
}

// A message passes through all ranks, each of which computes: it cannot go on before it has come,
// and nobody waits for it. The one who sent it first has it back long before anybody is.
void chain(const check::Program& world) {
  constexpr int kRounds = 3;
  std::vector<double> in(1 << 17, world.rank()), out(in.size());
  std::vector<MPI_Request> requests(kRounds);
  std::vector<std::vector<double>> sums(kRounds, out);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  // Large enough that each is an exchange of several dependent rounds.
  for (int i = 0; i < kRounds; ++i)
    OK(MPI_Iallreduce(in.data(), sums[i].data(), in.size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                      &requests[i]));
  stay_away(world, kAway);
  for (MPI_Request& request : requests) {  // without a pass of progress there is only what was done
    int flag = 0;
    OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
  }
  OK(MPI_Waitall(kRounds, requests.data(), MPI_STATUSES_IGNORE));
  for (const auto& sum : sums) CHECK_EQ(sum.back(), world.size() * (world.size() - 1) / 2);
}

// The others have nothing pending and compute: they answer a cancelled send all the same.
void answer(const check::Program& world) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == world.size() - 1) {
    usleep(30000);
    int value = 1, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    const double began = check::seconds();
    OK(MPI_Issend(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    done_soon(began, "a cancelled send", __LINE__);
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
  } else {
    stay_away(world, kAway);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  MPI_Comm other;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  // Everyone knows everyone: connections made late are the business of other tests.
  std::vector<int> all(world.size());
  OK(MPI_Alltoall(std::vector<int>(world.size(), 1).data(), 1, MPI_INT, all.data(), 1, MPI_INT,
                  MPI_COMM_WORLD));
  collectives(world, other, false);
  collectives(world, other, true);
  chain(world);
  answer(world);
  OK(MPI_Comm_free(&other));
}
