// SPDX-License-Identifier: BSD-3-Clause
// `tutti info`: what this installation is, what it is set to, what it does not implement.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "launcher/hosts.hpp"
#include "launcher/run.hpp"
#include "launcher/topology.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

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
    fmt::print("{:<36} # {}\n  {}; {}{}; {}\n", assignment, v.origin, s.doc, kind_name(s.kind),
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
  fmt::print("{} functions are implemented, {} are not (listed above)\n", implemented, unsupported);
  return 0;
}

int print_summary() {
  Result<Topology> topology = Topology::of_this_machine();
  fmt::print("Tutti {}\n", TUTTI_VERSION);
  fmt::print("installed in:  {}\n", installation_root().string());
  const auto settings = installed_settings_folder();
  fmt::print("settings from: {}\n", settings.empty() ? "(none installed)" : settings.string());
  fmt::print("this node:     {}: {}\n", own_name(),
             topology ? topology->summary() : topology.error().message());
  fmt::print(
      "ranks:         one for each core by default; bound to cores, or not at all when a node\n"
      "               has more ranks than cores\n");
  return 0;
}

}  // namespace

int info_command(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return print_summary();
  if (arguments[0] == "--config") return print_config();
  if (arguments[0] == "--api") return print_api();
  if (arguments[0] == "--version") {
    fmt::print("tutti {}\n", TUTTI_VERSION);
    return 0;
  }
  constexpr std::string_view known[] = {"--config", "--api", "--version"};
  say(Level::error, "tutti info: unknown option '{}'{}", arguments[0],
      did_you_mean(arguments[0], known));
  return 2;
}

}  // namespace tutti::launcher
