// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/brought_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/log.hpp"
#include "mpi.h"

namespace tutti::launcher {

void settle_folder(App& app) {
  const auto is_folder = [](const std::string& name) {
    struct stat about{};
    return ::stat(name.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  };
  if (app.real_folder != app.folder && !app.real_folder.empty() && !is_folder(app.folder) && is_folder(app.real_folder))
    app.folder = app.real_folder;
}

BroughtFiles::~BroughtFiles() {
  for (const std::string& file : placed_) ::unlink(file.c_str());
}

void BroughtFiles::give(const std::string& name, const std::string& bytes) {
  if (name.empty() || name.find('/') != name.npos || name.starts_with('.')) return;
  const std::string folder = folder_ + "/files";
  ::mkdir(folder.c_str(), 0700);
  const int fd = ::open((folder + "/" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0700);
  size_t written = 0;
  while (fd >= 0 && written < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  if (fd < 0 || written < bytes.size()) problem_ = fmt::format("{}/{}: {}", folder, name, std::strerror(errno));
  if (fd >= 0) ::close(fd);
}

// What came before the launch goes where the ranks look for it: files into their folders, unless something of that name
// is there already, such as the same file on a file system that all nodes share.
Error BroughtFiles::place(const NodeTask& task) {
  const std::string& node = task.map.nodes[static_cast<size_t>(task.node)];
  if (!problem_.empty()) return failure(MPI_ERR_FILE, "a file cannot be copied to {}: {}", node, problem_);
  for (const std::string& name : task.files) {
    const std::string from = folder_ + "/files/" + name;
    if (::access(from.c_str(), R_OK) != 0) continue;  // the launcher's own node
    for (const App& app : task.map.apps) {
      const std::string to = app.folder + "/" + name;
      std::error_code problem;
      if (std::filesystem::exists(to, problem)) continue;
      std::filesystem::create_directories(app.folder, problem);
      if (!std::filesystem::copy_file(from, to, problem))
        return failure(MPI_ERR_FILE, "--preload-files: {} cannot be written on {}: {}", to, node, problem.message());
      placed_.push_back(to);
    }
  }
  return {};
}

Program BroughtFiles::program_of(const NodeTask& task, const App& app, const std::string& search) const {
  const std::string& command = app.command[0];
  const std::string name = command.substr(command.rfind('/') + 1);
  const std::string brought = folder_ + "/files/" + name;
  const bool is_file = std::ranges::count(task.files, name) > 0;
  if (!is_file && ::access(brought.c_str(), X_OK) == 0) return {.path = brought, .exit_code = 0, .problem = ""};
  return find_program(command, search, app.folder);
}

}  // namespace tutti::launcher
