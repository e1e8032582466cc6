// SPDX-License-Identifier: BSD-3-Clause
// What synchronisation of a window sends, counted in messages by MPI_T: MPI_Win_lock_all and MPI_Win_unlock_all,
// MPI_Win_flush_all and MPI_Win_fence say something to those that an operation has gone to, and nothing to the others; and
// nothing at all where the ranks share the window's memory. Rank 0 acts, the others serve. For runs in which nobody looks
// on at windows (--check=strict, sanitizers), where MPI_Win_lock_all asks everybody, and without the kernel's copies
// (transport.cma), which take the place of messages to ranks that sleep.
#include "check.hpp"
#include "rma/messages.hpp"

namespace {

int me, size;

class Window {
 public:
  explicit Window(bool allocated) : allocated_(allocated) {
    void* base = &memory_;
    if (allocated)
      OK(MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    else
      OK(MPI_Win_create(base, sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  }
  ~Window() { MPI_Win_free(&win); }
  Window(const Window&) = delete;
  // Its part can be loaded and stored from here.
  bool is_near(int rank) const {
    if (!allocated_) return false;
    MPI_Aint bytes;
    int unit;
    void* base = nullptr;
    OK(MPI_Win_shared_query(win, rank, &bytes, &unit, &base));
    return base != nullptr;
  }
  void put(int rank) const { OK(MPI_Put(&me, 1, MPI_INT, rank, 0, 1, MPI_INT, win)); }

  MPI_Win win = MPI_WIN_NULL;

 private:
  const bool allocated_;
  int memory_ = 0;
};

// Ranks 1 to `touched` get `messages` each, those behind none; and none does whose memory is near.
void expect(const Window& w, const std::vector<long>& sent, int touched, long messages, const char* what) {
  for (int r = 1; r < size; ++r)
    CHECK_EQ_IN(sent[static_cast<size_t>(r)], r <= touched && !w.is_near(r) ? messages : 0L, "%s: rank %d, %d touched",
                what, r, touched);
}

// A message for each put, its lock in it, and one for what completes it. The last put may have been kept until then, and both
// be one; and a lock may have gone ahead, if this process had no core meanwhile. How few it can be tells rma/created.cpp.
template <class Puts, class Completes>
void expect_pairs(const Window& w, const Messages& messages, Puts&& puts, Completes&& completes, int touched,
                  const char* what) {
  std::vector<long> sent = messages.by(puts);
  const std::vector<long> behind = messages.by(completes);
  int last = touched;  // to whom a message goes
  while (last > 0 && w.is_near(last)) --last;
  for (size_t r = 0; r < sent.size(); ++r) {
    sent[r] += behind[r];
    if (sent[r] == 3 || (sent[r] == 1 && static_cast<int>(r) == last)) sent[r] = 2;
  }
  expect(w, sent, touched, 2, what);
}

void by_locks(const Messages& messages, bool allocated) {
  const Window w(allocated);
  for (int touched = 0; touched < size; ++touched) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (me > 0) continue;
    const auto put_to_each = [&] {
      for (int r = 1; r <= touched; ++r) w.put(r);
    };
    expect(w, messages.by([&] { OK(MPI_Win_lock_all(0, w.win)); }), touched, 0, "MPI_Win_lock_all");
    const auto flush_all = [&] { OK(MPI_Win_flush_all(w.win)); };
    expect_pairs(w, messages, put_to_each, flush_all, touched,
                 "the first puts, each with its lock, and MPI_Win_flush_all");
    expect(w, messages.by(flush_all), touched, 0, "MPI_Win_flush_all without operations");
    expect_pairs(
        w, messages, put_to_each, [&] { OK(MPI_Win_unlock_all(w.win)); }, touched, "puts and MPI_Win_unlock_all");
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// What a fence sends beside its barrier, which is known of one without operations.
void by_fence(const Messages& messages, bool allocated) {
  const Window w(allocated);
  const auto fence = [&] { OK(MPI_Win_fence(0, w.win)); };
  fence();
  for (int touched = 0; touched < size; ++touched) {
    std::vector<long> sent = messages.by(fence);
    if (me == 0)
      for (int r = 1; r <= touched; ++r) w.put(r);
    const std::vector<long> behind_puts = messages.by(fence);
    for (size_t r = 0; r < sent.size(); ++r) sent[r] = behind_puts[r] - sent[r];
    if (me == 0) expect(w, sent, touched, 1, "MPI_Win_fence");
  }
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  me = mpi.rank();
  size = mpi.size();
  const Messages messages;
  for (const bool allocated : {false, true}) {
    by_locks(messages, allocated);
    by_fence(messages, allocated);
  }
}
