// SPDX-License-Identifier: BSD-3-Clause
#include "base/dead_folders.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = "lock";
constexpr std::string_view kPrefix = "tutti.";
constexpr int kMostEntries = 20'000;  // of a folder that is full of other things
constexpr size_t kIdLength = 12;      // of a job's id, in hexadecimal digits

// Names the kernel that keeps the locks; empty: not known.
std::string this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// "tutti.0123456789ab.LABEL": its id; empty: another name.
std::string job_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return {};
  const std::string id = name.substr(kPrefix.size(), kIdLength);
  const bool right = id.size() == kIdLength && name.size() > kPrefix.size() + kIdLength + 1 &&
                     name[kPrefix.size() + kIdLength] == '.' &&
                     id.find_first_not_of("0123456789abcdef") == id.npos;
  return right ? id : "";
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// The lock of a folder whose maker is gone, which is ours now; -1: it is alive, or cannot be told.
Descriptor lock_of_dead(const fs::path& folder, const std::string& machine) {
  const Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Descriptor lock(
      at.get() < 0 ? -1
                   : ::openat(at.get(), kLockName, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about_folder, about_lock;
  if (lock.get() < 0 || ::fstat(at.get(), &about_folder) != 0 ||
      ::fstat(lock.get(), &about_lock) != 0 || !S_ISREG(about_lock.st_mode) ||
      about_folder.st_uid != ::geteuid() || about_lock.st_uid != ::geteuid())
    return Descriptor(-1);
  char text[64];
  const ssize_t n = ::pread(lock.get(), text, sizeof text, 0);
  if (n < 0 || std::string_view(text, static_cast<size_t>(n)) != machine ||
      ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Descriptor(-1);
  return lock;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  const std::string machine = this_machine(), path = folder + "/" + kLockName;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  // Locked before it says whose it is: until then nobody takes it for a dead one's.
  if (machine.empty() || ::flock(fd, LOCK_EX | LOCK_NB) != 0 ||
      ::write(fd, machine.data(), machine.size()) != static_cast<ssize_t>(machine.size())) {
    ::unlink(path.c_str());
    ::close(fd);
    return;
  }
  fd_ = fd;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void remove_dead_folders(const std::string& parent, const std::string& shared_memory) {
  const std::string machine = this_machine();
  if (machine.empty()) return;
  std::map<std::string, std::vector<fs::path>> folders;  // by job
  std::error_code problem;
  fs::directory_iterator at(parent, problem);
  for (int n = 0; !problem && at != fs::directory_iterator() && n < kMostEntries;
       at.increment(problem), ++n) {
    const fs::path& path = at->path();
    if (const std::string job = job_of(path.filename()); !job.empty()) {
      struct stat about;
      if (::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
          about.st_uid == ::geteuid())
        folders[job].push_back(path);
    }
  }
  for (const auto& [job, paths] : folders) {
    std::vector<Descriptor> locks;
    for (const fs::path& path : paths) {
      Descriptor lock = lock_of_dead(path, machine);
      if (lock.get() < 0) break;
      locks.push_back(std::move(lock));
    }
    if (locks.size() < paths.size()) continue;
    std::error_code gone;
    for (const fs::path& path : paths) fs::remove_all(path, gone);
    for (const auto& file : fs::directory_iterator(shared_memory, gone))
      if (file.path().filename().string().starts_with(std::string(kPrefix) + job + "."))
        fs::remove(file.path(), gone);
  }
}

std::string folder_of_jobs() {
  const char* base = ::getenv("TMPDIR");
  std::error_code problem;
  const fs::path path = fs::absolute(base && *base ? base : "/tmp", problem);
  return problem ? "/tmp" : path.string();
}

}  // namespace tutti
