// SPDX-License-Identifier: BSD-3-Clause
// What ranks have left in files of the job's folder: structs as they lay in memory, of whatever content.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace tutti::launcher {

// nullptr: there is no such file, or it is no whole one.
template <class Kept>
std::unique_ptr<Kept> kept_file(const std::string& path) {
  static_assert(std::is_trivially_copyable_v<Kept>);
  auto out = std::make_unique<Kept>();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat about{};
  const bool good = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                    ::pread(fd, out.get(), sizeof(Kept), 0) == static_cast<ssize_t>(sizeof(Kept));
  ::close(fd);
  return good ? std::move(out) : nullptr;
}

}  // namespace tutti::launcher
