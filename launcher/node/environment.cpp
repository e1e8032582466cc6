// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/environment.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

extern char** environ;

namespace tutti::launcher {
namespace {

constexpr std::string_view kHostVariables[] = {"HOSTNAME",
                                               "HOST",
                                               "TMPDIR",
                                               "TMP",
                                               "TEMP",
                                               "DISPLAY",
                                               "WAYLAND_DISPLAY",
                                               "XAUTHORITY",
                                               "XDG_RUNTIME_DIR",
                                               "XDG_SESSION_ID",
                                               "DBUS_SESSION_BUS_ADDRESS",
                                               "PWD",
                                               "OLDPWD",
                                               "SHLVL",
                                               "_"};
constexpr std::string_view kHostPrefixes[] = {"SSH_", "PMIX_", "PMI_"};

// PMI_RANK and PMI_SIZE are not among them: a library that finds these looks for a server of PMI-1.
struct RankVariable {
  std::string_view name;
  int RankNumbers::* number;
};
constexpr RankVariable kRankVariables[] = {{"OMPI_COMM_WORLD_RANK", &RankNumbers::rank},
                                           {"OMPI_COMM_WORLD_SIZE", &RankNumbers::size},
                                           {"OMPI_COMM_WORLD_LOCAL_RANK", &RankNumbers::local_rank},
                                           {"OMPI_COMM_WORLD_LOCAL_SIZE", &RankNumbers::local_size},
                                           {"OMPI_COMM_WORLD_NODE_RANK", &RankNumbers::local_rank},
                                           {"MPI_LOCALRANKID", &RankNumbers::local_rank},
                                           {"MPI_LOCALNRANKS", &RankNumbers::local_size},
                                           {"TUTTI_RANK", &RankNumbers::rank},
                                           {"TUTTI_SIZE", &RankNumbers::size},
                                           {"TUTTI_LOCAL_RANK", &RankNumbers::local_rank},
                                           {"TUTTI_LOCAL_SIZE", &RankNumbers::local_size}};

std::string_view name_of(std::string_view pair) {
  return pair.substr(0, pair.find('='));
}

bool is_of_host(std::string_view pair) {
  const std::string_view name = name_of(pair);
  return std::ranges::count(kHostVariables, name) > 0 ||
         (std::ranges::any_of(kHostPrefixes, [&](auto prefix) { return name.starts_with(prefix); }) &&
          !name.starts_with("PMIX_MCA_"));
}

}  // namespace

std::vector<std::string> job_environment(const Config& config) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  for (const std::string& setting : config.as_environment()) put_variable(out, setting);
  return out;
}

std::vector<std::string> without_host_variables(std::vector<std::string> environment) {
  std::erase_if(environment, is_of_host);
  return environment;
}

std::vector<std::string> with_own_host_variables(std::vector<std::string> environment) {
  for (char** entry = environ; *entry; ++entry)
    if (is_of_host(*entry)) put_variable(environment, *entry);
  return environment;
}

bool matches(std::string_view pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

std::vector<std::string> own_variables(std::string_view pattern) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry)
    if (matches(pattern, name_of(*entry))) out.emplace_back(*entry);
  return out;
}

void inherit(std::vector<std::string>& environment, const Inheritance& what) {
  const auto listed = [](const std::vector<std::string>& patterns, std::string_view name) {
    return std::ranges::any_of(patterns, [&](const auto& each) { return matches(each, name); });
  };
  std::erase_if(environment, [&](const std::string& pair) {
    const std::string_view name = name_of(pair);
    if (name.starts_with("TUTTI_")) return false;
    if (listed(what.unset, name)) return true;
    const bool needed = name == "PATH" || name == "LD_LIBRARY_PATH";
    return !what.all && !needed && !listed(what.only, name);
  });
}

void put_variable(std::vector<std::string>& environment, const std::string& pair) {
  const std::string_view name = name_of(pair);
  for (std::string& known : environment) {
    if (name_of(known) != name) continue;
    known = pair;
    return;
  }
  environment.push_back(pair);
}

void put_rank_numbers(std::vector<std::string>& environment, const RankNumbers& numbers) {
  for (const RankVariable& each : kRankVariables)
    put_variable(environment, fmt::format("{}={}", each.name, numbers.*each.number));
}

void drop_rank_numbers(std::vector<std::string>& environment) {
  if (variable(environment, "TUTTI_RANK").empty()) return;  // another launcher's are the user's business
  std::erase_if(environment, [](const std::string& pair) {
    return std::ranges::any_of(kRankVariables, [&](const auto& each) { return name_of(pair) == each.name; });
  });
}

void put_sanitizer_options(std::vector<std::string>& environment) {
  constexpr std::pair<const char*, const char*> kSanitizers[] = {
      {"lsan", "LSAN_OPTIONS"}, {"tsan", "TSAN_OPTIONS"}, {"asan", "ASAN_OPTIONS"}};
  for (const auto& [name, variable_name] : kSanitizers) {
    // A sanitizer that cannot read a file which it was told of ends the program.
    const auto file = installation_root() / "share/tutti" / (std::string(name) + ".supp");
    if (::access(file.c_str(), R_OK) != 0 || file.native().find('\'') != std::string::npos) continue;
    const std::string given = variable(environment, variable_name);
    put_variable(environment, std::string(variable_name) + "=suppressions='" + file.native() +
                                  "':print_suppressions=0" + (given.empty() ? "" : ":" + given));
  }
}

std::string variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& pair : environment)
    if (name_of(pair) == name) return pair.substr(name.size() + 1);
  return {};
}

}  // namespace tutti::launcher
