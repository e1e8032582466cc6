// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/shared_file.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tutti::transport {
namespace {

std::string path_of(const std::string& name) {
  return "/dev/shm/" + name;
}

int take_memory(int descriptor, int64_t bytes) {
  int problem;
  do {
    problem = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  } while (problem == EINTR);
  return problem;
}

}  // namespace

Result<std::unique_ptr<SharedFile>> SharedFile::make(const std::string& name, int64_t bytes) {
  const std::string path = path_of(name);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failure(MPI_ERR_OTHER, "{} cannot be made: {}", path, strerror(errno));
  if (const int problem = take_memory(fd, bytes)) {
    ::close(fd);
    forget_name(name);
    return failure(MPI_ERR_NO_MEM,
                   "/dev/shm has no {} bytes left for the window ({}): ask for less, or make it "
                   "larger, as docker's --shm-size does",
                   bytes, strerror(problem));
  }
  Result<std::unique_ptr<SharedFile>> mapped = map(path, fd, bytes);
  if (!mapped) forget_name(name);
  return mapped;
}

Result<std::unique_ptr<SharedFile>> SharedFile::open(const std::string& name, int64_t bytes) {
  const std::string path = path_of(name);
  const int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return failure(MPI_ERR_OTHER, "{} cannot be opened: {}", path, strerror(errno));
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_uid != geteuid() || status.st_size < bytes) {
    ::close(fd);
    return failure(MPI_ERR_OTHER, "{} belongs to somebody else", path);
  }
  return map(path, fd, bytes);
}

Result<std::unique_ptr<SharedFile>> SharedFile::map(const std::string& path, int descriptor,
                                                    int64_t bytes) {
  void* const base =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int problem = errno;
  ::close(descriptor);
  if (base == MAP_FAILED)
    return failure(MPI_ERR_NO_MEM, "{} cannot be mapped: {}", path, strerror(problem));
  return std::unique_ptr<SharedFile>(
      new SharedFile(static_cast<std::byte*>(base), static_cast<size_t>(bytes)));
}

SharedFile::~SharedFile() {
  munmap(base_, bytes_);
}

void SharedFile::forget_name(const std::string& name) {
  unlink(path_of(name).c_str());
}

}  // namespace tutti::transport
