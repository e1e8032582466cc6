// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/daemons.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kGoneTimeout = std::chrono::milliseconds(800);
constexpr auto kGoneTimeoutInVain = std::chrono::milliseconds(150);  // or nobody waits for it

}  // namespace

Daemons::Daemons(Loop& loop, Reaper& reaper, Cleanup& cleanup, Options options, Events events)
    : loop_(loop),
      reaper_(reaper),
      cleanup_(cleanup),
      options_(std::move(options)),
      events_(std::move(events)),
      reception_(loop, options_.secret, options_.node_timeout, traffic_,
                 {.is_awaited = [this](int node, int epoch) { return is_awaited(node, epoch); },
                  .proven = [this](int node, int epoch, std::unique_ptr<Link> link,
                                   const NodeShape& shape) { admit(node, epoch, std::move(link), shape); }}),
      vigil_({options_.heartbeat}),
      lineage_({options_.heartbeat}) {}

Daemons::~Daemons() {
  kill_shells();
  for (const auto& shell : shells_)
    for (int fd : {shell->input, shell->output[0], shell->output[1]})
      if (fd >= 0) ::close(fd);
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
  if (healing_) return cut_off(daemon);
  dismiss(node);
  Daemon& child = *daemons_.at(daemon.via);
  if (&child != &daemon && child.link) {
    const std::string payload = wire::pack(node);
    child.link->send_packed(Message::give_up, payload);
    traffic_.count(Message::give_up, payload.size());
  }
  if (daemon.shell->pid > 0 && !is_of_use(*daemon.shell)) ::kill(-daemon.shell->pid, SIGKILL);
}

bool Daemons::is_awaited(int node, int epoch) const {
  const auto daemon = daemons_.find(node);
  if (epoch > 0)
    return healing_ && !gone_ && daemon != daemons_.end() && !daemon->second->lost && epoch > daemon->second->epoch;
  return daemon != daemons_.end() && daemon->second->via == node && !daemon->second->ready &&
         !daemon->second->dismissed;
}

void Daemons::admit(int node, int epoch, std::unique_ptr<Link> link, const NodeShape& shape) {
  Daemon& known = *daemons_.at(node);
  if (epoch > 0) return readmit(known, epoch, std::move(link));
  known.link = std::move(link);
  known.shape = shape;
  known.ready = true;
  known.link->attach({[this, &known](Message m, std::string_view bytes) { return hear(known, m, bytes); },
                      [this, &known](LinkEnd how, const std::string& reason) { link_closed(known, how, reason); }});
  lineage_.place(node, options_.node);
  if (events_.joined) events_.joined(known.node, known.shape, options_.node);
  check_ready();
}

void Daemons::check_ready() {
  for (const auto& [node, daemon] : daemons_)
    if (!daemon->ready) return;
  if (daemons_.empty() || std::exchange(announced_, true)) return;  // the last two may have come together
  connect_timer_.reset();
  if (!heals()) reception_.close();
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

void Daemons::dismiss_all(bool hasty, std::function<void()> gone, bool deserted) {
  gone_ = std::move(gone);
  look_.reset();
  for (auto& [node, daemon] : daemons_) {
    if (!healing_ || !daemon->link) continue;
    if (!deserted) daemon->link->send(Message::depart);
    daemon->link->close();
  }
  reception_.close();
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
