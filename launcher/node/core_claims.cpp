// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/core_claims.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/result.hpp"
#include "launcher/data/job_map.hpp"

namespace tutti::launcher {
namespace {

constexpr std::string_view kMark = ".cores.";
constexpr size_t kLongestRecord = 64 << 10;
constexpr int kMostRecords = 1000, kMostProcessors = 1 << 16;

// When the process began, by the kernel's clock; empty: there is none. A number of a process comes again, with another
// beginning.
std::string beginning_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t end = line.rfind(')');  // a program's name may hold anything
  if (end == line.npos) return {};
  std::istringstream words(line.substr(end + 1));
  std::string word;
  for (int field = 3; field <= 22 && words >> word; ++field) continue;
  return words ? word : "";
}

// The text of a record that is this user's own file, and no other thing of that name.
std::string text_of(int folder, const char* name) {
  const int fd = ::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat about{};
  std::string out;
  if (::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
      about.st_size <= static_cast<off_t>(kLongestRecord)) {
    out.resize(static_cast<size_t>(about.st_size));
    const ssize_t n = ::read(fd, out.data(), out.size());
    out.resize(n > 0 ? static_cast<size_t>(n) : 0);
  }
  ::close(fd);
  return out;
}

void add_record(const std::string& text, std::vector<int>& taken) {
  std::istringstream words(text);
  int pid = 0;
  std::string beginning;
  if (!(words >> pid >> beginning) || pid <= 0 || beginning != beginning_of(pid)) return;
  for (int cpu = 0; words >> cpu;)
    if (cpu >= 0 && cpu < kMostProcessors) taken.push_back(cpu);
}

std::vector<int> taken_by_others(const std::string& job_id, int folder) {
  std::vector<int> out;
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const list = again < 0 ? nullptr : ::fdopendir(again);
  if (!list) {
    if (again >= 0) ::close(again);
    return out;
  }
  const std::string own = job_prefix(job_id);
  const std::string mine = fmt::format("{}{}", kMark, ::getpid());
  int records = 0;
  while (const dirent* entry = ::readdir(list)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kJobPrefix) || name.find(kMark) == name.npos) continue;
    if (name.starts_with(own) && name.ends_with(mine)) continue;
    const std::string text = text_of(folder, entry->d_name);
    if (text.empty()) continue;
    if (++records > kMostRecords) break;
    add_record(text, out);
  }
  ::closedir(list);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void write_record(const std::string& job_id, int folder, const std::vector<int>& processors) {
  const std::string name = fmt::format("{}cores.{}", job_prefix(job_id), ::getpid());
  std::string text = fmt::format("{} {}\n", ::getpid(), beginning_of(::getpid()));
  for (int cpu : processors) text += fmt::format("{} ", cpu);
  const int fd = ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::unlinkat(folder, name.c_str(), 0);
  ::close(fd);
}

// The lock of this user's jobs: a file that nobody else may open, for whoever may open one may lock it, too. It is
// there while a job chooses. Another user may have made one of that name: then the next name counts, for all jobs.
class Lock {
 public:
  enum class State { held, busy, none };

  Lock(int folder, std::chrono::milliseconds patience) : folder_(folder) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while ((state_ = attempt()) == State::busy && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ~Lock() {
    if (state_ == State::held) ::unlinkat(folder_, name_.c_str(), 0);
    if (fd_ >= 0) ::close(fd_);  // which unlocks it
  }
  Lock(const Lock&) = delete;

  State state() const { return state_; }
  const std::string& why_not() const { return why_not_; }

 private:
  static constexpr int kNames = 16;

  State attempt() {
    if (fd_ < 0 && !open()) return State::none;
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) return State::busy;
    struct stat about{}, named{};  // there may be further links, of others
    if (::fstat(fd_, &about) == 0 && ::fstatat(folder_, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        about.st_dev == named.st_dev && about.st_ino == named.st_ino)
      return State::held;
    ::close(std::exchange(fd_, -1));  // the one before has removed it
    return State::busy;
  }
  bool open() {
    for (int i = 0; i < kNames; ++i) {
      name_ = fmt::format("tutti-cores-{}-{}", ::geteuid(), i);
      fd_ = ::openat(folder_, name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
      if (fd_ >= 0 && is_ours()) return true;
      const int problem = fd_ >= 0 ? EACCES : errno;
      if (fd_ >= 0) ::close(std::exchange(fd_, -1));
      why_not_ = fmt::format("{}: {}", name_, problem == EACCES ? "it is another user's" : std::strerror(problem));
      if (problem != EACCES && problem != ELOOP && problem != EISDIR && problem != ENXIO) return false;
    }
    return false;
  }
  bool is_ours() const {
    struct stat about{};
    return ::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
           (about.st_mode & 077) == 0;
  }

  const int folder_;
  int fd_ = -1;
  std::string name_, why_not_;
  State state_ = State::none;
};

}  // namespace

std::string claim_processors(const std::string& job_id, const std::function<std::vector<int>(const Claims&)>& choose,
                             std::chrono::milliseconds patience, const std::string& place) {
  const int folder = ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) {
    const std::string why = std::strerror(errno);
    choose({});
    return fmt::format("{}: {}", place, why);
  }
  std::string why_not;
  {
    const Lock lock(folder, patience);
    const std::vector<int> mine =
        choose({.taken = taken_by_others(job_id, folder), .certain = lock.state() != Lock::State::busy});
    if (!mine.empty()) write_record(job_id, folder, mine);
    if (lock.state() == Lock::State::none) why_not = fmt::format("{}/{}", place, lock.why_not());
  }
  ::close(folder);
  return why_not;
}

}  // namespace tutti::launcher
