// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/family/kin_launcher.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/os/spawn_words.hpp"
#include "base/spawned.hpp"

namespace tutti::launcher {
namespace {

class Pair {
 public:
  Pair() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pair() {
    for (const int fd : ends_)
      if (fd >= 0) ::close(fd);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  explicit operator bool() const { return ends_[0] >= 0; }
  int theirs() const { return ends_[1]; }
  int take_ours() { return std::exchange(ends_[0], -1); }

 private:
  int ends_[2];
};

// A descriptor that is out of the way of those that the new process has; -1: none is left.
int out_of_the_way(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, kWordsFd + 1);
}

}  // namespace

Result<KinLauncher> start_kin_launcher(const std::vector<std::string>& arguments, std::vector<std::string> environment,
                                       const std::string& spawned_by) {
  Pair kin, words;
  const int kin_end = kin ? out_of_the_way(kin.theirs()) : -1, words_end = words ? out_of_the_way(words.theirs()) : -1;
  SpawnActions how;
  std::vector<std::string> command{"mpirun"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::erase_if(environment, is_of_one_job);
  environment.push_back(std::string(kSpawnedByVariable) + "=" + spawned_by);
  const std::vector<char*> argv = pointers_to(command), envp = pointers_to(environment);

  ::posix_spawn_file_actions_addopen(&how.files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&how.files, kin_end, kKinFd);
  ::posix_spawn_file_actions_adddup2(&how.files, words_end, kWordsFd);
  how.close_from(kWordsFd + 1);
  // A session of its own: what a terminal sends is for the first launcher, which ends the others.
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&how.attributes, &none);
  ::posix_spawnattr_setsigdefault(&how.attributes, &all);
  ::posix_spawnattr_setflags(&how.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  KinLauncher out;
  const int problem = kin_end < 0 || words_end < 0 ? errno
                                                   : ::posix_spawn(&out.pid, "/proc/self/exe", &how.files,
                                                                   &how.attributes, argv.data(), envp.data());
  for (const int fd : {kin_end, words_end})
    if (fd >= 0) ::close(fd);
  if (problem != 0) return failure(MPI_ERR_SPAWN, "another launcher cannot be started: {}", std::strerror(problem));
  out.kin = kin.take_ours();
  out.words = words.take_ours();
  return out;
}

std::string words_from(int fd) {
  std::string text;
  char some[1024];
  for (;;) {
    const ssize_t n = ::recv(fd, some, sizeof some, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(some, static_cast<size_t>(n));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace tutti::launcher
