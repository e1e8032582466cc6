// SPDX-License-Identifier: BSD-3-Clause
// MPI_Win_lock_all against those who lock one rank alone: touched in different orders by many, none of whom stops the
// others for good; who wants a rank alone gets it though locks of all follow each other without a gap; what is started
// under one waits for who holds the rank alone, and what was read under it stays as it is. With the argument "lazy",
// which is for runs where nobody looks on (--check=strict, sanitizers): the ranks that are used are asked, and no others,
// and no call waits but the one that completes.
#include "check.hpp"

namespace {

int me, size;

// A window of this many integers, all zero, of memory that the ranks of a node share, or of their own.
class Window {
 public:
  Window(int length, bool allocated) {
    const auto bytes = static_cast<MPI_Aint>(sizeof(int)) * length;
    if (allocated) {
      OK(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    } else {
      own_.resize(static_cast<size_t>(length));
      memory = own_.data();
      OK(MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    std::fill(memory, memory + length, 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  ~Window() { MPI_Win_free(&win); }
  Window(const Window&) = delete;

  int* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;

 private:
  std::vector<int> own_;
};

// Both integers, which who is alone changes one after the other, are the same for whoever shares; and stay so until the
// end of the epoch.
void in_every_order(bool allocated, int rounds) {
  const Window w(2, allocated);
  int changes = 0;
  for (int round = 0; round < rounds; ++round) {
    const int target = static_cast<int>(check::mix(me, round) % static_cast<unsigned>(size));
    if ((round + me) % 2 == 0) {
      const int step = me % 2 == 0 ? 1 : size - 1, first = target;
      std::vector<int> seen(static_cast<size_t>(2 * size), -1), later(seen);
      OK(MPI_Win_lock_all(0, w.win));
      for (std::vector<int>* into : {&seen, &later}) {
        for (int k = 0; k < size; ++k) {
          const int r = (first + k * step) % size;
          OK(MPI_Get(&(*into)[static_cast<size_t>(2 * r)], 2, MPI_INT, r, 0, 2, MPI_INT, w.win));
          if ((round + k) % 3 == 0) OK(MPI_Win_flush(r, w.win));
        }
        OK(MPI_Win_flush_all(w.win));
      }
      OK(MPI_Win_unlock_all(w.win));
      for (int r = 0; r < size; ++r) {
        CHECK_EQ_IN(seen[static_cast<size_t>(2 * r)], seen[static_cast<size_t>(2 * r + 1)], "rank %d, round %d", r,
                    round);
        CHECK_EQ_IN(seen[static_cast<size_t>(2 * r)], later[static_cast<size_t>(2 * r)], "rank %d, round %d", r, round);
      }
    } else {
      int seen[2] = {-1, -1};
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
      OK(MPI_Get(seen, 2, MPI_INT, target, 0, 2, MPI_INT, w.win));
      OK(MPI_Win_flush(target, w.win));
      CHECK_EQ(seen[0], seen[1]);
      for (int k = 0; k < 2; ++k) {
        ++seen[k];
        OK(MPI_Put(&seen[k], 1, MPI_INT, target, k, 1, MPI_INT, w.win));
        OK(MPI_Win_flush(target, w.win));
      }
      OK(MPI_Win_unlock(target, w.win));
      ++changes;
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w.win));
  const int mine = w.memory[0];
  OK(MPI_Win_unlock(me, w.win));
  int sum = -1, all = -1;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(&changes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, all);
}

// All but the last rank lock all, again and again, until they read at rank 0 that the last one has had it alone.
void nobody_starves(bool allocated) {
  const Window w(1, allocated);
  for (int round = 1; round <= 5; ++round) {
    if (me == size - 1) {
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
      OK(MPI_Put(&round, 1, MPI_INT, 0, 0, 1, MPI_INT, w.win));
      OK(MPI_Win_unlock(0, w.win));
    } else {
      for (int seen = 0, elsewhere = 0; seen < round;) {
        OK(MPI_Win_lock_all(0, w.win));
        OK(MPI_Get(&elsewhere, 1, MPI_INT, size - 1, 0, 1, MPI_INT, w.win));
        OK(MPI_Win_flush(size - 1, w.win));
        OK(MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, w.win));
        OK(MPI_Win_unlock_all(w.win));
      }
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Rank 0 has rank 1's memory alone, until it has heard that the others have started what they do there; or are about to,
// where their locks may not be lazy.
void waits_where_it_is_used(bool allocated, bool lazy) {
  const int mine = 100 + me;
  for (int round = 0; round < 4; ++round) {
    // A window of its own each time: where others waited for a lock when it was given up, the next call waits for it.
    const Window w(size, allocated);
    int seen = -1, got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (me == 0) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win));
    if (me == 0) OK(MPI_Win_flush(1, w.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) {
      for (int r = 2; r < size; ++r) OK(MPI_Recv(nullptr, 0, MPI_INT, r, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Get(&seen, 1, MPI_INT, 1, size - 1, 1, MPI_INT, w.win));
      OK(MPI_Win_flush(1, w.win));
      CHECK_EQ(seen, 0);
      OK(MPI_Win_unlock(1, w.win));
    } else if (me > 1) {
      const int value = mine + round;
      // Where rank 1's memory can be reached by loads and stores it is locked by the call, which waits.
      MPI_Aint bytes;
      int unit, *base = nullptr;
      if (allocated) OK(MPI_Win_shared_query(w.win, 1, &bytes, &unit, &base));
      const bool waits = base != nullptr || !lazy;
      if (waits) OK(MPI_Send(nullptr, 0, MPI_INT, 0, round, MPI_COMM_WORLD));
      OK(MPI_Win_lock_all(0, w.win));
      OK(MPI_Put(&value, 1, MPI_INT, 1, me, 1, MPI_INT, w.win));
      OK(MPI_Rget(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, w.win, &request));
      OK(MPI_Put(&value, 1, MPI_INT, me, 0, 1, MPI_INT, w.win));
      if (!waits) OK(MPI_Send(nullptr, 0, MPI_INT, 0, round, MPI_COMM_WORLD));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Win_unlock_all(w.win));
      CHECK_EQ(got, 0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// Those of whom rank 0 wants nothing have their memory alone meanwhile, so that nobody else could get their locks: it asks
// the ranks that it uses, and no others.
void asks_whom_it_uses(bool allocated) {
  const Window w(1, allocated);
  for (int used = 0; used < size; ++used) {
    MPI_Aint bytes;
    int unit, *base = nullptr;
    if (allocated) OK(MPI_Win_shared_query(w.win, 0, &bytes, &unit, &base));
    const bool is_alone = me > used && base == nullptr;
    if (is_alone) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me == 0) {
      OK(MPI_Win_lock_all(0, w.win));
      for (int r = 1; r <= used; ++r) OK(MPI_Put(&used, 1, MPI_INT, r, 0, 1, MPI_INT, w.win));
      OK(MPI_Win_flush_all(w.win));
      if (used > 0) OK(MPI_Put(&used, 1, MPI_INT, used, 0, 1, MPI_INT, w.win));
      OK(MPI_Win_unlock_all(w.win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (is_alone) OK(MPI_Win_unlock(me, w.win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w.win));
    CHECK_EQ(w.memory[0], me > 0 && me <= used ? used : 0);
    OK(MPI_Win_unlock(me, w.win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

// Who exposes memory while another one has locked all is refused, and who locks all while it is exposed; where the memory
// is shared by the ranks, for elsewhere a lock of all asks for nothing yet.
void is_not_exposed_meanwhile() {
  for (const bool exposed_first : {false, true}) {
    const Window w(1, true);
    OK(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
    MPI_Aint bytes;
    int unit, *base = nullptr;
    OK(MPI_Win_shared_query(w.win, 1 - std::min(me, 1), &bytes, &unit, &base));
    MPI_Group all, other;
    const int one = 1;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, 1, &one, &other));
    if (me < 2 && base) {
      if (me == 0 && exposed_first) OK(MPI_Win_post(other, 0, w.win));
      if (me == 1 && !exposed_first) OK(MPI_Win_lock_all(0, w.win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (base && me == (exposed_first ? 1 : 0)) {
      const int code = exposed_first ? MPI_Win_lock_all(0, w.win) : MPI_Win_post(other, 0, w.win);
      CHECK_EQ(check::error_class(code), MPI_ERR_RMA_SYNC);
      const std::string text = check::error_text(code), wanted = exposed_first
                                                                     ? "rank 0 of the window has exposed its memory"
                                                                     : "rank 1 holds a lock on this rank's memory";
      if (text.find(wanted) == std::string::npos) check::fail(__FILE__, __LINE__, text);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me < 2 && base) {
      if (me == 0 && exposed_first) OK(MPI_Win_wait(w.win));
      if (me == 1 && exposed_first) {
        MPI_Group target;
        const int zero = 0;
        OK(MPI_Group_incl(all, 1, &zero, &target));
        OK(MPI_Win_start(target, 0, w.win));
        OK(MPI_Win_complete(w.win));
        OK(MPI_Group_free(&target));
      }
      if (me == 1 && !exposed_first) OK(MPI_Win_unlock_all(w.win));
    }
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&other));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  me = mpi.rank();
  size = mpi.size();
  const bool lazy = argc > 1 && std::string(argv[1]) == "lazy";
  for (const bool allocated : {false, true}) {
    if (lazy) asks_whom_it_uses(allocated);
    if (!lazy) in_every_order(allocated, 40);
    // Until somebody wants a part alone the ranks of a node lock all as one: so it happens for the first time again.
    for (int window = 0; !lazy && window < 10; ++window) in_every_order(allocated, 2);
    if (!lazy && size > 1) nobody_starves(allocated);
    if (!lazy && allocated && size > 1) is_not_exposed_meanwhile();
    if (size > 1) waits_where_it_is_used(allocated, lazy);
  }
}
