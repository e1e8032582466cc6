// SPDX-License-Identifier: BSD-3-Clause
// What calls say of a message: MPI_PROC_NULL, self messages, wildcards, empty statuses, truncation,
// synchronous sends, statuses set and queried by hand.
// NOT_MPICH: 4.0 leaves the status of Irecv from MPI_PROC_NULL unset in Waitall. NOT_OPENMPI: 4.1
// writes behind a posted receive that is too short, and calls it success.
#include "check.hpp"

namespace {

void expect_empty(const MPI_Status& status) {
  int count = -1, cancelled = -1;
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 0);
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
}

void expect_proc_null(const MPI_Status& status) {
  int count = -1;
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
  CHECK_EQ(count, 0);
}

void proc_null() {
  int value = 7, flag = 0;
  MPI_Status status;
  MPI_Request requests[2];
  MPI_Message message;
  OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  expect_proc_null(status);
  OK(MPI_Issend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]));
  MPI_Status statuses[2];
  OK(MPI_Waitall(2, requests, statuses));
  expect_proc_null(statuses[1]);
  OK(MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  expect_proc_null(status);
  OK(MPI_Iprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &status));
  CHECK(flag);
  expect_proc_null(status);
  OK(MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL);
  expect_proc_null(status);
  // Nothing comes, so that there need be no buffer.
  message = MPI_MESSAGE_NO_PROC;
  OK(MPI_Mrecv(nullptr, 1, MPI_INT, &message, &status));
  expect_proc_null(status);
  message = MPI_MESSAGE_NO_PROC;
  OK(MPI_Imrecv(nullptr, 1, MPI_INT, &message, &requests[0]));
  CHECK(message == MPI_MESSAGE_NULL);
  OK(MPI_Wait(&requests[0], &status));
  expect_proc_null(status);
  OK(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  expect_proc_null(status);
  CHECK_EQ(value, 7);
}

void empty_statuses() {
  MPI_Request null = MPI_REQUEST_NULL, nulls[3] = {null, null, null};
  MPI_Status status, statuses[3];
  int flag = 0, index = -1, indices[3];
  OK(MPI_Wait(&null, &status));
  expect_empty(status);
  OK(MPI_Test(&null, &flag, &status));
  CHECK(flag);
  expect_empty(status);
  OK(MPI_Waitall(3, nulls, statuses));
  for (const MPI_Status& each : statuses) expect_empty(each);
  OK(MPI_Testall(3, nulls, &flag, statuses));
  CHECK(flag);
  for (const MPI_Status& each : statuses) expect_empty(each);
  OK(MPI_Waitany(3, nulls, &index, &status));
  CHECK_EQ(index, MPI_UNDEFINED);
  expect_empty(status);
  OK(MPI_Testany(3, nulls, &index, &flag, &status));
  CHECK(flag);
  CHECK_EQ(index, MPI_UNDEFINED);
  OK(MPI_Waitsome(3, nulls, &index, indices, statuses));
  CHECK_EQ(index, MPI_UNDEFINED);
  OK(MPI_Testsome(3, nulls, &index, indices, statuses));
  CHECK_EQ(index, MPI_UNDEFINED);
  OK(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE));
  OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
  CHECK(flag);
  expect_empty(status);
}

void self(int rank) {
  for (int length : {0, 1, 100, 100000}) {
    std::vector<int> out(length, rank + 5), in(length + 1, -1);
    MPI_Request request;
    MPI_Status status;
    int count = -1;
    OK(MPI_Isend(out.data(), length, MPI_INT, rank, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Recv(in.data(), length + 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, length);
    CHECK_EQ(status.MPI_SOURCE, rank);
    for (int i = 0; i < length; ++i) CHECK_EQ(in[i], rank + 5);
    OK(MPI_Sendrecv(out.data(), length, MPI_INT, 0, 1, in.data(), length, MPI_INT, 0, 1, MPI_COMM_SELF, &status));
    CHECK_EQ(status.MPI_SOURCE, 0);
  }
}

// Everyone sends to rank 0, which takes them as they come.
void wildcards(const check::Program& world) {
  constexpr int kEach = 50;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() != 0) {
    for (int i = 0; i < kEach; ++i) {
      const int value[2] = {world.rank(), i};
      OK(MPI_Send(value, 2, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));  // what comes next must not be taken by the wildcards
    return;
  }
  std::vector<int> next(world.size());
  for (int n = 0; n < kEach * (world.size() - 1); ++n) {
    int value[2];
    MPI_Status status;
    OK(MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_SOURCE, value[0]);
    CHECK_EQ(status.MPI_TAG, value[1]);
    CHECK_EQ(value[1], next[value[0]]++);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void truncation(const check::Program& world) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  for (int length : {2, 300, 300000}) {
    std::vector<int> out(length, world.rank()), in(length, -1);
    for (bool posted_first : {false, true}) {
      MPI_Request requests[3];
      MPI_Status statuses[3];
      if (!posted_first) OK(MPI_Isend(out.data(), length, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      OK(MPI_Irecv(in.data(), length - 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[1]));
      OK(MPI_Irecv(in.data(), 0, MPI_INT, from, 2, MPI_COMM_WORLD, &requests[2]));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      if (posted_first) OK(MPI_Isend(out.data(), length, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[0]));
      OK(MPI_Send(nullptr, 0, MPI_INT, to, 2, MPI_COMM_WORLD));
      int code = MPI_Waitall(3, requests, statuses);
      CHECK_EQ_IN(check::error_class(code), MPI_ERR_IN_STATUS, "length %d, posted first %d", length, posted_first);
      // Waitall may give up before the others are done: they are pending then, and can be waited for.
      for (int i = 0; i < 3; ++i)
        if (check::error_class(statuses[i].MPI_ERROR) == MPI_ERR_PENDING) {
          CHECK(requests[i] != MPI_REQUEST_NULL);
          statuses[i].MPI_ERROR = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
      CHECK_EQ(check::error_class(statuses[0].MPI_ERROR), MPI_SUCCESS);
      CHECK_EQ(check::error_class(statuses[1].MPI_ERROR), MPI_ERR_TRUNCATE);
      CHECK_EQ(check::error_class(statuses[2].MPI_ERROR), MPI_SUCCESS);
      CHECK_EQ(in[length - 1], -1);  // nothing is written behind the posted buffer
    }
    MPI_Request request;
    OK(MPI_Isend(out.data(), length, MPI_INT, to, 3, MPI_COMM_WORLD, &request));
    FAILS(MPI_Recv(in.data(), length - 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

#ifndef OPEN_MPI  // 5.0 and those before it tell nobody
// The calls that take arrays of statuses answer a failure with MPI_ERR_IN_STATUS (3.7.5), also where nobody wants statuses.
void failures_without_statuses(const check::Program& world) {
  const int self = world.rank(), out[2] = {1, 2};
  for (int call = 0; call < 4; ++call) {
    int in = -1, flag = 0, count = 0, index = -1, code = MPI_SUCCESS;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    OK(MPI_Irecv(&in, 1, MPI_INT, self, 4, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Send(out, 2, MPI_INT, self, 4, MPI_COMM_WORLD));
    while (code == MPI_SUCCESS && !flag && count <= 0) {
      if (call == 0) code = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      if (call == 1) code = MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      if (call == 2) code = MPI_Waitsome(2, requests, &count, &index, MPI_STATUSES_IGNORE);
      if (call == 3) code = MPI_Testsome(2, requests, &count, &index, MPI_STATUSES_IGNORE);
    }
    CHECK_EQ_IN(check::error_class(code), MPI_ERR_IN_STATUS, "call %d", call);
    CHECK(requests[1] == MPI_REQUEST_NULL);
    if (call >= 2) CHECK(count == 1 && index == 1);
  }
}
#endif

// A synchronous send cannot end before its receive was posted.
void synchronous(const check::Program& world) {
  const int peer = world.rank() ^ 1;
  if (peer >= world.size()) return;
  int value = 5, flag = 0;
  if (world.rank() & 1) {
    OK(MPI_Recv(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 1);
    OK(MPI_Recv(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 5);
  } else {
    MPI_Request request;
    OK(MPI_Issend(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 1000; ++i) {
      OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      CHECK(!flag);
    }
    const int go = 1;
    OK(MPI_Send(&go, 1, MPI_INT, peer, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

void by_hand() {
  MPI_Status status;
  int count = -1, cancelled = 0;
  std::memset(&status, 0, sizeof status);
  OK(MPI_Status_set_elements(&status, MPI_INT, 12));
  OK(MPI_Status_set_cancelled(&status, 1));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 12);
  OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
  CHECK_EQ(count, 12 * sizeof(int) / sizeof(double));
  OK(MPI_Get_elements(&status, MPI_INT, &count));
  CHECK_EQ(count, 12);
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  proc_null();
  empty_statuses();
  self(world.rank());
  wildcards(world);
  truncation(world);
#ifndef OPEN_MPI
  failures_without_statuses(world);
#endif
  synchronous(world);
  by_hand();
}
