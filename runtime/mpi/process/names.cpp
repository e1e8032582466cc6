// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "base/mutex.hpp"
#include "base/random.hpp"

namespace tutti::mpi::processes::names {
namespace {

struct Published {
  int fd;  // holds the lock
  std::string file, port;
};
// What this process has published, by service. It is never destroyed, because threads of the program may be in calls
// of MPI while it exits.
struct Services {
  Mutex mutex;
  std::map<std::string, Published> published TUTTI_GUARDED_BY(mutex);
};
Services& services() {
  static auto& only = *new Services;
  return only;
}

std::string home_folder() {
  if (const char* home = std::getenv("HOME"); home && *home == '/') return home;
  const passwd* user = ::getpwuid(::geteuid());
  return user && user->pw_dir ? user->pw_dir : "";
}

bool is_usable(const std::string& folder) {
  struct stat info;
  return ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         ::access(folder.c_str(), R_OK | W_OK | X_OK) == 0;
}

// Makes it, for the user alone.
bool make(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  return is_usable(folder);
}

Result<std::string> folder_of_names() {
  if (const char* given = std::getenv("TUTTI_NAMES"); given && *given) {
    if (make(given)) return std::string(given);
    return failure(MPI_ERR_OTHER, "the folder {} (from TUTTI_NAMES) cannot be used for the names of ports: {}", given,
                   std::strerror(errno));
  }
  if (const std::string home = home_folder(); home.size() > 1 && make(home + "/.tutti"))
    if (make(home + "/.tutti/names")) return home + "/.tutti/names";
  const char* temporary = std::getenv("TMPDIR");
  const std::string other = fmt::format("{}/tutti-names-{}", temporary && *temporary ? temporary : "/tmp", ::geteuid());
  if (make(other)) return other;
  return failure(MPI_ERR_OTHER,
                 "there is no folder for the names of ports: neither a home folder that can be written to, nor {}; set "
                 "TUTTI_NAMES to one that all nodes see",
                 other);
}

// A name may hold anything; a file's may not.
std::string file_of(const std::string& folder, const std::string& service) {
  std::string file = folder + "/";
  for (const char c : service) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '_' || c == '-')
      file += c;
    else
      file += fmt::format("%{:02x}", byte);
  }
  return file;
}

Error check(const std::string& service) {
  if (service.empty()) return failure(MPI_ERR_ARG, "the name of the service is empty (argument service_name)");
  if (service.size() > 80)
    return failure(MPI_ERR_ARG, "the name of the service has {} characters, more than 80 (argument service_name)",
                   service.size());
  return {};
}

// A lock of the file's description, which goes with the last descriptor, however the process ends; it also works
// between the nodes of most network file systems. False: somebody else has it.
bool lock(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

// What stands behind the port in its file: without it the file is not whole.
constexpr char kEnd = '\n';

// The port in a file; none: a full disk, a quota or a network has left nothing or a part of it.
std::optional<std::string> contents(int fd) {
  std::string text(MPI_MAX_PORT_NAME, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (text.size() < 2 || text.back() != kEnd || text.find('\0') != text.npos) return std::nullopt;
  text.pop_back();
  return text;
}

bool write_whole(int fd, const std::string& text) {
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
  // A file system over a network may take what its quota or its disk has no room for, and say so only here.
  return ::fsync(fd) == 0 || errno == EINVAL;
}

}  // namespace

Error publish(const std::string& service, const std::string& port) {
  if (Error e = check(service)) return e;
  if (port.empty() || port.size() >= MPI_MAX_PORT_NAME)
    return failure(MPI_ERR_ARG, "{} is no name of a port (argument port_name)",
                   port.empty() ? "an empty text" : "that");
  Result<std::string> folder = folder_of_names();
  if (!folder) return std::move(folder).error();
  const Lock guard(services().mutex);
  const std::string file = file_of(*folder, service);
  const auto taken = [&] {
    return failure(MPI_ERR_SERVICE, "the service '{}' is published already ({})", service, file);
  };
  if (services().published.contains(service)) return taken();
  // Written whole before it gets its name; whoever was killed has left the name without a lock.
  const std::string fresh = fmt::format("{}.{}", file, random_hex(6));
  const int fd = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failure(MPI_ERR_OTHER, "cannot write {}: {}", fresh, std::strerror(errno));
  const bool whole = lock(fd) && write_whole(fd, port + kEnd);
  const int reason = errno;
  Error problem;
  for (int attempt = 0; whole && !problem && ::link(fresh.c_str(), file.c_str()) != 0; ++attempt) {
    if (errno != EEXIST || attempt == 3) {
      problem = errno == EEXIST ? taken() : failure(MPI_ERR_OTHER, "cannot make {}: {}", file, std::strerror(errno));
      break;
    }
    const int old = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    if (old < 0) continue;
    if (lock(old))
      ::unlink(file.c_str());
    else
      problem = taken();
    ::close(old);
  }
  if (!whole) problem = failure(MPI_ERR_OTHER, "cannot write {}: {}", fresh, std::strerror(reason));
  ::unlink(fresh.c_str());
  if (problem) {
    ::close(fd);
    return problem;
  }
  services().published[service] = {fd, file, port};
  return {};
}

Error unpublish(const std::string& service, const std::string& port) {
  const Lock guard(services().mutex);
  const auto at = services().published.find(service);
  if (at == services().published.end())
    return failure(MPI_ERR_SERVICE, "this process has published no service '{}' (argument service_name)", service);
  if (!port.empty() && port != at->second.port)
    return failure(MPI_ERR_SERVICE, "the service '{}' is published with another port (argument port_name)", service);
  ::unlink(at->second.file.c_str());
  ::close(at->second.fd);
  services().published.erase(at);
  return {};
}

Result<std::string> look_up(const std::string& service) {
  if (Error e = check(service)) return e;
  Result<std::string> folder = folder_of_names();
  if (!folder) return std::move(folder).error();
  const Lock guard(services().mutex);
  const std::string file = file_of(*folder, service);
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  const auto none = [&](std::string_view why) {
    return failure(MPI_ERR_NAME, "no service '{}' is published ({}{})", service, file, why);
  };
  if (fd < 0) return none(": there is no such file");
  // Its own lock stands on another description, so that this process sees it as all others do.
  const bool stale = lock(fd);
  std::optional<std::string> port = contents(fd);
  ::close(fd);
  if (stale) return none(": its publisher has ended");
  if (!port) return none(" holds no whole name of a port: a disk that is full, or a quota? Publish it again");
  return *std::move(port);
}

void unpublish_all() {
  const Lock guard(services().mutex);
  for (const auto& [service, what] : services().published) {
    ::unlink(what.file.c_str());
    ::close(what.fd);
  }
  services().published.clear();
}

}  // namespace tutti::mpi::processes::names
