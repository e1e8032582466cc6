// SPDX-License-Identifier: BSD-3-Clause
// MPI 4.0's Isendrecv and Isendrecv_replace, many at once. NOT_OPENMPI: 4.1 lacks them. NOT_MPICH: 4.0
// leaves their statuses unset.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int size = world.size(), rank = world.rank();
  for (int length : {0, 1, 3000, 100000}) {
    std::vector<std::vector<int>> out(size), in(size), both(size);
    std::vector<MPI_Request> requests(2 * size);
    for (int stride = 0; stride < size; ++stride) {
      const int to = (rank + stride) % size, from = (rank + size - stride) % size;
      out[stride].assign(length, rank * 100 + stride);
      in[stride].assign(length, -1);
      both[stride].assign(length, rank * 100 + stride + 7);
      OK(MPI_Isendrecv(out[stride].data(), length, MPI_INT, to, stride, in[stride].data(), length, MPI_INT, from,
                       stride, MPI_COMM_WORLD, &requests[2 * stride]));
      OK(MPI_Isendrecv_replace(both[stride].data(), length, MPI_INT, to, size + stride, from, size + stride,
                               MPI_COMM_WORLD, &requests[2 * stride + 1]));
    }
    std::vector<MPI_Status> statuses(2 * size);
    OK(MPI_Waitall(2 * size, requests.data(), statuses.data()));
    for (int stride = 0; stride < size; ++stride) {
      const int from = (rank + size - stride) % size;
      for (int i = 0; i < 2; ++i) {
        int count = -1;
        OK(MPI_Get_count(&statuses[2 * stride + i], MPI_INT, &count));
        CHECK_EQ(count, length);
        CHECK_EQ(statuses[2 * stride + i].MPI_SOURCE, from);
        CHECK_EQ(statuses[2 * stride + i].MPI_TAG, i * size + stride);
      }
      for (int i = 0; i < length; ++i) {
        CHECK_EQ(in[stride][i], from * 100 + stride);
        CHECK_EQ(both[stride][i], from * 100 + stride + 7);
      }
    }
  }
  int value = 3;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                   &request));
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}
