// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/installed.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/config.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/loop/loop.hpp"
#include "launcher/place/hwloc_version.hpp"
#include "launcher/place/topology.hpp"
#include "launcher/pmix/pmix_server.hpp"

namespace tutti::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kVersionOfUcx{3};

// The launcher does not load UCX: see tutti-ucx.
std::string ucx() {
  const fs::path program = installation_root() / "libexec/tutti/tutti-ucx";
  Talker talker;
  if (!talker.begin({program.string(), "--version"})) return "UCX: " + talker.text();
  Talker::hear({&talker}, kVersionOfUcx);
  const bool is_late = !talker.has_ended();
  talker.end();
  if (is_late) return fmt::format("UCX: {} has not ended after {} s", program.string(), kVersionOfUcx.count());
  std::string text = talker.text();
  while (text.ends_with('\n')) text.pop_back();
  if (talker.exit_code() != 0) return fmt::format("UCX: {} fails: {}", program.string(), text);
  return text;
}

std::vector<std::string> modules_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code problem;  // a folder that is not there, or not to be read, has none
  for (const auto& each : fs::directory_iterator(folder, problem))
    if (fs::exists(each.path() / "mpi_f08.mod", problem)) out.push_back(each.path().filename().string());
  std::ranges::sort(out);
  for (std::string& name : out) name += fmt::format(" ({})", folder.string());
  return out;
}

// A package's libraries may stand in lib64, or in a folder of the architecture.
std::vector<fs::path> library_folders(const fs::path& root) {
  std::vector<fs::path> out;
  std::error_code problem;
  for (const char* name : {"lib", "lib64"}) {
    if (fs::is_symlink(root / name, problem)) continue;  // an environment of Python has lib64 as another name
    out.push_back(root / name);
    for (const auto& each : fs::directory_iterator(root / name, problem))
      if (each.path().filename().string().ends_with("-linux-gnu")) out.push_back(each.path());
  }
  return out;
}

}  // namespace

std::vector<std::string> installed_libraries() {
  std::string hwloc = Topology::hwloc_name();
  std::ranges::replace(hwloc, ':', ' ');
  const auto compiled = [](const std::string& loaded, const std::string& version) {
    return fmt::format("{} (compiled with {})", loaded, version);
  };
  return {compiled(ucx(), TUTTI_UCX_VERSION), compiled(PmixServer::library_name(), TUTTI_PMIX_VERSION),
          compiled(hwloc, compiled_hwloc()), compiled(Loop::library_name(), TUTTI_LIBEVENT_VERSION)};
}

std::vector<std::string> installed_modules() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  const fs::path own =
      (data && *data ? fs::path(data) : fs::path(home && *home ? home : "/nowhere") / ".local/share") / "tutti/fortran";
  std::vector<std::string> out;
  std::vector<fs::path> folders = {own / "elsewhere", own};
  for (const fs::path& each : library_folders(installation_root())) folders.push_back(each / "tutti/fortran");
  for (const fs::path& folder : folders)
    for (std::string& each : modules_in(folder)) out.push_back(std::move(each));
  return out;
}

}  // namespace tutti::launcher
