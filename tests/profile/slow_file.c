/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program's libraries: a write takes as many milliseconds longer as SLOW_FILE says, as on a busy file system. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void linger(void) {
  const char* const milliseconds = getenv("SLOW_FILE");
  if (milliseconds) usleep((useconds_t)(atof(milliseconds) * 1000));
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  linger();
  return syscall(SYS_pwrite64, fd, from, bytes, offset);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t offset) {
  return pwrite(fd, from, bytes, offset);
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  linger();
  return syscall(SYS_pwritev, fd, parts, count, offset, (long)0);
}
ssize_t pwritev64(int fd, const struct iovec* parts, int count, off_t offset) {
  return pwritev(fd, parts, count, offset);
}
