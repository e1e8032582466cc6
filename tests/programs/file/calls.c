/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program's libraries: its calls of pread and pwrite do what POSIX lets them do. FILE_CALLS=short: they
 * move less than they were asked for, or are interrupted; =broken: from the second one on, those of the last
 * rank that write fail with EIO. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t Read(int, void*, size_t, off_t);
typedef ssize_t Write(int, const void*, size_t, off_t);

static unsigned next_number(void) {
  static __thread unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static int is(const char* what) {
  const char* const chosen = getenv("FILE_CALLS");
  return chosen && strcmp(chosen, what) == 0;
}

/* How much of it; -1: interrupted. */
static ssize_t some(size_t bytes) {
  if (!is("short") || bytes == 0) return (ssize_t)bytes;
  if (next_number() % 4 == 0) return -1;
  return (ssize_t)(1 + next_number() % bytes);
}

static int fails(void) {
  static int writes;
  const char *const rank = getenv("PMIX_RANK"), *const last = getenv("FILE_CALLS_RANK");
  if (!is("broken") || !rank || !last || strcmp(rank, last) != 0) return 0;
  return __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) > 1;
}

static ssize_t read_some(const char* name, int fd, void* into, size_t bytes, off_t offset) {
  const ssize_t now = some(bytes);
  if (now < 0) return errno = EINTR, -1;
  return ((Read*)dlsym(RTLD_NEXT, name))(fd, into, (size_t)now, offset);
}
static ssize_t write_some(const char* name, int fd, const void* from, size_t bytes, off_t offset) {
  const ssize_t now = some(bytes);
  if (fails()) return errno = EIO, -1;
  if (now < 0) return errno = EINTR, -1;
  return ((Write*)dlsym(RTLD_NEXT, name))(fd, from, (size_t)now, offset);
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void* into, size_t bytes, off_t offset) { return read_some("pread", fd, into, bytes, offset); }
__attribute__((visibility("default"))) ssize_t pread64(int fd, void* into, size_t bytes, off_t offset) { return read_some("pread64", fd, into, bytes, offset); }
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) { return write_some("pwrite", fd, from, bytes, offset); }
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t offset) { return write_some("pwrite64", fd, from, bytes, offset); }
