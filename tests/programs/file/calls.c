/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program's libraries: its calls for files do what POSIX lets them do. FILE_CALLS=short: those that
 * move bytes move less than they were asked for, and all are interrupted, which close() must not be asked for twice;
 * =broken: from the second one on, those of the rank FILE_CALLS_RANK that write fail with EIO; =killed: in the twelfth
 * that writes or reads it is killed; =closing, =deleting: its close() or its unlink() fails. All but pread and its kin: for files whose
 * name ends in ".closed" alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

static int is_the_rank(void) {
  const char *const rank = getenv("PMIX_RANK"), *const wanted = getenv("FILE_CALLS_RANK");
  return rank && wanted && strcmp(rank, wanted) == 0;
}

static int fails(void) {
  static int writes;
  if (!is("broken") || !is_the_rank()) return 0;
  return __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) > 1;
}

static void may_be_killed(void) {
  static int calls;
  if (is("killed") && is_the_rank() && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == 12) raise(SIGKILL);
}

static ssize_t read_some(const char* name, int fd, void* into, size_t bytes, off_t offset) {
  const ssize_t now = some(bytes);
  may_be_killed();
  if (now < 0) return errno = EINTR, -1;
  return ((Read*)dlsym(RTLD_NEXT, name))(fd, into, (size_t)now, offset);
}
static ssize_t write_some(const char* name, int fd, const void* from, size_t bytes, off_t offset) {
  const ssize_t now = some(bytes);
  may_be_killed();
  if (fails()) return errno = EIO, -1;
  if (now < 0) return errno = EINTR, -1;
  return ((Write*)dlsym(RTLD_NEXT, name))(fd, from, (size_t)now, offset);
}

// clang-format off
__attribute__((visibility("default"))) ssize_t pread(int fd, void* into, size_t bytes, off_t offset) { return read_some("pread", fd, into, bytes, offset); }
__attribute__((visibility("default"))) ssize_t pread64(int fd, void* into, size_t bytes, off_t offset) { return read_some("pread64", fd, into, bytes, offset); }
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) { return write_some("pwrite", fd, from, bytes, offset); }
__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t offset) { return write_some("pwrite64", fd, from, bytes, offset); }
// clang-format on

/* Of many pieces of memory as many as are whole in what is moved, or a part of the first one. */
typedef ssize_t ReadParts(int, const struct iovec*, int, off_t);
static ssize_t parts_some(const char* name, int fd, const struct iovec* parts, int count, off_t offset, int writes) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  const ssize_t now = some(bytes);
  may_be_killed();
  if (writes && fails()) return errno = EIO, -1;
  if (now < 0) return errno = EINTR, -1;
  int whole = 0;
  for (size_t left = (size_t)now; whole < count && parts[whole].iov_len <= left; ++whole) left -= parts[whole].iov_len;
  ReadParts* const move = (ReadParts*)dlsym(RTLD_NEXT, name);
  if (whole > 0 || count == 0) return move(fd, parts, whole, offset);
  const struct iovec first = {parts[0].iov_base, (size_t)now};
  return move(fd, &first, 1, offset);
}

// clang-format off
__attribute__((visibility("default"))) ssize_t preadv(int fd, const struct iovec* parts, int count, off_t offset) { return parts_some("preadv", fd, parts, count, offset, 0); }
__attribute__((visibility("default"))) ssize_t preadv64(int fd, const struct iovec* parts, int count, off_t offset) { return parts_some("preadv64", fd, parts, count, offset, 0); }
__attribute__((visibility("default"))) ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) { return parts_some("pwritev", fd, parts, count, offset, 1); }
__attribute__((visibility("default"))) ssize_t pwritev64(int fd, const struct iovec* parts, int count, off_t offset) { return parts_some("pwritev64", fd, parts, count, offset, 1); }
// clang-format on

static int is_judged(const char* name) {
  const size_t length = strlen(name);
  return length > 7 && strcmp(name + length - 7, ".closed") == 0;
}
static int is_judged_open(int fd) {
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, name, sizeof name - 1);
  if (n <= 0) return 0;
  name[n] = 0;
  return is_judged(name);
}
/* Every other call. */
static int is_interrupted(void) {
  static int calls;
  return is("short") && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 2;
}

/* The descriptor is given back before anything can fail. Who asks again closes what another thread has opened. */
__attribute__((visibility("default"))) int close(int fd) {
  static int interrupted = -1;
  const int judged = is_judged_open(fd);
  const int code = (int)syscall(SYS_close, fd);
  if (code != 0 && errno == EBADF && fd == interrupted) abort();
  if (judged && is("short")) return interrupted = fd, errno = EINTR, -1;
  interrupted = -1;
  if (judged && is("closing") && is_the_rank()) return errno = EDQUOT, -1;
  return code;
}
__attribute__((visibility("default"))) int ftruncate(int fd, off_t size) {
  if (is_judged_open(fd) && is_interrupted()) return errno = EINTR, -1;
  return (int)syscall(SYS_ftruncate, fd, size);
}
__attribute__((visibility("default"))) int ftruncate64(int fd, off_t size) {
  return ftruncate(fd, size);
}
__attribute__((visibility("default"))) int fsync(int fd) {
  if (is_judged_open(fd) && is_interrupted()) return errno = EINTR, -1;
  return (int)syscall(SYS_fsync, fd);
}
typedef int Stat(int, struct stat*);
__attribute__((visibility("default"))) int fstat(int fd, struct stat* about) {
  if (is_judged_open(fd) && is_interrupted()) return errno = EINTR, -1;
  return ((Stat*)dlsym(RTLD_NEXT, "fstat"))(fd, about);
}
/* What was interrupted has removed it. */
typedef int Unlink(const char*);
__attribute__((visibility("default"))) int unlink(const char* path) {
  if (is_judged(path) && is("deleting") && is_the_rank()) return errno = EIO, -1;
  const int code = ((Unlink*)dlsym(RTLD_NEXT, "unlink"))(path);
  if (code == 0 && is_judged(path) && is("short")) return errno = EINTR, -1;
  return code;
}
