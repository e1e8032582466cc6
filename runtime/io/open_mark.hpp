// SPDX-License-Identifier: BSD-3-Clause
// A mark that a file is open, which other processes of the machine can see: a socket without a path
// whose name says which file it is and who has it open. Nothing touches the file, for a lock on it
// could be in the way of the program's own locks. A mark goes with the process, also if that is
// killed, and is not seen beyond the network namespace.
//
// Nothing here waits, and nothing fails: a file that cannot be marked is not.
#pragma once

#include <optional>
#include <string>

namespace tutti::io {

class OpenMark {
 public:
  OpenMark() = default;
  ~OpenMark() { remove(); }
  OpenMark(const OpenMark&) = delete;
  // `fd`: of the file.
  void set(int fd, int rank);
  void remove();

 private:
  int socket_ = -1;
};

struct Opener {
  int process, rank;  // rank of its job
};
// A process that has marked the regular file of this name, if it is still there.
std::optional<Opener> find_opener(const std::string& path);

}  // namespace tutti::io
