// SPDX-License-Identifier: BSD-3-Clause
// Files of the operating system.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "io/open_mark.hpp"
#include "io/storage.hpp"

namespace tutti::io {
namespace {

// Again where a signal has interrupted it, which file systems of the network and of FUSE let happen
// in any call. Never close(), after which the descriptor may be another thread's.
template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}
template <class Call>
int error_of(Call&& call) {
  return uninterrupted(call) == 0 ? 0 : errno;
}

class Posix final : public Storage {
 public:
  explicit Posix(int fd) : fd_(fd) {}
  ~Posix() override { Posix::close(); }

  // Linux gives the descriptor back before it does anything that a signal may interrupt, and says
  // nothing of the data then: EINTR is no error here.
  int close() override {
    mark_.remove();
    if (fd_ < 0) return 0;
    return ::close(std::exchange(fd_, -1)) == 0 || errno == EINTR ? 0 : errno;
  }

  Moved read(int64_t offset, void* into, int64_t bytes) override {
    return moved(::pread(fd_, into, at_most(bytes), offset));
  }
  Moved write(int64_t offset, const void* from, int64_t bytes) override {
    return moved(::pwrite(fd_, from, at_most(bytes), offset));
  }
  Moved read(int64_t offset, std::span<const iovec> into) override {
    return moved(::preadv(fd_, into.data(), static_cast<int>(into.size()), offset));
  }
  Moved write(int64_t offset, std::span<const iovec> from) override {
    return moved(::pwritev(fd_, from.data(), static_cast<int>(from.size()), offset));
  }
  int size(int64_t& bytes) override {
    struct stat about{};
    if (const int error = error_of([&] { return ::fstat(fd_, &about); })) return error;
    bytes = about.st_size;
    return 0;
  }
  int resize(int64_t bytes) override {
    return error_of([&] { return ::ftruncate(fd_, bytes); });
  }
  int reserve(int64_t bytes) override {
    if (bytes == 0) return 0;
    int error;
    do error = ::posix_fallocate(fd_, 0, bytes);
    while (error == EINTR);
    return error;
  }
  // What is no regular file may have nothing to write (EINVAL).
  int sync() override {
    const int error = error_of([&] { return ::fsync(fd_); });
    return error == EINVAL ? 0 : error;
  }
  // Locks of the open file description: those of the process would vanish when any of its
  // descriptors of the file is closed, and would not keep two of its opens apart.
  int lock(int64_t offset, int64_t bytes, bool shared) override {
    return range(F_OFD_SETLKW, shared ? F_RDLCK : F_WRLCK, offset, bytes);
  }
  int unlock(int64_t offset, int64_t bytes) override { return range(F_OFD_SETLK, F_UNLCK, offset, bytes); }
  int64_t block_size() override {
    struct stat about{};
    const int error = error_of([&] { return ::fstat(fd_, &about); });
    return error == 0 && about.st_blksize > 0 ? about.st_blksize : 4096;
  }
  Stripes stripes() override {
    unsigned char attribute[1024];
    const ssize_t bytes = uninterrupted([&] { return ::fgetxattr(fd_, "lustre.lov", attribute, sizeof attribute); });
    return stripes_of_lustre(attribute, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  Identity identity() override { return identity_of(fd_); }
  void mark_open(int rank) override { mark_.set(fd_, rank); }

 private:
  // Linux moves no more than about 2 GiB in a call.
  static size_t at_most(int64_t bytes) { return static_cast<size_t>(std::min<int64_t>(bytes, 1 << 30)); }
  static Moved moved(ssize_t result) { return result < 0 ? Moved{0, errno} : Moved{result, 0}; }
  int range(int command, short type, int64_t offset, int64_t bytes) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = bytes;
    return error_of([&] { return ::fcntl(fd_, command, &lock); });
  }

  int fd_;  // -1: closed
  OpenMark mark_;
};

}  // namespace

std::unique_ptr<Storage> open_posix(const std::string& path, const Opening& how, int& error) {
  int flags = O_CLOEXEC | (how.read && how.write ? O_RDWR : how.write ? O_WRONLY : O_RDONLY);
  if (how.create) flags |= O_CREAT;
  if (how.exclusive) flags |= O_EXCL;
  const int fd = uninterrupted([&] { return ::open(path.c_str(), flags, static_cast<mode_t>(how.permissions)); });
  if (fd < 0) return error = errno, nullptr;
  auto opened = std::make_unique<Posix>(fd);
  struct stat about{};
  error = error_of([&] { return ::fstat(fd, &about); });
  if (!error && S_ISDIR(about.st_mode)) error = EISDIR;
  if (error) return nullptr;
  return opened;
}

// A magic number, a pattern and an object's number of 16 bytes come first; then the size of a
// stripe in 4 bytes, and how many there are in 2, all in the machine's order.
Stripes stripes_of_lustre(const unsigned char* attribute, size_t bytes) {
  uint32_t magic, size;
  uint16_t count;
  if (bytes < 30) return {};
  std::memcpy(&magic, attribute, 4);
  std::memcpy(&size, attribute + 24, 4);
  std::memcpy(&count, attribute + 28, 2);
  if ((magic != 0x0bd10bd0 && magic != 0x0bd30bd0) || size == 0) return {};
  return {size, count};
}

int remove_posix(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return 0;
  if (errno != EINTR) return errno;
  // The call that was interrupted may have removed it.
  const int error = error_of([&] { return ::unlink(path.c_str()); });
  return error == ENOENT ? 0 : error;
}

}  // namespace tutti::io
