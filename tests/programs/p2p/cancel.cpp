// SPDX-License-Identifier: BSD-3-Clause
// Cancelling receives (must work while unmatched) and sends (may fail, must complete either way).
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  MPI_Request request;
  MPI_Status status;
  int value = -1, cancelled = 0, flag = 0;

  for (int source : {from, static_cast<int>(MPI_ANY_SOURCE)}) {
    OK(MPI_Irecv(&value, 1, MPI_INT, source, 99, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    CHECK_EQ(value, -1);
  }

  // The cancelled one must not eat the message of the next.
  int later = -1;
  MPI_Request second;
  OK(MPI_Irecv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Irecv(&later, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &second));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&to, 1, MPI_INT, to, 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&second, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(!cancelled);
  CHECK_EQ(later, world.rank());
  CHECK_EQ(value, -1);

  // Cancelled too late: it was matched.
  OK(MPI_Irecv(&value, 1, MPI_INT, from, 2, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&to, 1, MPI_INT, to, 2, MPI_COMM_WORLD));
  while (!flag) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(!cancelled);
  CHECK_EQ(value, world.rank());

  // A send is cancelled or arrives; the sender knows which, and tells.
  for (int length : {1, 100000}) {
    std::vector<int> out(length, world.rank()), in(length, -1);
    OK(MPI_Isend(out.data(), length, MPI_INT, to, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    MPI_Request answer;
    int comes = -1;
    OK(MPI_Irecv(&comes, 1, MPI_INT, from, 4, MPI_COMM_WORLD, &answer));
    // The peer may have to receive before a send that was not cancelled can end.
    OK(MPI_Test(&request, &flag, &status));
    int sent = 1;
    if (flag) {
      OK(MPI_Test_cancelled(&status, &cancelled));
      sent = !cancelled;
    }
    OK(MPI_Send(&sent, 1, MPI_INT, to, 4, MPI_COMM_WORLD));
    OK(MPI_Wait(&answer, MPI_STATUS_IGNORE));
    MPI_Request receive = MPI_REQUEST_NULL;
    if (comes) OK(MPI_Irecv(in.data(), length, MPI_INT, from, 3, MPI_COMM_WORLD, &receive));
    if (!flag) {
      OK(MPI_Wait(&request, &status));
      OK(MPI_Test_cancelled(&status, &cancelled));
      sent = !cancelled;
    }
    OK(MPI_Sendrecv(&sent, 1, MPI_INT, to, 5, &comes, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (receive != MPI_REQUEST_NULL) {
      if (!comes) OK(MPI_Cancel(&receive));
      OK(MPI_Wait(&receive, &status));
      OK(MPI_Test_cancelled(&status, &cancelled));
      CHECK_EQ(cancelled, !comes);
      if (comes)
        for (int each : in) CHECK_EQ(each, from);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}
