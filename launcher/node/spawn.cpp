// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/node/spawn.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <utility>

#include "base/mutex.hpp"
#include "base/signals.hpp"
#include "launcher/node/limits.hpp"
#include "launcher/node/program_file.hpp"
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

// All that a child needs between its beginning and its program, and lives as long: where a file system does not answer,
// or somebody stops the child, the launcher goes on before.
struct Prepared {
  SpawnRequest request;
  std::vector<char*> argv, envp;
  cpu_set_t processors;
  int in = -1, out = -1, err = -1,
      failures = -1;  // numbers; the child has had descriptors of its own since its beginning
  pid_t parent = -1;
  rlimit files{};
};

// Where a child keeps its end of the pipe of failures until it has become its program.
constexpr int kFailures = 3;

[[noreturn]] void give_up(const Prepared& p, SpawnFailure::Step step) {
  const SpawnFailure failure{p.request.tag, step, errno};
  if (::write(kFailures, &failure, sizeof failure) < 0) ::_exit(125);
  ::_exit(127);
}

// In a child that has its parent's memory, where other threads run on: nothing but system calls.
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
  const SpawnRequest& request = p.request;
  if (!request.folder.empty() && ::chdir(request.folder.c_str()) != 0) give_up(p, SpawnFailure::folder);
  if (!request.processors.empty() && ::sched_setaffinity(0, sizeof p.processors, &p.processors) != 0)
    give_up(p, SpawnFailure::bind);
  ::execve(request.path.c_str(), p.argv.data(), p.envp.data());
  give_up(p, SpawnFailure::execute);
}

int run_child(void* prepared) {
  become(*static_cast<const Prepared*>(prepared));
}

// As fork() would, but in the memory of this process, whose calling thread stands still until the child has become its
// program: what a copy of it costs grows with what the launcher knows of the ranks that it has started before. The
// child's number is in `pid` as soon as there is one; the result is that or -1.
pid_t start_child(const Prepared& prepared, std::byte* end_of_stack, std::atomic<pid_t>& pid) {
#ifdef __SANITIZE_THREAD__  // it keeps books of this process's handlers, which are not the child's
  const pid_t child = ::fork();
  if (child == 0) become(prepared);
  return child;
#endif
  static_assert(sizeof pid == sizeof(pid_t) && std::atomic<pid_t>::is_always_lock_free);
  return ::clone(run_child, end_of_stack, CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD,
                 const_cast<Prepared*>(&prepared), reinterpret_cast<pid_t*>(&pid));
}

// One start, from the call to the program. Shared by the loop's thread, which may go on before, and a starter.
struct Starting {
  static constexpr size_t kStack = 64 << 10;
  Prepared prepared;
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStack);  // the child's
  std::atomic<pid_t> pid{-1};  // of the child; the kernel writes it before the child takes its first step
  std::shared_ptr<std::atomic<bool>> begun = std::make_shared<std::atomic<bool>>(false);
  int error_number = 0;  // of no child at all; with `begun`
};

// Threads that start children: the kernel lets a thread stand still until its child has become its program, and the
// loop's must not. They live as long as the process, for a child gets its parent-death signal at the end of the thread
// that has started it. There is one, and one more for each child that is stuck on its way.
class Starters {
 public:
  static Starters& all() {
    static Starters& starters = *new Starters;  // its threads outlive everything
    return starters;
  }

  // Returns when the child has become its program, or has been on its way for so long.
  Error run(const std::shared_ptr<Starting>& start, std::chrono::milliseconds patience) {
    const Lock lock(mutex_);
    if (idle_ < threads_)
      patience = std::min(patience, kShortPatience);  // one is stuck, and this one may be of its kind
    if (idle_ > 0)
      --idle_;
    else if (Error e = add_thread())
      return e;
    waiting_.push_back(start);
    work_.notify_one();
    const auto is_over = [&] { return start->begun->load(); };
    const auto late = std::chrono::steady_clock::now() + patience;
    while (!is_over() && done_.wait_until(mutex_, late)) {
    }
    // It needs our ends of its pipes until there is a child, of which nobody tells, and which waits for no file system.
    while (!is_over() && start->pid.load() < 0)
      done_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(2));
    return {};
  }

 private:
  static constexpr std::chrono::milliseconds kShortPatience{5};

  Error add_thread() TUTTI_REQUIRES(mutex_) {
    const SignalsBlocked none;  // for ever: one that met a child before its exec would run our handlers there
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    ::pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_t thread;
    const auto serve = [](void* self) -> void* { static_cast<Starters*>(self)->serve(); };
    const int problem = ::pthread_create(&thread, &attributes, serve, this);
    ::pthread_attr_destroy(&attributes);
    if (problem == 0) return ++threads_, Error();
    return failure(MPI_ERR_OTHER, "cannot start a thread: {}{}", std::strerror(problem), advice_on(problem));
  }

  [[noreturn]] void serve() {
    const Lock lock(mutex_);
    for (;;) {
      while (waiting_.empty()) work_.wait(mutex_);
      const std::shared_ptr<Starting> start = std::move(waiting_.front());
      waiting_.pop_front();
      pid_t child;
      int problem;
      {
        const Unlocked meanwhile(mutex_);
        child = start_child(start->prepared, start->stack.get() + Starting::kStack, start->pid);
        problem = errno;
      }
      if (child < 0) start->error_number = problem;
      start->pid = child;
      *start->begun = true;
      ++idle_;
      done_.notify_all();
    }
  }

  Mutex mutex_;
  ConditionVariable work_, done_;
  std::deque<std::shared_ptr<Starting>> waiting_ TUTTI_GUARDED_BY(mutex_);
  int threads_ TUTTI_GUARDED_BY(mutex_) = 0;
  int idle_ TUTTI_GUARDED_BY(mutex_) = 0;  // those that nobody has given a start
};

// What a start may take before the loop goes on without it. Most take a millisecond.
constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

std::string no_folder(const std::string& folder, int error_number) {
  return fmt::format("folder {}: {}; --wdir chooses another", folder, std::strerror(error_number));
}

Program find_program(const std::string& name, const std::string& search_path, const std::string& folder) {
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
    if (found.exit_code == 127 && !name.starts_with('/') && !folder.empty() && ::stat(folder.c_str(), &info) != 0)
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

Result<Child> spawn(SpawnRequest request, int failures) {
  const auto start = std::make_shared<Starting>();
  Prepared& prepared = start->prepared;
  Pipes pipes;
  const auto cannot = [&](const char* what, int problem) {
    return failure(MPI_ERR_OTHER, "cannot {}: {}{}", what, std::strerror(problem), advice_on(problem));
  };
  if (::pipe2(pipes.out, O_CLOEXEC) != 0 || ::pipe2(pipes.err, O_CLOEXEC) != 0)
    return cannot("make a pipe for a rank's output", errno);
  if (request.wants_input ? ::pipe2(pipes.in, O_CLOEXEC) != 0
                          : (pipes.in[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
    return cannot("make a rank's standard input", errno);
  prepared.request = std::move(request);
  prepared.argv = pointers(prepared.request.command);
  prepared.envp = pointers(prepared.request.environment);
  CPU_ZERO(&prepared.processors);
  for (int cpu : prepared.request.processors)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &prepared.processors);
  prepared.in = pipes.in[0];
  prepared.out = pipes.out[1];
  prepared.err = pipes.err[1];
  prepared.failures = failures;
  prepared.parent = ::getpid();
  prepared.files = users_file_limit();
  if (Error e = Starters::all().run(start, kPatience)) return e;
  Child child;
  child.pid = start->pid;
  if (child.pid < 0) return cannot("start a process", start->error_number);
  child.begun = start->begun;
  ::setpgid(child.pid, child.pid);  // as the child does: whoever comes first
  child.out = std::exchange(pipes.out[0], -1);
  child.err = std::exchange(pipes.err[0], -1);
  child.in = std::exchange(pipes.in[1], -1);
  for (int fd : {child.in, child.out, child.err})
    if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return child;
}

}  // namespace tutti::launcher
