// SPDX-License-Identifier: BSD-3-Clause
// Folders and files of jobs that nobody has removed, because whoever would have was killed as well. Who makes
// some holds a lock on a file in the folder, and on one in /dev/shm: the folder may be gone with a TMPDIR that a
// scheduler had made for its job, and only the second file then proves whose the others in /dev/shm are. The kernel
// takes the locks away with the process, however that ends. A process id would prove nothing: containers share /tmp
// and not the ids.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// Makes a file, and holds the lock on it for as long as it lives. The file stays.
class FolderLock {
 public:
  FolderLock() = default;
  // The one in a folder that is just made.
  explicit FolderLock(const std::string& folder) : FolderLock(Path{folder + "/lock"}) {}
  // The one beside a job's other files in /dev/shm: "tutti.JOB.LABEL.lock".
  static FolderLock in_shared_memory(const std::string& job_and_label, const std::string& shared_memory = "/dev/shm") {
    return FolderLock(Path{lock_in_shared_memory(job_and_label, shared_memory)});
  }
  static std::string lock_in_shared_memory(const std::string& job_and_label,
                                           const std::string& shared_memory = "/dev/shm");
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;

 private:
  struct Path {
    std::string file;
  };
  explicit FolderLock(const Path& path);
  int fd_ = -1;  // also -1 where the file system has no locks: then nobody can prove a death
};

// Removes this user's folders of jobs below `parent` ("tutti.JOB.LABEL") and their files in `shared_memory` when all
// locks of the job are free, in both places. What has no lock, and what another machine has locked (the file systems
// of some keep locks to themselves), stays.
void remove_dead_folders(const std::string& parent, const std::string& shared_memory = "/dev/shm");

// Where the folders of jobs are made: TMPDIR, or /tmp.
std::string folder_of_jobs();

}  // namespace tutti
