// SPDX-License-Identifier: BSD-3-Clause
#include "base/os/dead_folders.hpp"

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
constexpr std::string_view kLockSuffix = ".lock";
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
                     name[kPrefix.size() + kIdLength] == '.' && id.find_first_not_of("0123456789abcdef") == id.npos;
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

// The lock on `name` of a folder, whose maker is gone and which is ours now; -1: the maker is alive, or cannot be told.
Descriptor lock_of_dead(int folder, const char* name, const std::string& machine) {
  Descriptor lock(folder == -1 ? -1 : ::openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about{};
  if (lock.get() < 0 || ::fstat(lock.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_uid != ::geteuid())
    return Descriptor(-1);
  char text[64];
  const ssize_t n = ::pread(lock.get(), text, sizeof text, 0);
  if (n < 0 || std::string_view(text, static_cast<size_t>(n)) != machine || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return Descriptor(-1);
  return lock;
}

Descriptor own_folder(const fs::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about{};
  if (folder.get() >= 0 && (::fstat(folder.get(), &about) != 0 || about.st_uid != ::geteuid())) return Descriptor(-1);
  return folder;
}

// What a job has left, as far as its names tell.
struct Left {
  std::vector<fs::path> folders, files, locks;  // a lock is in shared memory, and no other file
};

void find_folders(const std::string& parent, std::map<std::string, Left>& jobs) {
  std::error_code problem;
  fs::directory_iterator at(parent, problem);
  for (int n = 0; !problem && at != fs::directory_iterator() && n < kMostEntries; at.increment(problem), ++n) {
    const fs::path& path = at->path();
    struct stat about{};
    if (const std::string job = job_of(path.filename());
        !job.empty() && ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid())
      jobs[job].folders.push_back(path);
  }
}

void find_files(const std::string& shared_memory, std::map<std::string, Left>& jobs) {
  std::error_code problem;
  fs::directory_iterator at(shared_memory, problem);
  for (int n = 0; !problem && at != fs::directory_iterator() && n < kMostEntries; at.increment(problem), ++n) {
    const fs::path& path = at->path();
    const std::string job = job_of(path.filename());
    struct stat about{};
    if (job.empty() || ::lstat(path.c_str(), &about) != 0 || about.st_uid != ::geteuid()) continue;
    Left& left = jobs[job];
    (path.filename().native().ends_with(kLockSuffix) ? left.locks : left.files).push_back(path);
  }
}

// False: not all who have made these are known to be gone.
bool lock_all(const Left& left, const std::string& machine, std::vector<Descriptor>& locks) {
  const auto keep = [&](Descriptor lock) {
    locks.push_back(std::move(lock));
    return locks.back().get() >= 0;
  };
  for (const fs::path& folder : left.folders)
    if (!keep(lock_of_dead(own_folder(folder).get(), kLockName, machine))) return false;
  for (const fs::path& file : left.locks)
    if (!keep(lock_of_dead(AT_FDCWD, file.c_str(), machine))) return false;
  return !locks.empty();
}

}  // namespace

std::string FolderLock::lock_in_shared_memory(const std::string& job_and_label, const std::string& shared_memory) {
  return shared_memory + "/" + job_and_label + std::string(kLockSuffix);
}

FolderLock::FolderLock(const Path& path) {
  const std::string machine = this_machine();
  const int fd = ::open(path.file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  // Locked before it says whose it is: until then nobody takes it for a dead one's.
  if (machine.empty() || ::flock(fd, LOCK_EX | LOCK_NB) != 0 ||
      ::write(fd, machine.data(), machine.size()) != static_cast<ssize_t>(machine.size())) {
    ::unlink(path.file.c_str());
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
  std::map<std::string, Left> jobs;
  find_folders(parent, jobs);
  find_files(shared_memory, jobs);
  for (const auto& [job, left] : jobs) {
    std::vector<Descriptor> locks;
    if (!lock_all(left, machine, locks)) continue;
    std::error_code gone;
    for (const std::vector<fs::path>* files : {&left.folders, &left.files, &left.locks})
      for (const fs::path& path : *files) fs::remove_all(path, gone);
  }
}

std::string folder_of_jobs() {
  const char* base = ::getenv("TMPDIR");
  std::error_code problem;
  const fs::path path = fs::absolute(base && *base ? base : "/tmp", problem);
  return problem ? "/tmp" : path.string();
}

}  // namespace tutti
