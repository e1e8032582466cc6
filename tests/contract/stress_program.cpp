// SPDX-License-Identifier: BSD-3-Clause
// What --stress makes of operations that the standard leaves open. Prints facts; stress.py knows
// which are to be seen under which mode. Not a portable program: it looks at what may not be relied
// upon.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <vector>

namespace {

int rank, size;

void say(const char* what, bool yes) {
  if (rank == 0) std::printf("%s: %s\n", what, yes ? "yes" : "no");
}

// Does rank 0 get through `call` before the last rank, which is late, has come?
template <class Call>
bool waits_for_all(Call&& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double late = 0.3, start = MPI_Wtime();
  if (rank == size - 1) usleep(static_cast<useconds_t>(late * 1e6));
  call();
  return MPI_Wtime() - start > late * 0.8;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int value = 0;
  say("broadcast synchronises", waits_for_all([&] { MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); }));
  say("nonblocking broadcast synchronises", waits_for_all([&] {
        MPI_Request r;
        MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
      }));
  std::vector<char> large(4 << 20);
  say("long broadcast synchronises",
      waits_for_all([&] { MPI_Bcast(large.data(), 4 << 20, MPI_CHAR, 0, MPI_COMM_WORLD); }));
  // More than there are slots of shared memory, fewer than messages are copied.
  say("a root runs ahead without end", !waits_for_all([&] {
        for (int i = 0; i < 200; ++i) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
      }));
  say("short send synchronises", waits_for_all([&] {
        if (rank == 0) MPI_Send(&value, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
        if (rank == size - 1) MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }));
  say("long send synchronises", waits_for_all([&] {
        if (rank == 0) MPI_Send(large.data(), 4 << 20, MPI_CHAR, size - 1, 1, MPI_COMM_WORLD);
        if (rank == size - 1) MPI_Recv(large.data(), 4 << 20, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }));

  // Wildcards: who comes first?
  std::vector<int> firsts;
  for (int round = 0; round < 20; ++round) {
    MPI_Request sent = MPI_REQUEST_NULL;
    if (rank > 0) MPI_Isend(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &sent);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(3000);
    for (int i = 1; rank == 0 && i < size; ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (i == 1) firsts.push_back(value);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  say("wildcards take any", std::set<int>(firsts.begin(), firsts.end()).size() > 1);
  MPI_Finalize();
}
