// SPDX-License-Identifier: BSD-3-Clause
// The memory of MPI_Win_allocate and MPI_Win_allocate_shared on a node: each rank takes the pages of its own part and no
// other, when the window is made; and what is copied past the caches is there for whoever hears, without a call, that
// the operation is complete. Reads which pages are taken in the library's place: the program's posix_fallocate() comes before
// that of the C library.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>

#include "check.hpp"
#include "rma/taken.hpp"

namespace {

constexpr long kPage = 4096;
int me, size;

// Of so many bytes for each rank, and a few less here and there.
template <class Make>
void own_pages(Make&& make) {
  const long bytes = 256 * kPage * (1 + me) - 8 * me, before = taken;
  void *mine = nullptr, *others = nullptr;
  MPI_Aint others_bytes;
  int unit;
  MPI_Win win;
  OK(make(bytes, &mine, &win));
  OK(MPI_Win_shared_query(win, me == 0 ? size - 1 : 0, &others_bytes, &unit, &others));
  const long whole = (bytes + kPage - 1) / kPage * kPage, own = taken - before;
  // Beside it a page that is a neighbour's, too, and from the first rank what the ranks say to each other.
  if (others)
    CHECK(own >= whole && own <= whole + 2 * kPage + (me == 0 ? 64 * kPage : 0));
  else
    CHECK_EQ(own, 0L);
  OK(MPI_Win_free(&win));
}

void of_each_kind() {
  own_pages([](long bytes, void* mine, MPI_Win* win) {
    return MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, mine, win);
  });
  own_pages([](long bytes, void* mine, MPI_Win* win) {
    return MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, mine, win);
  });
}

// So long that the copy goes past the caches. Who reads it waits for a word that the origin stores behind its call.
void past_the_caches() {
  constexpr long kWords = (4 << 20) / sizeof(long);
  constexpr int kTimes = 60;
  const int last = size - 1;
  std::atomic<int>* turns = nullptr;
  long* mine = nullptr;
  MPI_Win win, words;
  MPI_Aint bytes;
  int unit;
  OK(MPI_Win_allocate(kWords * static_cast<long>(sizeof(long)), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                      &win));
  OK(MPI_Win_allocate_shared(me == 0 ? 128 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &turns, &words));
  OK(MPI_Win_shared_query(words, 0, &bytes, &unit, &turns));
  std::atomic<int>&written = turns[0], &read = turns[16];
  if (me == 0) {
    written = 0;
    read = 0;
  }
  std::fill(mine, mine + kWords, -1);
  std::vector<long> data(kWords);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win));
  for (int turn = 1; turn <= kTimes; ++turn) {
    if (me == 0) {
      std::fill(data.begin(), data.end(), turn);
      OK(MPI_Put(data.data(), kWords, MPI_LONG, last, 0, kWords, MPI_LONG, win));
      OK(MPI_Win_flush(last, win));
      if (turn % 2) {
        OK(MPI_Win_unlock(last, win));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win));
      }
      written.store(turn, std::memory_order_relaxed);
      while (read.load() != turn) usleep(20);
    } else if (me == last) {
      while (written.load(std::memory_order_acquire) != turn) usleep(20);
      for (long i = kWords - 1; i >= 0; --i) CHECK_EQ(mine[i], static_cast<long>(turn));
      read.store(turn);
    }
  }
  if (me == 0) OK(MPI_Win_unlock(last, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_free(&words));
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  me = mpi.rank();
  size = mpi.size();
  of_each_kind();
  if (size > 1) past_the_caches();
}
