// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of chapter 11 of the standard: what its files share. One file for each part of the chapter.
#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace processes {

inline bool wrong = false;
inline int rank = -1, size = 0;
inline std::string program, name;  // of the file that runs, and of the case
inline const MPI_Comm world = MPI_COMM_WORLD;

using Cases = std::map<std::string, std::function<void()>>;
extern const Cases kSpawning;  // the calls that spawn
extern const Cases kFamilies;  // parents and their children, once these are there
extern const Cases kPorts;
extern const Cases kNames;
// What the child does, in the cases of kFamilies where it does something.
extern const std::map<std::string, std::function<void(MPI_Comm parent)>> kChildren;

inline bool odd() {
  return wrong && rank == size - 1;
}  // the rank that goes wrong

inline MPI_Info info_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (const auto& [key, value] : pairs) MPI_Info_set(info, key.c_str(), value.c_str());
  return info;
}

inline MPI_Comm spawn(int root = 0, int count = 1, MPI_Info info = MPI_INFO_NULL, MPI_Comm comm = world,
                      const std::string& command = program) {
  std::string words[] = {"child", name, wrong ? "wrong" : "right"}, what = command;
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_spawn(what.data(), argv, count, info, root, comm, &made, MPI_ERRCODES_IGNORE);
  return made;
}

// The port of rank 0, as all know it.
inline std::string port_of_all() {
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, world);
  return port;
}
inline MPI_Comm accept(const std::string& port, MPI_Comm comm = MPI_COMM_SELF, int root = 0,
                       MPI_Info info = MPI_INFO_NULL) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_accept(port.c_str(), info, root, comm, &made);
  return made;
}
inline MPI_Comm connect(const std::string& port, MPI_Comm comm = MPI_COMM_SELF, int root = 0,
                        MPI_Info info = MPI_INFO_NULL) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_connect(port.c_str(), info, root, comm, &made);
  return made;
}
// Rank 0 with rank 1, over a port of rank 0's.
inline MPI_Comm pair(const std::string& port) {
  return rank == 0 ? accept(port) : rank == 1 ? connect(port) : MPI_COMM_NULL;
}
inline void part(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) MPI_Comm_disconnect(&comm);
}
inline void barrier() {
  MPI_Barrier(world);
}

}  // namespace processes
