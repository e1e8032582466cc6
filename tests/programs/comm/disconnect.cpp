// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_disconnect waits for what is pending on the communicator and for nothing else (11.10.4): not for a
// persistent request that is inactive, has run, or was freed, nor for a request that is complete and that
// nobody has asked for. And MPI_Comm_free, MPI_Win_free and MPI_Finalize with such requests.
#include "check.hpp"

namespace {

int in = 1, out = 0;

MPI_Comm copy_of_world() {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  return comm;
}

std::vector<MPI_Request> inactive_on(MPI_Comm comm, int next) {
  std::vector<MPI_Request> r(9);
  OK(MPI_Send_init(&in, 1, MPI_INT, next, 1, comm, &r[0]));
  OK(MPI_Ssend_init(&in, 1, MPI_INT, next, 1, comm, &r[1]));
  OK(MPI_Recv_init(&out, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r[2]));
  OK(MPI_Send_init(&in, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &r[3]));
#if MPI_VERSION >= 4
  OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &r[4]));
  OK(MPI_Bcast_init(&out, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &r[5]));
  OK(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[6]));
  r.resize(7);
#else
  r.resize(4);
#endif
  return r;
}

void free_all(std::vector<MPI_Request>& requests) {
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int next = (world.rank() + 1) % world.size();
  const int before = (world.rank() + world.size() - 1) % world.size();

  for (const bool disconnects : {true, false}) {
    const auto leave = [&](MPI_Comm comm) {
      OK(disconnects ? MPI_Comm_disconnect(&comm) : MPI_Comm_free(&comm));
      CHECK(comm == MPI_COMM_NULL);
    };
    // Never started; freed before; freed afterwards.
    MPI_Comm comm = copy_of_world();
    auto inactive = inactive_on(comm, next);
    leave(comm);
    free_all(inactive);
    comm = copy_of_world();
    inactive = inactive_on(comm, next);
    free_all(inactive);
    leave(comm);

    // Started and completed.
    comm = copy_of_world();
    inactive = inactive_on(comm, next);
    for (size_t i = 3; i < inactive.size(); ++i) {
      OK(MPI_Start(&inactive[i]));
      OK(MPI_Wait(&inactive[i], MPI_STATUS_IGNORE));
    }
    leave(comm);
    free_all(inactive);

    // What is under way is waited for: long messages that nobody has completed yet, buffered ones, and one whose
    // request is freed.
    comm = copy_of_world();
    std::vector<int> to(1 << 17, world.rank()), from(1 << 17, -1);
    MPI_Request request[2];
    OK(MPI_Irecv(from.data(), static_cast<int>(from.size()), MPI_INT, before, 1, comm, &request[0]));
    OK(MPI_Isend(to.data(), static_cast<int>(to.size()), MPI_INT, next, 1, comm, &request[1]));
    MPI_Request freed;
    OK(MPI_Irecv(&out, 1, MPI_INT, before, 2, comm, &freed));
    OK(MPI_Request_free(&freed));
    std::vector<char> room(MPI_BSEND_OVERHEAD + 64);
    OK(MPI_Buffer_attach(room.data(), static_cast<int>(room.size())));
    OK(MPI_Bsend(&in, 1, MPI_INT, next, 2, comm));
    leave(comm);
    if (disconnects) {
      int complete;
      OK(MPI_Request_get_status(request[0], &complete, MPI_STATUS_IGNORE));
      CHECK(complete);
      CHECK_EQ(out, 1);
    }
    OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    for (const int value : from) CHECK_EQ(value, before);
    void* detached;
    int size;
    OK(MPI_Buffer_detach(&detached, &size));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }

  // A persistent request on the communicator that a window is made of.
  MPI_Comm comm = copy_of_world();
  auto inactive = inactive_on(comm, next);
  MPI_Win win;
  int memory;
  OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win));
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_disconnect(&comm));
  // And left to MPI_Finalize: these, and some on MPI_COMM_WORLD.
  inactive_on(MPI_COMM_WORLD, next);
}
