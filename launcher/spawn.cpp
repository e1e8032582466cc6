// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/signals.hpp"
#include "launcher/limits.hpp"
#include "launcher/program_file.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

std::string joined(const std::string& folder, const std::string& name) {
  return name.starts_with('/') || folder.empty() ? name : folder + "/" + name;
}

bool is_file(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// The first folder on the way to a file that may not be searched; empty: there is none. Leaves errno as it was.
std::string closed_folder(const std::string& path) {
  const int before = errno;
  std::string out;
  for (size_t at = path.find('/', 1); out.empty() && at != path.npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    struct stat info;
    if (::stat(folder.c_str(), &info) != 0) break;
    if (S_ISDIR(info.st_mode) && ::access(folder.c_str(), X_OK) != 0 && errno == EACCES) out = folder;
  }
  errno = before;
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct Pipes {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  ~Pipes() {
    for (int fd : {in[0], in[1], out[0], out[1], err[0], err[1]})
      if (fd >= 0) ::close(fd);
  }
};

struct Prepared {
  const char* path;
  char** argv;
  char** envp;
  const char* folder;
  const cpu_set_t* processors;
  int in, out, err;
  int failures, tag;
  pid_t parent;
  rlimit files;
};

// Where a child keeps its end of the pipe of failures until it has become its program.
constexpr int kFailures = 3;

[[noreturn]] void give_up(const Prepared& p, SpawnFailure::Step step) {
  const SpawnFailure failure{p.tag, step, errno};
  if (::write(kFailures, &failure, sizeof failure) < 0) ::_exit(125);
  ::_exit(127);
}

// In a child that has its parent's memory: nothing but system calls.
[[noreturn]] void become(const Prepared& p) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.parent) ::_exit(125);
  ::dup2(p.in, 0);
  ::dup2(p.out, 1);
  ::dup2(p.err, 2);
  // What libraries or our own parent have opened is not for the child; PMIx's connections to the
  // ranks that came before it are not even marked to close.
  if (p.failures == kFailures)
    ::fcntl(kFailures, F_SETFD, FD_CLOEXEC);
  else
    ::dup3(p.failures, kFailures, O_CLOEXEC);
  close_from(kFailures + 1);
  ::setrlimit(RLIMIT_NOFILE, &p.files);
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (*p.folder && ::chdir(p.folder) != 0) give_up(p, SpawnFailure::folder);
  if (p.processors && ::sched_setaffinity(0, sizeof *p.processors, p.processors) != 0)
    give_up(p, SpawnFailure::bind);
  ::execve(p.path, p.argv, p.envp);
  give_up(p, SpawnFailure::execute);
}

int run_child(void* prepared) { become(*static_cast<const Prepared*>(prepared)); }

// As fork() would, but in the memory of this process, which stands still until the child has become its program: what
// a copy of it costs grows with what the launcher knows of the ranks that it has started before.
pid_t start_child(const Prepared& prepared) {
#ifdef __SANITIZE_THREAD__  // it keeps books of this process's handlers, which are not the child's
  const pid_t child = ::fork();
  if (child == 0) become(prepared);
  return child;
#endif
  constexpr size_t kStack = 64 << 10;
  const auto stack = std::make_unique_for_overwrite<std::byte[]>(kStack);
  return ::clone(run_child, stack.get() + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, const_cast<Prepared*>(&prepared));
}

}  // namespace

std::string no_folder(const std::string& folder, int error_number) {
  return fmt::format("folder {}: {}; --wdir chooses another", folder, std::strerror(error_number));
}

Program find_program(const std::string& name, const std::string& search_path,
                     const std::string& folder) {
  const auto judge = [&](const std::string& path) -> Program {
    if (::access(path.c_str(), X_OK) == 0 && is_file(path)) return {path, 0, ""};
    if (const std::string closed = closed_folder(path); !closed.empty())
      return {"", 126, fmt::format("{} cannot be reached: you may not search the folder {}", path, closed)};
    if (errno == EACCES || is_file(path)) {
      const std::string source = what_to_do_with_source(path);
      return {"", 126,
              source.empty() ? fmt::format("{} is not executable; 'chmod +x' makes it so", path)
                             : fmt::format("{} {}", path, source)};
    }
    struct stat info;
    if (::stat(path.c_str(), &info) == 0) return {"", 126, fmt::format("{} is a folder", path)};
    return {"", 127, fmt::format("there is no {}", path)};
  };
  if (name.find('/') != name.npos) {
    Program found = judge(joined(folder, name));
    struct stat info;
    if (found.exit_code == 127 && !name.starts_with('/') && !folder.empty() &&
        ::stat(folder.c_str(), &info) != 0)
      return {"", 1, no_folder(folder, errno)};
    return found;
  }
  Program denied;
  for (size_t at = 0; at <= search_path.size();) {
    const size_t end = std::min(search_path.find(':', at), search_path.size());
    const std::string place = search_path.substr(at, end - at);
    const std::string path = joined(folder, (place.empty() ? "." : place) + "/" + name);
    if (is_file(path)) {
      Program found = judge(path);
      if (!found.path.empty()) return found;
      denied = std::move(found);
    }
    at = end + 1;
  }
  if (denied.exit_code) return denied;
  const bool here = is_file(joined(folder, name));
  if (const std::string source = what_to_do_with_source(name); here && !source.empty())
    return {"", 126, fmt::format("{} {}", name, source)};
  return {"", 127,
          fmt::format("there is no '{}' on the PATH{}", name,
                      here ? fmt::format("; the one in the current folder is './{}'", name) : "")};
}

Result<Child> spawn(const SpawnRequest& request, int failures) {
  Pipes pipes;
  const auto cannot = [&](const char* what) {
    const int problem = errno;
    return failure(MPI_ERR_OTHER, "cannot {}: {}{}", what, std::strerror(problem),
                   advice_on(problem));
  };
  if (::pipe2(pipes.out, O_CLOEXEC) != 0 || ::pipe2(pipes.err, O_CLOEXEC) != 0)
    return cannot("make a pipe for a rank's output");
  if (request.wants_input ? ::pipe2(pipes.in, O_CLOEXEC) != 0
                          : (pipes.in[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
    return cannot("make a rank's standard input");
  std::vector<char*> argv = pointers(request.command), envp = pointers(request.environment);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int cpu : request.processors)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &processors);
  const Prepared prepared{request.path.c_str(),
                          argv.data(),
                          envp.data(),
                          request.folder.c_str(),
                          request.processors.empty() ? nullptr : &processors,
                          pipes.in[0],
                          pipes.out[1],
                          pipes.err[1],
                          failures,
                          request.tag,
                          ::getpid(),
                          users_file_limit()};
  Child child;
  {
    const SignalsBlocked
        none;  // one that met the child before its exec would run our handlers there
    child.pid = start_child(prepared);
  }
  if (child.pid < 0) return cannot("start a process");
  ::setpgid(child.pid, child.pid);  // as the child does: whoever comes first
  child.out = std::exchange(pipes.out[0], -1);
  child.err = std::exchange(pipes.err[0], -1);
  child.in = std::exchange(pipes.in[1], -1);
  for (int fd : {child.in, child.out, child.err})
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return child;
}

}  // namespace tutti::launcher
