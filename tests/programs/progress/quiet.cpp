// SPDX-License-Identifier: BSD-3-Clause
// What guaranteed progress and waiting cost. A rank that computes with nothing pending, or with a
// receive pending for which nothing comes, is never interrupted: no other thread of its process
// runs at all. A rank that waits in MPI for a message uses no measurable time after a second; with
// the argument "spinning", and wait.spins=1000000000, it uses its core instead. Counted by the
// kernel: context switches and running time.
#include "board.hpp"

#include <utility>

namespace {

// Of all threads of this process, in milliseconds: as long as they ran, not by clock ticks, of which
// a thread that is woken by one is charged a whole one.
double time_used() {
  timespec used;
  CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
  return used.tv_sec * 1e3 + used.tv_nsec * 1e-6;
}

// In a second of computation no other thread runs. What comes once, because another rank is late, is
// no tick: the second is repeated, a tick would be found in each of them.
void nobody_interrupts(check::Board& board, const char* what) {
  const int through = board.next_event();
  std::string found;
  bool quiet = false;
  for (int i = 0; i < 5 && !quiet; ++i) {
    usleep(200000);
    const auto before = check::switches_of_other_threads();
    volatile double sink = 1;
    for (const double end = check::seconds() + 1; check::seconds() < end;)
      for (int k = 0; k < 1000; ++k) sink = sink * 1.0000001;
    const auto after = check::switches_of_other_threads();
    quiet = after == before;
    for (const auto& [thread, switches] : after) {
      const auto at = before.find(thread);
      const long more = switches - (at == before.end() ? 0 : at->second);
      if (more != 0) found += " " + thread + " ran " + std::to_string(more) + " times,";
    }
    found += ";";
  }
  if (!quiet)
    check::fail(__FILE__, __LINE__, "other threads run in every second of computation " +
                                        std::string(what) + ":" + found + " " +
                                        check::load_of_machine());
  // No message before the others are through as well.
  board.tell(through);
  CHECK(board.stay_away(check::Outside::sleeping, [&] { return board.told_by_all(through); }));
}

enum class Uses { nothing, its_core };

// All but rank 0 wait for it, and use less than a hundredth of a second's time, or more than half
// of it; it comes when they have measured that. The first second they may poll, or the machine be
// too busy to let them.
void waits(check::Board& board, int rank, Uses wanted, const char* what,
           const std::function<void()>& wait, const std::function<void()>& come) {
  const int measured = board.next_event();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    board.tell(measured);
    CHECK(board.stay_away(check::Outside::sleeping, [&] { return board.told_by_all(measured); }));
    return come();
  }
  bool as_wanted = false;
  std::string found;
  std::thread observer([&] {
    usleep(1000000);
    for (int i = 0; i < 5 && !as_wanted; ++i) {
      const double before = time_used();
      usleep(1000000);
      const double used = time_used() - before;
      as_wanted = wanted == Uses::nothing ? used <= 10 : used > 500;
      found += " " + std::to_string(used) + " ms";
    }
    board.tell(measured);
  });
  wait();
  observer.join();
  if (!as_wanted)
    check::fail(__FILE__, __LINE__,
                "in each second of waiting " + std::string(what) + " this process used " +
                    (wanted == Uses::nothing ? "much" : "little") + " time:" + found + "; " +
                    check::load_of_machine());
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  check::Board board(world);
  const int rank = world.rank(), size = world.size();
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int value = 0;
  MPI_Request request;
  const auto receive = [&] {
    OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  };
  const auto send = [&] {
    for (int i = 1; i < size; ++i) OK(MPI_Send(&value, 1, MPI_INT, i, 3, MPI_COMM_WORLD));
  };
  if (argc > 1 && std::strcmp(argv[1], "spinning") == 0) {
    waits(board, rank, Uses::its_core, "in MPI_Recv", receive, send);
    return 0;
  }

  nobody_interrupts(board, "after MPI_Init");
  for (int i = 0; i < 1000; ++i)
    OK(MPI_Sendrecv(&i, 1, MPI_INT, next, 1, &value, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nobody_interrupts(board, "after messages");
  OK(MPI_Irecv(&value, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nobody_interrupts(board, "with a receive pending");
  OK(MPI_Send(&rank, 1, MPI_INT, next, 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  waits(board, rank, Uses::nothing, "in MPI_Recv", receive, send);
  const auto barrier = [&] {
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  };
  waits(board, rank, Uses::nothing, "in MPI_Wait", barrier, barrier);
  const auto bcast = [&] { OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD)); };
  waits(board, rank, Uses::nothing, "in MPI_Bcast", bcast, bcast);
}
