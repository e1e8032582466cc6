// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/profile/profile_output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "launcher/profile/profile_file.hpp"
#include "launcher/profile/profile_html.hpp"
#include "launcher/profile/profile_trace.hpp"
#include "mpi.h"

namespace tutti::launcher {

Error write_profile(const std::vector<RankProfile>& ranks, const std::string& path) {
  if (path.ends_with(".html")) return write_whole(path, profile_html(ranks));
  if (path.ends_with(".json")) return write_whole(path, profile_trace(ranks));
  return write_whole(path, profile_as_lines(ranks));
}

Error check_profile_path(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (fs::is_directory(path, problem)) return failure(MPI_ERR_FILE, "--profile={}: it is a folder", path);
  const std::string folder = fs::path(path).parent_path().string();
  const bool is_there = fs::exists(path, problem) && !fs::is_regular_file(path, problem);
  if (::access(is_there ? path.c_str() : folder.empty() ? "." : folder.c_str(), W_OK) == 0) return {};
  return failure(MPI_ERR_FILE, "--profile={}: it cannot be written ({})", path, std::strerror(errno));
}

}  // namespace tutti::launcher
