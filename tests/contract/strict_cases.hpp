// SPDX-License-Identifier: BSD-3-Clause
// What the files of strict_program share.
#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <string>

namespace strict {

using Cases = std::map<std::string, std::function<void()>>;
Cases thread_cases();  // strict_threads.cpp
Cases file_cases();    // strict_files.cpp
Cases window_cases();  // strict_windows.cpp

inline int rank, size;  // of the process in MPI_COMM_WORLD
inline int value = 7, into[64], two[2];
inline const MPI_Comm world = MPI_COMM_WORLD;

// An int on MPI_COMM_WORLD, from `value` and to `into`.
void send(int to, int tag = 1);
void recv(int from, int tag = 1);

}  // namespace strict
