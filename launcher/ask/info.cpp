// SPDX-License-Identifier: BSD-3-Clause
// `tutti info`: what this installation is, what it is set to, what it does not implement.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/commit.hpp"
#include "base/config.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "base/printable.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/installed.hpp"
#include "launcher/place/hosts.hpp"
#include "launcher/place/topology.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;  // "Clang 19.1.7"
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif
constexpr std::string_view kBuildType = TUTTI_BUILD_TYPE;

constexpr const char* kHelp =
    "Usage: tutti info [--config | --api | --version]\n"
    "Prints what this installation is and which cores of this machine it uses; with --config\n"
    "every setting, its value, and where that comes from; with --api the functions of MPI that are\n"
    "not implemented.\n";

int print_config() {
  Result<Config> config = Config::load();
  if (!config) {
    say(Level::error, "{}", config.error().message());
    return 2;
  }
  for (const Config::Value& v : config->values()) {
    const Setting& s = *v.setting;
    const std::string assignment = fmt::format("{}: {}", s.name, v.text.empty() ? "''" : v.text);
    const std::string allowed = s.allowed.empty() ? "" : fmt::format(" ({})", s.allowed);
    fmt::print("{:<36} # {}\n  {}; {}{}; {}\n", printable(assignment), printable(v.origin), s.doc, kind_name(s.kind),
               allowed, variable_of(s.name));
  }
  return 0;
}

int print_api() {
  const auto file = installation_root() / "share/tutti/api.tsv";
  std::ifstream lines(file);
  if (!lines) {
    say(Level::error, "{} cannot be read; it comes with the library", file.string());
    return 1;
  }
  int implemented = 0, unsupported = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string function, status;
    if (!(words >> function >> status)) continue;
    if (status == "implemented") ++implemented;
    if (status != "unsupported") continue;
    ++unsupported;
    fmt::print("{}\n", function);
  }
  if (unsupported == 0)
    fmt::print("all {} functions are implemented\n", implemented);
  else
    fmt::print("{} functions are implemented, {} are not (listed above)\n", implemented, unsupported);
  return 0;
}

int print_summary() {
  Result<Topology> topology = Topology::of_this_machine();
  fmt::print("Tutti {}{}\n", TUTTI_VERSION, *kCommit ? fmt::format(", commit {}", kCommit) : "");
  fmt::print("built:         by {}, {}\n", kCompiler, kBuildType);
  fmt::print("installed in:  {}\n", installation_root().string());
  const auto settings = installed_settings_folder();
  fmt::print("settings from: {}\n", settings.empty() ? "(none installed)" : settings.string());
  const char* title = "libraries:";
  for (const std::string& library : installed_libraries()) fmt::print("{:<14} {}\n", std::exchange(title, ""), library);
  title = "Fortran:";
  for (const std::string& modules : installed_modules()) fmt::print("{:<14} {}\n", std::exchange(title, ""), modules);
  if (*title) fmt::print("{:<14} no modules; 'tutti fortran' builds those for a compiler\n", title);
  fmt::print("this node:     {}: {}\n", own_name(), topology ? topology->summary() : topology.error().message());
  fmt::print(
      "ranks:         one for each core by default; bound to cores, or not at all when a node\n"
      "               has more ranks than cores\n");
  return 0;
}

}  // namespace

int info_command(const std::vector<std::string>& arguments) {
  constexpr std::string_view known[] = {"--config", "--api", "--version", "--help"};
  for (const std::string& word : arguments)
    if (word != "-h" && word != "-V" && !std::ranges::count(known, word)) {
      say(Level::error, "tutti info takes --config, --api or --version, not '{}'{}", word, did_you_mean(word, known));
      return 2;
    }
  const std::string word = arguments.empty() ? "" : arguments[0];
  if (arguments.size() > 1) {
    say(Level::error, "tutti info takes one of its options at a time: {}, or {}", word, arguments[1]);
    return 2;
  }
  if (word == "--config") return print_config();
  if (word == "--api") return print_api();
  if (word.empty()) return print_summary();
  if (word == "--version" || word == "-V")
    fmt::print("tutti {}\n", TUTTI_VERSION);
  else
    fmt::print("{}", kHelp);
  return 0;
}

}  // namespace tutti::launcher
