// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/report_machine.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/os/cgroup.hpp"
#include "base/os/machine.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/place/topology.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

// The first line of a file.
std::string line_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line.empty() ? "not told" : line;
}

// What stands behind a word at the beginning of a line, without signs and quotes around it.
std::string value_in(const char* file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name)) continue;
    const size_t begin = line.find_first_not_of(" \t:=\"", name.size());
    const size_t end = line.find_last_not_of(" \t\"");
    return begin == line.npos ? "not told" : line.substr(begin, end + 1 - begin);
  }
  return "not told";
}

std::string container() {
  std::error_code ignored;
  std::string out;
  const auto add = [&out](std::string_view name) { out += fmt::format("{}{}", out.empty() ? "" : ", ", name); };
  if (fs::exists("/.dockerenv", ignored)) add("/.dockerenv is there");
  if (fs::exists("/run/.containerenv", ignored)) add("/run/.containerenv is there");
  for (const char* name : {"container", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "KUBERNETES_SERVICE_HOST"})
    if (std::getenv(name)) add(fmt::format("${} is set", name));
  return out.empty() ? "no sign of one" : out;
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

std::string mebibytes(uint64_t bytes) {
  return bytes == 0 ? "no limit" : fmt::format("{} MiB", bytes >> 20);
}

void print_devices(const fs::path& folder) {
  std::vector<fs::path> devices;
  std::error_code problem;
  for (const auto& each : fs::directory_iterator(folder, problem)) devices.push_back(each.path());
  if (problem) fmt::print("{}: {}\n", folder.string(), problem.message());
  std::ranges::sort(devices);
  for (const fs::path& device : devices) {
    std::string kind = fs::exists(device / "device", problem) ? "" : ", virtual";
    if (fs::exists(device / "bridge", problem)) kind = ", bridge";
    const std::string speed = line_of(device / "speed");  // -1 and no number: nobody knows
    fmt::print("{}: {}, MTU {}{}{}\n", device.filename().string(), line_of(device / "operstate"),
               line_of(device / "mtu"), std::atoi(speed.c_str()) > 0 ? ", " + speed + " Mbit/s" : "", kind);
  }
}

void print_ports(const fs::path& folder) {
  std::error_code none;
  for (const auto& device : fs::directory_iterator(folder, none)) {
    fmt::print("{}: {}, firmware {}\n", device.path().filename().string(), line_of(device.path() / "board_id"),
               line_of(device.path() / "fw_ver"));
    for (const auto& port : fs::directory_iterator(device.path() / "ports", none))
      fmt::print("  port {}: {}, {}, {}\n", port.path().filename().string(), line_of(port.path() / "state"),
                 line_of(port.path() / "rate"), line_of(port.path() / "link_layer"));
  }
}

}  // namespace

int print_machine() {
  utsname kernel{};
  ::uname(&kernel);
  Result<Topology> topology = Topology::of_this_machine();
  fmt::print("kernel:         {} {} {}\n", kernel.sysname, kernel.release, kernel.machine);
  fmt::print("distribution:   {}\n", value_in("/etc/os-release", "PRETTY_NAME"));
  fmt::print("processor:      {}\n", value_in("/proc/cpuinfo", "model name"));
  fmt::print("cores:          {}\n", topology ? topology->summary() : topology.error().message());
  fmt::print("memory:         {}, {} available\n", value_in("/proc/meminfo", "MemTotal"),
             value_in("/proc/meminfo", "MemAvailable"));
  struct statvfs space{};
  const bool is_there = ::statvfs("/dev/shm", &space) == 0;
  const uint64_t unit = space.f_frsize;
  fmt::print("/dev/shm:       {}\n", is_there ? fmt::format("{} MiB of {} are free", (space.f_bavail * unit) >> 20,
                                                            (space.f_blocks * unit) >> 20)
                                              : "is not there");
  fmt::print("container:      {}\n", container());
  fmt::print("user namespace: {}\n", is_in_user_namespace() ? "one of its own" : "the machine's");
  fmt::print("user:           {}\n", ::geteuid() == 0 ? "root" : "not root");
  fmt::print("ptrace_scope:   {}\n", line_of("/proc/sys/kernel/yama/ptrace_scope"));
  return 0;
}

int print_limits() {
  const double quota = cgroup_quota();
  fmt::print("cgroup, processor time: {}\n", quota > 0 ? fmt::format("{:.2f} cores", quota) : "no limit");
  fmt::print("cgroup, memory:         {}\n", mebibytes(cgroup_memory()));
  const auto processes = cgroup_processes();
  fmt::print("cgroup, processes:      {}\n",
             processes ? fmt::format("{} of {}", processes->used, processes->most) : "no limit");
  struct Limit {
    decltype(RLIMIT_CPU) which;
    const char *name, *option;
  };
  constexpr Limit limits[] = {{RLIMIT_NOFILE, "open files", "-n"},       {RLIMIT_NPROC, "processes", "-u"},
                              {RLIMIT_STACK, "stack, bytes", "-s"},      {RLIMIT_MEMLOCK, "locked memory, bytes", "-l"},
                              {RLIMIT_AS, "address space, bytes", "-v"}, {RLIMIT_CORE, "core file, bytes", "-c"},
                              {RLIMIT_FSIZE, "file, bytes", "-f"},       {RLIMIT_CPU, "processor time, seconds", "-t"}};
  for (const Limit& each : limits) {
    rlimit limit{};
    ::getrlimit(each.which, &limit);
    if (each.which == RLIMIT_NOFILE) limit = users_file_limit();  // ours is raised
    fmt::print("ulimit {} ({}): {}, at most {}\n", each.option, each.name, limit_text(limit.rlim_cur),
               limit_text(limit.rlim_max));
  }
  return 0;
}

int print_networks() {
  print_devices("/sys/class/net");
  print_ports("/sys/class/infiniband");
  return 0;
}

}  // namespace tutti::launcher
