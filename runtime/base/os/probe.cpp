// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/probe.hpp"

#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/mutex.hpp"
#include "base/signals.hpp"

namespace tutti {

Error probe_threads(int count) {
  const SignalsBlocked none;
  std::vector<pthread_t> threads;
  int problem = 0;
  Mutex all_there;
  {
    const Lock lock(all_there);
    while (problem == 0 && static_cast<int>(threads.size()) < count) {
      const auto wait = [](void* gate) -> void* {
        const Lock passed(*static_cast<Mutex*>(gate));
        return nullptr;
      };
      pthread_t thread;
      problem = ::pthread_create(&thread, nullptr, wait, &all_there);
      if (problem == 0) threads.push_back(thread);
    }
  }
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  if (problem == 0) return {};
  return failure(MPI_ERR_OTHER,
                 "{} more {} needed here, and cannot start: {}; a limit on processes (ulimit -u, "
                 "the container's pids.max) or on memory (ulimit -v) is too low",
                 count, count == 1 ? "thread is" : "threads are", std::strerror(problem));
}

Error probe_descriptors(int count) {
  std::vector<int> taken;
  int problem = 0;
  while (problem == 0 && static_cast<int>(taken.size()) < count) {
    const int fd = ::eventfd(0, EFD_CLOEXEC);
    if (fd < 0)
      problem = errno;
    else
      taken.push_back(fd);
  }
  for (const int fd : taken) ::close(fd);
  if (problem == 0) return {};
  return failure(MPI_ERR_OTHER,
                 "{} more open files are needed here, and only {} can be had: {}; the limit of open "
                 "files (ulimit -n) is too low",
                 count, taken.size(), std::strerror(problem));
}

int count_descriptors(int otherwise) {
  DIR* const open = ::opendir("/proc/self/fd");
  if (!open) return otherwise;
  int count = -3;  // the folder's own, and its two links
  while (::readdir(open)) ++count;
  ::closedir(open);
  return count;
}

}  // namespace tutti
