// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shared/shared_file.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/address_key.hpp"
#include "base/os/dead_folders.hpp"
#include "transport/shared/nameless_file.hpp"

namespace tutti::transport {
namespace {

constexpr const char* kDevShm = "/dev/shm";
constexpr std::string_view kWords[kSharedWays] = {"shm ", "process ", "folder "};

std::string folder_in_common() {
  const char* const own = std::getenv(kJobFolderVariable);
  return own && ::access(own, W_OK | X_OK) == 0 ? own : folder_of_jobs();
}

// Of a way that goes by names.
std::string folder_of(SharedWay way) {
  return way == SharedWay::dev_shm ? kDevShm : folder_in_common();
}

// Who sees another's open files has its view of processes, and is nobody else in the kernel's eyes.
std::array<uint64_t, 2> place_of_processes() {
  char seen[16] = "";
  const ssize_t length = ::readlink("/proc/self", seen, sizeof seen - 1);
  struct stat processes{}, users{};
  const int memory = make_nameless_file(1);
  if (memory >= 0) ::close(memory);
  const bool works = memory >= 0 && length > 0 && std::atoi(seen) == ::getpid() && ::prctl(PR_GET_DUMPABLE) == 1 &&
                     ::stat("/proc/self/ns/pid", &processes) == 0 && ::stat("/proc/self/ns/user", &users) == 0;
  return works ? std::array<uint64_t, 2>{processes.st_ino, users.st_ino} : std::array<uint64_t, 2>{};
}

constexpr const char* kMachine = "the machine";  // in the place of a folder

int take_memory(int descriptor, int64_t offset, int64_t bytes) {
  if (bytes == 0) return 0;
  int problem;
  do {
    problem = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (problem == EINTR);
  return problem;
}

// What is taken later by others may be missing then: this tells early what is too much in any case.
int room_for(int descriptor, int64_t bytes) {
  struct statfs system{};
  if (fstatfs(descriptor, &system) != 0 || system.f_blocks == 0) return 0;  // without a limit
  return static_cast<uint64_t>(system.f_bavail) * static_cast<uint64_t>(system.f_bsize) < static_cast<uint64_t>(bytes)
             ? ENOSPC
             : 0;
}

Error no_memory(const std::string& where, int64_t bytes, int problem) {
  const char* const advice = where == kDevShm ? ": ask for less, or make it larger, as docker's --shm-size does" : "";
  return failure(MPI_ERR_NO_MEM, "{} has no {} bytes left for the window ({}){}", where, bytes, strerror(problem),
                 advice);
}

}  // namespace

std::array<uint64_t, 2> place_of(SharedWay way) {
  if (way == SharedWay::process) return place_of_processes();
  const std::string folder = folder_of(way);
  struct stat about{};
  if (::stat(folder.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || ::access(folder.c_str(), W_OK | X_OK) != 0)
    return {};
  return {about.st_dev, about.st_ino};
}

Result<std::unique_ptr<SharedFile>> SharedFile::make(SharedWay way, const std::string& name, int64_t bytes,
                                                     int64_t taken) {
  return way == SharedWay::process ? make_nameless(bytes, taken) : make_named(way, name, bytes, taken);
}

Result<std::unique_ptr<SharedFile>> SharedFile::make_named(SharedWay way, const std::string& name, int64_t bytes,
                                                           int64_t taken) {
  const std::string folder = folder_of(way), path = folder + "/" + name;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failure(MPI_ERR_OTHER, "{} cannot be made: {}", path, strerror(errno));
  int problem = room_for(fd, bytes);
  if (problem == 0) problem = ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? take_memory(fd, 0, taken) : errno;
  if (problem != 0) {
    ::close(fd);
    ::unlink(path.c_str());
    return no_memory(folder, bytes, problem);
  }
  Result<std::unique_ptr<SharedFile>> mapped = map(path, folder, fd, bytes);
  if (!mapped) {
    ::unlink(path.c_str());
    return mapped;
  }
  (*mapped)->path_ = path;
  (*mapped)->word_ = std::string(kWords[static_cast<size_t>(way)]) + name;
  return mapped;
}

Result<std::unique_ptr<SharedFile>> SharedFile::make_nameless(int64_t bytes, int64_t taken) {
  const int fd = make_nameless_file(static_cast<size_t>(bytes));
  if (fd < 0) return failure(MPI_ERR_OTHER, "memory for several processes cannot be made: {}", strerror(errno));
  if (const int problem = take_memory(fd, 0, taken)) {
    ::close(fd);
    return no_memory(kMachine, bytes, problem);
  }
  Result<std::unique_ptr<SharedFile>> mapped = map("memory for several processes", kMachine, fd, bytes);
  if (!mapped) return mapped;
  (*mapped)->word_ = std::string(kWords[static_cast<size_t>(SharedWay::process)]) + place_of_file(fd).text();
  return mapped;
}

Result<std::unique_ptr<SharedFile>> SharedFile::open(const std::string& word, int64_t bytes) {
  int number = 0;
  while (number < kSharedWays && !word.starts_with(kWords[number])) ++number;
  if (number == kSharedWays) return failure(MPI_ERR_OTHER, "nobody has made the memory");
  const std::string rest = word.substr(kWords[number].size());
  return SharedWay{number} == SharedWay::process ? open_nameless(rest, bytes)
                                                 : open_named(folder_of(SharedWay{number}) + "/" + rest, bytes);
}

Result<std::unique_ptr<SharedFile>> SharedFile::open_nameless(const std::string& text, int64_t bytes) {
  const std::optional<PlaceOfFile> place = PlaceOfFile::parse(text);
  const int fd = place ? open_nameless_file(*place, static_cast<size_t>(bytes)) : -1;
  if (fd < 0)
    return failure(MPI_ERR_OTHER, "the memory of process {} cannot be opened: {}", place ? place->pid : 0,
                   strerror(errno));
  return map("memory of another process", kMachine, fd, bytes);
}

Result<std::unique_ptr<SharedFile>> SharedFile::open_named(const std::string& path, int64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return failure(MPI_ERR_OTHER, "{} cannot be opened: {}", path, strerror(errno));
  struct stat status{};
  if (fstat(fd, &status) != 0 || status.st_uid != geteuid() || status.st_size < bytes) {
    ::close(fd);
    return failure(MPI_ERR_OTHER, "{} belongs to somebody else", path);
  }
  return map(path, path.substr(0, path.rfind('/')), fd, bytes);
}

Result<std::unique_ptr<SharedFile>> SharedFile::map(const std::string& what, const std::string& place, int descriptor,
                                                    int64_t bytes) {
  void* const base = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED) {
    const int problem = errno;
    ::close(descriptor);
    return failure(MPI_ERR_NO_MEM, "{} cannot be mapped: {}", what, strerror(problem));
  }
  return std::unique_ptr<SharedFile>(
      new SharedFile(place, descriptor, static_cast<std::byte*>(base), static_cast<size_t>(bytes)));
}

Error SharedFile::take(int64_t offset, int64_t bytes) {
  const int problem = take_memory(descriptor_, offset, bytes);
  return problem == 0 ? Error() : no_memory(place_, bytes, problem);
}

SharedFile::~SharedFile() {
  forget_name();
  munmap(base_, bytes_);
}

void SharedFile::forget_name() {
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace tutti::transport
