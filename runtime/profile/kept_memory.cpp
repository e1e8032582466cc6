// SPDX-License-Identifier: BSD-3-Clause
#include "profile/kept_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/address_key.hpp"
#include "mpi.h"

namespace tutti::profile {

Result<void*> kept_memory(const std::string& name, size_t bytes, const std::string& own) {
  const char* const of_job = std::getenv(kJobFolderVariable);
  const std::string folder = of_job && *of_job ? of_job : own;
  if (folder.empty())
    return failure(
        MPI_ERR_OTHER,
        "the profile of this rank has nowhere to go: mpirun --profile keeps and prints it; without mpirun it goes "
        "where the setting profile.file says");
  if (folder == own && ::mkdir(own.c_str(), 0777) != 0 && errno != EEXIST)
    return failure(MPI_ERR_NO_SPACE, "the profile of this rank cannot be kept in {}: {}", own, std::strerror(errno));
  const std::string path = folder + "/" + name;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  // Memory that is missing later would be a crash.
  int problem = fd < 0 ? errno : ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* memory = MAP_FAILED;
  if (!problem) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) problem = errno;
  }
  if (fd >= 0) ::close(fd);
  if (problem)
    return failure(MPI_ERR_NO_SPACE, "the profile of this rank cannot be kept in {}: {}", path, std::strerror(problem));
  return memory;
}

}  // namespace tutti::profile
