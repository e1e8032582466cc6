// SPDX-License-Identifier: BSD-3-Clause
// Folders of jobs that nobody has removed, because whoever would have was killed as well. Who makes
// one holds a lock on a file in it; the kernel takes the lock away with the process, however that
// ends. A process id would prove nothing: containers share /tmp and not the ids.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// Makes the lock's file in a folder that is just made, and holds the lock for as long as it lives.
class FolderLock {
 public:
  FolderLock() = default;
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;

 private:
  int fd_ = -1;  // also -1 where the file system has no locks: then nobody can prove a death
};

// Removes this user's folders of jobs below `parent` ("tutti.JOB.LABEL") when the locks of all
// folders of the job are free, and the job's files in `shared_memory`. What has no lock, and what
// another machine has locked (the file systems of some keep locks to themselves), stays.
void remove_dead_folders(const std::string& parent, const std::string& shared_memory = "/dev/shm");

// Where the folders of jobs are made: TMPDIR, or /tmp.
std::string folder_of_jobs();

}  // namespace tutti
