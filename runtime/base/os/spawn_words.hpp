// SPDX-License-Identifier: BSD-3-Clause
// What posix_spawn() takes, in the shapes that it wants.
#pragma once

#include <spawn.h>

#include <string>
#include <vector>

namespace tutti {

// The files and attributes of a new process, for as long as it takes to start it.
struct SpawnActions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnActions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  // The new process has no files from this number on.
  void close_from(int first);
};

// Of arguments or variables, with the nullptr behind the last; valid as long as `texts` are.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace tutti
