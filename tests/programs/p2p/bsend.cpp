// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: as many as the buffer holds without any receive, then an error; detach waits.
// NOT_OPENMPI: 4.1's detach waits for ever after a message that did not fit.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  constexpr int kInts = 20000, kMessages = 6;
  int packed = 0, size = 0;
  OK(MPI_Pack_size(kInts, MPI_INT, MPI_COMM_WORLD, &packed));
  CHECK(packed >= kInts * static_cast<int>(sizeof(int)));

  for (int round = 0; round < 3; ++round) {
    std::vector<char> buffer(kMessages * (packed + MPI_BSEND_OVERHEAD));
    OK(MPI_Buffer_attach(buffer.data(), buffer.size()));
    std::vector<int> out(kInts);
    for (int i = 0; i < kMessages; ++i) {
      std::fill(out.begin(), out.end(), world.rank() * 100 + i);
      if (i % 2) {
        MPI_Request request;
        OK(MPI_Ibsend(out.data(), kInts, MPI_INT, to, i, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      } else {
        OK(MPI_Bsend(out.data(), kInts, MPI_INT, to, i, MPI_COMM_WORLD));
      }
      std::fill(out.begin(), out.end(), -7);  // ours again
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    std::vector<int> in(kInts);
    for (int i = 0; i < kMessages; ++i) {
      OK(MPI_Recv(in.data(), kInts, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      for (int each : in) CHECK_EQ(each, from * 100 + i);
    }
    void* detached = nullptr;
    OK(MPI_Buffer_detach(&detached, &size));
    CHECK(detached == buffer.data());
    CHECK_EQ(size, buffer.size());
  }

  // More than fits.
  std::vector<int> out(kInts, 1);
  FAILS(MPI_Bsend(out.data(), kInts, MPI_INT, to, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  std::vector<char> small(1000 + MPI_BSEND_OVERHEAD), again(1000 + MPI_BSEND_OVERHEAD);
  OK(MPI_Buffer_attach(small.data(), small.size()));
  FAILS(MPI_Bsend(out.data(), kInts, MPI_INT, to, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Buffer_attach(again.data(), again.size()), MPI_ERR_BUFFER);
  void* detached = nullptr;
  OK(MPI_Buffer_detach(&detached, &size));

  // Space is used again once messages have left, and a strided type is packed while it is copied.
  MPI_Datatype strided;
  OK(MPI_Type_vector(50, 1, 2, MPI_INT, &strided));
  OK(MPI_Type_commit(&strided));
  std::vector<char> buffer(4 * (50 * sizeof(int) + MPI_BSEND_OVERHEAD));
  OK(MPI_Buffer_attach(buffer.data(), buffer.size()));
  for (int i = 0; i < 50; ++i) {
    std::vector<int> wide(100), in(50, -1);
    for (int k = 0; k < 100; ++k) wide[k] = k + i;
    OK(MPI_Bsend(wide.data(), 1, strided, to, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(in.data(), 50, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = 0; k < 50; ++k) CHECK_EQ(in[k], 2 * k + i);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Buffer_detach(&detached, &size));
  OK(MPI_Type_free(&strided));
}
