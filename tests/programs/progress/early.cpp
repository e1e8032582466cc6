// SPDX-License-Identifier: BSD-3-Clause
// Ranks that come to a collective in shared memory before one that is away. If that one has nothing
// pending it is not disturbed: no other thread of its process runs. If it has started the collective
// itself, after it had been away for so long that its progress thread sleeps, or while another of its
// threads sleeps in MPI, it has its part done: the others need not wait until it is back. Not for
// collectives by messages, which are answered at once.
#include <utility>

#include "board.hpp"

namespace {

using check::Outside;

constexpr int kCount = 1 << 18;  // takes many rounds, of each of which all have to do their part
constexpr int kTries = 10;

void compute(double for_seconds) {
  volatile double sink = 1;
  for (const double end = check::seconds() + for_seconds; check::seconds() < end;)
    for (int k = 0; k < 1000; ++k) sink = sink * 1.0000001;
}

// Computes until the other threads have found that this one is away.
void compute_until_quiet() {
  auto before = check::switches_of_other_threads();
  for (int i = 0; i < 50; ++i) {
    compute(0.1);
    auto now = check::switches_of_other_threads();
    if (std::exchange(before, now) == now) return;
  }
  check::fail(__FILE__, __LINE__, "other threads go on running, " + check::load_of_machine());
}

// Rank 0 has nothing pending and computes; the others call a collective, and wait for it there. What
// runs late, on a busy machine, does not do so in each try.
void disturb_nobody(check::Board& board, int rank, int size) {
  std::string found;
  for (int i = 0, again = 1; again; ++i) {
    const int ready = board.next_event(), here = board.next_event();
    int sum = 0;
    if (rank == 0) {
      compute_until_quiet();
      const auto before = check::switches_of_other_threads();
      board.tell(ready);
      CHECK(board.stay_away(Outside::computing, [&] {
        for (int peer = 1; peer < size; ++peer)
          if (!board.told(here, peer)) return false;
        return true;
      }));
      compute(0.1);
      again = 0;
      for (const auto& [thread, switches] : check::switches_of_other_threads()) {
        const auto at = before.find(thread);
        const long more = switches - (at == before.end() ? 0 : at->second);
        if (more == 0) continue;
        again = 1;
        found += " " + thread + " ran " + std::to_string(more) + " times,";
      }
      if (again && i + 1 == kTries)
        check::fail(
            __FILE__, __LINE__,
            "others that come early disturb a rank that has nothing pending:" + found + " " + check::load_of_machine());
    } else {
      CHECK(board.stay_away(Outside::sleeping, [&] { return board.told(ready, 0); }));
      board.tell(here);
    }
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, size * (size - 1) / 2);
    OK(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
  }
}

struct Sum {
  std::vector<int> in = std::vector<int>(kCount, 1), out = std::vector<int>(kCount, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  void start() { OK(MPI_Iallreduce(in.data(), out.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request)); }
  void finish(int size) {
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (const int each : out) CHECK_EQ(each, size);
  }
};

// Rank 0 starts it when its progress thread sleeps, and computes on; or, `beside`, another thread of it
// sleeps in a receive. A bell that is not rung is made up for after some 100 ms: not in each try.
void have_their_part_done(check::Board& board, int rank, int size, bool beside) {
  constexpr double kWithoutLoss = 0.05;
  const std::string what = beside ? "a collective beside a thread that sleeps" : "a collective";
  double fastest = check::kForEver;
  for (int i = 0, again = 1; again; ++i) {
    const int ready = board.next_event(), done = board.next_event();
    int word = 0;
    Sum sum;
    if (rank == 0) {
      std::thread sleeper;
      if (beside)
        sleeper = std::thread([&] { OK(MPI_Recv(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); });
      // A thread that sleeps in MPI runs now and then.
      const auto wait = [&] { beside ? compute(0.03) : compute_until_quiet(); };
      wait();
      sum.start();
      wait();
      board.tell(ready);
      for (int peer = 1; peer < size; ++peer)
        board.away_until(Outside::computing, done, peer, what, __FILE__, __LINE__);
      sum.finish(size);
      if (beside) sleeper.join();
    } else {
      CHECK(board.stay_away(Outside::sleeping, [&] { return board.told(ready, 0); }));
      const double begin = check::seconds();
      sum.start();
      sum.finish(size);
      fastest = std::min(fastest, check::seconds() - begin);
      board.tell(done);
      if (beside && rank == 1) OK(MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
    }
    again = rank == 1 && fastest > kWithoutLoss;
    if (again && i + 1 == kTries)
      check::fail(
          __FILE__, __LINE__,
          what + " took " + std::to_string(fastest * 1e3) + " ms and more in each try, " + check::load_of_machine());
    OK(MPI_Bcast(&again, 1, MPI_INT, 1, MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv, MPI_THREAD_MULTIPLE);
  check::Board board(world);
  disturb_nobody(board, world.rank(), world.size());
  for (const bool beside : {false, true}) have_their_part_done(board, world.rank(), world.size(), beside);
}
