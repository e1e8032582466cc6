// SPDX-License-Identifier: BSD-3-Clause
#include "transport/spare_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace tutti::transport {
namespace {

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U  // since Linux 6.3, where some systems allow nothing else
#endif

int nameless_file() {
  const int fd = memfd_create("tutti", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  return fd < 0 && errno == EINVAL ? memfd_create("tutti", MFD_CLOEXEC) : fd;
}

// In another pid namespace, or when its maker is gone, the path may lead to anything.
bool is_it(const struct stat& status, const SpareMemory::Place& place, size_t bytes) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_dev == place.device &&
         status.st_ino == place.file && static_cast<size_t>(status.st_size) == bytes;
}

}  // namespace

std::unique_ptr<SpareMemory> SpareMemory::make(size_t bytes) {
  const int fd = nameless_file();
  if (fd < 0) return nullptr;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return map(fd, bytes);
  close(fd);
  return nullptr;
}

std::unique_ptr<SpareMemory> SpareMemory::open(const Place& place, size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", place.pid, place.descriptor);
  struct stat status {};
  // Before it is opened: to open a device or a pipe may do something.
  if (stat(path.c_str(), &status) != 0 || !is_it(status, place, bytes)) return nullptr;
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return nullptr;
  if (fstat(fd, &status) == 0 && is_it(status, place, bytes)) return map(fd, bytes);
  close(fd);
  return nullptr;
}

std::unique_ptr<SpareMemory> SpareMemory::map(int descriptor, size_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base != MAP_FAILED)
    return std::unique_ptr<SpareMemory>(
        new SpareMemory(descriptor, static_cast<std::byte*>(base), bytes));
  close(descriptor);
  return nullptr;
}

SpareMemory::~SpareMemory() {
  munmap(base_, bytes_);
  close(descriptor_);
}

SpareMemory::Place SpareMemory::place() const {
  struct stat status {};
  fstat(descriptor_, &status);
  return {getpid(), descriptor_, status.st_dev, status.st_ino};
}

}  // namespace tutti::transport
