// SPDX-License-Identifier: BSD-3-Clause
// What the ABI tells of itself, and what is told of Fortran once (the standard, chapter 20); the hardware that
// this process runs on. Before MPI_Init, between and after MPI_Finalize.
#include "check.hpp"

namespace {

std::string value_of(MPI_Info info, const char* key) {
  char value[64] = "";
  int flag = 0, room = sizeof value;
  OK(MPI_Info_get_string(info, key, &room, value, &flag));
  return flag ? value : "";
}

void abi() {
  int major = 0, minor = -1;
  OK(MPI_Abi_get_version(&major, &minor));
  CHECK_EQ(major, MPI_ABI_VERSION);
  CHECK_EQ(minor, MPI_ABI_SUBVERSION);
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Abi_get_info(&info));
  CHECK_EQ(value_of(info, "mpi_aint_size"), std::to_string(sizeof(MPI_Aint)));
  CHECK_EQ(value_of(info, "mpi_count_size"), std::to_string(sizeof(MPI_Count)));
  CHECK_EQ(value_of(info, "mpi_offset_size"), std::to_string(sizeof(MPI_Offset)));
  OK(MPI_Info_free(&info));
}

void fortran_is_unknown() {
  MPI_Info info = MPI_INFO_ENV;
  OK(MPI_Abi_get_fortran_info(&info));
  CHECK(info == MPI_INFO_NULL);
  int yes = 0, no = 0, set = -1;
  OK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &set));
  CHECK(!set);
}

void tell_of_fortran() {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_logical_size", "4"));
  OK(MPI_Info_set(info, "mpi_real16_supported", "false"));
  OK(MPI_Abi_set_fortran_info(info));
  OK(MPI_Info_free(&info));
  int yes = -1, no = 0;
  OK(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no));
}

void fortran_is_known() {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Abi_get_fortran_info(&info));
  CHECK_EQ(value_of(info, "mpi_logical_size"), "4");
  CHECK_EQ(value_of(info, "mpi_real16_supported"), "false");
  OK(MPI_Info_free(&info));
  int yes = 0, no = 7, set = -1;
  OK(MPI_Abi_get_fortran_booleans(sizeof yes, &yes, &no, &set));
  CHECK(set);
  CHECK_EQ(yes, -1);
  CHECK_EQ(no, 0);
}

void once() {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Info_create(&info));
  CHECK_EQ(check::error_class(MPI_Abi_set_fortran_info(info)), MPI_ERR_ABI);
  OK(MPI_Info_free(&info));
  int yes = 1, no = 0, set = -1;
  long long wide = 1;
  CHECK_EQ(check::error_class(MPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no)), MPI_ERR_ABI);
  CHECK_EQ(check::error_class(MPI_Abi_get_fortran_booleans(sizeof wide, &wide, &wide, &set)), MPI_ERR_ARG);
  CHECK_EQ(check::error_class(MPI_Abi_get_fortran_booleans(3, &yes, &no, &set)), MPI_ERR_ARG);
}

void hardware() {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Get_hw_resource_info(&info));
  int keys = 0;
  OK(MPI_Info_get_nkeys(info, &keys));
  CHECK(keys >= 5);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY];
    OK(MPI_Info_get_nthkey(info, i, key));
    const std::string value = value_of(info, key);
    CHECK(value == "true" || value == "false");
  }
  CHECK_EQ(value_of(info, "hwloc://Machine"), "true");
  // Who is on a single processor is on a single core, and so on.
  if (value_of(info, "hwloc://PU") == "true") CHECK_EQ(value_of(info, "hwloc://Core"), "true");
  if (value_of(info, "hwloc://Core") == "true") CHECK_EQ(value_of(info, "hwloc://Package"), "true");
  OK(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  abi();
  fortran_is_unknown();
  tell_of_fortran();
  fortran_is_known();
  {
    check::Program program(&argc, &argv);
    abi();
    fortran_is_known();
    once();
    hardware();
  }
  abi();
  fortran_is_known();
  return 0;
}
