// SPDX-License-Identifier: BSD-3-Clause
// `tutti doctor`: what a colleague would look at first where something does not work: each finding
// is good, worth knowing, or bad, and a bad one says what to do.
#include "launcher/ask/doctor.hpp"

#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/why_text.hpp"
#include "launcher/data/json_text.hpp"
#include "launcher/node/spawn.hpp"
#include "launcher/place/hosts.hpp"
#include "launcher/place/schedulers.hpp"
#include "launcher/place/slurm.hpp"
#include "launcher/place/topology.hpp"
#include "launcher/words/option_table.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

std::string search_path() {
  const char* search = ::getenv("PATH");
  return search ? search : "/usr/bin:/bin";
}

std::string program(const std::string& name) {
  return find_program(name, search_path(), "").path;
}

std::string counted(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
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
              fmt::format("Tutti {} in {}, its library has the standard's ABI", TUTTI_VERSION, root.string())};
  return {Health::bad, "installation", fmt::format("libmpi_abi.so is missing in {}", root.string()),
          "install Tutti anew; programs that mpicc has linked do not start without it"};
}

Finding look_at_settings() {
  Result<Config> config = Config::load();
  if (!config) return {Health::bad, "settings", config.error().message(), "correct it: no job starts so"};
  const auto changed =
      std::ranges::count_if(config->values(), [](const Config::Value& value) { return value.origin != "default"; });
  return {Health::good, "settings",
          fmt::format("{} {} from the defaults", counted(static_cast<size_t>(changed), "setting"),
                      changed == 1 ? "differs" : "differ")};
}

// Which mpirun a user gets who types it.
Finding look_at_command() {
  const std::string found = program("mpirun");
  std::error_code ignored;
  if (found.empty()) return {Health::note, "mpirun", "no mpirun is in PATH; this one is not where PATH looks"};
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
            fmt::format("job {} of Slurm with {}{}", (*slurm)->job_id, counted((*slurm)->nodes.size(), "node"),
                        program("srun").empty() ? "; srun is not in PATH, ssh is used" : "")};
  std::string warning;
  Result<std::optional<ScheduledJob>> job = scheduled_job(::getenv, text_of_file, warning);
  if (!job) return {Health::bad, "scheduler", job.error().message(), advice};
  if (!warning.empty()) return {Health::bad, "scheduler", warning, "name the nodes by --hostfile"};
  if (*job)
    return {
        Health::good, "scheduler",
        fmt::format("job {} of {} with {}", (*job)->job_id, (*job)->scheduler, counted((*job)->nodes.size(), "node"))};
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
  const bool right =
      fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 1) == 0;
  const std::string why = std::strerror(errno);
  if (fd >= 0) ::close(fd);
  if (!right)
    return {Health::bad, "ports", fmt::format("no port can be listened at: {}", why),
            "daemons of other nodes, and PMIx on this one, need one: look at the container's rules"};
  const std::vector<std::string> own = own_addresses();
  return {Health::good, "ports",
          own.empty() ? "listening works; this machine has no address but the loopback's"
                      : fmt::format("listening works; others reach this machine at {}", own[0])};
}

Finding look_at_shared_memory() {
  struct statvfs space{};
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
    return {Health::good, "CMA", "processes may read each other's memory: long messages are copied once"};
  return {Health::note, "CMA",
          "processes may not read each other's memory: long messages are copied twice; "
          "kernel.yama.ptrace_scope=0, or SYS_PTRACE for a container, lets them be copied once"};
}

Finding look_at_cores() {
  Result<Topology> topology = Topology::of_this_machine();
  if (!topology) return {Health::bad, "cores", topology.error().message(), "give hwloc leave to read /sys"};
  return {Health::good, "cores", topology->summary()};
}

// What a port of such a device says of itself ("4: ACTIVE"), without its number.
std::string state_of_port(const std::filesystem::path& device) {
  std::error_code ignored;
  for (const auto& port : std::filesystem::directory_iterator(device / "ports", ignored)) {
    std::ifstream file(port.path() / "state");
    std::string state;
    std::getline(file, state);
    if (const size_t colon = state.find(": "); colon != state.npos) state.erase(0, colon + 2);
    return state;
  }
  return "without a port";
}

// The networks that UCX may find: devices with a queue of their own, beside those of tcp.
Finding look_at_networks() {
  std::string list, down;
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/infiniband", ignored)) {
    const std::string name = each.path().filename().string(), state = state_of_port(each.path());
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", name, state);
    if (state != "ACTIVE") down += (down.empty() ? "" : ", ") + name;
  }
  if (list.empty()) return {Health::good, "networks", "no InfiniBand or RoCE device: nodes talk by tcp"};
  rlimit locked{};
  ::getrlimit(RLIMIT_MEMLOCK, &locked);
  if (locked.rlim_cur != RLIM_INFINITY && locked.rlim_cur < (uint64_t{64} << 20))
    return {Health::bad, "networks",
            fmt::format("devices: {}; {} KiB may be locked in memory", list, locked.rlim_cur >> 10),
            "raise 'ulimit -l' (memlock in limits.conf, LimitMEMLOCK of the scheduler's daemon): without it UCX talks "
            "by tcp"};
  if (!down.empty()) return {Health::note, "networks", fmt::format("devices: {}; {} will not be used", list, down)};
  return {Health::good, "networks", "devices: " + list};
}

// Slurm's plugin opens the library by its name without a version, which development packages alone have.
Finding look_at_srun() {
  if (program("srun").empty()) return {Health::good, "srun", "there is none here"};
  void* library = ::dlopen("libpmix.so", RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return {Health::note, "srun",
            "srun --mpi=pmix cannot work: libpmix.so, without a version in its name, is not found; mpirun does not "
            "need it"};
  ::dlclose(library);
  return {Health::good, "srun", "libpmix.so is there for srun --mpi=pmix"};
}

const char* word_of(Health health) {
  return health == Health::good ? "good" : health == Health::note ? "note" : "bad";
}

void print_text(const Findings& findings, const std::string& node) {
  const bool colors = ::isatty(STDOUT_FILENO) && !::getenv("NO_COLOR");
  for (const Finding& each : findings) {
    const char* color = !colors                       ? ""
                        : each.health == Health::good ? "\033[32m"
                        : each.health == Health::note ? "\033[33m"
                                                      : "\033[31m";
    fmt::print("{}{:<4}{} {}{}: {}\n", color, word_of(each.health), colors ? "\033[0m" : "",
               node.empty() ? "" : node + ": ", each.what, each.text);
    if (!each.advice.empty()) fmt::print("     what to do: {}\n", each.advice);
  }
}

std::string json_of(const Findings& findings) {
  std::string out;
  for (const Finding& each : findings)
    out += fmt::format("{}{{\"what\":{},\"health\":\"{}\",\"text\":{},\"advice\":{}}}", out.empty() ? "" : ",\n ",
                       json_text(each.what), word_of(each.health), json_text(each.text), json_text(each.advice));
  return out;
}

void print_json(const Findings& findings, const std::vector<NodeFindings>& others) {
  std::string nodes;
  for (const NodeFindings& each : others)
    nodes += fmt::format("{}{{\"node\":{},\"findings\":[\n {}\n]}}", nodes.empty() ? "" : ",\n", json_text(each.node),
                         json_of(each.findings));
  fmt::print("{{\"version\":\"{}\",\"node\":{},\"findings\":[\n {}\n],\n\"nodes\":[{}]}}\n", TUTTI_VERSION,
             json_text(own_name()), json_of(findings), nodes);
}

Findings look_at_this_node() {
  return {look_at_installation(), look_at_settings(), look_at_command(), look_at_scheduler(),
          look_at_shell(),        look_at_srun(),     look_at_ports(),   look_at_shared_memory(),
          look_at_cma(),          look_at_cores(),    look_at_networks()};
}

struct DoctorOptions {
  bool json = false, lines = false, help = false;
  std::string reach;
  RunOptions run;  // which hosts
};

Result<DoctorOptions> parse_doctor_options(const std::vector<std::string>& arguments) {
  DoctorOptions out;
  AppOptions app;
  app.command = {"true"};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool takes_value = word == "--host" || word == "-H" || word == "--hostfile" || word == "--reach";
    if (takes_value && i + 1 == arguments.size()) return failure(MPI_ERR_ARG, "tutti doctor: {} needs a value", word);
    if (word == "--json") {
      out.json = true;
    } else if (word == "--lines") {
      out.lines = true;
    } else if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "--reach") {
      out.reach = arguments[++i];
    } else if (word == "--hostfile") {
      out.run.hostfile = arguments[++i];
    } else if (word == "--host" || word == "-H") {
      Parse names{.option = word};  // as mpirun reads them
      if (Error e = find_option("host")->take(names, arguments[++i])) return e;
      app.hosts.insert(app.hosts.end(), names.app.hosts.begin(), names.app.hosts.end());
    } else {
      return failure(MPI_ERR_ARG, "tutti doctor takes --json, --host and --hostfile, not '{}'", word);
    }
  }
  out.run.apps.push_back(std::move(app));
  return out;
}

bool is_bad(const Findings& findings) {
  return std::ranges::any_of(findings, [](const Finding& f) { return f.health == Health::bad; });
}

}  // namespace

int doctor_command(const std::vector<std::string>& arguments) {
  Result<DoctorOptions> options = parse_doctor_options(arguments);
  if (!options) {
    say(Level::error, "{}", options.error().message());
    return 2;
  }
  if (options->help) {
    std::fputs(
        "Usage: tutti doctor [--json] [--host NAMES] [--hostfile FILE]\n"
        "Looks at what jobs need on this machine, in this environment and on the other nodes of the\n"
        "allocation, or on those that are named, and says what to do about what is bad. The exit\n"
        "code is 1 if something is.\n",
        stdout);
    return 0;
  }
  Findings findings = look_at_this_node();
  if (options->lines) {  // another doctor asks
    if (!options->reach.empty()) findings.push_back(look_at_way_back(options->reach));
    fmt::print("version\t{}\n", TUTTI_VERSION);
    for (const Finding& each : findings) fmt::print("{}", as_line(each));
    if (!options->reach.empty()) meet_other_nodes();
    return 0;
  }
  Result<Allocation> allocation = allocate(options->run);
  std::vector<NodeFindings> others;
  if (!allocation)
    findings.push_back({Health::bad, "nodes", allocation.error().message(), "correct it: no job starts so"});
  else
    others = ask_other_nodes(*allocation);
  if (options->json) {
    print_json(findings, others);
  } else {
    print_text(findings, "");
    for (const NodeFindings& each : others) print_text(each.findings, each.node);
  }
  return is_bad(findings) ||
         std::ranges::any_of(others, [](const NodeFindings& each) { return is_bad(each.findings); });
}

}  // namespace tutti::launcher
