// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory that the library takes for windows, in its place: the program's posix_fallocate() comes before that of
// the C library. For one source of a program.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

inline long taken;  // bytes of windows, by this process

inline int take(int file, long offset, long bytes) {
  char name[256] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  if (readlink(link.c_str(), name, sizeof name - 1) > 0 && std::strstr(name, ".win.")) taken += bytes;
  return syscall(SYS_fallocate, file, 0, offset, bytes) == 0 ? 0 : errno;
}

extern "C" __attribute__((visibility("default"))) int posix_fallocate(int file, off_t offset, off_t bytes) {
  return take(file, offset, bytes);
}
extern "C" __attribute__((visibility("default"))) int posix_fallocate64(int file, off64_t offset, off64_t bytes) {
  return take(file, offset, bytes);
}
