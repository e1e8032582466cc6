/* SPDX-License-Identifier: BSD-3-Clause */
/* What call_cost.f90 measures, in C: a batch of each call takes so many nanoseconds a call. */
#include <mpi.h>

enum { kCalls = 200 };

/* The calls are those that call_cost.f90 numbers. */
double c_batch(int which) {
  double out[8] = {0}, in[8];
  int rank;
  MPI_Request request;
  const double begin = MPI_Wtime();
  for (int i = 0; i < kCalls; i++) switch (which) {
        // clang-format off
      case 1: MPI_Comm_rank(MPI_COMM_WORLD, &rank); break;
      case 2: MPI_Send(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD); break;
      case 3: MPI_Recv(in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
      case 4: MPI_Bcast(out, 1, MPI_DOUBLE, 0, MPI_COMM_SELF); break;
      case 5: MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); break;
      // clang-format on
      case 6:
        MPI_Isend(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    }
  return (MPI_Wtime() - begin) / kCalls * 1e9;
}
