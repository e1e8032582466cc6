// SPDX-License-Identifier: BSD-3-Clause
// Probe, Iprobe and the matched probes, with messages of unknown length.
#include "check.hpp"

namespace {

constexpr int kLengths[] = {0, 1, 100, 5000, 200000};

void verify(const std::vector<int>& in, int from, int length) {
  CHECK_EQ(in.size(), length);
  for (int i = 0; i < length; ++i) CHECK_EQ(in[i], from * 1000 + length + i % 10);
}

std::vector<int> message(int rank, int length) {
  std::vector<int> out(length);
  for (int i = 0; i < length; ++i) out[i] = rank * 1000 + length + i % 10;
  return out;
}

enum class Way { probe, iprobe, mprobe, improbe, imrecv };

void receive(Way way, int source, int tag, int from, int length) {
  MPI_Status probed, status;
  MPI_Message handle = MPI_MESSAGE_NULL;
  int flag = 0, count = -1;
  switch (way) {
    case Way::probe:
      OK(MPI_Probe(source, tag, MPI_COMM_WORLD, &probed));
      break;
    case Way::iprobe:
      while (!flag) OK(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &probed));
      break;
    case Way::mprobe:
    case Way::imrecv:
      OK(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &handle, &probed));
      break;
    case Way::improbe:
      while (!flag) OK(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &handle, &probed));
      break;
  }
  CHECK_EQ(probed.MPI_SOURCE, from);
  CHECK_EQ(probed.MPI_TAG, length);
  OK(MPI_Get_count(&probed, MPI_INT, &count));
  CHECK_EQ(count, length);
  std::vector<int> in(count);
  if (way == Way::probe || way == Way::iprobe) {
    OK(MPI_Recv(in.data(), count, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &status));
  } else if (way == Way::imrecv) {
    MPI_Request request;
    OK(MPI_Imrecv(in.data(), count, MPI_INT, &handle, &request));
    OK(MPI_Wait(&request, &status));
  } else {
    OK(MPI_Mrecv(in.data(), count, MPI_INT, &handle, &status));
  }
  CHECK(handle == MPI_MESSAGE_NULL);
  CHECK_EQ(status.MPI_SOURCE, from);
  CHECK_EQ(status.MPI_TAG, length);
  verify(in, from, length);
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  for (Way way : {Way::probe, Way::iprobe, Way::mprobe, Way::improbe, Way::imrecv})
    for (bool wild : {false, true})
      for (int length : kLengths) {
        const auto out = message(world.rank(), length);
        MPI_Request request;
        OK(MPI_Isend(out.data(), length, MPI_INT, to, length, MPI_COMM_WORLD, &request));
        receive(way, wild ? MPI_ANY_SOURCE : from, wild ? MPI_ANY_TAG : length, from, length);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }

  // A matched message is taken: no later receive finds it, though it was the first to arrive.
  int first = 1, second = 2, got = 0, flag = 0;
  MPI_Request requests[2];
  MPI_Message taken;
  MPI_Status status;
  OK(MPI_Isend(&first, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(&second, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Mprobe(from, 0, MPI_COMM_WORLD, &taken, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &status));
  CHECK_EQ(got, 2);
  OK(MPI_Mrecv(&got, 1, MPI_INT, &taken, &status));
  CHECK_EQ(got, 1);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  CHECK(!flag);
  OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &taken, &status));
  CHECK(!flag);
  OK(MPI_Barrier(MPI_COMM_WORLD));  // the next message must not arrive before everyone has looked

  // A short receive of a matched message is a truncation.
  const int three[3] = {1, 2, 3};
  OK(MPI_Isend(three, 3, MPI_INT, to, 8, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Mprobe(from, 8, MPI_COMM_WORLD, &taken, &status));
  FAILS(MPI_Mrecv(&got, 1, MPI_INT, &taken, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}
