// SPDX-License-Identifier: BSD-3-Clause
// Duplicates with an info, blocking and nonblocking: congruent, with contexts and attributes of their
// own, and able to disconnect. NOT_OPENMPI: 4.1 lacks MPI_Comm_idup_with_info.
#include "check.hpp"

namespace {

// A message in each communicator with the same envelope, received in the other order.
void separate(MPI_Comm one, MPI_Comm other, const check::Program& world) {
  const int to = (world.rank() + 1) % world.size(), from = (world.rank() + world.size() - 1) % world.size();
  const int out[2] = {world.rank() * 2, world.rank() * 2 + 1};
  int in[2] = {-1, -1};
  MPI_Request requests[2];
  OK(MPI_Isend(&out[0], 1, MPI_INT, to, 0, one, &requests[0]));
  OK(MPI_Isend(&out[1], 1, MPI_INT, to, 0, other, &requests[1]));
  OK(MPI_Recv(&in[1], 1, MPI_INT, from, 0, other, MPI_STATUS_IGNORE));
  OK(MPI_Recv(&in[0], 1, MPI_INT, from, 0, one, MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(in[0], from * 2);
  CHECK_EQ(in[1], from * 2 + 1);
}

void congruent(MPI_Comm copy) {
  int result = -1;
  OK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
}

// A disconnect waits for what is under way (11.10.4), although the requests were let go.
void disconnect_waits(MPI_Comm* comm, const check::Program& world) {
#ifndef OTHER_MPI  // MPICH 4.0 does not wait, and reads the vectors when they are gone
  const int to = (world.rank() + 1) % world.size(), from = (world.rank() + world.size() - 1) % world.size();
  std::vector<int> out(50000, world.rank()), in(out.size(), -1);
  MPI_Request sent, received;
  OK(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_INT, from, 0, *comm, &received));
  OK(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_INT, to, 0, *comm, &sent));
  OK(MPI_Request_free(&received));
  OK(MPI_Request_free(&sent));
  OK(MPI_Comm_disconnect(comm));
  std::fill(out.begin(), out.end(), -2);
  for (int value : in) CHECK_EQ(value, from);
#else
  (void)world;
  OK(MPI_Comm_disconnect(comm));
#endif
  CHECK(*comm == MPI_COMM_NULL);
}

int copies = 0;
int copy_attribute(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  ++copies;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  int key = MPI_KEYVAL_INVALID, mark = 0;
  OK(MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, nullptr));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &mark));

  for (MPI_Info given : {info, MPI_Info{MPI_INFO_NULL}}) {
    copies = 0;
    MPI_Comm dup = MPI_COMM_NULL, idup = MPI_COMM_NULL;
    MPI_Request request;
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, given, &dup));
    OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, given, &idup, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(copies, 2);
    for (MPI_Comm copy : {dup, idup}) {
      congruent(copy);
      void* found = nullptr;
      int flag = 0;
      OK(MPI_Comm_get_attr(copy, key, &found, &flag));
      CHECK(flag && found == &mark);
      separate(MPI_COMM_WORLD, copy, world);
      int sum = -1, rank = world.rank();
      OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
      CHECK_EQ(sum, world.size() * (world.size() - 1) / 2);
    }
    separate(dup, idup, world);

    disconnect_waits(&dup, world);
    OK(MPI_Comm_disconnect(&idup));
    CHECK(idup == MPI_COMM_NULL);
  }
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Info_free(&info));
}
