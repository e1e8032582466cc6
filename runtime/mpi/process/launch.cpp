// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/launch.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/config.hpp"
#include "base/os/spawn_words.hpp"
#include "base/process_sets.hpp"
#include "base/spawned.hpp"
#include "mpi/object/process.hpp"
#include "mpi/process/parent.hpp"

extern char** environ;

namespace tutti::mpi::processes {
namespace {

constexpr int kLife = 3;  // the launcher's descriptor of the socket

std::optional<std::string> hint(const Command& command, std::string_view key) {
  for (const auto& [name, value] : command.hints)
    if (name == key) return value;
  return {};
}

// The folders of the hint `path`, in its order, for a program without one of its own.
std::string found_on(const std::string& path, const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    std::string file = path.substr(at, end - at) + "/" + program;
    if (end > at && ::access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return program;
}

Error check_arch(const Command& command) {
  const std::optional<std::string> wanted = hint(command, "arch");
  utsname machine{};
  if (!wanted || ::uname(&machine) != 0 || *wanted == machine.machine) return {};
  return failure(MPI_ERR_SPAWN, "the nodes are {}, and the hint 'arch' wants {}", machine.machine, *wanted);
}

Error add_command(const Command& command, std::vector<std::string>& out) {
  if (Error e = check_arch(command)) return e;
  out.insert(out.end(), {"-n", std::to_string(command.ranks)});
  if (const auto hosts = hint(command, "host")) out.insert(out.end(), {"--host", *hosts});
  if (const auto folder = hint(command, "wdir")) out.insert(out.end(), {"--wdir", *folder});
  if (const auto variables = hint(command, "env")) {
    for (size_t at = 0; at < variables->size();) {
      const size_t end = std::min(variables->find('\n', at), variables->size());
      if (end > at) out.insert(out.end(), {"-x", variables->substr(at, end - at)});
      at = end + 1;
    }
  }
  const auto handler = hint(command, "mpi_initial_errhandler");
  constexpr std::string_view kHandlers[] = {"mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"};
  if (handler && std::ranges::find(kHandlers, *handler) == std::end(kHandlers))
    return failure(MPI_ERR_SPAWN, "the hint 'mpi_initial_errhandler' is '{}', and not one of {}", *handler,
                   fmt::join(kHandlers, ", "));
  if (handler) out.insert(out.end(), {"-x", fmt::format("{}={}", kInitialErrhandlerVariable, *handler)});
  const auto path = hint(command, "path");
  out.insert(out.end(), {"--", path ? found_on(*path, command.program) : command.program});
  for (const std::string& argument : command.arguments) {
    if (argument == ":")
      return failure(MPI_ERR_ARG, "an argument of '{}' is ':', which separates programs", command.program);
    out.push_back(argument);
  }
  return {};
}

std::vector<std::string> environment_for(const std::string& port) {
  std::vector<std::string> out;
  for (char** each = environ; *each; ++each)
    if (!is_of_one_job(*each)) out.emplace_back(*each);
  out.push_back(fmt::format("{}={}", kParentVariable, port));
  out.push_back(fmt::format("TUTTI_PARENT_SOCKET={}", kLife));
  return out;
}

}  // namespace

Result<std::vector<std::string>> launcher_arguments(const std::vector<Command>& commands, const std::string& nodes) {
  std::vector<std::string> out;
  if (process().survivor) out.emplace_back("--on-failure=continue");
  bool placed = false;
  // Those of the whole job: of several, the first that says something.
  const std::pair<const char*, const char*> whole[] = {
      {"hostfile", "--hostfile"}, {"map_by", "--map-by"}, {"bind_to", "--bind-to"}};
  for (const auto& [key, option] : whole)
    for (const Command& command : commands)
      if (const auto value = hint(command, key)) {
        out.insert(out.end(), {option, *value});
        placed |= std::string_view(key) == "hostfile";
        break;
      }
  for (const Command& command : commands) placed |= hint(command, "host").has_value();
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i > 0) out.emplace_back(":");
    if (!placed && !nodes.empty()) out.insert(out.end(), {nodes.starts_with('/') ? "--hostfile" : "--host", nodes});
    if (Error e = add_command(commands[i], out)) return e;
  }
  return out;
}

Result<Launched> start_launcher(const std::vector<std::string>& arguments, const std::string& port) {
  const std::filesystem::path launcher = installation_root() / "bin/mpirun";
  if (::access(launcher.c_str(), X_OK) != 0)
    return failure(MPI_ERR_SPAWN, "there is no launcher that could start processes: {} is missing or not executable",
                   launcher.native());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failure(MPI_ERR_SPAWN, "cannot make a socket: {}", std::strerror(errno));
  Socket mine(ends[0]), theirs(ends[1]);
  std::vector<std::string> words{launcher.native()}, variables = environment_for(port);
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);

  SpawnActions how;
  ::posix_spawn_file_actions_addopen(&how.files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&how.files, theirs.fd(), kLife);
  how.close_from(kLife + 1);
  // A session of its own: what ends this rank's process group is not to take the launcher before it has cleaned up.
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&how.attributes, &none);
  ::posix_spawnattr_setsigdefault(&how.attributes, &all);
  ::posix_spawnattr_setflags(&how.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  Launched launched;
  const int problem =
      ::posix_spawn(&launched.pid, launcher.c_str(), &how.files, &how.attributes, argv.data(), envp.data());
  if (problem != 0) return failure(MPI_ERR_SPAWN, "cannot start {}: {}", launcher.native(), std::strerror(problem));
  launched.life = std::move(mine);
  return launched;
}

std::string last_words(const Launched& launched) {
  std::string text;
  char some[1024];
  for (;;) {
    const ssize_t n = ::read(launched.life.fd(), some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(some, static_cast<size_t>(n));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace tutti::mpi::processes
