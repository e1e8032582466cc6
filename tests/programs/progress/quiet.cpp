// SPDX-License-Identifier: BSD-3-Clause
// What guaranteed progress and waiting cost. A rank that computes with nothing pending, or with
// receives, sends, collectives and a window for which nothing comes, is never interrupted: no other
// thread of its process runs at all. A rank that waits in MPI for a message uses no measurable time
// after a second; with the argument "spinning", and wait.spins=1000000000, it uses its core instead.
// Counted by the kernel: context switches and running time.
#include <utility>

#include "board.hpp"

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
    check::fail(__FILE__, __LINE__,
                "other threads run in every second of computation " + std::string(what) + ":" + found + " " +
                    check::load_of_machine());
  // No message before the others are through as well.
  board.tell(through);
  CHECK(board.stay_away(check::Outside::sleeping, [&] { return board.told_by_all(through); }));
}

// A send of a megabyte and a short one that nobody receives, collectives that the last rank has not
// begun, and a window that others may reach.
void with_all_pending(check::Board& board, int rank, int size) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  std::vector<int> out(1 << 18, rank), in(out.size(), -1), sum(out.size(), -1), exposed(4, -1);
  std::vector<MPI_Request> requests;
  const auto request = [&] { return &requests.emplace_back(); };
  int got = -1, total = -1;
  MPI_Win window;
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Win_create(exposed.data(), 4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &window));
  OK(MPI_Win_fence(0, window));
  requests.reserve(8);
  const auto collectives = [&] {
    OK(MPI_Iallreduce(&rank, &total, 1, MPI_INT, MPI_SUM, comm, request()));
    OK(MPI_Iallreduce(out.data(), sum.data(), out.size(), MPI_INT, MPI_SUM, comm, request()));
    OK(MPI_Ibarrier(comm, request()));
  };
  OK(MPI_Issend(out.data(), out.size(), MPI_INT, next, 5, comm, request()));
  OK(MPI_Issend(&rank, 1, MPI_INT, next, 6, comm, request()));
  if (rank != size - 1) collectives();
  nobody_interrupts(board, "with sends, collectives and a window pending");
  if (rank == size - 1) collectives();
  OK(MPI_Irecv(in.data(), in.size(), MPI_INT, before, 5, comm, request()));
  OK(MPI_Irecv(&got, 1, MPI_INT, before, 6, comm, request()));
  OK(MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE));
  for (int each : in) CHECK_EQ(each, before);
  for (int each : sum) CHECK_EQ(each, size * (size - 1) / 2);
  CHECK_EQ(got, before);
  CHECK_EQ(total, size * (size - 1) / 2);
  OK(MPI_Win_fence(0, window));
  OK(MPI_Win_free(&window));
  OK(MPI_Comm_free(&comm));
}

enum class Uses { nothing, its_core };
// A machine that is busy lets nobody measure: one of so many seconds has to be quiet.
constexpr int kSecondsOfWaiting = 5;

// All but rank 0 wait for it, and use less than a hundredth of a second's time, or more than half of it, in one of some
// seconds; it comes when they have measured that. The first second they may poll, or the machine be too busy to let them.
void waits(check::Board& board, int rank, Uses wanted, const char* what, const std::function<void()>& wait,
           const std::function<void()>& come) {
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
    for (int i = 0; i < kSecondsOfWaiting && !as_wanted; ++i) {
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
                    (wanted == Uses::nothing ? "much" : "little") + " time:" + found + "; " + check::load_of_machine());
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  check::Board board(world);
  const int rank = world.rank(), size = world.size();
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int value = 0;
  MPI_Request request;
  const auto receive = [&] { OK(MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); };
  const auto send = [&] {
    for (int i = 1; i < size; ++i) OK(MPI_Send(&value, 1, MPI_INT, i, 3, MPI_COMM_WORLD));
  };
  if (argc > 1 && std::strcmp(argv[1], "spinning") == 0) {
    waits(board, rank, Uses::its_core, "in MPI_Recv", receive, send);
    return 0;
  }

  nobody_interrupts(board, "after MPI_Init");
  for (int i = 0; i < 1000; ++i)
    OK(MPI_Sendrecv(&i, 1, MPI_INT, next, 1, &value, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nobody_interrupts(board, "after messages");
  OK(MPI_Irecv(&value, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nobody_interrupts(board, "with a receive pending");
  OK(MPI_Send(&rank, 1, MPI_INT, next, 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  with_all_pending(board, rank, size);

  waits(board, rank, Uses::nothing, "in MPI_Recv", receive, send);
  const auto barrier = [&] {
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  };
  waits(board, rank, Uses::nothing, "in MPI_Wait", barrier, barrier);
  const auto bcast = [&] { OK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD)); };
  waits(board, rank, Uses::nothing, "in MPI_Bcast", bcast, bcast);
}
