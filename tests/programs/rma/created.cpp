// SPDX-License-Identifier: BSD-3-Clause
// Memory that a program gives to a window (MPI_Win_create), among ranks of one node. What is sent: synchronisation
// travels with a short operation before it, and a lock with what is behind it. What is not: puts and gets are copies of the
// kernel's where the target computes, or where one of some length comes alone. And that a put comes though its origin makes
// no further call. Rank 0 acts at the last rank.
// The argument says how operations go: "copied", by the kernel where that is sooner; "messages", always
// (transport.cma=off, rma.direct=off).
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <iterator>

#include "check.hpp"
#include "rma/messages.hpp"

namespace {

constexpr int kBytes = 2 << 20;
constexpr double kPatience = 60;

int me, size, last;
bool copied;

// A number of words that all ranks load and store, for what they tell each other without a call.
class Words {
 public:
  Words() {
    OK(MPI_Win_allocate_shared(me == 0 ? kWords * sizeof(std::atomic<int>) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                               &words_, &win_));
    MPI_Aint bytes;
    int unit;
    OK(MPI_Win_shared_query(win_, 0, &bytes, &unit, &words_));
    if (me == 0)
      for (int i = 0; i < kWords; ++i) words_[i].store(0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  ~Words() { MPI_Win_free(&win_); }
  Words(const Words&) = delete;
  void say(int word) { words_[word].store(1, std::memory_order_release); }
  bool is_said(int word) const { return words_[word].load(std::memory_order_acquire) != 0; }
  void await(int word) const {
    for (const double end = check::seconds() + kPatience; !is_said(word);) CHECK(check::seconds() < end);
  }

 private:
  static constexpr int kWords = 4;
  std::atomic<int>* words_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

struct Created {
  Created() : memory(kBytes) { OK(MPI_Win_create(memory.data(), kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win)); }
  ~Created() { MPI_Win_free(&win); }
  Created(const Created&) = delete;
  void put(const void* from, int bytes, int at = 0) const {
    OK(MPI_Put(from, bytes, MPI_BYTE, last, at, bytes, MPI_BYTE, win));
  }
  void get(void* to, int bytes, int at = 0) const { OK(MPI_Get(to, bytes, MPI_BYTE, last, at, bytes, MPI_BYTE, win)); }
  void flush() const { OK(MPI_Win_flush(last, win)); }
  std::vector<unsigned char> memory;
  MPI_Win win = MPI_WIN_NULL;
};

// The fewest that it took: what is kept for the next call may go before it, if another process had the core meanwhile.
template <class Call>
void sends(const Messages& messages, long expected, const char* what, Call&& call) {
  constexpr int kTries = 400;
  long least = LONG_MAX;
  for (int i = 0; i < kTries && least > expected; ++i)
    least = std::min(least, messages.by(call)[static_cast<size_t>(last)]);
  CHECK_EQ_IN(least, expected, "%s", what);
}

void what_is_sent(const Messages& messages) {
  const Created w;
  const long one = 1;
  long old = 0;
  const auto lock = [&] { OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, w.win)); };
  const auto unlock = [&] { OK(MPI_Win_unlock(last, w.win)); };
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) {
    sends(messages, 1, "a lock, a put and an unlock", [&] {
      lock();
      w.put(&one, sizeof one);
      unlock();
    });
    sends(messages, 1, "a lock and an unlock", [&] {
      lock();
      unlock();
    });
    OK(MPI_Win_lock_all(0, w.win));
    sends(messages, 1, "a put and a flush", [&] {
      w.put(&one, sizeof one);
      w.flush();
    });
    sends(messages, 2, "two puts and a flush", [&] {
      w.put(&one, sizeof one);
      w.put(&one, sizeof one, 8);
      w.flush();
    });
    sends(messages, 1, "an accumulate and a flush", [&] {
      OK(MPI_Accumulate(&one, 1, MPI_LONG, last, 0, 1, MPI_LONG, MPI_SUM, w.win));
      w.flush();
    });
    sends(messages, 1, "a get and a flush", [&] {
      w.get(&old, sizeof old);
      w.flush();
    });
    sends(messages, 1, "an operation that fetches, and a flush", [&] {
      OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, last, 0, MPI_SUM, w.win));
      w.flush();
    });
    OK(MPI_Win_unlock_all(w.win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Nobody makes a call of MPI until the put is there.
void comes_by_itself() {
  Words words;
  const Created w;
  const unsigned char seven = 7;
  OK(MPI_Win_lock_all(0, w.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) {
    w.put(&seven, 1);
    words.await(0);
  } else if (me == last) {
    const volatile unsigned char* const mine = w.memory.data();
    for (const double end = check::seconds() + kPatience; *mine != seven;) CHECK(check::seconds() < end);
    words.say(0);
  }
  OK(MPI_Win_unlock_all(w.win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

bool kernel_copies(const std::vector<unsigned char>& memory) {
  struct Place {
    pid_t process;
    const unsigned char* memory;
  } place{getpid(), memory.data()};
  OK(MPI_Bcast(&place, sizeof place, MPI_BYTE, last, MPI_COMM_WORLD));
  unsigned char byte;
  const iovec here{&byte, 1}, there{const_cast<unsigned char*>(place.memory), 1};
  return process_vm_readv(place.process, &here, 1, &there, 1, 0) == 1;
}

// The target computes. Once its progress thread sleeps, nothing is sent, but for one operation of many.
void target_computes(const Messages& messages) {
  Words words;
  Created w;
  const bool could = kernel_copies(w.memory);
  std::vector<unsigned char> data = check::pattern(kBytes, 5), got(kBytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (me == 0) {
    OK(MPI_Win_lock_all(0, w.win));
    const auto there_and_back = [&](int bytes) {
      return messages.by([&] {
        w.put(data.data(), bytes, 1);
        w.flush();
        std::fill(got.begin(), got.begin() + bytes, 0);
        w.get(got.data(), bytes, 1);
        w.flush();
        CHECK(std::equal(got.begin(), got.begin() + bytes, data.begin()));
      })[static_cast<size_t>(last)];
    };
    const double end = check::seconds() + kPatience;
    for (const int bytes : {8, 3000, 64 << 10, 1 << 20}) {
      long sent = there_and_back(bytes);
      CHECK(!copied ? sent > 0 : true);
      while (copied && could && sent > 0 && check::seconds() < end) sent = there_and_back(bytes);
      if (copied && could) CHECK_EQ_IN(sent, 0L, "%d bytes", bytes);
    }
    OK(MPI_Win_unlock_all(w.win));
    words.say(1);
  } else if (me == last) {
    words.await(1);
    CHECK(std::equal(data.begin(), data.begin() + (1 << 20), w.memory.begin() + 1));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Of lengths at which the way changes, in each kind of epoch, with gaps here or there: put, and got back.
class Mixed {
 public:
  // Some operations that overlap nowhere, and what they put there.
  void puts() {
    at_ = 0;
    const int several = draw(4) == 0 ? 3 : 1;
    for (int i = 0; i < several; ++i) {
      static constexpr int kLengths[] = {8, 2047, 2048, 2049, 4096, 5001, 16384, 65536, 65537, 200'000};
      const int bytes = kLengths[draw(std::size(kLengths))], skip = draw(40);
      at_ += skip;
      for (int b = 0; b < bytes; ++b) data_[at_ + b] = static_cast<unsigned char>(draw(256));
      const bool has_gaps = bytes % 2 == 0 && draw(4) == 0;
      if (has_gaps) {  // the second half first
        MPI_Datatype halves;
        const int lengths[] = {bytes / 2, bytes / 2}, places[] = {bytes / 2, 0};
        OK(MPI_Type_indexed(2, lengths, places, MPI_BYTE, &halves));
        OK(MPI_Type_commit(&halves));
        OK(MPI_Put(&data_[at_], 1, halves, last, at_, 1, halves, w_.win));
        OK(MPI_Type_free(&halves));
      } else {
        w_.put(&data_[at_], bytes, at_);
      }
      at_ += bytes;
    }
  }
  void gets() {
    std::fill(got_.begin(), got_.begin() + at_, 0);
    w_.get(got_.data(), at_);
  }
  void compare() const { CHECK(std::equal(got_.begin(), got_.begin() + at_, data_.begin())); }

  void by_locks() {
    OK(MPI_Win_lock(draw(2) ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, last, 0, w_.win));
    puts();
    if (draw(2)) {
      OK(MPI_Win_unlock(last, w_.win));
      OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, w_.win));
    } else {
      w_.flush();
    }
    gets();
    OK(MPI_Win_unlock(last, w_.win));
  }
  void by_lock_of_all() {
    OK(MPI_Win_lock_all(0, w_.win));
    puts();
    OK(draw(2) ? MPI_Win_flush_all(w_.win) : MPI_Win_flush(last, w_.win));
    gets();
    OK(MPI_Win_unlock_all(w_.win));
  }
  void by_fence() {
    OK(MPI_Win_fence(0, w_.win));
    if (me == 0) puts();
    OK(MPI_Win_fence(0, w_.win));
    if (me == 0) gets();
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w_.win));
  }
  void by_groups() {
    MPI_Group all, other;
    const int peer = me == 0 ? last : 0;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, 1, &peer, &other));
    for (const bool looks : {false, true}) {
      if (me == last) OK(MPI_Win_post(other, 0, w_.win));
      if (me == 0) {
        OK(MPI_Win_start(other, 0, w_.win));
        looks ? gets() : puts();
        OK(MPI_Win_complete(w_.win));
      }
      if (me == last) OK(MPI_Win_wait(w_.win));
    }
    OK(MPI_Group_free(&other));
    OK(MPI_Group_free(&all));
  }

  void run() {
    for (int round = 0; round < 60; ++round) {
      by_fence();
      if (me == 0) compare();
      if (size > 1) by_groups();
      if (me == 0) compare();
      if (me != 0) continue;
      by_locks();
      compare();
      by_lock_of_all();
      compare();
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Bcast(&at_, 1, MPI_INT, 0, MPI_COMM_WORLD));
    OK(MPI_Bcast(data_.data(), at_, MPI_BYTE, 0, MPI_COMM_WORLD));
    if (me == last) CHECK(std::equal(data_.begin(), data_.begin() + at_, w_.memory.begin()));
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::mt19937 random_{42};
  Created w_;
  std::vector<unsigned char> data_ = std::vector<unsigned char>(kBytes), got_ = std::vector<unsigned char>(kBytes);
  int at_ = 0;  // how far this round's go
};

}  // namespace

int main(int argc, char** argv) {
  check::Program mpi(&argc, &argv);
  me = mpi.rank();
  size = mpi.size();
  last = size - 1;
  const std::string expected = argc > 1 ? argv[1] : "";
  CHECK(expected == "copied" || expected == "messages");
  copied = expected == "copied";
  const Messages messages;
  if (!copied) what_is_sent(messages);
  comes_by_itself();
  target_computes(messages);
  Mixed().run();
}
