// SPDX-License-Identifier: BSD-3-Clause
// The strong progress rule for windows: operations and locks at the memory of a rank that computes,
// sleeps, or is blocked outside of MPI complete without its help. Judged by the order of events.
// TUTTI_ONLY: others complete them when the target calls MPI.
#include "board.hpp"

namespace {

using check::Outside;
constexpr int kLong = 300'000;

// Rank 0 works at the memory of rank 1, which is away until all is done.
void away(const check::Program& world, check::Board& board, Outside how) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int outside = board.next_event(), done = board.next_event();
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(kLong * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  if (world.rank() == 1) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    std::fill(memory, memory + kLong, 1);
    OK(MPI_Win_unlock(1, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 1) {
    board.tell(outside);
    board.away_until(how, done, 0, "operations at its memory", __FILE__, __LINE__);
  } else if (world.rank() == 0) {
    board.away_until(Outside::sleeping, outside, 1, "the other's leaving", __FILE__, __LINE__);
    std::vector<int> data(kLong, 5), old(kLong, 0);
    int seen = -1;
    const int five = 5, six = 6;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    OK(MPI_Put(data.data(), 10, MPI_INT, 1, 0, 10, MPI_INT, win));
    OK(MPI_Win_flush(1, win));
    OK(MPI_Put(data.data(), kLong, MPI_INT, 1, 0, kLong, MPI_INT, win));
    OK(MPI_Win_unlock(1, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Get(old.data(), kLong, MPI_INT, 1, 0, kLong, MPI_INT, win));
    OK(MPI_Win_flush(1, win));
    CHECK(old == data);
    OK(MPI_Compare_and_swap(&six, &five, &seen, MPI_INT, 1, 7, win));
    OK(MPI_Win_flush(1, win));
    CHECK_EQ(seen, 5);
    OK(MPI_Get_accumulate(data.data(), kLong, MPI_INT, old.data(), kLong, MPI_INT, 1, 0, kLong, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_unlock_all(win));
    for (int i = 0; i < kLong; ++i) CHECK_EQ(old[static_cast<size_t>(i)], i == 7 ? 6 : 5);
    board.tell(done);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 1) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    for (int i = 0; i < kLong; ++i) CHECK_EQ(memory[i], i == 7 ? 11 : 10);
    OK(MPI_Win_unlock(1, win));
  }
  OK(MPI_Win_free(&win));
}

// Rank 0 has started a long put, and goes away: the target completes it nevertheless.
void origin_away(const check::Program& world, check::Board& board, Outside how) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int outside = board.next_event(), done = board.next_event();
  std::vector<int> memory(kLong + 1, 1);  // and one that nobody writes to
  MPI_Win win;
  OK(MPI_Win_create(memory.data(), memory.size() * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Group world_group, one;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world_group));
  const int other = 1 - world.rank();
  OK(MPI_Group_incl(world_group, world.rank() < 2, &other, &one));
  std::vector<int> data(kLong, 9);
  if (world.rank() == 0) {
    MPI_Request request;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    OK(MPI_Rput(data.data(), kLong, MPI_INT, 1, 0, kLong, MPI_INT, win, &request));
    board.tell(outside);
    board.away_until(how, done, 1, "its put", __FILE__, __LINE__);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Win_unlock(1, win));
  } else if (world.rank() == 1) {
    board.away_until(Outside::sleeping, outside, 0, "the other's put", __FILE__, __LINE__);
    // What the put has written is seen in the window's memory, between calls of MPI that access another place.
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    const double began = check::seconds();
    const volatile int& last = memory[kLong - 1];
    while (last != 9) {
      int other_place;
      OK(MPI_Fetch_and_op(nullptr, &other_place, MPI_INT, 1, kLong, MPI_NO_OP, win));
      OK(MPI_Win_flush(1, win));
      OK(MPI_Win_sync(win));
      CHECK(check::seconds() - began < check::kForEver);
    }
    OK(MPI_Win_unlock(1, win));
    board.tell(done);
  }
  OK(MPI_Group_free(&one));
  OK(MPI_Group_free(&world_group));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 1)
    for (int i = 0; i < kLong; ++i) CHECK_EQ(memory[static_cast<size_t>(i)], 9);
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  if (world.size() < 2) return 0;
  check::Board board(world);
  for (const Outside how : {Outside::computing, Outside::sleeping, Outside::reading}) {
    away(world, board, how);
    origin_away(world, board, how);
  }
}
