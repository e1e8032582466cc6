// SPDX-License-Identifier: BSD-3-Clause
// Thousands of communicators made and freed: contexts are used again, and never while in use.
// NOT_MPICH: it spins, which takes minutes where ranks outnumber cores.
#include "check.hpp"

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  const int rank = world.rank(), size = world.size();
  constexpr int kKept = 40;
  std::vector<MPI_Comm> kept;
  for (int i = 0; i < 5000; ++i) {
    MPI_Comm comm;
    if (i % 5 == 4) {
      OK(MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2, 0, &comm));
    } else {
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    }
    if (i % 100 == 0) {  // some live for a while
      kept.push_back(comm);
      if (kept.size() > kKept) {
        OK(MPI_Comm_free(&kept.front()));
        kept.erase(kept.begin());
      }
    } else {
      OK(MPI_Comm_free(&comm));
    }
  }
  // All kept ones carry messages at once, and each its own.
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  std::vector<int> in(kept.size(), -1), out(kept.size());
  std::vector<MPI_Request> requests(2 * kept.size());
  for (size_t i = 0; i < kept.size(); ++i) OK(MPI_Irecv(&in[i], 1, MPI_INT, from, 0, kept[i], &requests[i]));
  for (size_t i = kept.size(); i-- > 0;) {
    out[i] = rank * 100 + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, to, 0, kept[i], &requests[kept.size() + i]));
  }
  OK(MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE));
  for (size_t i = 0; i < kept.size(); ++i) CHECK_EQ(in[i], from * 100 + i);
  for (MPI_Comm& comm : kept) OK(MPI_Comm_free(&comm));
}
