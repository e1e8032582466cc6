// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/nameless_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

namespace tutti::transport {
namespace {

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U  // since Linux 6.3, where some systems allow nothing else
#endif

int new_file() {
  const int fd = memfd_create("tutti", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  return fd < 0 && errno == EINVAL ? memfd_create("tutti", MFD_CLOEXEC) : fd;
}

// In another pid namespace, or when its maker is gone, the path may lead to anything.
bool is_it(const struct stat& status, const PlaceOfFile& place, size_t bytes) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_dev == place.device &&
         status.st_ino == place.file && static_cast<size_t>(status.st_size) == bytes;
}

}  // namespace

std::string PlaceOfFile::text() const {
  return fmt::format("{} {} {} {}", pid, descriptor, device, file);
}

std::optional<PlaceOfFile> PlaceOfFile::parse(const std::string& text) {
  std::istringstream words(text);
  PlaceOfFile place{};
  if (words >> place.pid >> place.descriptor >> place.device >> place.file) return place;
  return std::nullopt;
}

int make_nameless_file(size_t bytes) {
  const int fd = new_file();
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  close(fd);
  return -1;
}

int open_nameless_file(const PlaceOfFile& place, size_t bytes) {
  const std::string path = fmt::format("/proc/{}/fd/{}", place.pid, place.descriptor);
  struct stat status{};
  // Before it is opened: to open a device or a pipe may do something.
  if (stat(path.c_str(), &status) != 0 || !is_it(status, place, bytes)) return -1;
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || (fstat(fd, &status) == 0 && is_it(status, place, bytes))) return fd;
  close(fd);
  return -1;
}

PlaceOfFile place_of_file(int descriptor) {
  struct stat status{};
  fstat(descriptor, &status);
  return {getpid(), descriptor, status.st_dev, status.st_ino};
}

}  // namespace tutti::transport
