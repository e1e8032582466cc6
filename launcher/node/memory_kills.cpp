// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/memory_kills.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/os/cgroup.hpp"

namespace tutti::launcher {
namespace {

// The number behind a name, in a file of such lines.
std::optional<uint64_t> number_of(const std::string& file, std::string_view name) {
  std::ifstream lines(file);
  std::string word;
  for (uint64_t value = 0; lines >> word;) {
    if (word == name && lines >> value) return value;
    lines.ignore(1 << 12, '\n');
  }
  return std::nullopt;
}

std::optional<uint64_t> kills_of_machine() {
  return number_of("/proc/vmstat", "oom_kill");
}

// How many more than at the last look.
uint64_t news(std::optional<uint64_t>& before, std::optional<uint64_t> now) {
  const uint64_t more = before && now && *now > *before ? *now - *before : 0;
  before = now;
  return more;
}

// Whether the kernel's log names processes by our numbers, as it does outside of containers.
bool log_has_our_numbers() {
  struct stat about{};
  constexpr ino_t kFirst = 0xEFFFFFFC;  // PROC_PID_INIT_INO
  return ::stat("/proc/self/ns/pid", &about) == 0 && about.st_ino == kFirst;
}

std::string some_processes(uint64_t count) {
  return count == 1 ? "a process" : fmt::format("{} processes", count);
}

}  // namespace

bool tells_of_kill(std::string_view line, int pid) {
  constexpr std::string_view kWords = "illed process ";  // "Killed process 12 (a.out)", before Linux 5.0 also otherwise
  const size_t at = line.find(kWords);
  if (at == line.npos) return false;
  if (pid == 0) return true;
  const std::string number = std::to_string(pid);
  const std::string_view rest = line.substr(at + kWords.size());
  return rest.starts_with(number) && rest.size() > number.size() &&
         (rest[number.size()] == ' ' || rest[number.size()] == ',');
}

MemoryKills::MemoryKills()
    : log_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)),
      of_group_(cgroup_memory_kills()),
      of_machine_(kills_of_machine()) {
  if (log_ >= 0) ::lseek(log_, 0, SEEK_END);
}

MemoryKills::~MemoryKills() {
  if (log_ >= 0) ::close(log_);
}

std::string MemoryKills::look(int pid) {
  const uint64_t group = news(of_group_, cgroup_memory_kills()), machine = news(of_machine_, kills_of_machine());
  bool named = false;
  while (log_ >= 0) {
    char record[8192];  // a read gives one whole
    const ssize_t n = ::read(log_, record, sizeof record);
    if (n == 0 || (n < 0 && errno != EPIPE && errno != EINTR)) break;  // EPIPE: the next one was overwritten
    named = named || (n > 0 && tells_of_kill({record, static_cast<size_t>(n)}, pid));
  }
  if (named && pid > 0) return "where the kernel has killed it for that";
  // These are counts of the whole time, and may be of others.
  if (log_ >= 0 && !named && log_has_our_numbers()) return {};
  if (group > 0)
    return fmt::format("where the kernel has killed {} of its control group for that since the job began",
                       some_processes(group));
  if (!of_group_ && machine > 0)
    return fmt::format("where the kernel has killed {} for that since the job began", some_processes(machine));
  return {};
}

uint64_t memory_of(int pid) {
  return number_of(fmt::format("/proc/{}/status", pid), "VmRSS:").value_or(0) << 10;
}

std::string memory_text(uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  return bytes >= 1 << 30 ? fmt::format("{:.1f} GiB", amount / (1 << 30))
                          : fmt::format("{:.0f} MiB", amount / (1 << 20));
}

std::string memory_bound() {
  if (const uint64_t limit = cgroup_memory(); limit > 0)
    return fmt::format("its control group may have {}", memory_text(limit));
  return fmt::format("the machine has {}", memory_text(number_of("/proc/meminfo", "MemTotal:").value_or(0) << 10));
}

}  // namespace tutti::launcher
