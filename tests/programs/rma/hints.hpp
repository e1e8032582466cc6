// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "check.hpp"

// What MPI_Win_get_info tells of a hint; "-": nothing.
inline std::string hint_of(MPI_Win win, const char* key) {
  MPI_Info info;
  char value[64] = "";
  int length = sizeof value, flag = 0;
  OK(MPI_Win_get_info(win, &info));
  OK(MPI_Info_get_string(info, key, &length, value, &flag));
  OK(MPI_Info_free(&info));
  return flag ? value : "-";
}
