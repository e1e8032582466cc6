// SPDX-License-Identifier: BSD-3-Clause
// The name that a program gives a file (the standard, section 14.2.1, leaves its form to the implementation), and the
// path of the operating system that it stands for.
#pragma once

#include <string_view>

namespace tutti::mpi::file {

// Programs and libraries written for ROMIO say the kind of file system before the path: "ufs:/scratch/out". All of
// these are files of the operating system here, so that the path is what follows the colon. Any other name is a path,
// and "./ufs:out" is a file whose own name begins so. Points into `filename`.
constexpr const char* path_of(const char* filename) {
  constexpr std::string_view kKinds[] = {"gpfs", "lustre", "nfs", "panfs", "ufs", "xfs"};
  const std::string_view name = filename;
  for (const std::string_view kind : kKinds)
    if (name.size() > kind.size() && name[kind.size()] == ':' && name.substr(0, kind.size()) == kind)
      return filename + kind.size() + 1;
  return filename;
}

}  // namespace tutti::mpi::file
