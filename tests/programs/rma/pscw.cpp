// SPDX-License-Identifier: BSD-3-Clause
// General active target synchronisation: each rank exposes its memory to some and accesses that of
// others, in rings, in stars, with empty groups, with MPI_Win_test, several times in a row.
#include "check.hpp"

namespace {

MPI_Group group_of(const std::vector<int>& ranks) {
  MPI_Group world, made;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &made));
  OK(MPI_Group_free(&world));
  return made;
}

void await(MPI_Win win, bool tests) {
  if (!tests) {
    OK(MPI_Win_wait(win));
    return;
  }
  for (int flag = 0; !flag;) OK(MPI_Win_test(win, &flag));
}

// To the right, and from there.
void ring(const check::Program& mpi, MPI_Win win, int* memory, int length) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  MPI_Group origins = group_of({before}), targets = group_of({next});
  std::vector<int> out(static_cast<size_t>(length)), back(static_cast<size_t>(length));
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < length; ++i) {
      out[static_cast<size_t>(i)] = static_cast<int>(check::mix(me, round, i));
      memory[length + i] = static_cast<int>(check::mix(me, round + 50, i));
    }
    OK(MPI_Win_post(origins, round % 3 == 1 ? MPI_MODE_NOSTORE : 0, win));
    OK(MPI_Win_start(targets, 0, win));
    OK(MPI_Put(out.data(), length, MPI_INT, next, 0, length, MPI_INT, win));
    OK(MPI_Get(back.data(), length, MPI_INT, next, length, length, MPI_INT, win));
    OK(MPI_Win_complete(win));
    for (int i = 0; i < length; ++i)
      CHECK_EQ_IN(back[static_cast<size_t>(i)], static_cast<int>(check::mix(next, round + 50, i)), "round %d at %d",
                  round, i);
    std::fill(out.begin(), out.end(), -1);  // mine again
    await(win, round % 2);
    for (int i = 0; i < length; ++i)
      CHECK_EQ_IN(memory[i], static_cast<int>(check::mix(before, round, i)), "round %d at %d", round, i);
  }
  OK(MPI_Group_free(&origins));
  OK(MPI_Group_free(&targets));
}

// Rank 0 gathers from all others, then they read what it has.
void star(const check::Program& mpi, MPI_Win win, int* memory) {
  const int me = mpi.rank(), size = mpi.size();
  std::vector<int> rest(static_cast<size_t>(size - 1));
  std::iota(rest.begin(), rest.end(), 1);
  MPI_Group others = group_of(rest), first = group_of({0});
  for (int round = 0; round < 5; ++round) {
    const int mine = 100 * round + me;
    if (me == 0) {
      OK(MPI_Win_post(others, 0, win));
      await(win, round % 2);
      for (int r = 1; r < size; ++r) CHECK_EQ(memory[r], 100 * round + r);
      memory[0] = round;
      OK(MPI_Win_post(others, MPI_MODE_NOPUT, win));
      await(win, round % 2 == 0);
    } else {
      OK(MPI_Win_start(first, 0, win));
      OK(MPI_Put(&mine, 1, MPI_INT, 0, me, 1, MPI_INT, win));
      OK(MPI_Win_complete(win));
      std::vector<int> all(static_cast<size_t>(size), -1);
      OK(MPI_Win_start(first, 0, win));
      OK(MPI_Get(all.data(), size, MPI_INT, 0, 0, size, MPI_INT, win));
      OK(MPI_Win_complete(win));
      CHECK_EQ(all[0], round);
      for (int r = 1; r < size; ++r) CHECK_EQ(all[static_cast<size_t>(r)], 100 * round + r);
    }
  }
  OK(MPI_Group_free(&others));
  OK(MPI_Group_free(&first));
}

// Epochs without operations, towards nobody, and towards oneself.
void empty(const check::Program& mpi, MPI_Win win, int* memory) {
  OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
  OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  MPI_Group self = group_of({mpi.rank()});
  OK(MPI_Win_post(self, 0, win));
  OK(MPI_Win_start(self, 0, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  const int mine = 4711;
  OK(MPI_Win_post(self, 0, win));
  OK(MPI_Win_start(self, 0, win));
  OK(MPI_Accumulate(&mine, 1, MPI_INT, mpi.rank(), 0, 1, MPI_INT, MPI_REPLACE, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  CHECK_EQ(memory[0], 4711);
  OK(MPI_Group_free(&self));
}

// With MPI_MODE_NOCHECK the program makes sure itself that the exposure is there.
void unchecked(const check::Program& mpi, MPI_Win win, int* memory) {
  const int me = mpi.rank(), size = mpi.size(), next = (me + 1) % size, before = (me + size - 1) % size;
  MPI_Group origins = group_of({before}), targets = group_of({next});
  for (int round = 0; round < 4; ++round) {
    memory[0] = -1;
    OK(MPI_Win_post(origins, MPI_MODE_NOCHECK, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_start(targets, MPI_MODE_NOCHECK, win));
    const int mine = 10 * round + me;
    OK(MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK_EQ(memory[0], 10 * round + before);
  }
  OK(MPI_Group_free(&origins));
  OK(MPI_Group_free(&targets));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  int* memory = nullptr;
  MPI_Win win;
  OK(MPI_Win_allocate(2 * 50'000 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  for (const int length : {1, 40, 600, 50'000}) ring(mpi, win, memory, length);
  star(mpi, win, memory);
  empty(mpi, win, memory);
  unchecked(mpi, win, memory);
  OK(MPI_Win_free(&win));
}
