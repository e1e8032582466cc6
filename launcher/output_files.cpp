// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/output_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "launcher/loop/lines.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

// "14:03:27.125", as this machine's clock says.
std::string time_of_day() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", local.tm_hour, local.tm_min, local.tm_sec, part.count() % 1000);
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const auto& [name, fd] : open_) ::close(fd);
}

std::string OutputFiles::with_tags(int rank, std::string bytes) const {
  std::string tag;
  if (shape_.timestamp) tag += fmt::format("[{}] ", time_of_day());
  if (shape_.tag) tag += fmt::format("[{}] ", rank);
  return tag.empty() ? bytes : tagged(bytes, tag);
}

Error OutputFiles::write(int rank, OutputStream stream, const std::string& node, const std::string& job,
                         std::string_view bytes) {
  const std::string name = output_file(shape_, rank, stream, node, job);
  auto [at, fresh] = open_.try_emplace(name, -1);
  if (fresh) {
    std::error_code ignored;  // what cannot be made is told by open()
    const auto folder = std::filesystem::path(name).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
    struct stat status{};
    if (::stat(name.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
      return failure(
          MPI_ERR_FILE,
          "cannot write the output of rank {} to {}: it is a FIFO, whose reader could hold all ranks; the job "
          "ends; name a file, or read what mpirun prints",
          rank, name);
    at->second = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  while (at->second >= 0 && !bytes.empty()) {
    const ssize_t n = ::write(at->second, bytes.data(), bytes.size());
    if (n >= 0) bytes.remove_prefix(static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  if (at->second >= 0 && bytes.empty()) return {};
  return failure(MPI_ERR_FILE, "cannot write the output of rank {} to {}: {}; the job ends", rank, name,
                 std::strerror(errno));
}

}  // namespace tutti::launcher
