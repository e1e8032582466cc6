// SPDX-License-Identifier: BSD-3-Clause
// The process sets that mpirun was given, on three ranks: --pset ends=2,0 --pset app://first=0. And the kinds
// of memory, the first error handler, and the sets of the node and the socket.
#include "session.hpp"

namespace {

std::string value_of(MPI_Info info, const char* key) {
  char value[64] = "";
  int flag = 0, room = sizeof value;
  OK(MPI_Info_get_string(info, key, &room, value, &flag));
  return flag ? value : "";
}

// The set of the socket is there where the ranks are on one, as on a node with a single socket.
bool has(MPI_Session session, const char* pset) {
  int count = 0;
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  for (int n = 0; n < count; ++n) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int room = sizeof name;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, name));
    if (!std::strcmp(name, pset)) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Session mine = session::begin();
  MPI_Group all = session::group(mine), ends = session::group(mine, "ends");
  int rank = -1, size = 0, in_ends = -1;
  OK(MPI_Group_rank(all, &rank));
  OK(MPI_Group_size(all, &size));
  check::world_rank = rank;
  CHECK_EQ(size, 3);
  OK(MPI_Group_rank(ends, &in_ends));
  CHECK_EQ(in_ends, rank == 2 ? 0 : rank == 0 ? 1 : MPI_UNDEFINED);
  if (in_ends != MPI_UNDEFINED) {
    MPI_Comm comm = session::comm(ends, "ends");
    session::use(comm, 1);
    OK(MPI_Comm_free(&comm));
  }
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Session_get_pset_info(mine, "app://first", &info));
  CHECK_EQ(value_of(info, "mpi_size"), "1");
  OK(MPI_Info_free(&info));
  CHECK(has(mine, "tutti://node"));
  for (const char* here : {"tutti://node", "tutti://socket"}) {
    if (!has(mine, here)) continue;
    MPI_Group group = session::group(mine, here);
    int me = MPI_UNDEFINED;
    OK(MPI_Group_rank(group, &me));
    CHECK(me != MPI_UNDEFINED);
    MPI_Comm comm = session::comm(group, here);
    session::use(comm, 2);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
  }
  // A communicator is divided by the sets, too.
  MPI_Comm whole = session::comm(all, "whole");
  for (const char* set : {"ends", "APP://first", "tutti://node", "nowhere"}) {
    MPI_Comm part = MPI_COMM_NULL;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_pset_name", set));
    OK(MPI_Comm_split_type(whole, MPI_COMM_TYPE_RESOURCE_GUIDED, -rank, info, &part));
    int members = 0, place = MPI_UNDEFINED;
    if (part != MPI_COMM_NULL) {
      OK(MPI_Comm_size(part, &members));
      OK(MPI_Comm_rank(part, &place));
      session::use(part, 3);
      OK(MPI_Comm_free(&part));
    }
    const bool one = *set == 'A', both = *set == 'e';
    CHECK_EQ(members, *set == 't' ? 3 : (one && rank == 0) ? 1 : (both && rank != 1) ? 2 : 0);
    if (both && rank != 1) CHECK_EQ(place, rank == 2 ? 0 : 1);  // by the key, not by the set's order
    // The older type knows resources alone, and a resource beside a set names two divisions.
    OK(MPI_Comm_split_type(whole, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Machine"));
    OK(MPI_Comm_split_type(whole, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    OK(MPI_Info_free(&info));
  }
  OK(MPI_Comm_free(&whole));
  OK(MPI_Session_get_info(mine, &info));
  CHECK_EQ(value_of(info, "mpi_memory_alloc_kinds"), "mpi:alloc_mem,system");  // and no cuda
  OK(MPI_Info_free(&info));
  OK(MPI_Group_free(&all));
  OK(MPI_Group_free(&ends));
  session::end(mine);

  OK(MPI_Init(&argc, &argv));
  MPI_Errhandler first = MPI_ERRHANDLER_NULL;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &first));
  CHECK(first == MPI_ERRORS_RETURN);
  OK(MPI_Errhandler_free(&first));
  OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
  CHECK_EQ(value_of(info, "mpi_memory_alloc_kinds"), "mpi:alloc_mem,system");
  OK(MPI_Info_free(&info));
  CHECK_EQ(value_of(MPI_INFO_ENV, "mpi_memory_alloc_kinds"), "mpi:alloc_mem,system");
  OK(MPI_Finalize());
  if (rank == 0) std::puts("ok");
  return 0;
}
