// SPDX-License-Identifier: BSD-3-Clause
// Windows among the ranks of two jobs on one node, this one and one that it spawns: puts and gets are copies of the kernel's,
// from the first one on that has a lock, or an epoch that is open there, whatever the target does meanwhile; the locks and
// epochs are messages. The argument says how operations go: "copied", by the kernel, or "messages" (transport.cma=off,
// rma.direct=off, and where somebody looks on).
#include <algorithm>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "rma/messages.hpp"

namespace {

constexpr int kBytes = 1 << 20, kOperations = 20;
constexpr int kLengths[] = {1, 8, 2000, 5000, 100'000, kBytes};

MPI_Comm all;
int me, size, mine;  // my rank in `all`, its size, and how many of this job
bool copied, parent;

// The ranks of the job that spawned come first.
bool is_of_parents(int rank) {
  return rank < (parent ? mine : size - mine);
}

class Window {
 public:
  explicit Window(bool allocated) : memory_(allocated ? 0 : kBytes) {
    void* base = memory_.data();
    if (allocated)
      OK(MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, all, &base, &win));
    else
      OK(MPI_Win_create(base, kBytes, 1, MPI_INFO_NULL, all, &win));
    mine_ = static_cast<unsigned char*>(base);
    std::memset(mine_, 0, kBytes);
    OK(MPI_Barrier(all));
  }
  ~Window() { MPI_Win_free(&win); }
  Window(const Window&) = delete;

  void put(const std::vector<unsigned char>& from, int rank, int bytes) const {
    OK(MPI_Put(from.data(), bytes, MPI_BYTE, rank, 0, bytes, MPI_BYTE, win));
  }
  void get(std::vector<unsigned char>& into, int rank, int bytes) const {
    OK(MPI_Get(into.data(), bytes, MPI_BYTE, rank, 0, bytes, MPI_BYTE, win));
  }
  void expect(int bytes, unsigned char value, const char* what) const {
    CHECK_EQ_IN(std::count(mine_, mine_ + bytes, value), bytes, "%s: %d bytes", what, bytes);
  }

  MPI_Win win = MPI_WIN_NULL;

 private:
  std::vector<unsigned char> memory_;
  unsigned char* mine_ = nullptr;
};

std::vector<unsigned char> filled(int value) {
  return std::vector<unsigned char>(kBytes, static_cast<unsigned char>(value));
}

// One after the other acts at a rank of the other job, which does something else until then.
template <class Acts, class Sees>
void in_turns(Acts&& acts, Sees&& sees) {
  int turn = 0;
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to) {
      ++turn;
      if (is_of_parents(from) == is_of_parents(to)) continue;
      if (me == from) acts(to, turn);
      if (me == to) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      OK(MPI_Barrier(all));
      if (me == to) sees(turn);
      OK(MPI_Barrier(all));
    }
}

void by_locks(const Messages& messages, bool allocated, bool of_all) {
  const Window w(allocated);
  in_turns(
      [&](int to, int turn) {
        const std::vector<unsigned char> out = filled(turn);
        std::vector<unsigned char> in(kBytes);
        OK(of_all ? MPI_Win_lock_all(0, w.win) : MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w.win));
        w.put(out, to, 1);
        OK(MPI_Win_flush(to, w.win));  // the lock is held from here on
        for (const int bytes : kLengths) {
          long sent = 0;
          for (const long each : messages.by([&] {
                 for (int i = 0; i < kOperations; ++i) {
                   w.put(out, to, bytes);
                   OK(MPI_Win_flush(to, w.win));
                   w.get(in, to, bytes);
                   OK(MPI_Win_flush(to, w.win));
                 }
               }))
            sent += each;
          CHECK_EQ_IN(std::count(in.begin(), in.begin() + bytes, out[0]), bytes, "%d bytes got from rank %d", bytes,
                      to);
          // Now and then one goes as a message, by which a target wakes that sleeps in a call.
          const bool is_so = copied ? sent <= 2 * (2 * kOperations / 32 + 1) : sent >= 2 * kOperations;
          CHECK_EQ_IN(is_so, true, "%ld messages for %d bytes to rank %d", sent, bytes, to);
        }
        OK(of_all ? MPI_Win_unlock_all(w.win) : MPI_Win_unlock(to, w.win));
      },
      [&](int turn) { w.expect(kBytes, static_cast<unsigned char>(turn), "what was put under a lock"); });
}

void by_fences(bool allocated) {
  const Window w(allocated);
  for (int turn = 1; turn <= 3; ++turn)
    for (const int bytes : kLengths) {
      const int to = (me + size / 2) % size, from = (me + size - size / 2) % size;
      const std::vector<unsigned char> out = filled(10 * turn + me);
      std::vector<unsigned char> in(kBytes);
      OK(MPI_Win_fence(0, w.win));
      w.put(out, to, bytes);
      OK(MPI_Win_fence(0, w.win));
      w.expect(bytes, static_cast<unsigned char>(10 * turn + from), "what was put between fences");
      w.get(in, to, bytes);
      OK(MPI_Win_fence(0, w.win));
      CHECK_EQ(std::count(in.begin(), in.begin() + bytes, out[0]), bytes);
    }
}

// Each rank exposes its memory to those of the other job.
void by_posts(bool allocated) {
  const Window w(allocated);
  MPI_Group everybody, others;
  OK(MPI_Comm_group(all, &everybody));
  std::vector<int> ranks;
  for (int r = 0; r < size; ++r)
    if (is_of_parents(r) != parent) ranks.push_back(r);
  OK(MPI_Group_incl(everybody, static_cast<int>(ranks.size()), ranks.data(), &others));
  for (const int bytes : kLengths) {
    const std::vector<unsigned char> out = filled(bytes % 100 + 1);
    OK(MPI_Win_post(others, 0, w.win));
    OK(MPI_Win_start(others, 0, w.win));
    for (const int to : ranks) w.put(out, to, bytes);
    OK(MPI_Win_complete(w.win));
    OK(MPI_Win_wait(w.win));
    w.expect(bytes, static_cast<unsigned char>(bytes % 100 + 1), "what was put into exposed memory");
  }
  OK(MPI_Group_free(&others));
  OK(MPI_Group_free(&everybody));
}

// Updates keep their order, and are atomic beside those of both jobs; puts of others come between.
void with_updates() {
  const Window w(false);
  const long one = 1;
  long got = -1, last = -1;
  OK(MPI_Win_lock_all(0, w.win));
  for (int i = 0; i < kOperations; ++i) {
    OK(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, w.win));
    OK(MPI_Win_flush(0, w.win));
    CHECK(got > last);
    last = got;
    OK(MPI_Put(&last, 1, MPI_LONG, size - 1, 8 * (me + 1), 1, MPI_LONG, w.win));
  }
  OK(MPI_Win_unlock_all(w.win));
  OK(MPI_Barrier(all));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
  OK(MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w.win));
  OK(MPI_Win_unlock(0, w.win));
  CHECK_EQ(got, static_cast<long>(size) * kOperations);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  CHECK(argc == 2);
  copied = strcmp(argv[1], "copied") == 0;
  CHECK(copied || strcmp(argv[1], "messages") == 0);
  OK(MPI_Comm_size(MPI_COMM_WORLD, &mine));
  MPI_Comm other;
  OK(MPI_Comm_get_parent(&other));
  parent = other == MPI_COMM_NULL;
  if (parent) {
    char* arguments[] = {argv[1], nullptr};
    OK(MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE));
  }
  OK(MPI_Intercomm_merge(other, parent ? 0 : 1, &all));
  OK(MPI_Comm_rank(all, &me));
  OK(MPI_Comm_size(all, &size));
  {
    const Messages messages(all);
    for (const bool allocated : {false, true}) {
      for (const bool of_all : {false, true}) by_locks(messages, allocated, of_all);
      by_fences(allocated);
      by_posts(allocated);
    }
    with_updates();
  }
  OK(MPI_Comm_free(&all));
  OK(MPI_Comm_disconnect(&other));
  OK(MPI_Finalize());
  return 0;
}
