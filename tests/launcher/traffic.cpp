// SPDX-License-Identifier: BSD-3-Clause
// traffic [stubborn]
// Ranks in the midst of messages, short and long, to all others, until somebody ends them: what the
// fault tests shoot at. Each says "ready" once it has had a message of each kind from everybody.
// Rank 0 leaves the job's name in the file TUTTI_TEST_JOB_FILE. A stubborn one will not end when it
// is asked to.
#include <mpi.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "stubborn") == 0)
    for (int s : {SIGTERM, SIGINT, SIGHUP}) signal(s, SIG_IGN);
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    const char* name = std::getenv("TUTTI_JOB");
    const char* path = std::getenv("TUTTI_TEST_JOB_FILE");
    if (std::FILE* file = path ? std::fopen(path, "w") : nullptr) {
      std::fputs(name ? name : "", file);
      std::fclose(file);
    }
  }
  constexpr int kSizes[] = {1, 3000, 2 << 20};  // inline, eager, by rendezvous
  constexpr int kKinds = 3;
  std::vector<std::vector<char>> out(kKinds), in(static_cast<size_t>(kKinds * size));
  for (int kind = 0; kind < kKinds; ++kind) {
    out[kind].assign(kSizes[kind], static_cast<char>(rank));
    for (int peer = 0; peer < size; ++peer) in[kind * size + peer].resize(kSizes[kind]);
  }
  std::vector<MPI_Request> requests;
  for (long round = 0;; ++round) {
    requests.clear();
    for (int kind = 0; kind < kKinds; ++kind)
      for (int peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        requests.emplace_back();
        MPI_Irecv(in[kind * size + peer].data(), kSizes[kind], MPI_CHAR, peer, kind, MPI_COMM_WORLD, &requests.back());
        requests.emplace_back();
        MPI_Isend(out[kind].data(), kSizes[kind], MPI_CHAR, peer, kind, MPI_COMM_WORLD, &requests.back());
      }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    if (round == 0) {
      std::puts("ready");
      std::fflush(stdout);
    }
  }
}
