// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/report_parts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/config.hpp"
#include "base/log.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/placeholders.hpp"
#include "launcher/ask/report_machine.hpp"
#include "launcher/ask/secret_looks.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/loop/loop.hpp"
#include "launcher/place/topology.hpp"
#include "launcher/pmix/pmix_server.hpp"

extern char** environ;

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kVersionOfOther{3};

struct Variable {
  std::string name, value;
};
// In the order of their names.
std::vector<Variable> variables() {
  std::vector<Variable> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view pair = *entry;
    if (const size_t sign = pair.find('='); sign != pair.npos)
      out.push_back({std::string(pair.substr(0, sign)), std::string(pair.substr(sign + 1))});
  }
  std::ranges::sort(out, {}, &Variable::name);
  return out;
}

template <size_t N>
bool begins_with_one_of(std::string_view name, const std::array<std::string_view, N>& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view each) { return name.starts_with(each); });
}

// The files of the libraries that this process has loaded, of which these texts are a part.
void print_loaded(std::initializer_list<std::string_view> names) {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);)
    if (const size_t path = line.find('/'); path != line.npos)
      for (const std::string_view name : names)
        if (line.find(name, path) != line.npos) files.insert(line.substr(path));
  for (const std::string& each : files) fmt::print("  {}\n", each);
}

int print_tutti() {
  return info_command({});
}

int print_libraries() {
  fmt::print("{}\n", PmixServer::library_name());
  print_loaded({"/libpmix."});
  fmt::print("{}\n", Loop::library_name());
  print_loaded({"/libevent"});
  std::string hwloc = Topology::hwloc_name();
  std::ranges::replace(hwloc, ':', ' ');
  fmt::print("{}\n", hwloc);
  print_loaded({"/libhwloc."});
  return 0;
}

// By a program of its own, for UCX opens devices.
int print_ucx() {
  const fs::path program = installation_root() / "libexec/tutti/tutti-ucx";
  std::fflush(stdout);
  ::execl(program.c_str(), program.c_str(), nullptr);
  fmt::print("{} cannot be run; it comes with the library\n", program.string());
  return 1;
}

// Numbers tell nothing of anybody: "4", "2(x3),1", "0-3".
bool is_harmless(std::string_view value) {
  return !value.empty() && value.size() < 100 &&
         std::ranges::all_of(
             value,
             [](char c) {
               return std::isdigit(static_cast<unsigned char>(c)) ||
                      std::string_view("(x),-:").find(c) != std::string_view::npos;
             });
}

int print_scheduler() {
  constexpr std::array<std::string_view, 11> prefixes = {"SLURM",   "PBS_",  "LSB_",   "LSF_", "SGE_",       "OAR_",
                                                         "COBALT_", "FLUX_", "LOADL_", "PJM_", "PE_HOSTFILE"};
  constexpr std::array<std::string_view, 4> names = {"JOB_ID", "NSLOTS", "NHOSTS", "PE"};
  bool is_any = false;
  for (const Variable& each : variables()) {
    if (!begins_with_one_of(each.name, prefixes) && !std::ranges::count(names, each.name)) continue;
    is_any = true;
    const bool is_shown = is_harmless(each.value) && !is_name_of_secret(each.name);
    fmt::print("{}{}\n", each.name, is_shown ? "=" + each.value : each.value.empty() ? " is empty" : " is set");
  }
  if (!is_any) fmt::print("none has left variables\n");
  return 0;
}

int print_environment() {
  constexpr std::array<std::string_view, 15> shown = {
      "UCX_",    "PMIX_MCA_", "HWLOC_",  "OMP_", "OMPI_MCA_", "MPIR_CVAR_",      "I_MPI_",       "FI_",
      "MALLOC_", "LD_",       "MPI4PY_", "LC_",  "LANG",      "XDG_CONFIG_HOME", "LOADEDMODULES"};
  constexpr std::array<std::string_view, 3> named = {"TUTTI_", "PMIX_", "PMI_"};
  constexpr std::array<std::string_view, 2> own = {"TMPDIR", "HOME"};
  for (const Variable& each : variables()) {
    const bool is_shown = begins_with_one_of(each.name, shown) || each.name == "TMPDIR";
    if (is_shown && is_name_of_secret(each.name))
      fmt::print("{}={}\n", each.name, kLeftOut);
    else if (is_shown)
      fmt::print("{}={}\n", each.name, each.value);
    else if (begins_with_one_of(each.name, named))
      fmt::print("{} is set\n", each.name);  // what Tutti reads of them stands among the settings
  }
  for (const std::string_view name : own)
    if (!std::getenv(std::string(name).c_str())) fmt::print("{} is not set\n", name);
  return 0;
}

int print_settings() {
  const SettingSources sources = SettingSources::of_this_process();
  for (const fs::path& file : {sources.system_file, sources.user_file}) {
    if (file.empty()) continue;
    std::error_code problem;
    const bool exists = fs::exists(file, problem);
    fmt::print("{}: {}\n", file.string(), problem ? problem.message() : exists ? "is read" : "is not there");
  }
  Result<Config> config = Config::load();
  if (!config) {
    fmt::print("no job starts so: {}\n", config.error().message());
    return 0;
  }
  bool is_any = false;
  for (const Config::Value& value : config->values()) {
    if (value.origin == "default") continue;
    is_any = true;
    const bool is_command = value.setting->name == "launch.rsh";
    fmt::print("{}: {}  # {}\n", value.setting->name, is_command ? without_values(value.text) : value.text,
               value.origin);
  }
  if (!is_any) fmt::print("all settings are the defaults\n");
  return 0;
}

int print_doctor() {
  doctor_command({});
  return 0;
}

// What a command of another MPI says of itself, in its first line.
std::string version_of(const fs::path& command) {
  Talker talker;
  if (!talker.begin({command.string(), "--version"})) return talker.text();
  Talker::hear({&talker}, kVersionOfOther);
  const bool is_late = !talker.has_ended();
  talker.end();
  if (is_late) return fmt::format("'--version' has not ended after {} s", kVersionOfOther.count());
  std::istringstream lines(talker.text());
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) return line;
  return "prints nothing for --version";
}

int print_commands() {
  const char* search = std::getenv("PATH");
  std::istringstream folders(search ? search : "/usr/bin:/bin");
  std::error_code problem;
  const fs::path own = fs::canonical("/proc/self/exe", problem);
  std::set<fs::path> seen;
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"mpirun", "mpiexec", "prterun", "srun", "mpicc"}) {
      const fs::path path = fs::path(folder) / name;
      const fs::path file = fs::canonical(path, problem);
      if (problem || ::access(path.c_str(), X_OK) != 0) continue;
      const std::string link = file == path ? "" : fmt::format(" ({})", file.string());
      const bool is_own = file.parent_path() == own.parent_path();
      const bool is_known = !seen.insert(file).second;
      fmt::print("{}{}: {}\n", path.string(), link,
                 is_own     ? "this Tutti's"
                 : is_known ? "see above"
                            : version_of(path));
      std::fflush(stdout);  // what comes next may take too long
    }
  if (seen.empty()) fmt::print("no command of an MPI is in PATH\n");
  return 0;
}

constexpr ReportPart kParts[] = {
    {"Tutti", seconds(10), print_tutti},
    {"Libraries", seconds(10), print_libraries},
    {"UCX", seconds(15), print_ucx},
    {"Machine", seconds(10), print_machine},
    {"Limits", seconds(10), print_limits},
    {"Network devices", seconds(10), print_networks},
    {"Scheduler", seconds(5), print_scheduler},
    {"Settings", seconds(10), print_settings},
    {"Environment", seconds(5), print_environment},
    {"tutti doctor", seconds(40), print_doctor},
    {"Commands in PATH", seconds(20), print_commands},
};

}  // namespace

std::span<const ReportPart> report_parts() {
  return kParts;
}

}  // namespace tutti::launcher
