// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/cleanup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "base/address_key.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/node/limits.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWatchdogName = "tutti-watchdog";  // at most 15 characters

// The lock in /dev/shm of whoever has this folder.
fs::path lock_beside(const fs::path& folder) {
  return FolderLock::lock_in_shared_memory(folder.filename());
}

// Another node of the job may be this machine by another name: its lock says that it lives, and stays.
void remove_files(const std::string& job_id, const std::string& folder) {
  std::error_code problem;
  fs::remove_all(folder, problem);
  const fs::path lock = lock_beside(folder);
  for (const auto& file : fs::directory_iterator("/dev/shm", problem))
    if (file.path().filename().string().starts_with(job_prefix(job_id)) &&
        (file.path() == lock || file.path().extension() != lock.extension()))
      fs::remove(file.path(), problem);
}

// Those with no user left, whose maker is one of these.
void remove_segments_of(const std::set<int>& makers) {
  std::ifstream table("/proc/sysvipc/shm");
  std::string line;
  std::getline(table, line);  // names of the columns
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    int64_t key = 0, size = 0;
    int segment = 0, maker = 0, last = 0, attached = 0;
    uid_t owner = 0;
    std::string mode;
    if (columns >> key >> segment >> mode >> size >> maker >> last >> attached >> owner && attached == 0 &&
        owner == ::geteuid() && makers.contains(maker))
      ::shmctl(segment, IPC_RMID, nullptr);
  }
}

bool has_variable(int pid, const std::string& variable) {
  std::ifstream environ("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(environ, entry, '\0');)
    if (entry == variable) return true;
  return false;
}

std::vector<int> processes_with(const std::string& variable) {
  std::vector<int> out;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/proc", problem)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid > 1 && pid != ::getpid() && has_variable(pid, variable) && !is_watchdog(pid)) out.push_back(pid);
  }
  return out;
}

// What the watchdog is told: a group's number, started, or ended when negative; or, far below those, until when its owner
// may live, in milliseconds of the steady clock, of which the upper bits are left out.
constexpr int32_t kStillThere = INT32_MIN;
constexpr int32_t kNoLease = INT32_MIN + 1;
constexpr int32_t kFirstLease = INT32_MIN + 2;
constexpr int64_t kLeases = int64_t{1} << 30;
constexpr bool is_lease(int32_t word) {
  return word >= kFirstLease && word < kFirstLease + kLeases;
}

int64_t milliseconds_of(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

// From now; the moment is less than half a round away, on either side.
int milliseconds_left(int32_t lease) {
  const int64_t now = milliseconds_of(std::chrono::steady_clock::now());
  int64_t left = (int64_t{lease} - kFirstLease - now % kLeases + kLeases) % kLeases;
  if (left >= kLeases / 2) left = 0;
  return static_cast<int>(left);
}

constexpr int kReactionMilliseconds = 300;  // of a process whose launcher is gone

// Returns when `owner`, whose end of the pipe it is, has died; or is killed, for it does not react to the end of the
// lifeline, or its lease is over.
std::set<int> follow(int pipe, int lifeline, pid_t owner, std::set<int>& makers) {
  std::set<int> groups;
  int32_t lease = kNoLease;
  for (bool is_late = false;;) {
    pollfd both[2] = {{pipe, POLLIN, 0}, {lifeline, POLLIN, 0}};
    const int left = lease == kNoLease ? -1 : milliseconds_left(lease);
    const int reaction = is_late ? kReactionMilliseconds : -1;
    const int ready = ::poll(both, 2, left < 0 ? reaction : reaction < 0 ? left : std::min(left, reaction));
    if (ready == 0) {
      ::kill(owner, SIGKILL);
      is_late = false;
      lease = kNoLease;
    }
    if (ready <= 0) continue;
    if (both[1].revents) {
      char bytes[256];
      const ssize_t n = ::read(lifeline, bytes, sizeof bytes);
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) lifeline = -1, is_late = true;
    }
    if (!both[0].revents) continue;
    int32_t word = 0;
    const ssize_t n = ::read(pipe, &word, sizeof word);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof word) return groups;
    if (word == kStillThere)
      is_late = false;
    else if (word == kNoLease || is_lease(word))
      lease = word;
    else if (word > 0)
      groups.insert(word), makers.insert(word);
    else
      groups.erase(-word);
  }
}

[[noreturn]] void watch_over(int pipe, int lifeline, pid_t owner, const std::string& job_id,
                             const std::string& folder) {
  std::set<int> makers;
  const std::set<int> groups = follow(pipe, lifeline, owner, makers);
  // Not all of the job: another of its nodes may be this machine by another name.
  const std::string marker = std::string(kJobFolderVariable) + "=" + folder;
  // A process that forks while we look is found the next time round.
  for (int round = 0; round < 200; ++round) {
    for (int group : groups) ::kill(-group, SIGKILL);
    const std::vector<int> left = processes_with(marker);
    for (int pid : left) ::kill(pid, SIGKILL);
    if (left.empty()) break;
    ::poll(nullptr, 0, 10);
  }
  remove_segments_of(makers);
  remove_files(job_id, folder);
  ::_exit(0);
}

int fork_watchdog(int read_end, int lifeline, const std::string& job_id, const std::string& folder) {
  const pid_t owner = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setsid();
  ::prctl(PR_SET_NAME, kWatchdogName);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(s, SIG_IGN);
  // No stream of ours may seem open to others because the watchdog holds it.
  const int ours = ::fcntl(read_end, F_DUPFD, 8);  // out of the way of the next two
  const int line = lifeline < 0 ? -1 : ::dup2(lifeline, 4);
  const int pipe = ::dup2(ours, 3);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  if (line < 0) ::close(4);
  close_from(5);
  if (::chdir("/") != 0) ::_exit(1);
  watch_over(pipe, line, owner, job_id, folder);
}

}  // namespace

bool is_watchdog(int pid) {
  std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  return std::getline(comm, name) && name == kWatchdogName;
}

bool is_spawned_launcher(int pid) {
  std::ifstream environ("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  bool spawned = false;
  for (std::string entry; std::getline(environ, entry, '\0');) {
    spawned |= entry.starts_with("TUTTI_PARENT_SOCKET=");
    // Those have been given it by their launcher, which has it from its own environment.
    if (entry.starts_with(std::string(kJobVariable) + "=")) return false;
  }
  return spawned;
}

Result<Cleanup> Cleanup::arm(const std::string& job_id, const std::string& node_label, int lifeline) {
  Cleanup out;
  out.job_id_ = job_id;
  const fs::path parent = folder_of_jobs();
  const std::string folder = parent / (job_prefix(job_id) + node_label);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure(MPI_ERR_OTHER, "cannot make a pipe: {}", std::strerror(errno));
  // The watchdog first: whenever we are killed, nothing is left that it does not know of.
  out.pipe_ = ends[1];
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  out.watchdog_ = fork_watchdog(ends[0], lifeline, job_id, folder);
  ::close(ends[0]);
  if (out.watchdog_ < 0) return failure(MPI_ERR_OTHER, "cannot start a process: {}", std::strerror(errno));
  if (::mkdir(folder.c_str(), 0700) != 0)
    return failure(MPI_ERR_FILE, "cannot make the job's folder {}: {}; TMPDIR chooses another place{}", folder,
                   std::strerror(errno),
                   node_label == kLauncherLabel ? ""
                                                : ", where the node's own shell sets it (in ~/.bashrc, say): that of "
                                                  "mpirun does not come here by ssh");
  out.folder_ = folder;
  out.lock_ = FolderLock(folder);
  out.shared_lock_ = FolderLock::in_shared_memory(fs::path(folder).filename());
  // Of jobs that were killed together with their watchdog.
  remove_dead_folders(parent);
  return out;
}

Cleanup::Cleanup(Cleanup&& other) noexcept
    : job_id_(std::move(other.job_id_)),
      folder_(std::exchange(other.folder_, "")),
      lock_(std::move(other.lock_)),
      shared_lock_(std::move(other.shared_lock_)),
      makers_(std::move(other.makers_)),
      pipe_(std::exchange(other.pipe_, -1)),
      watchdog_(std::exchange(other.watchdog_, -1)) {}

Cleanup::~Cleanup() {
  if (!folder_.empty()) remove_files(job_id_, folder_);
  if (pipe_ < 0) return;
  // It has nothing left to do, and a word would not reach one that is stopped. Its number is its own while it is
  // our child. Not every init process reaps.
  if (watchdog_ > 0 && ::waitpid(watchdog_, nullptr, WNOHANG) == 0) {
    ::kill(watchdog_, SIGKILL);
    while (::waitpid(watchdog_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  ::close(pipe_);
}

void Cleanup::remove_segments() const {
  remove_segments_of(makers_);
}

void Cleanup::group_started(int pgid) {
  if (pgid > 0) makers_.insert(pgid);
  tell_watchdog(pgid);
}

// One that is stopped lets the pipe fill up: it is told to go on, and is waited for once. What it has not heard then
// costs it the numbers of some ranks, which it finds by their environment all the same.
void Cleanup::tell_watchdog(int32_t word) {
  while (::write(pipe_, &word, sizeof word) < 0) {
    if (errno == EINTR) continue;
    pollfd room{pipe_, POLLOUT, 0};
    if (errno != EAGAIN || is_deaf_) return;
    ::kill(watchdog_, SIGCONT);
    is_deaf_ = ::poll(&room, 1, kReactionMilliseconds) == 0;
  }
}

void Cleanup::still_there() {
  tell_watchdog(kStillThere);
}

void Cleanup::lease_until(std::optional<std::chrono::steady_clock::time_point> when) {
  tell_watchdog(when ? static_cast<int32_t>(kFirstLease + milliseconds_of(*when) % kLeases) : kNoLease);
}

void Cleanup::group_ended(int pgid) {
  group_started(-pgid);
}

}  // namespace tutti::launcher
