// SPDX-License-Identifier: BSD-3-Clause
// Every send mode, blocking and nonblocking, by every size class, around a ring (one rank: itself).
#include "check.hpp"

namespace {

constexpr size_t kSizes[] = {0, 1, 1024, 8191, 64 << 10, 4 << 20};

using Nonblocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
using Blocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

void verify(const std::vector<unsigned char>& got, size_t size, unsigned seed, const MPI_Status& status, int source,
            int tag) {
  CHECK_EQ(status.MPI_SOURCE, source);
  CHECK_EQ(status.MPI_TAG, tag);
  int count = -1;
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, size);
  CHECK(std::equal(got.begin(), got.begin() + size, check::pattern(size, seed).begin()));
  for (size_t i = size; i < got.size(); ++i) CHECK_EQ(got[i], 0xee);  // nothing behind the message
}

void nonblocking(const check::Program& world, Nonblocking send, int mode, size_t size) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const auto out = check::pattern(size, world.rank() * 10 + mode);
  std::vector<unsigned char> in(size + 16, 0xee);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  OK(MPI_Irecv(in.data(), in.size(), MPI_BYTE, from, mode, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Barrier(MPI_COMM_WORLD));  // a ready send may start now
  OK(send(out.data(), size, MPI_BYTE, to, mode, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, statuses));
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  verify(in, size, from * 10 + mode, statuses[0], from, mode);
}

void blocking(const check::Program& world, Blocking send, int mode, size_t size) {
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const auto out = check::pattern(size, world.rank() * 10 + mode);
  std::vector<unsigned char> in(size + 16, 0xee);
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Irecv(in.data(), in.size(), MPI_BYTE, from, mode, MPI_COMM_WORLD, &request));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(send(out.data(), size, MPI_BYTE, to, mode, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  verify(in, size, from * 10 + mode, status, from, mode);
}

// Pairs with blocking calls on both sides, each side first in turn.
void blocking_pairs(const check::Program& world, Blocking send, int mode, size_t size) {
  const int peer = world.rank() ^ 1;
  if (peer >= world.size()) return;
  const auto out = check::pattern(size, world.rank() * 10 + mode);
  std::vector<unsigned char> in(size + 16, 0xee);
  MPI_Status status;
  for (int turn = 0; turn < 2; ++turn) {
    if ((world.rank() & 1) == turn) {
      OK(send(out.data(), size, MPI_BYTE, peer, 77, MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(in.data(), in.size(), MPI_BYTE, peer, 77, MPI_COMM_WORLD, &status));
      verify(in, size, peer * 10 + mode, status, peer, 77);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  std::vector<char> attached((8 << 20) + 16 * MPI_BSEND_OVERHEAD);
  OK(MPI_Buffer_attach(attached.data(), attached.size()));
  const Nonblocking nonblocking_sends[] = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
  const Blocking blocking_sends[] = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
  for (size_t size : kSizes)
    for (int mode = 0; mode < 4; ++mode) {
      nonblocking(world, nonblocking_sends[mode], mode, size);
      blocking(world, blocking_sends[mode], mode, size);
      if (mode != 2) blocking_pairs(world, blocking_sends[mode], mode, size);
    }
  void* detached = nullptr;
  int size = 0;
  OK(MPI_Buffer_detach(&detached, &size));
  CHECK(detached == attached.data());
  CHECK_EQ(size, attached.size());
}
