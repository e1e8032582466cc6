// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/limits.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <sstream>
#include <string_view>

#include "base/os/cgroup.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

// Two pipes stay open for a rank's output, and PMIx holds a connection to it.
constexpr uint64_t kFilesOfRank = 3;
// The pipes of the rank that is being started, and what libraries open for a moment.
constexpr uint64_t kFilesInPassing = 16;
// The launcher with its watchdog, event loop and PMIx server holds 17 (PMIx 4.2); hwloc and the
// reading of tables take one or two at a time.
constexpr uint64_t kFilesOfOurOwn = 24;
// The launcher crashes with 192 KiB and works with 224 (hwloc 2.9 and PMIx 4.2 on x86-64, 2026-11-27); the environment
// lies there, too.
constexpr uint64_t kStackOfOurOwn = 512 << 10;
// A rank of MPI has a thread of its own, one for progress, one of PMIx and one of UCX.
constexpr uint64_t kThreadsOfRank = 4;
// The launcher's watchdog, two threads of PMIx, and the one that starts ranks; then a thread for each standard stream.
constexpr uint64_t kThreadsOfOurOwn = 4, kThreadsOfStreams = 3;
// The kernel's part of a process that does nothing, with its page tables: 'sleep' takes 340 KiB
// on x86-64 (Linux 6.18, 2026-11-25).
constexpr uint64_t kMemoryOfRank = 256 << 10;

uint64_t count_entries(const char* folder) {
  uint64_t count = 0;
  std::error_code problem;
  for (auto at = fs::directory_iterator(folder, problem); !problem && at != fs::directory_iterator();
       at.increment(problem))
    ++count;
  return count;
}

// The processes of this user that we can see, with their threads.
uint64_t threads_of(uid_t user) {
  uint64_t count = 0;
  std::error_code problem;
  for (auto at = fs::directory_iterator("/proc", problem); !problem && at != fs::directory_iterator();
       at.increment(problem)) {
    const fs::path& path = at->path();
    struct stat info;
    if (std::atoi(path.filename().c_str()) < 1 || ::stat(path.c_str(), &info) != 0 || info.st_uid != user) continue;
    // A folder has a link for each folder in it, beside its own two.
    if (::stat((path / "task").c_str(), &info) == 0 && info.st_nlink > 2) count += info.st_nlink - 2;
  }
  return count;
}

uint64_t number_in(const char* path) {
  uint64_t number = 0;
  std::ifstream(path) >> number;
  return number;
}

// "0.08 0.02 0.01 2/187 4711": 187 threads in all.
uint64_t threads_of_everybody() {
  std::ifstream file("/proc/loadavg");
  std::string word;
  for (int i = 0; i < 4; ++i) file >> word;
  const size_t slash = word.find('/');
  return slash == word.npos ? 0 : std::strtoull(word.c_str() + slash + 1, nullptr, 10);
}

std::vector<Bound> bounds_on_processes() {
  std::vector<Bound> out;
  rlimit limit{};
  // The kernel makes no such difference for root.
  if (::getuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    out.push_back({"the limit of this user's processes (ulimit -u)", limit.rlim_cur, threads_of(::getuid())});
  if (const auto pids = cgroup_processes(); pids)
    out.push_back(
        {"the limit of processes of this container or session (pids.max of its cgroup)", pids->most, pids->used});
  for (const char* name : {"pid_max", "threads-max"})
    if (const uint64_t most = number_in(fmt::format("/proc/sys/kernel/{}", name).c_str()); most > 0)
      out.push_back(
          {fmt::format("the kernel's limit of processes (sysctl kernel.{})", name), most, threads_of_everybody()});
  return out;
}

Bound bound_on_files() {
  rlimit limit{};
  const bool bounded = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return {"the limit of open files (ulimit -Hn)", bounded ? limit.rlim_cur : std::numeric_limits<uint64_t>::max(),
          count_entries("/proc/self/fd")};
}

uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  uint64_t kilobytes = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t number = 0;
    if (words >> name >> number && (name == "MemAvailable:" || name == "SwapFree:")) kilobytes += number;
  }
  const uint64_t granted = cgroup_memory();
  return granted > 0 ? std::min(granted, kilobytes << 10) : kilobytes << 10;
}

bool lacks(const Bound& bound, uint64_t more) {
  return bound.most < bound.used || bound.most - bound.used < more;
}

std::string in_gigabytes(uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

}  // namespace

void hear_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGXFSZ, SIG_IGN);  // a file over its limit (ulimit -f) is an error of write()
}

void raise_file_limit() {
  rlimit limit = users_file_limit();
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

const rlimit& users_file_limit() {
  static const rlimit before_we_came = [] {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
  }();
  return before_we_came;
}

Error room_for_ourselves() {
  const auto check = [](const Bound& bound, uint64_t more) -> Error {
    if (!lacks(bound, more)) return {};
    return failure(MPI_ERR_OTHER, "{} is {}, of which {} are in use; starting a job takes {} more. Raise it",
                   bound.name, bound.most, bound.used, more);
  };
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < kStackOfOurOwn)
    return failure(MPI_ERR_OTHER, "the limit of the stack (ulimit -s) is {} KiB; starting a job takes {}. Raise it",
                   stack.rlim_cur >> 10, kStackOfOurOwn >> 10);
  for (const Bound& bound : bounds_on_processes())
    if (Error e = check(bound, kThreadsOfOurOwn + kThreadsOfStreams)) return e;
  return check(bound_on_files(), kFilesOfOurOwn);
}

void end_where_memory_does() {
  std::set_new_handler([] {
    constexpr std::string_view sentence =
        "tutti: error: there is no memory left (a limit such as ulimit -v, or the machine's); the "
        "job ends\n";
    if (::write(STDERR_FILENO, sentence.data(), sentence.size()) < 0) ::_exit(1);
    ::_exit(1);
  });
}

void close_from(int first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  // Linux before 5.9, or a container that forbids what it does not know. A descriptor may stand
  // above a limit that was lowered since: the hard one is the bound that we could have used.
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
  const rlim_t end = known ? std::min<rlim_t>(limit.rlim_max, 1 << 20) : 1 << 20;
  for (int fd = first; static_cast<rlim_t>(fd) < end; ++fd) ::close(fd);
}

Room room_on_this_node() {
  Room room;
  room.processes = bounds_on_processes();
  room.files = bound_on_files();
  room.memory = available_memory();
  return room;
}

Error shortage(int ranks, const std::string& node, const Room& room) {
  const auto count = static_cast<uint64_t>(ranks);
  const std::string who = fmt::format("{} {} cannot start on {}", ranks, ranks == 1 ? "rank" : "ranks", node);
  for (const Bound& bound : room.processes)
    if (lacks(bound, count + kThreadsOfStreams))
      return failure(MPI_ERR_OTHER,
                     "{}: {} is {}, of which {} are in use; starting them takes {} more, and about {} "
                     "with the threads of MPI. Raise it, or use fewer ranks or more nodes",
                     who, bound.name, bound.most, bound.used, count + kThreadsOfStreams,
                     count * kThreadsOfRank + kThreadsOfStreams);
  const uint64_t files = count * kFilesOfRank + kFilesInPassing;
  if (lacks(room.files, files))
    return failure(MPI_ERR_OTHER,
                   "{}: {} is {}, of which {} are in use; starting them takes {} more. Raise it, or use "
                   "fewer ranks or more nodes",
                   who, room.files.name, room.files.most, room.files.used, files);
  if (room.memory > 0 && room.memory / kMemoryOfRank < count)
    return failure(MPI_ERR_NO_MEM,
                   "{}: {} of memory are available, and the processes alone take {}. Use fewer "
                   "ranks or more nodes",
                   who, in_gigabytes(room.memory), in_gigabytes(count * kMemoryOfRank));
  return {};
}

std::string advice_on(int error_number) {
  switch (error_number) {
    case EAGAIN:
      return "; the limit of processes is reached (ulimit -u, or pids.max of the container's "
             "cgroup)";
    case EMFILE:
      return "; the limit of open files is reached (ulimit -Hn)";
    case ENFILE:
      return "; the limit of open files of the whole machine is reached (sysctl fs.file-max)";
    case ENOMEM:
      return "; there is no memory left for it (ulimit -v, or the machine's)";
    default:
      return "";
  }
}

}  // namespace tutti::launcher
