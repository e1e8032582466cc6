// SPDX-License-Identifier: BSD-3-Clause
// Freeing or cancelling an active collective request is an error with a message, and leaves the
// collective alone. (The standard forbids both; other MPIs crash or say nothing.)
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size();
  for (int round = 0; round < 20; ++round) {
    int mine = world.rank(), sum = -1;
    MPI_Request request, kept;
    MPI_Status status;
    OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    kept = request;
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    CHECK(request == kept);
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK(request == kept);
    status.MPI_ERROR = -17;
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(status.MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(sum, size * (size - 1) / 2);
    int cancelled = -1;
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
  }
  // The message speaks of the call.
  MPI_Request request;
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
  const std::string text = check::error_text(MPI_Request_free(&request));
  CHECK(text.find("MPI_Request_free") != std::string::npos || text.find("collective") != std::string::npos);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // MPI_ERROR of a collective's status in an array is set.
  int out = -1, one = 1;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  OK(MPI_Iallreduce(&one, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
  statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = -17;
  OK(MPI_Waitall(2, requests, statuses));
  CHECK_EQ(out, size);
  for (const MPI_Status& each : statuses) CHECK_EQ(each.MPI_ERROR, MPI_SUCCESS);
}
