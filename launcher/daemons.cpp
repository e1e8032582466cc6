// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/config.hpp"
#include "base/log.hpp"
#include "mpi.h"

extern char** environ;

namespace tutti::launcher {
namespace {

constexpr auto kGoneTimeout = std::chrono::milliseconds(800);
constexpr size_t kMostNewcomers = 1024;  // strangers that connect and say nothing

// The daemon stands beside the command in a build, and in libexec of an installation.
Result<std::string> daemon_path() {
  const auto root = installation_root();
  for (const char* place : {"libexec/tutti/tuttid", "bin/tuttid"})
    if (::access((root / place).c_str(), X_OK) == 0) return (root / place).string();
  return failure(MPI_ERR_FILE, "the daemon tuttid is missing in {}/libexec/tutti", root.string());
}

std::vector<std::string> shell_command(const std::string& rsh, const std::string& host,
                                       const std::string& daemon, int timeout_seconds) {
  std::vector<std::string> out;
  std::istringstream words(rsh);
  for (std::string word; words >> word;) out.push_back(word);
  // Nobody can type a password into many shells at once; say so instead of waiting.
  if (out.size() == 1 && out[0] == "ssh")
    out.insert(out.end(), {"-x", "-T", "-o", "BatchMode=yes", "-o",
                           fmt::format("ConnectTimeout={}", timeout_seconds)});
  out.push_back(host);
  out.push_back("exec " + quoted(daemon));
  return out;
}

}  // namespace

Daemons::Daemons(Loop& loop, Reaper& reaper, Cleanup& cleanup, Options options, Events events)
    : loop_(loop),
      reaper_(reaper),
      cleanup_(cleanup),
      options_(std::move(options)),
      events_(std::move(events)) {}

Daemons::~Daemons() {
  for (auto& [node, daemon] : daemons_) {
    if (daemon->shell > 0) ::kill(-daemon->shell, SIGKILL);
    for (int fd : {daemon->input, daemon->output[0], daemon->output[1]})
      if (fd >= 0) ::close(fd);
  }
  if (listener_ >= 0) ::close(listener_);
}

Error Daemons::listen() {
  const int one = 1, zero = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  sockaddr* address = reinterpret_cast<sockaddr*>(&six);
  socklen_t size = sizeof six;
  listener_ = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ >= 0) {
    ::setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  }
  if (listener_ < 0 || ::bind(listener_, address, size) != 0) {  // no IPv6 here
    if (listener_ >= 0) ::close(listener_);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    address = reinterpret_cast<sockaddr*>(&four);
    size = sizeof four;
    if (listener_ < 0 || ::bind(listener_, address, size) != 0)
      return failure(MPI_ERR_OTHER, "cannot listen for daemons: {}", std::strerror(errno));
  }
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in6 bound{};
  size = sizeof bound;
  if (::listen(listener_, SOMAXCONN) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return failure(MPI_ERR_OTHER, "cannot listen for daemons: {}", std::strerror(errno));
  port_ = ntohs(bound.sin6_port);  // at the same place for both families
  listener_watch_ = loop_.readable(listener_, [this] { accept_one(); });
  return {};
}

Error Daemons::start(const std::vector<Host>& hosts) {
  if (Error e = listen()) return e;
  for (size_t n = 0; n < hosts.size(); ++n)
    if (!hosts[n].own)
      if (Error e = start_one(hosts[n], static_cast<int>(n))) return e;
  connect_timer_ = loop_.after(options_.connect_timeout, [this] {
    for (auto& [node, daemon] : daemons_)
      if (!daemon->ready && !daemon->dismissed)
        return lose(*daemon,
                    fmt::format("the daemon on {} has not reported after {} s "
                                "(launch.connect_timeout)",
                                daemon->name, options_.connect_timeout.count() / 1'000'000'000));
  });
  return {};
}

Error Daemons::start_one(const Host& host, int node) {
  Result<std::string> path = daemon_path();
  if (!path) return std::move(path).error();
  SpawnRequest request;
  request.command =
      shell_command(options_.rsh, host.name, *path,
                    static_cast<int>(options_.connect_timeout.count() / 1'000'000'000) + 1);
  const char* search = ::getenv("PATH");
  const Program shell = find_program(request.command[0], search ? search : "/usr/bin:/bin", "");
  if (shell.path.empty())
    return failure(MPI_ERR_OTHER, "cannot reach {}: {} (launch.rsh is '{}')", host.name,
                   shell.problem, options_.rsh);
  request.path = shell.path;
  for (char** entry = environ; *entry; ++entry) request.environment.emplace_back(*entry);
  request.wants_input = true;
  Result<Child> child = spawn(request, STDERR_FILENO);
  if (!child) return std::move(child).error();

  auto& daemon = *(daemons_[node] = std::make_unique<Daemon>());
  daemon.node = node;
  daemon.name = host.name;
  daemon.shell = child->pid;
  daemon.input = child->in;
  daemon.output[0] = child->out;
  daemon.output[1] = child->err;
  cleanup_.group_started(daemon.shell);
  reaper_.expect(daemon.shell, [this, &daemon](int status) { shell_ended(daemon, status); });
  for (int i = 0; i < 2; ++i)
    daemon.output_watch[i] =
        loop_.readable(daemon.output[i], [this, &daemon, i] { read_words(daemon, i); });
  DaemonStart start{
      options_.job_id,       host.name, node, port_, own_addresses(), options_.connect_timeout,
      options_.node_timeout, secret_};
  start.addresses.push_back("127.0.0.1");  // for a node that shares our network
  daemon.start_text = write_start(start);
  feed(daemon);
  return {};
}

void Daemons::feed(Daemon& daemon) {
  while (!daemon.start_text.empty()) {
    const ssize_t n = ::write(daemon.input, daemon.start_text.data(), daemon.start_text.size());
    if (n > 0) {
      daemon.start_text.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      if (!daemon.input_watch)
        daemon.input_watch = loop_.writable(daemon.input, [this, &daemon] { feed(daemon); });
      return;
    } else if (errno != EINTR) {
      daemon.start_text.clear();  // the shell has ended, and will say why
    }
  }
  daemon.input_watch.reset();
  ::close(std::exchange(daemon.input, -1));
}

// What the remote shell or the daemon says on its streams, before there is a link.
void Daemons::read_words(Daemon& daemon, int index) {
  char bytes[4096];
  for (;;) {
    const ssize_t n = ::read(daemon.output[index], bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    std::string lines = n > 0 ? daemon.lines[index].add({bytes, static_cast<size_t>(n)})
                              : daemon.lines[index].take_rest();
    std::istringstream each(lines);
    for (std::string line; std::getline(each, line);) {
      while (!line.empty() && line.back() == '\r') line.pop_back();
      if (!line.empty() && !daemon.dismissed) say(Level::note, "[{}] {}", daemon.name, line);
    }
    if (n > 0) continue;
    daemon.output_watch[index].reset();
    ::close(std::exchange(daemon.output[index], -1));
    return;
  }
}

void Daemons::shell_ended(Daemon& daemon, int wait_status) {
  cleanup_.group_ended(daemon.shell);
  daemon.shell = -1;
  for (int i = 0; i < 2; ++i)
    if (daemon.output[i] >= 0) read_words(daemon, i);
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  if (!daemon.ready && !daemon.dismissed) {
    const std::string& command = options_.rsh;
    lose(daemon,
         code == 127 || code == 126
             ? fmt::format("there is no tuttid on {} at the place where it is here; install "
                           "Tutti at the same path on all nodes",
                           daemon.name)
             : fmt::format("cannot start the daemon on {}: {} ended with code {}; does "
                           "'{} {} true' work without a password?",
                           daemon.name, command, code, command, daemon.name));
  }
  check_gone();
}

void Daemons::lose(Daemon& daemon, const std::string& sentence) {
  if (std::exchange(daemon.dismissed, true)) return;
  if (daemon.link) daemon.link->close();
  if (daemon.shell > 0) ::kill(-daemon.shell, SIGKILL);
  events_.lost(daemon.node, sentence);
}

void Daemons::accept_one() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (newcomers_.size() >= kMostNewcomers) {
    ::close(fd);
    return;
  }
  const int number = next_newcomer_++;
  Newcomer& newcomer = newcomers_[number];
  newcomer.link = std::make_unique<Link>(loop_, fd, options_.node_timeout);
  newcomer.challenge = random_hex(16);
  const auto forget = [this, number] { loop_.post([this, number] { newcomers_.erase(number); }); };
  newcomer.link->attach({[this, number](Message type, std::string_view payload) {
                           return greet(number, type, payload);
                         },
                         [forget](const std::string&) { forget(); }});
  newcomer.link->send(Message::challenge, newcomer.challenge);
}

// A newcomer that proves to be the daemon of a node becomes it; any other one is dropped.
bool Daemons::greet(int number, Message type, std::string_view payload) {
  const auto found = newcomers_.find(number);
  if (found == newcomers_.end()) return false;
  int version = 0, node = 0, cores = 0;
  std::string nonce, proof;
  if (type != Message::hello || !wire::unpack(payload, version, node, nonce, proof, cores))
    return false;
  const std::string& challenge = found->second.challenge;
  const auto daemon = daemons_.find(node);
  if (!same_proof(proof, secret_.proof(daemon_claim(challenge, nonce, node))) ||
      daemon == daemons_.end() || daemon->second->ready || daemon->second->dismissed)
    return false;
  Daemon& known = *daemon->second;
  known.link = std::move(found->second.link);
  known.cores = std::max(1, cores);
  known.ready = true;
  known.link->send(Message::welcome, secret_.proof(launcher_claim(challenge, nonce, node)));
  loop_.post([this, number] { newcomers_.erase(number); });
  loop_.post([this, &known] {
    // Not before: this call comes from the handlers that it replaces.
    known.link->attach(
        {[this, &known](Message m, std::string_view bytes) {
           return events_.message(known.node, m, bytes);
         },
         [this, &known](const std::string& reason) {
           if (known.dismissed) return;
           lose(known, fmt::format("node {} is lost: {}; the job ends", known.name, reason));
         }});
    if (!known.link->is_open()) return lose(known, fmt::format("node {} is lost", known.name));
    check_ready();
  });
  return true;
}

void Daemons::check_ready() {
  for (const auto& [node, daemon] : daemons_)
    if (!daemon->ready) return;
  if (std::exchange(announced_, true)) return;  // the last two may have come together
  connect_timer_.reset();
  events_.all_ready();
}

void Daemons::dismiss(int node) {
  Daemon& daemon = *daemons_.at(node);
  daemon.dismissed = true;
  if (daemon.link) daemon.link->close();
}

void Daemons::dismiss_all(std::function<void()> gone) {
  gone_ = std::move(gone);
  for (auto& [node, daemon] : daemons_) {
    if (!daemon->ready && daemon->shell > 0) ::kill(-daemon->shell, SIGKILL);
    dismiss(node);
  }
  gone_timer_ = loop_.after(kGoneTimeout, [this] {
    for (auto& [node, daemon] : daemons_)
      if (daemon->shell > 0) ::kill(-daemon->shell, SIGKILL);
    if (gone_) std::exchange(gone_, nullptr)();
  });
  check_gone();
}

void Daemons::check_gone() {
  if (!gone_) return;
  for (const auto& [node, daemon] : daemons_)
    if (daemon->shell > 0) return;
  std::exchange(gone_, nullptr)();
}

}  // namespace tutti::launcher
