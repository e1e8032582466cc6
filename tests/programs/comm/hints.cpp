// SPDX-License-Identifier: BSD-3-Clause
// Hints of communicators: what is set is told, what is unknown or no truth value is ignored, and a duplicate
// has the hints that it is given alone. And that nobody has spawned these processes.
#include "check.hpp"

namespace {

std::string hint(MPI_Comm comm, const char* key) {
  MPI_Info info;
  OK(MPI_Comm_get_info(comm, &info));
  char value[64] = "";
  int length = sizeof value, found = 0;
  OK(MPI_Info_get_string(info, key, &length, value, &found));
  OK(MPI_Info_free(&info));
  return found ? value : "none";
}

}  // namespace

int main(int argc, char** argv) {
  check::Program world(&argc, &argv);
  MPI_Comm comm, copy, told, later;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_info(comm, MPI_INFO_NULL));
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "mpi_assert_exact_length", "perhaps"));
  OK(MPI_Info_set(info, "a_key_of_nobody", "true"));
  CHECK(hint(comm, "mpi_assert_no_any_tag") != "true");
  OK(MPI_Comm_set_info(comm, info));
#ifndef OTHER_MPI  // which hints a library tells is its own choice
  CHECK(hint(comm, "mpi_assert_no_any_tag") == "true");
  CHECK(hint(comm, "mpi_assert_no_any_source") == "false");
#endif
  CHECK(hint(comm, "mpi_assert_exact_length") != "perhaps");
  OK(MPI_Comm_dup(comm, &copy));
  CHECK(hint(copy, "mpi_assert_no_any_tag") != "true");
  OK(MPI_Comm_dup_with_info(comm, info, &told));
  MPI_Request request;
  OK(MPI_Comm_idup_with_info(comm, info, &later, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
#ifndef OTHER_MPI
  CHECK(hint(told, "mpi_assert_no_any_tag") == "true");
  CHECK(hint(later, "mpi_assert_no_any_tag") == "true");
#endif
  for (MPI_Comm* each : {&comm, &copy, &told, &later}) OK(MPI_Comm_free(each));
  OK(MPI_Info_free(&info));
  MPI_Comm parent = MPI_COMM_SELF;
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
}
