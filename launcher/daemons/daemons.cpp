// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/daemons.hpp"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "launcher/daemons/protocol.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kGoneTimeout = std::chrono::milliseconds(800);
constexpr auto kGoneTimeoutInVain = std::chrono::milliseconds(150);  // or nobody waits for it
constexpr size_t kMostNewcomers = 256;                               // who have proved nothing yet, at a time
constexpr auto kProofTime = std::chrono::seconds(10);

}  // namespace

Daemons::Daemons(Loop& loop, Reaper& reaper, Cleanup& cleanup, Options options, Events events)
    : loop_(loop), reaper_(reaper), cleanup_(cleanup), options_(std::move(options)), events_(std::move(events)) {}

Daemons::~Daemons() {
  kill_shells();
  for (const auto& shell : shells_)
    for (int fd : {shell->input, shell->output[0], shell->output[1]})
      if (fd >= 0) ::close(fd);
}

Error Daemons::listen() {
  const int zero = 0;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  sockaddr* address = reinterpret_cast<sockaddr*>(&six);
  socklen_t size = sizeof six;
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  const auto cannot = [&fd] {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return failure(MPI_ERR_OTHER, "cannot listen for daemons: {}", why);
  };
  if (fd < 0 || ::bind(fd, address, size) != 0) {  // no IPv6 here
    if (fd >= 0) ::close(fd);
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    address = reinterpret_cast<sockaddr*>(&four);
    size = sizeof four;
    if (fd < 0 || ::bind(fd, address, size) != 0) return cannot();
  }
  sockaddr_in6 bound{};
  size = sizeof bound;
  if (::listen(fd, SOMAXCONN) != 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    return cannot();
  port_ = ntohs(bound.sin6_port);  // at the same place for both families
  acceptor_ = std::make_unique<Acceptor>(
      loop_, fd,
      Acceptor::Events{[this](int newcomer) { accepted(newcomer); }, [this] { return make_room(); },
                       [](const std::string& why) {
                         say(Level::warning,
                             "cannot take the connections of daemons for now: {}; 'ulimit -n' "
                             "tells how many files may be open",
                             why);
                       }});
  return {};
}

// Strangers have nothing to look for here; all that come for the job have come, or it is over.
void Daemons::stop_listening() {
  loop_.post([this] {  // not now: one of them may be calling
    acceptor_.reset();
    newcomers_.clear();
  });
}

// The launcher's time covers the whole tree.
void Daemons::watch_time() {
  if (events_.not_started) return;
  connect_timer_ = loop_.after(options_.connect_timeout, [this] {
    for (auto& [node, daemon] : daemons_)
      if (!daemon->ready && !daemon->dismissed)
        return lose(*daemon, LinkEnd::hung_up,
                    !daemon->reason.empty()
                        ? why_not_started(*daemon, 1)
                        : fmt::format("the daemon on {} has not reported after {:g} s "
                                      "(launch.connect_timeout)",
                                      daemon->name, static_cast<double>(options_.connect_timeout.count()) / 1e9));
  });
}

// Also of a node that was behind a child which could not start it.
void Daemons::enter(const DaemonStart::Node& node, int via, Shell& shell) {
  std::unique_ptr<Daemon>& slot = daemons_[node.number];
  if (!slot) slot = std::make_unique<Daemon>();
  if (slot->shell) {
    std::erase(slot->shell->nodes, node.number);
    if (!slot->dismissed) --daemons_.at(slot->via)->users;
  }
  slot->node = node.number;
  slot->name = node.name;
  slot->shell = &shell;
  slot->via = via;
  slot->reason.clear();
  shell.nodes.push_back(node.number);
  if (!slot->dismissed) ++daemons_.at(via)->users;
}

void Daemons::lose(Daemon& daemon, LinkEnd how, const std::string& sentence) {
  if (daemon.dismissed) return;
  give_up(daemon.node);
  events_.lost(daemon.node, how, sentence);
}

// The watchdog of a node whose daemon is stopped knows by the end of the shell that it is time.
void Daemons::give_up(int node) {
  Daemon& daemon = *daemons_.at(node);
  if (std::exchange(daemon.lost, true)) return;
  dismiss(node);
  Daemon& child = *daemons_.at(daemon.via);
  if (&child != &daemon && child.link) {
    const std::string payload = wire::pack(node);
    child.link->send_packed(Message::give_up, payload);
    traffic_.count(Message::give_up, payload.size());
  }
  if (daemon.shell->pid > 0 && !is_of_use(*daemon.shell)) ::kill(-daemon.shell->pid, SIGKILL);
}

// A daemon proves itself as soon as it is asked. Where all places are taken, strangers who only hold theirs give way: were
// newcomers to wait for the end of a stranger's time, the daemons would stay behind them until the time to start is over.
bool Daemons::make_room() {
  if (newcomers_.size() < kMostNewcomers) return true;
  std::vector<int> numbers;
  std::vector<Newcomer> guests;
  for (const auto& [number, guest] : newcomers_) {
    if (!guest.link) continue;
    numbers.push_back(number);
    guests.push_back(guest.who);
  }
  const std::optional<size_t> leaves = one_too_many(guests);
  if (leaves) newcomers_.erase(numbers[*leaves]);
  return leaves.has_value();
}

void Daemons::accepted(int fd) {
  const int number = next_newcomer_++;
  Guest& newcomer = newcomers_.try_emplace(number, fd).first->second;
  newcomer.link = std::make_unique<Link>(loop_, fd, options_.node_timeout);
  newcomer.challenge = random_hex(16);
  const auto forget = [this, number] { loop_.post([this, number] { newcomers_.erase(number); }); };
  newcomer.patience = loop_.after(kProofTime, forget);
  newcomer.link->attach(
      {[this, number](Message type, std::string_view payload) { return greet(number, type, payload); },
       [this, number, forget](LinkEnd, const std::string& reason) {
         if (const auto at = newcomers_.find(number); at != newcomers_.end()) at->second.why_closed = reason;
         forget();
       }});
  newcomer.link->send(Message::challenge, newcomer.challenge);
}

// A newcomer that proves to be the daemon of a node becomes it; any other one is dropped.
Error Daemons::greet(int number, Message type, std::string_view payload) {
  const auto found = newcomers_.find(number);
  int version = 0, node = 0;
  NodeShape shape;
  std::string nonce, proof;
  const auto stranger = [] { return failure(MPI_ERR_OTHER, "it is none of the daemons"); };
  if (found == newcomers_.end()) return stranger();
  if (!found->second.link) return failure(MPI_ERR_OTHER, "{}", out_of_place(Talk::ready, type));
  if (!may_come(Talk::meeting, Side::daemon, type) || !wire::unpack(payload, version, node, nonce, proof, shape))
    return stranger();
  const std::string& challenge = found->second.challenge;
  const auto daemon = daemons_.find(node);
  if (!same_proof(proof, options_.secret.proof(daemon_claim(challenge, nonce, node))) || daemon == daemons_.end() ||
      daemon->second->via != node || daemon->second->ready || daemon->second->dismissed)
    return stranger();
  Daemon& known = *daemon->second;
  known.link = std::move(found->second.link);
  known.shape = sound(shape);
  known.ready = true;
  known.link->expect_up_to(kLongestMessage);
  const std::string welcome = wire::pack(options_.secret.proof(launcher_claim(challenge, nonce, node)));
  known.link->send_packed(Message::welcome, welcome);
  traffic_.count(Message::challenge, wire::pack(challenge).size());
  traffic_.count(Message::hello, payload.size());
  traffic_.count(Message::welcome, welcome.size());
  loop_.post([this, number, &known] {
    // Not before: this call comes from the handlers that it replaces.
    const auto newcomer = newcomers_.extract(number);
    known.link->attach({[this, &known](Message m, std::string_view bytes) { return hear(known, m, bytes); },
                        [this, &known](LinkEnd how, const std::string& reason) { link_closed(known, how, reason); }});
    if (!known.link->is_open())
      return lose_with_those_behind(known, LinkEnd::hung_up, newcomer ? newcomer.mapped().why_closed : "it hung up");
    if (events_.joined) events_.joined(known.node, known.shape);
    check_ready();
  });
  return {};
}

void Daemons::check_ready() {
  for (const auto& [node, daemon] : daemons_)
    if (!daemon->ready) return;
  if (daemons_.empty() || std::exchange(announced_, true)) return;  // the last two may have come together
  connect_timer_.reset();
  stop_listening();
  if (events_.all_ready) events_.all_ready();
}

// A child that is not needed itself stays as long as those behind it are.
void Daemons::dismiss(int node) {
  Daemon& daemon = *daemons_.at(node);
  Daemon& child = *daemons_.at(daemon.via);
  if (!std::exchange(daemon.dismissed, true)) --child.users;
  if (child.users > 0 || !child.link) return;
  told_.flush();
  child.link->close();
}

void Daemons::dismiss_all(bool hasty, std::function<void()> gone) {
  gone_ = std::move(gone);
  stop_listening();
  bool any_lost = false;
  for (auto& [node, daemon] : daemons_) {
    any_lost = any_lost || daemon->lost;
    dismiss(node);
  }
  for (const auto& shell : shells_) {
    const bool any_ready = std::ranges::any_of(shell->nodes, [this](int node) { return daemons_.at(node)->ready; });
    if (shell->pid > 0 && !any_ready) ::kill(-shell->pid, SIGKILL);
  }
  // srun waits for the lost node, too, and would do so for long.
  const bool in_vain = hasty || (any_lost && options_.by_srun);
  gone_timer_ = loop_.after(in_vain ? kGoneTimeoutInVain : kGoneTimeout, [this] {
    kill_shells();
    if (gone_) std::exchange(gone_, nullptr)();
  });
  check_gone();
}

void Daemons::check_gone() {
  if (!gone_) return;
  if (std::ranges::any_of(shells_, [](const auto& shell) { return shell->pid > 0; })) return;
  std::exchange(gone_, nullptr)();
}

}  // namespace tutti::launcher
