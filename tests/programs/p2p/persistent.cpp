// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests: started again and again with what is in their buffers then, completed by every
// completion call among others, inactive, null and done ones; and what may be asked of an inactive one.
// NOT_MPICH: 4.0 gives an empty status for a start towards MPI_PROC_NULL (the standard, section 3.10).
// NOT_OPENMPI: 4.1 has no large-count forms.
#include <array>

#include "check.hpp"

namespace {

constexpr int kEach = 8, kRounds = 40;
int rank, size, to, from;

// A status as the standard has it for an operation that does not exist.
void is_empty(const MPI_Status& status) {
  int count = -1, cancelled = -1;
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(count, 0);
  CHECK_EQ(cancelled, 0);
}

// Messages to the right, and from the left; and places that stay null.
class Ring {
 public:
  explicit Ring(int (*init)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) {
    requests.fill(MPI_REQUEST_NULL);
    for (int i = 0; i < kEach; ++i) {
      OK(MPI_Recv_init(&in_[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]));
      OK(init(&out_[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[kEach + i]));
    }
  }
  ~Ring() {
    for (int i = 0; i < 2 * kEach; ++i) {
      OK(MPI_Request_free(&requests[i]));
      CHECK(requests[i] == MPI_REQUEST_NULL);
    }
  }
  void start(int round) {
    for (int i = 0; i < kEach; ++i) {
      out_[i] = 1000 * rank + 10 * round + i;
      in_[i] = -1;
    }
    if (round % 2) {
      OK(MPI_Startall(2 * kEach, requests.data()));
    } else {
      for (int i = 0; i < 2 * kEach; ++i) OK(MPI_Start(&requests[i]));
    }
  }
  void check(int round) {
    for (int i = 0; i < kEach; ++i) CHECK_EQ(in_[i], 1000 * from + 10 * round + i);
    for (int i = 0; i < 2 * kEach; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
    for (int i = 0; i < 2 * kEach; ++i) {  // inactive: over at once, with nothing in the status
      MPI_Status status;
      int flag = 0;
      OK(MPI_Test(&requests[i], &flag, &status));
      CHECK(flag);
      is_empty(status);
      flag = 0;
      OK(MPI_Request_get_status(requests[i], &flag, &status));
      CHECK(flag);
      is_empty(status);
      OK(MPI_Wait(&requests[i], &status));
      is_empty(status);
    }
  }
  std::array<MPI_Request, 2 * kEach + 2> requests;

 private:
  std::array<int, kEach> out_, in_;
};

void complete(Ring& ring, int how) {
  constexpr int kAll = 2 * kEach + 2;
  std::array<MPI_Status, kAll> statuses;
  std::array<int, kAll> indices;
  MPI_Request* const all = ring.requests.data();
  const auto seen = [&](int index, const MPI_Status& status) {
    if (index >= kEach) return;
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, index);
  };
  int done = 0, count = 0, index = 0, flag = 0;
  switch (how) {
    case 0:
      OK(MPI_Waitall(kAll, all, statuses.data()));
      for (int i = 0; i < kEach; ++i) seen(i, statuses[i]);
      is_empty(statuses[kAll - 1]);
      break;
    case 1:
      while (!flag) OK(MPI_Testall(kAll, all, &flag, MPI_STATUSES_IGNORE));
      break;
    case 2:
      for (;; ++done) {
        OK(MPI_Waitany(kAll, all, &index, statuses.data()));
        if (index == MPI_UNDEFINED) break;
        seen(index, statuses[0]);
      }
      CHECK_EQ(done, 2 * kEach);
      break;
    case 3:
      for (;; done += flag && index != MPI_UNDEFINED) {
        OK(MPI_Testany(kAll, all, &index, &flag, statuses.data()));
        if (flag && index == MPI_UNDEFINED) break;
        if (flag) seen(index, statuses[0]);
      }
      CHECK_EQ(done, 2 * kEach);
      break;
    case 4:
      for (;; done += count) {
        OK(MPI_Waitsome(kAll, all, &count, indices.data(), statuses.data()));
        if (count == MPI_UNDEFINED) break;
        for (int i = 0; i < count; ++i) seen(indices[i], statuses[i]);
      }
      CHECK_EQ(done, 2 * kEach);
      break;
    case 5:
      for (;; done += count) {
        OK(MPI_Testsome(kAll, all, &count, indices.data(), statuses.data()));
        if (count == MPI_UNDEFINED) break;
      }
      CHECK_EQ(done, 2 * kEach);
      break;
    default:
      for (int i = kAll - 1; i >= 0; --i) OK(MPI_Wait(&all[i], MPI_STATUS_IGNORE));
  }
}

void every_completion() {
  Ring standard(MPI_Send_init), synchronous(MPI_Ssend_init);
  for (int round = 0; round < kRounds; ++round)
    for (Ring* ring : {&standard, &synchronous}) {
      ring->start(round);
      complete(*ring, round % 7);
      ring->check(round);
    }
}

void buffered_and_ready() {
  std::vector<char> buffer(2 * (sizeof(int) + MPI_BSEND_OVERHEAD));
  OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  int out = 0, in = -1;
  MPI_Request receive, buffered, ready;
  OK(MPI_Recv_init(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &receive));
  OK(MPI_Bsend_init(&out, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &buffered));
  OK(MPI_Rsend_init(&out, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &ready));
  for (int round = 0; round < 10; ++round)
    for (MPI_Request* send : {&buffered, &ready}) {
      OK(MPI_Start(&receive));
      OK(MPI_Barrier(MPI_COMM_WORLD));  // a ready send needs its receive
      out = 100 * rank + round;
      OK(MPI_Start(send));
      OK(MPI_Wait(send, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      CHECK_EQ(in, 100 * from + round);
    }
  for (MPI_Request* each : {&receive, &buffered, &ready}) OK(MPI_Request_free(each));
  void* detached = nullptr;
  int bytes = 0;
  OK(MPI_Buffer_detach(&detached, &bytes));
}

// What was given to an initialisation may be freed; the large-count form; nobody; wildcards.
void arguments() {
  MPI_Comm comm;
  MPI_Datatype pairs;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &pairs));
  OK(MPI_Type_commit(&pairs));
  std::array<int, 6> out{}, in{};
  MPI_Request send, receive, nobody;
  OK(MPI_Send_init_c(out.data(), 1, pairs, to, 3, comm, &send));
  OK(MPI_Recv_init(in.data(), 1, pairs, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receive));
  OK(MPI_Recv_init(in.data(), 1, pairs, MPI_PROC_NULL, 3, comm, &nobody));
  OK(MPI_Type_free(&pairs));
  OK(MPI_Comm_free(&comm));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 6; ++i) out[i] = 100 * rank + 10 * round + i, in[i] = -1;
    OK(MPI_Start(&receive));
    OK(MPI_Start(&send));
    OK(MPI_Start(&nobody));
    MPI_Status status;
    OK(MPI_Wait(&receive, &status));
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, 3);
    for (int i = 0; i < 6; ++i) CHECK_EQ(in[i], i % 2 ? -1 : 100 * from + 10 * round + i);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&nobody, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  }
  for (MPI_Request* each : {&send, &receive, &nobody}) OK(MPI_Request_free(each));
}

// Cancelled, and started again; freed while active: the message arrives all the same.
void ends() {
  int in = -1, out = 7 + rank;
  MPI_Request receive, send;
  MPI_Status status;
  int cancelled = 0;
  OK(MPI_Recv_init(&in, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &receive));
  OK(MPI_Start(&receive));
  OK(MPI_Cancel(&receive));
  OK(MPI_Wait(&receive, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled);
  CHECK(receive != MPI_REQUEST_NULL);
  OK(MPI_Start(&receive));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Ssend_init(&out, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &send));
  OK(MPI_Start(&send));
  OK(MPI_Request_free(&send));
  CHECK(send == MPI_REQUEST_NULL);
  OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 7 + from);
  OK(MPI_Request_free(&receive));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// An error belongs to one start; the next one is as good as any.
void errors() {
  std::array<int, 4> out{1, 2, 3, 4}, in{};
  MPI_Request receive;
  OK(MPI_Recv_init(in.data(), 2, MPI_INT, from, 6, MPI_COMM_WORLD, &receive));
  for (int ints : {4, 2, 3, 1}) {
    MPI_Request send;
    OK(MPI_Start(&receive));
    OK(MPI_Isend(out.data(), ints, MPI_INT, to, 6, MPI_COMM_WORLD, &send));
    if (ints > 2) {
      FAILS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    } else {
      OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
      CHECK_EQ(in[0], 1);
    }
    CHECK(receive != MPI_REQUEST_NULL);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&receive));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  rank = world.rank(), size = world.size();
  to = (rank + 1) % size, from = (rank + size - 1) % size;
  every_completion();
  buffered_and_ready();
  arguments();
  ends();
  errors();
}
