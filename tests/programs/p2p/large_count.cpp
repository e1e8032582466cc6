// SPDX-License-Identifier: BSD-3-Clause
// The large-count forms of point-to-point and completion queries, on ordinary and on huge counts.
// NOT_OPENMPI: 4.1 lacks them.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const MPI_Count n = 30000;
  std::vector<int> out(n), in(n, -1);
  std::iota(out.begin(), out.end(), world.rank() * 7);
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Count count = -1;
  const auto verify = [&](int line) {
    OK(MPI_Get_count_c(&status, MPI_INT, &count));
    CHECK_EQ(count, n);
    for (MPI_Count i = 0; i < n; ++i) CHECK_EQ_IN(in[i], from * 7 + i, "line %d", line);
    std::fill(in.begin(), in.end(), -1);
  };
  for (auto send : {MPI_Isend_c, MPI_Issend_c}) {
    OK(send(out.data(), n, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_c(in.data(), n, MPI_INT, from, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    verify(__LINE__);
  }
  std::vector<char> buffer(n * sizeof(int) + MPI_BSEND_OVERHEAD);
  OK(MPI_Buffer_attach_c(buffer.data(), buffer.size()));
  OK(MPI_Irecv_c(in.data(), n, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Bsend_c(out.data(), n, MPI_INT, to, 0, MPI_COMM_WORLD));
  OK(MPI_Wait(&requests[0], &status));
  verify(__LINE__);
  void* detached = nullptr;
  OK(MPI_Buffer_detach_c(&detached, &count));
  CHECK_EQ(count, buffer.size());

  OK(MPI_Irecv_c(in.data(), n, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Irsend_c(out.data(), n, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Wait(&requests[0], &status));
  OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  verify(__LINE__);
  OK(MPI_Sendrecv_c(out.data(), n, MPI_INT, to, 0, in.data(), n, MPI_INT, from, 0, MPI_COMM_WORLD, &status));
  verify(__LINE__);
  in = out;
  OK(MPI_Sendrecv_replace_c(in.data(), n, MPI_INT, to, 0, from, 0, MPI_COMM_WORLD, &status));
  verify(__LINE__);
  MPI_Message message;
  OK(MPI_Isend_c(out.data(), n, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Mprobe(from, 0, MPI_COMM_WORLD, &message, &status));
  OK(MPI_Mrecv_c(in.data(), n, MPI_INT, &message, &status));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  verify(__LINE__);

  // Counts past 2^31: as a zero-size type they move nothing but count.
  const MPI_Count huge = MPI_Count{3} << 31;
  MPI_Datatype big, empty;
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  OK(MPI_Isend_c(nullptr, huge, empty, to, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Recv_c(nullptr, huge, empty, from, 1, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Type_contiguous_c(huge, MPI_INT, &big));
  MPI_Count size = -1, lower = -1, extent = -1;
  OK(MPI_Type_size_c(big, &size));
  CHECK_EQ(size, huge * 4);
  OK(MPI_Type_get_extent_c(big, &lower, &extent));
  CHECK_EQ(lower, 0);
  CHECK_EQ(extent, huge * 4);
  int narrow = 0;
  OK(MPI_Type_size(big, &narrow));
  CHECK_EQ(narrow, MPI_UNDEFINED);
  OK(MPI_Type_free(&big));
  OK(MPI_Type_free(&empty));
  std::memset(&status, 0, sizeof status);
  OK(MPI_Status_set_elements_x(&status, MPI_INT, huge));
  OK(MPI_Get_count_c(&status, MPI_INT, &count));
  CHECK_EQ(count, huge);
  OK(MPI_Get_elements_c(&status, MPI_INT, &count));
  CHECK_EQ(count, huge);
  OK(MPI_Get_count(&status, MPI_INT, &narrow));
  CHECK_EQ(narrow, MPI_UNDEFINED);
}
