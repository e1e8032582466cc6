// SPDX-License-Identifier: BSD-3-Clause
// `tutti doctor`: what a colleague would look at first where something does not work: each finding
// is good, worth knowing, or bad, and a bad one says what to do.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/hosts.hpp"
#include "launcher/run.hpp"
#include "launcher/schedulers.hpp"
#include "launcher/slurm.hpp"
#include "launcher/spawn.hpp"
#include "launcher/topology.hpp"
#include "launcher/why_text.hpp"

namespace tutti::launcher {
namespace {

enum class Health { good, note, bad };
struct Finding {
  Health health;
  std::string what, text;
  std::string advice{};  // where it is bad
};
using Findings = std::vector<Finding>;

std::string search_path() {
  const char* search = ::getenv("PATH");
  return search ? search : "/usr/bin:/bin";
}

std::string program(const std::string& name) {
  return find_program(name, search_path(), "").path;
}

Finding look_at_installation() {
  const auto root = installation_root();
  const bool daemon = ::access((root / "libexec/tutti/tuttid").c_str(), X_OK) == 0 ||
                      ::access((root / "bin/tuttid").c_str(), X_OK) == 0;
  if (!daemon)
    return {Health::bad, "installation", fmt::format("tuttid is missing in {}", root.string()),
            "install Tutti anew; ranks of other nodes need it"};
  for (const char* place : {"lib", "lib64"})
    if (::access((root / place / "libmpi_abi.so").c_str(), R_OK) == 0 ||
        ::access((root / place / "libmpi_abi.so.1").c_str(), R_OK) == 0)
      return {Health::good, "installation",
              fmt::format("Tutti {} in {}, its library has the standard's ABI", TUTTI_VERSION,
                          root.string())};
  return {Health::bad, "installation", fmt::format("libmpi_abi.so is missing in {}", root.string()),
          "install Tutti anew; programs that mpicc has linked do not start without it"};
}

Finding look_at_settings() {
  Result<Config> config = Config::load();
  if (!config)
    return {Health::bad, "settings", config.error().message(), "correct it: no job starts so"};
  const auto changed = std::ranges::count_if(
      config->values(), [](const Config::Value& value) { return value.origin != "default"; });
  return {Health::good, "settings", fmt::format("{} differ from the defaults", changed)};
}

// Which mpirun a user gets who types it.
Finding look_at_command() {
  const std::string found = program("mpirun");
  std::error_code ignored;
  if (found.empty())
    return {Health::note, "mpirun", "no mpirun is in PATH; this one is not where PATH looks"};
  const auto own = std::filesystem::canonical("/proc/self/exe", ignored);
  if (std::filesystem::canonical(found, ignored) == own)
    return {Health::good, "mpirun", fmt::format("{} is Tutti's", found)};
  return {Health::note, "mpirun", fmt::format("{} in PATH is not this Tutti's", found)};
}

Finding look_at_scheduler() {
  Result<std::optional<SlurmAllocation>> slurm = slurm_allocation(::getenv);
  const std::string advice = "unset its variables, or name the nodes by --hostfile";
  if (!slurm) return {Health::bad, "scheduler", slurm.error().message(), advice};
  if (*slurm)
    return {program("srun").empty() ? Health::note : Health::good, "scheduler",
            fmt::format("job {} of Slurm with {} nodes{}", (*slurm)->job_id, (*slurm)->nodes.size(),
                        program("srun").empty() ? "; srun is not in PATH, ssh is used" : "")};
  std::string warning;
  Result<std::optional<ScheduledJob>> job = scheduled_job(::getenv, text_of_file, warning);
  if (!job) return {Health::bad, "scheduler", job.error().message(), advice};
  if (!warning.empty()) return {Health::bad, "scheduler", warning, "name the nodes by --hostfile"};
  if (*job)
    return {Health::good, "scheduler",
            fmt::format("job {} of {} with {} nodes", (*job)->job_id, (*job)->scheduler,
                        (*job)->nodes.size())};
  return {Health::good, "scheduler", "none is seen: ranks start here unless --host names others"};
}

Finding look_at_shell() {
  Result<Config> config = Config::load();
  const std::string rsh = config ? std::string(config->text("launch.rsh")) : "ssh";
  const std::string name = rsh.substr(0, rsh.find(' '));
  if (const std::string path = program(name); !path.empty())
    return {Health::good, "remote shell", fmt::format("{} is {}", name, path)};
  return {Health::note, "remote shell",
          fmt::format("{} is not in PATH: jobs of several nodes need it (launch.rsh)", name)};
}

Finding look_at_ports() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const bool right = fd >= 0 &&
                     ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     ::listen(fd, 1) == 0;
  const std::string why = std::strerror(errno);
  if (fd >= 0) ::close(fd);
  if (!right)
    return {
        Health::bad, "ports", fmt::format("no port can be listened at: {}", why),
        "daemons of other nodes, and PMIx on this one, need one: look at the container's rules"};
  const std::vector<std::string> own = own_addresses();
  return {Health::good, "ports",
          own.empty() ? "listening works; this machine has no address but the loopback's"
                      : fmt::format("listening works; others reach this machine at {}", own[0])};
}

Finding look_at_shared_memory() {
  struct statvfs space {};
  if (::statvfs("/dev/shm", &space) != 0 || ::access("/dev/shm", W_OK) != 0)
    return {Health::bad, "/dev/shm", fmt::format("cannot be used: {}", std::strerror(errno)),
            "mount a tmpfs there; without it messages of a node go through UCX"};
  const uint64_t free = uint64_t{space.f_bavail} * space.f_frsize >> 20;
  if (free < 64)
    return {Health::bad, "/dev/shm", fmt::format("{} MiB are free", free),
            "make it larger (docker run --shm-size=1g), or remove files that nobody uses"};
  return {Health::good, "/dev/shm", fmt::format("{} MiB are free", free)};
}

// Whether a process may read the memory of another one of the same user that is not its child, as
// ranks are not each other's: a child that reads its parent is judged alike.
Finding look_at_cma() {
  int mine = 42;
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    int copy = 0;
    const iovec to{&copy, sizeof copy}, from{&mine, sizeof mine};
    ::_exit(::process_vm_readv(parent, &to, 1, &from, 1, 0) == sizeof copy && copy == 42 ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (child > 0 && status == 0)
    return {Health::good, "CMA",
            "processes may read each other's memory: long messages are copied once"};
  return {Health::note, "CMA",
          "processes may not read each other's memory (ptrace_scope, or a container without "
          "SYS_PTRACE): ranks ask for leave by themselves, or copy long messages twice"};
}

Finding look_at_cores() {
  Result<Topology> topology = Topology::of_this_machine();
  if (!topology)
    return {Health::bad, "cores", topology.error().message(), "give hwloc leave to read /sys"};
  return {Health::good, "cores", topology->summary()};
}

// The networks that UCX may find: devices with a queue of their own, beside those of tcp.
Finding look_at_networks() {
  std::string list;
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/infiniband", ignored))
    list += (list.empty() ? "" : ", ") + each.path().filename().string();
  return {Health::good, "networks",
          list.empty() ? "no InfiniBand or RoCE device: nodes talk by tcp" : "devices: " + list};
}

const char* word_of(Health health) {
  return health == Health::good ? "good" : health == Health::note ? "note" : "bad";
}

void print_text(const Findings& findings) {
  const bool colors = ::isatty(STDOUT_FILENO) && !::getenv("NO_COLOR");
  for (const Finding& each : findings) {
    const char* color = !colors                       ? ""
                        : each.health == Health::good ? "\033[32m"
                        : each.health == Health::note ? "\033[33m"
                                                      : "\033[31m";
    fmt::print("{}{:<4}{} {}: {}\n", color, word_of(each.health), colors ? "\033[0m" : "",
               each.what, each.text);
    if (!each.advice.empty()) fmt::print("     what to do: {}\n", each.advice);
  }
}

void print_json(const Findings& findings) {
  std::string out;
  for (const Finding& each : findings)
    out += fmt::format("{}{{\"what\":{},\"health\":\"{}\",\"text\":{},\"advice\":{}}}",
                       out.empty() ? "" : ",\n ", json_text(each.what), word_of(each.health),
                       json_text(each.text), json_text(each.advice));
  fmt::print("{{\"version\":\"{}\",\"node\":{},\"findings\":[\n {}\n]}}\n", TUTTI_VERSION,
             json_text(own_name()), out);
}

}  // namespace

int doctor_command(const std::vector<std::string>& arguments) {
  const std::string word = arguments.empty() ? "" : arguments[0];
  if (word == "--help" || word == "-h") {
    std::fputs(
        "Usage: tutti doctor [--json]\n"
        "Looks at what jobs need on this machine and in this environment, and says what to do "
        "about\n"
        "what is bad. The exit code is 1 if something is.\n",
        stdout);
    return 0;
  }
  if (arguments.size() > 1 || (!word.empty() && word != "--json")) {
    say(Level::error, "tutti doctor takes --json, not '{}'",
        arguments.size() > 1 ? arguments[1] : word);
    return 2;
  }
  const Findings findings{look_at_installation(),  look_at_settings(), look_at_command(),
                          look_at_scheduler(),     look_at_shell(),    look_at_ports(),
                          look_at_shared_memory(), look_at_cma(),      look_at_cores(),
                          look_at_networks()};
  word.empty() ? print_text(findings) : print_json(findings);
  return std::ranges::any_of(findings, [](const Finding& f) { return f.health == Health::bad; });
}

}  // namespace tutti::launcher
