// SPDX-License-Identifier: BSD-3-Clause
// What a job leaves on a node, and its end: the job's folder under TMPDIR, its files in /dev/shm,
// its processes, and System V segments that its ranks made and did not live to mark for removal
// (UCX makes and marks one in two steps). A watchdog process does it when ours dies without having
// done so, whatever signal took it.
#pragma once

#include <set>
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
  // Of a job that failed, when its ranks are gone: what a rank leaves on purpose stays otherwise.
  void remove_segments() const;

 private:
  Cleanup() = default;
  std::string job_id_, folder_;
  std::set<int> makers_;  // every group that was started: a rank's number is its group's
  int pipe_ = -1;
  int watchdog_ = -1;
};

// A watchdog of any job: it is about to clean up, and goes by itself.
bool is_watchdog(int pid);

std::string random_hex(size_t bytes);

}  // namespace tutti::launcher
