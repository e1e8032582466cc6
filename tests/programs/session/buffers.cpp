// SPDX-License-Identifier: BSD-3-Clause
// Buffers of buffered sends: a communicator's goes before its session's, and that before the process'; flushes
// with a request; automatic ones.
#include "session.hpp"

namespace {

constexpr int kInts = 100;

std::vector<int> data(int seed) {
  std::vector<int> ints(kInts);
  for (int i = 0; i < kInts; ++i) ints[static_cast<size_t>(i)] = seed * 1000 + i;
  return ints;
}

// To the next rank, `count` messages; their buffer may be overwritten at once.
void send(MPI_Comm comm, int next, int count, int seed) {
  for (int i = 0; i < count; ++i) {
    std::vector<int> message = data(seed + i);
    OK(MPI_Bsend(message.data(), kInts, MPI_INT, next, i, comm));
    std::fill(message.begin(), message.end(), -1);
  }
}
void receive(MPI_Comm comm, int previous, int count, int seed) {
  for (int i = count - 1; i >= 0; --i) {
    std::vector<int> message(kInts, -2);
    OK(MPI_Recv(message.data(), kInts, MPI_INT, previous, i, comm, MPI_STATUS_IGNORE));
    CHECK(message == data(seed + i));
  }
}

int refused(MPI_Comm comm, int next) {
  std::vector<int> message = data(0);
  return check::error_class(MPI_Bsend(message.data(), kInts, MPI_INT, next, 99, comm));
}

}  // namespace

int main() {
  MPI_Session mine = session::begin();
  MPI_Comm comm = session::comm(mine, "mpi://WORLD", "buffers");
  MPI_Comm other = session::comm(mine, "mpi://WORLD", "others");
  int rank = -1, size = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  check::world_rank = rank;
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  // There is none anywhere.
  CHECK_EQ(refused(comm, next), MPI_ERR_BUFFER);
  CHECK_EQ(check::error_class(MPI_Comm_flush_buffer(comm)), MPI_ERR_BUFFER);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_EQ(check::error_class(MPI_Session_iflush_buffer(mine, &request)), MPI_ERR_BUFFER);

  // One of the communicator with room for three messages: the fourth does not fit, whatever others have.
  const int one = kInts * static_cast<int>(sizeof(int)) + MPI_BSEND_OVERHEAD;
  std::vector<char> of_comm(static_cast<size_t>(one) * 3), of_session(static_cast<size_t>(one) * 5),
      of_process(static_cast<size_t>(one) * 7);
  OK(MPI_Session_attach_buffer(mine, of_session.data(), one * 5));
  OK(MPI_Comm_attach_buffer(comm, of_comm.data(), one * 3));
  CHECK_EQ(check::error_class(MPI_Comm_attach_buffer(comm, of_comm.data(), one)), MPI_ERR_BUFFER);
  OK(MPI_Buffer_attach(of_process.data(), one * 7));

  send(comm, next, 3, 10);
  send(other, next, 5, 20);
  OK(MPI_Barrier(comm));
  // They are in the buffers still, or have left: either way all of them arrive.
  receive(other, previous, 5, 20);
  receive(comm, previous, 3, 10);
  OK(MPI_Comm_iflush_buffer(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Session_flush_buffer(mine));

  // Two flushes at once, the second behind more messages.
  MPI_Request two[2];
  send(comm, next, 2, 30);
  OK(MPI_Comm_iflush_buffer(comm, &two[0]));
  std::vector<int> more = data(40);
  OK(MPI_Bsend(more.data(), kInts, MPI_INT, next, 7, comm));
  OK(MPI_Comm_iflush_buffer(comm, &two[1]));
  receive(comm, previous, 2, 30);
  std::vector<int> got(kInts, -1);
  OK(MPI_Recv(got.data(), kInts, MPI_INT, previous, 7, comm, MPI_STATUS_IGNORE));
  CHECK(got == more);
  OK(MPI_Waitall(2, two, MPI_STATUSES_IGNORE));

  void* memory = nullptr;
  int bytes = 0;
  OK(MPI_Comm_detach_buffer(comm, &memory, &bytes));
  CHECK(memory == of_comm.data());
  CHECK_EQ(bytes, one * 3);
  CHECK_EQ(check::error_class(MPI_Comm_detach_buffer(comm, &memory, &bytes)), MPI_ERR_BUFFER);

  // Now the session's, and then the process'.
  send(comm, next, 5, 50);
  receive(comm, previous, 5, 50);
  MPI_Count count = 0;
  OK(MPI_Session_detach_buffer_c(mine, &memory, &count));
  CHECK(memory == of_session.data());
  CHECK_EQ(count, static_cast<MPI_Count>(one) * 5);
  send(comm, next, 7, 60);
  OK(MPI_Buffer_iflush(&request));
  receive(comm, previous, 7, 60);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_detach(&memory, &bytes));
  CHECK(memory == of_process.data());
  CHECK_EQ(refused(comm, next), MPI_ERR_BUFFER);

  // As much as it takes.
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  send(comm, next, 50, 100);
  OK(MPI_Comm_iflush_buffer(comm, &request));
  receive(comm, previous, 50, 100);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &memory, &bytes));
  CHECK(memory == MPI_BUFFER_AUTOMATIC);
  CHECK_EQ(bytes, 0);

  // The end of a session sends what is in its buffer.
  OK(MPI_Session_attach_buffer(mine, MPI_BUFFER_AUTOMATIC, 0));
  send(comm, next, 3, 200);
  receive(comm, previous, 3, 200);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free(&other));
  session::end(mine);
  if (rank == 0) std::puts("ok");
  return 0;
}
