// SPDX-License-Identifier: BSD-3-Clause
// Starts one process: its own group, its streams on pipes, its processors, its folder, the user's
// limit of open files, and no descriptor but its streams. It dies with us (parent-death signal). A program that the
// kernel cannot get at, since a file system does not answer, holds up nobody else. Knows nothing of ranks and jobs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace tutti::launcher {

// Why ranks cannot start in a folder.
std::string no_folder(const std::string& folder, int error_number);

struct Program {
  std::string path;   // what to execute; empty: `problem` says why not
  int exit_code = 0;  // 126 or 127 then; 1 where the folder is what is missing
  std::string problem;
};
// As a shell would find it: along `search_path` unless the name has a '/', which is relative to
// `folder`.
Program find_program(const std::string& name, const std::string& search_path, const std::string& folder);

struct SpawnRequest {
  std::string path;
  std::vector<std::string> command, environment;
  std::string folder;
  std::vector<int> processors;  // empty: not bound
  bool wants_input = false;     // a pipe; else /dev/null
  int tag = 0;                  // comes back in a failure
};

struct Child {
  int pid = -1;
  int in = -1, out = -1, err = -1;                 // our ends, non-blocking; the caller closes them
  std::shared_ptr<const std::atomic<bool>> begun;  // it has become its program, or has failed to
};

// What a child writes to `failures` when it cannot execute.
struct SpawnFailure {
  enum Step : int { folder, bind, execute };
  int tag;
  Step step;
  int error_number;
};

Result<Child> spawn(SpawnRequest request, int failures);

}  // namespace tutti::launcher
