// SPDX-License-Identifier: BSD-3-Clause
// What a job leaves on a node, and its end: the job's folder under TMPDIR, its files in /dev/shm,
// its processes. A watchdog process does it when ours dies without having done so, whatever signal
// took it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tutti::launcher {

class Cleanup {
 public:
  // Makes the folder and forks the watchdog: call it before other threads exist.
  static Result<Cleanup> arm(const std::string& job_id, const std::string& node_label);
  ~Cleanup();  // removes the files and dismisses the watchdog
  Cleanup(Cleanup&&) noexcept;
  Cleanup& operator=(Cleanup&&) = delete;

  const std::string& folder() const { return folder_; }
  int watchdog() const { return watchdog_; }
  void group_started(int pgid);
  void group_ended(int pgid);

 private:
  Cleanup() = default;
  std::string job_id_, folder_;
  int pipe_ = -1;
  int watchdog_ = -1;
};

// A watchdog of any job: it is about to clean up, and goes by itself.
bool is_watchdog(int pid);

std::string random_hex(size_t bytes);

}  // namespace tutti::launcher
