// SPDX-License-Identifier: BSD-3-Clause
// What a job leaves on a node, and its end: the job's folder under TMPDIR, its files in /dev/shm,
// its processes, and System V segments that its ranks made and did not live to mark for removal
// (UCX makes and marks one in two steps). A watchdog process does it when ours dies without having
// done so, whatever signal took it; and when ours is stopped, and the launcher that would have it
// end is gone. The folders of those that were killed together with their watchdog are removed by the
// next one (base/os/dead_folders.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/os/dead_folders.hpp"
#include "base/random.hpp"
#include "base/result.hpp"

namespace tutti::launcher {

inline constexpr const char* kLauncherLabel = "launcher";  // of mpirun's own node

class Cleanup {
 public:
  // Makes the folder and forks the watchdog: call it before other threads exist.
  // `lifeline`: a descriptor that ends with the launcher, if another process is that. When it does
  // and ours neither ends nor says that it is still there, the watchdog kills it.
  static Result<Cleanup> arm(const std::string& job_id, const std::string& node_label, int lifeline = -1);
  ~Cleanup();  // removes the files and dismisses the watchdog
  Cleanup(Cleanup&&) noexcept;
  Cleanup& operator=(Cleanup&&) = delete;

  const std::string& folder() const { return folder_; }
  int watchdog() const { return watchdog_; }
  void group_started(int pgid);
  void group_ended(int pgid);
  void still_there();  // the lifeline has ended, and the launcher has not
  // The watchdog kills this process and what it has started then, unless it hears of a later moment before; no moment: never.
  void lease_until(std::optional<std::chrono::steady_clock::time_point> when);
  // Of a job that failed, when its ranks are gone: what a rank leaves on purpose stays otherwise.
  void remove_segments() const;

 private:
  Cleanup() = default;
  void tell_watchdog(int32_t word);
  std::string job_id_, folder_;
  FolderLock lock_,
      shared_lock_;       // on the folder and on the files in /dev/shm: later jobs remove them once both are free
  std::set<int> makers_;  // every group that was started: a rank's number is its group's
  int pipe_ = -1;
  int watchdog_ = -1;
  bool is_deaf_ = false;  // the watchdog: it did not read in time
};

// A watchdog of any job: it is about to clean up, and goes by itself.
bool is_watchdog(int pid);
// A launcher that a rank has started for MPI_Comm_spawn, or its watchdog.
bool is_spawned_launcher(int pid);

}  // namespace tutti::launcher
