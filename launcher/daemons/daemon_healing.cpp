// SPDX-License-Identifier: BSD-3-Clause
// The tree of daemons where the job goes on without nodes that fail: what lineage.hpp's machines want, by links. A daemon
// knows who is directly below it and no more; the launcher knows all places, and writes on each letter whom it passes.
#include <signal.h>

#include <algorithm>

#include "base/log.hpp"
#include "launcher/daemons/daemons.hpp"
#include "launcher/daemons/protocol.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

Moment now() {
  return std::chrono::steady_clock::now();
}

Error senseless(Message type) {
  return failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
}

}  // namespace

// Those that are dismissed, and have nobody behind them that is not, have no link any more.
void Daemons::heal() {
  if (!heals() || healing_) return;
  healing_ = true;
  look_ = loop_.every(Pace{options_.heartbeat}.look(), [this] { look_at_all(); });
  if (!is_launcher()) return;
  for (const auto& [node, daemon] : daemons_)
    if (daemons_.at(daemon->via)->users > 0) write(node, Message::watch, "");
}

void Daemons::look_at_all() {
  for (const int child : vigil_.pass(now()))
    release(*daemons_.at(child), false, LinkEnd::silent,
            fmt::format("three of its heartbeats have not come ({:g} s, failure.heartbeat)",
                        static_cast<double>(options_.heartbeat.count()) * 3e-9));
  if (!is_launcher()) return;
  for (const int node : lineage_.pass(now()))
    bury(node, LinkEnd::silent, "it was reached through one that is lost, and has come to no other");
}

// What comes over an earlier link of a child, or behind its leave, is no news; what it had told by then it tells again.
void Daemons::readmit(Daemon& child, int epoch, std::unique_ptr<Link> link) {
  if (child.link) child.link->close();
  child.link = std::move(link);
  child.epoch = epoch;
  child.link->attach({[this, &child](Message m, std::string_view bytes) { return hear(child, m, bytes); },
                      [this, &child](LinkEnd how, const std::string& reason) { link_closed(child, how, reason); }});
  vigil_.heard(child.node, now());
  say_above(Message::attach, wire::pack(child.node, epoch));
}

// A child has no place here any more: it is elsewhere, dead, or will not live to be called so.
void Daemons::release(Daemon& child, bool left, LinkEnd how, const std::string& why) {
  if (gone_ || daemons_.at(child.node)->lost) return;
  vigil_.forget(child.node);
  child.link->close();
  say_above(Message::gone, wire::pack(child.node, child.epoch, left, how, why));
}

// What a job that goes on says beside what others do. False: it is none of that.
bool Daemons::hear_kept(Daemon& child, Message type, std::string_view payload, Error& wrong) {
  if (!heals()) return false;
  if (type == Message::told) {
    if (is_launcher())
      wrong = read(payload);
    else
      events_.pass_up(std::string(payload));
    return true;
  }
  if (type == Message::beat) {
    int number = 0;
    if (!wire::unpack(payload, number)) return wrong = senseless(type), true;
    vigil_.heard(child.node, now());
    if (is_launcher() || events_.has_lease()) child.link->send(Message::answer, number);
    return true;
  }
  if (type != Message::leave) return false;
  release(child, true, LinkEnd::hung_up, "");
  return true;
}

// --- letters ---

void Daemons::write(int node, Message type, std::string_view payload) {
  const std::string letter = letters_[node].put(type, payload);
  traffic_.count(type, letter.size());
  post(node, letter);
}

// Over the way that there is, if there is one: otherwise it goes with the others when there is one again.
void Daemons::post(int node, const std::string& letter) {
  std::vector<int> way = lineage_.way(node);
  if (!way.empty()) carry(std::move(way), letter);
}

void Daemons::carry(std::vector<int> way, const std::string& letter) {
  const auto next = daemons_.find(way[0]);
  if (next == daemons_.end() || !next->second->link) return;
  way.erase(way.begin());
  next->second->link->send(Message::carried, way, letter);
}

Error Daemons::read(std::string_view told) {
  int node = 0;
  std::string letter;
  if (!wire::unpack(told, node, letter) || !daemons_.contains(node)) return senseless(Message::told);
  Correspondence& letters = letters_[node];
  Correspondence::Arrival arrival = letters.take(letter);
  if (!arrival.is_sound) return senseless(Message::told);
  if (letters.owes_receipt()) post(node, letters.receipt());
  if (!arrival.word) return {};
  const auto& [type, payload] = *arrival.word;
  traffic_.count(type, letter.size());
  if (type != Message::attach && type != Message::gone) return said(node, type, payload, false);
  return lineage_.lives(node) ? hear_of_place(node, type, payload) : Error();
}

void Daemons::tell_again() {
  for (const auto& [node, daemon] : daemons_)
    if (daemon->link) daemon->link->send(Message::again);
}

// --- places ---

void Daemons::say_above(Message type, const std::string& payload) {
  if (!is_launcher()) return events_.write(type, payload);
  if (Error wrong = hear_of_place(options_.node, type, payload)) say(Level::debug, "{}", wrong.message());
}

// In the launcher, from whoever is above the place, which may be the launcher itself.
Error Daemons::hear_of_place(int from, Message type, std::string_view payload) {
  int node = 0, epoch = 0;
  if (type == Message::gone) {
    bool left = false;
    LinkEnd how = LinkEnd::hung_up;
    std::string why;
    if (!wire::unpack(payload, node, epoch, left, how, why)) return senseless(type);
    if (lineage_.part(node, epoch, from, left, now())) bury(node, how, why);
    return {};
  }
  if (!wire::unpack(payload, node, epoch)) return senseless(type);
  const bool yes = lineage_.attach(node, epoch, from);
  if (from == options_.node)
    answer(node, epoch, yes);
  else
    write(from, Message::adopt, wire::pack(node, epoch, yes));
  if (!yes) return {};
  say(Level::debug, "{} is reached through {} now", daemons_.at(node)->name,
      from == options_.node ? "mpirun" : daemons_.at(from)->name);
  for (const int each : lineage_.with_those_below(node))
    for (const std::string& letter : letters_[each].letters()) post(each, letter);
  return {};
}

void Daemons::answer(int node, int epoch, bool adopted) {
  const auto child = daemons_.find(node);
  if (child == daemons_.end() || child->second->epoch != epoch || !child->second->link) return;
  child->second->link->send(adopted ? Message::adopted : Message::refused);
}

// In the launcher. One that no rank is on is nobody's loss.
void Daemons::bury(int node, LinkEnd how, const std::string& why) {
  Daemon& daemon = *daemons_.at(node);
  if (std::exchange(daemon.lost, true)) return;
  const bool is_of_use = !daemon.dismissed;
  cut_off(daemon);
  if (is_of_use) events_.failed(node, how, why);
}

// Of one that is dead, or is to count so.
void Daemons::cut_off(Daemon& daemon) {
  daemon.dismissed = true;
  vigil_.forget(daemon.node);
  if (daemon.link) daemon.link->close();
  // The shell would wait for a machine that does not answer.
  if (!options_.by_srun && daemon.shell->pid > 0 && daemon.shell->name == daemon.name)
    ::kill(-daemon.shell->pid, SIGKILL);
  if (!is_launcher()) return;
  const int above = lineage_.above(daemon.node);
  lineage_.bury(daemon.node, now());
  if (above != options_.node && lineage_.lives(above)) write(above, Message::give_up, wire::pack(daemon.node));
}

}  // namespace tutti::launcher
