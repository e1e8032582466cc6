// SPDX-License-Identifier: BSD-3-Clause
// All completion calls over arrays that mix sends, receives, collectives and MPI_REQUEST_NULL.
#include "check.hpp"

namespace {

constexpr int kEach = 12;

// A batch of requests of every kind, and a check of what they brought.
class Batch {
 public:
  Batch(const check::Program& world, int seed)
      // clang-format off
      : rank_(world.rank()), size_(world.size()), seed_(seed), out_(kEach), in_(kEach, -1),
        sums_(kEach, -1), roots_(kEach, -1) {
    // clang-format on
    const int to = (rank_ + 1) % size_;
    from_ = (rank_ + size_ - 1) % size_;
    for (int i = 0; i < kEach; ++i) {
      out_[i] = rank_ * 1000 + seed + i;
      OK(MPI_Irecv(&in_[i], 1, MPI_INT, from_, i, MPI_COMM_WORLD, add()));
      add();  // stays MPI_REQUEST_NULL
      OK(MPI_Isend(&out_[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, add()));
      OK(MPI_Iallreduce(&out_[i], &sums_[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, add()));
      if (i % size_ == rank_) roots_[i] = seed + i;
      OK(MPI_Ibcast(&roots_[i], 1, MPI_INT, i % size_, MPI_COMM_WORLD, add()));
      OK(MPI_Ibarrier(MPI_COMM_WORLD, add()));
    }
  }
  std::vector<MPI_Request> requests;
  static constexpr int kReal = 5 * kEach, kPerRound = 6;

  void check_status(int index, const MPI_Status& status) const {
    if (index % kPerRound != 0) return;
    CHECK_EQ(status.MPI_SOURCE, from_);
    CHECK_EQ(status.MPI_TAG, index / kPerRound);
  }
  void check_all() const {
    for (const MPI_Request& request : requests) CHECK(request == MPI_REQUEST_NULL);
    for (int i = 0; i < kEach; ++i) {
      CHECK_EQ(in_[i], from_ * 1000 + seed_ + i);
      CHECK_EQ(sums_[i], size_ * (size_ - 1) / 2 * 1000 + size_ * (seed_ + i));
      CHECK_EQ(roots_[i], seed_ + i);
    }
  }

 private:
  MPI_Request* add() {
    if (requests.empty()) requests.reserve(kPerRound * kEach);
    requests.push_back(MPI_REQUEST_NULL);
    return &requests.back();
  }
  int rank_, size_, from_, seed_;
  std::vector<int> out_, in_, sums_, roots_;
};

void waitall(Batch& batch) {
  std::vector<MPI_Status> statuses(batch.requests.size());
  OK(MPI_Waitall(batch.requests.size(), batch.requests.data(), statuses.data()));
  for (size_t i = 0; i < statuses.size(); ++i) batch.check_status(i, statuses[i]);
}
void waitall_ignoring(Batch& batch) {
  OK(MPI_Waitall(batch.requests.size(), batch.requests.data(), MPI_STATUSES_IGNORE));
}
void testall(Batch& batch) {
  std::vector<MPI_Status> statuses(batch.requests.size());
  int flag = 0;
  while (!flag) {
    OK(MPI_Testall(batch.requests.size(), batch.requests.data(), &flag, statuses.data()));
    if (!flag) CHECK(batch.requests[0] != MPI_REQUEST_NULL);  // all or none are released
  }
  for (size_t i = 0; i < statuses.size(); ++i) batch.check_status(i, statuses[i]);
}
void waitany(Batch& batch) {
  for (int done = 0;; ++done) {
    int index = -1;
    MPI_Status status;
    OK(MPI_Waitany(batch.requests.size(), batch.requests.data(), &index, &status));
    if (index == MPI_UNDEFINED) {
      CHECK_EQ(done, Batch::kReal);
      return;
    }
    CHECK(batch.requests[index] == MPI_REQUEST_NULL);
    batch.check_status(index, status);
  }
}
void testany(Batch& batch) {
  for (int done = 0;;) {
    int index = -1, flag = 0;
    MPI_Status status;
    OK(MPI_Testany(batch.requests.size(), batch.requests.data(), &index, &flag, &status));
    if (!flag) {
      CHECK_EQ(index, MPI_UNDEFINED);
      continue;
    }
    if (index == MPI_UNDEFINED) {
      CHECK_EQ(done, Batch::kReal);
      return;
    }
    batch.check_status(index, status);
    ++done;
  }
}
template <class Call>
void some(Batch& batch, Call call) {
  const int n = batch.requests.size();
  std::vector<int> indices(n), seen(n);
  std::vector<MPI_Status> statuses(n);
  for (int done = 0;;) {
    int count = -1;
    OK(call(n, batch.requests.data(), &count, indices.data(), statuses.data()));
    if (count == MPI_UNDEFINED) {
      CHECK_EQ(done, Batch::kReal);
      return;
    }
    for (int i = 0; i < count; ++i) {
      CHECK_EQ(seen[indices[i]]++, 0);
      CHECK(batch.requests[indices[i]] == MPI_REQUEST_NULL);
      batch.check_status(indices[i], statuses[i]);
    }
    done += count;
  }
}
void backwards(Batch& batch) {
  for (int i = batch.requests.size() - 1; i >= 0; --i) {
    MPI_Status status;
    OK(MPI_Wait(&batch.requests[i], &status));
    batch.check_status(i, status);
  }
}
void test_each(Batch& batch) {
  for (size_t left = batch.requests.size(); left > 0;)
    for (size_t i = 0; i < left; ++i) {
      int flag = 0;
      OK(MPI_Test(&batch.requests[i], &flag, MPI_STATUS_IGNORE));
      if (flag) std::swap(batch.requests[i], batch.requests[--left]);
    }
}

#ifndef OTHER_MPI
// A call that takes one of the requests, and returns its index.
using TakeOne = int (*)(std::vector<MPI_Request>&);
int by_waitany(std::vector<MPI_Request>& requests) {
  int index = -1;
  OK(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE));
  return index;
}
int by_testany(std::vector<MPI_Request>& requests) {
  int index = -1, flag = 0;
  while (!flag) OK(MPI_Testany(static_cast<int>(requests.size()), requests.data(), &index, &flag, MPI_STATUS_IGNORE));
  return index;
}
int by_get_status(std::vector<MPI_Request>& requests) {
  int index = -1, flag = 0;
  while (!flag)
    OK(MPI_Request_get_status_any(static_cast<int>(requests.size()), requests.data(), &index, &flag,
                                  MPI_STATUS_IGNORE));
  OK(MPI_Wait(&requests[static_cast<size_t>(index)], MPI_STATUS_IGNORE));
  return index;
}

// Receives from this rank itself, one for each place of an array.
struct Places {
  explicit Places(size_t count) : in(count, -1), requests(count, MPI_REQUEST_NULL) {}
  void post(int i) {
    OK(MPI_Irecv(&in[static_cast<size_t>(i)], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[static_cast<size_t>(i)]));
  }
  static void send(int i) { OK(MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF)); }
  std::vector<int> in;
  std::vector<MPI_Request> requests;
};

// Some places are filled again as soon as they are empty, and their message is there at once: none of them, and no
// other one whose message is there, waits for longer than the others take once. Places 5 and 6 never get one.
void nobody_starves(TakeOne take) {
  Places p(8);
  for (int i = 0; i < 8; ++i) p.post(i);
  for (int i : {0, 1, 2, 4, 7}) Places::send(i);
  int taken[8] = {};
  for (int round = 0; round < 80; ++round) {
    const int i = take(p.requests);
    ++taken[i];
    CHECK_EQ(p.in[static_cast<size_t>(i)], i);
    if (round == 40) Places::send(3);  // late
    if (i > 2) continue;               // these come once
    p.post(i);
    Places::send(i);
  }
  for (int i : {3, 4, 7}) CHECK_EQ_IN(taken[i], 1, "place %d", i);
  for (int i : {0, 1, 2}) CHECK_EQ_IN(taken[i] > 20, true, "place %d, taken %d times", i, taken[i]);
  for (int i : {0, 1, 2, 5, 6, 3})
    if (p.requests[static_cast<size_t>(i)] != MPI_REQUEST_NULL) {
      if (i > 2) Places::send(i);
      OK(MPI_Wait(&p.requests[static_cast<size_t>(i)], MPI_STATUS_IGNORE));
    }
}

// An array of other requests where one was that a call went on in is searched from its beginning.
void fresh_arrays_begin_at_0(TakeOne take) {
  Places p(4);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 4; ++i) p.post(i);
    for (int i = 0; i < 4; ++i) Places::send(i);
    for (int i = 0; i < 1 + round % 3; ++i) CHECK_EQ_IN(take(p.requests), i, "round %d", round);
    OK(MPI_Waitall(4, p.requests.data(), MPI_STATUSES_IGNORE));
  }
}

void turns() {
  if (std::getenv("TUTTI_CONTRACT_STRESS")) return;  // which takes any
  for (const TakeOne take : {by_waitany, by_testany, by_get_status}) {
    nobody_starves(take);
    fresh_arrays_begin_at_0(take);
  }
}
#endif

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  // clang-format off
  const std::function<void(Batch&)> ways[] = {
      waitall, waitall_ignoring, testall, waitany, testany,
      [](Batch& b) { some(b, MPI_Waitsome); }, [](Batch& b) { some(b, MPI_Testsome); },
      backwards, test_each};
  // clang-format on
  for (int round = 0; round < 5; ++round)
    for (const auto& way : ways) {
      Batch batch(world, round * 100);
      way(batch);
      batch.check_all();
    }

#ifndef OTHER_MPI
  turns();
#endif

  // Request_get_status looks without releasing.
  int value = world.rank(), got = -1, flag = 0, count = -1;
  MPI_Request requests[2];
  MPI_Status status;
  OK(MPI_Irecv(&got, 1, MPI_INT, world.rank(), 4, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Request_get_status(requests[0], &flag, &status));
  CHECK(!flag);
  OK(MPI_Isend(&value, 1, MPI_INT, world.rank(), 4, MPI_COMM_WORLD, &requests[1]));
  while (!flag) OK(MPI_Request_get_status(requests[0], &flag, &status));
  CHECK(requests[0] != MPI_REQUEST_NULL);
  CHECK_EQ(status.MPI_TAG, 4);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 1);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(got, world.rank());

  // Request_free on sends: they arrive all the same.
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  std::vector<std::vector<int>> freed;
  for (int i = 0; i < 100; ++i) {
    freed.emplace_back(i * i * 5 + 1, world.rank() * 100 + i);
    OK(MPI_Isend(freed[i].data(), freed[i].size(), MPI_INT, to, 6, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Request_free(&requests[0]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
  }
  for (int i = 0; i < 100; ++i) {
    std::vector<int> in(i * i * 5 + 1, -1);
    OK(MPI_Recv(in.data(), in.size(), MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(in.front(), from * 100 + i);
    CHECK_EQ(in.back(), from * 100 + i);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}
