// SPDX-License-Identifier: BSD-3-Clause
// The strong progress rule where it is hardest: operations of 8 bytes to a megabyte whose peers
// compute, sleep, read, or wait in MPI for something else entirely; chains of operations in which
// each waits for the one before, all in the middle of one long computation; and a rank that has
// nothing pending at all and yet has to answer. Judged by the order of events (board.hpp): never
// after the computation. And by the clock, which other load may stop, but not each time: of some
// tries one takes no more than two milliseconds between two ranks that have a core each to themselves,
// and else than a few scheduler slices for each of the algorithm's rounds.
#include <functional>
#include <optional>

#include "board.hpp"
#include "cores.hpp"

namespace {

using check::Outside;

constexpr double kFreeCore = 0.002;
constexpr double kFewSlices = 0.012;
constexpr int kTries = 20;
// No slices make up so much: a wake-up was lost, and what wakes in its place (contract.standstill) comes after 3 s.
constexpr double kLostWakeup = 2.5;

struct Test {
  const check::Program& world;
  check::Board& board;
  MPI_Comm other;
  check::Slowest slowest;
};

// Twice the depth of a tree, as of an allreduce that gathers and scatters.
double few_slices(int size) {
  int depth = 0;
  for (int reached = 1; reached < size; reached *= 2) ++depth;
  return kFewSlices * 2 * depth;
}

// `once` returns what `judge` has waited for.
void in_bounded_time(Test& test, int judge, const std::string& what, const std::function<double()>& once) {
  const int size = test.world.size();
  bool free = size == 2 && std::thread::hardware_concurrency() >= 2;
  double fastest = check::kForEver;
  for (int i = 0, again = 1; again; ++i) {
    const double took = once();
    if (test.world.rank() == judge) {
      const double bound = free ? kFreeCore : few_slices(size);
      fastest = std::min(fastest, took);
      if (took > kLostWakeup)
        check::fail(__FILE__, __LINE__, what + " took " + std::to_string(took) + " s; " + check::load_of_machine());
      if (i == 0) test.slowest.saw(took, what);
      again = fastest > bound;
      if (again && i + 1 == kTries)
        check::fail(__FILE__, __LINE__,
                    what + " took " + std::to_string(fastest * 1e3) + " ms and more in each of " +
                        std::to_string(kTries) + " tries, of which " + std::to_string(bound * 1e3) + " are enough; " +
                        check::load_of_machine());
    }
    OK(MPI_Bcast(&again, 1, MPI_INT, judge, MPI_COMM_WORLD));
    if (again && free) free = !check::cores_are_shared(MPI_COMM_WORLD);
  }
}

struct Started {
  std::vector<int> in, out;
  MPI_Request request = MPI_REQUEST_NULL;
};

// What rank `from` sends to rank `to`; one each for collectives that send the same to all.
int word(int from, int to) {
  return 100 * from + to + 1;
}

struct Kind {
  const char* name;
  void (*start)(Started&, int count, int size, MPI_Comm comm);
  // Of element i of what arrived, in blocks of `block`, at rank `me` of `size`.
  int (*expected)(int i, int block, int me, int size);
};
const Kind kKinds[] = {
    {"ibarrier", [](Started& s, int, int, MPI_Comm c) { OK(MPI_Ibarrier(c, &s.request)); },
     [](int, int, int, int) { return -1; }},
    {"ibcast",
     [](Started& s, int n, int, MPI_Comm c) {
       int rank;
       OK(MPI_Comm_rank(c, &rank));
       if (rank == 0) s.out = s.in;
       OK(MPI_Ibcast(s.out.data(), n, MPI_INT, 0, c, &s.request));
     },
     [](int i, int block, int, int) { return word(0, i / block); }},
    {"iallreduce",
     [](Started& s, int n, int, MPI_Comm c) {
       OK(MPI_Iallreduce(s.in.data(), s.out.data(), n, MPI_INT, MPI_SUM, c, &s.request));
     },
     [](int i, int block, int, int size) { return 50 * size * (size - 1) + (i / block + 1) * size; }},
    {"iallgather",
     [](Started& s, int n, int size, MPI_Comm c) {
       OK(MPI_Iallgather(s.in.data(), n / size, MPI_INT, s.out.data(), n / size, MPI_INT, c, &s.request));
     },
     [](int i, int block, int, int) { return word(i / block, 0); }},
    {"ialltoall",
     [](Started& s, int n, int size, MPI_Comm c) {
       OK(MPI_Ialltoall(s.in.data(), n / size, MPI_INT, s.out.data(), n / size, MPI_INT, c, &s.request));
     },
     [](int i, int block, int me, int) { return word(i / block, me); }},
};

// All but the last are away, outside of MPI in this way, or (no way) blocked in a receive on
// another communicator, whose message comes when the last one is done.
double collective(Test& test, const Kind& kind, const std::string& what, int bytes, std::optional<Outside> how) {
  const int rank = test.world.rank(), size = test.world.size(), last = size - 1;
  const int block = std::max(bytes / 4 / size, 1), count = block * size;
  const int done = test.board.next_event();
  double took = 0;
  Started s{std::vector<int>(count), std::vector<int>(count, -1)};
  for (int i = 0; i < count; ++i) s.in[i] = word(rank, i / block);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  kind.start(s, count, size, MPI_COMM_WORLD);
  int go = 1;
  if (rank == last) {
    const double began = check::seconds();
    OK(MPI_Wait(&s.request, MPI_STATUS_IGNORE));
    took = check::seconds() - began;
    test.board.tell(done);
    for (int i = 0; !how && i < last; ++i) OK(MPI_Send(&go, 1, MPI_INT, i, 0, test.other));
  } else if (how) {
    test.board.away_until(*how, done, last, what, __FILE__, __LINE__);
  } else {
    OK(MPI_Recv(&go, 1, MPI_INT, last, 0, test.other, MPI_STATUS_IGNORE));
  }
  OK(MPI_Wait(&s.request, MPI_STATUS_IGNORE));
  for (int i = 0; i < count; ++i) CHECK_EQ(s.out[i], kind.expected(i, block, rank, size));
  return took;
}

// A megabyte to a rank that has posted its receive and is away, or blocked in MPI on another
// communicator until the sender is done.
double message(Test& test, const std::string& what, std::optional<Outside> how) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int posted = test.board.next_event(), done = test.board.next_event();
  if (test.world.rank() > 1) return 0;
  std::vector<int> data(1 << 18, test.world.rank() == 0 ? 7 : -1);
  MPI_Request request;
  int go = 1;
  double took = 0;
  if (test.world.rank() == 0) {
    test.board.away_until(Outside::sleeping, posted, 1, "the other's receive", __FILE__, __LINE__);
    const double began = check::seconds();
    OK(MPI_Isend(data.data(), data.size(), MPI_INT, 1, 1, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    took = check::seconds() - began;
    test.board.tell(done);
    if (!how) OK(MPI_Send(&go, 1, MPI_INT, 1, 0, test.other));
  } else {
    OK(MPI_Irecv(data.data(), data.size(), MPI_INT, 0, 1, MPI_COMM_WORLD, &request));
    test.board.tell(posted);
    if (how)
      test.board.away_until(*how, done, 0, what, __FILE__, __LINE__);
    else
      OK(MPI_Recv(&go, 1, MPI_INT, 0, 0, test.other, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int each : data) CHECK_EQ(each, 7);
  }
  return took;
}

// Operations whose rounds each need the one before, and that all end while nobody is in MPI: a scan
// goes from rank to rank, an allreduce this long to and fro several times (around the ring once or
// twice where a rule says so).
void chain(Test& test) {
  const int rank = test.world.rank(), size = test.world.size(), there = test.board.next_event();
  std::vector<double> in(1 << 17, rank + 1), sum(in.size(), -1), scan(in.size(), -1);
  const double of_all = size * (size + 1) / 2, up_to_me = (rank + 1) * (rank + 2) / 2;
  MPI_Request requests[2];
  const auto all_are = [](const std::vector<double>& there_now, double expected) {
    for (const volatile double& each : there_now)
      if (each != expected) return false;
    return true;
  };
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iallreduce(in.data(), sum.data(), in.size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Iscan(in.data(), scan.data(), in.size(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
  test.board.all_see(
      Outside::computing, there, "a chain of rounds", [&] { return all_are(sum, of_all) && all_are(scan, up_to_me); },
      __FILE__, __LINE__);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
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
  OK(MPI_Alltoall(std::vector<int>(world.size(), 1).data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  for (const std::optional<Outside> how : {std::optional(Outside::computing), std::optional(Outside::sleeping),
                                           std::optional(Outside::reading), std::optional<Outside>()}) {
    const std::string others = std::string(" with the others ") + (how ? check::name_of(*how) : "in MPI");
    for (const Kind& kind : kKinds)
      for (int bytes : {8, 64 << 10, 1 << 20}) {
        const std::string what = std::string(kind.name) + " of " + std::to_string(bytes) + " bytes" + others;
        in_bounded_time(test, world.size() - 1, what, [&] { return collective(test, kind, what, bytes, how); });
      }
    const std::string what = "a megabyte sent" + others;
    in_bounded_time(test, 0, what, [&] { return message(test, what, how); });
  }
  chain(test);
  answer(test);
  test.slowest.report();
  OK(MPI_Comm_free(&other));
}
