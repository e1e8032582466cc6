// SPDX-License-Identifier: BSD-3-Clause
// What passes through a child: words for the nodes behind it, and theirs.
#include <algorithm>

#include "base/log.hpp"
#include "launcher/daemons/daemons.hpp"
#include "launcher/daemons/protocol.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

Error senseless(Message type) {
  return failure(MPI_ERR_OTHER, "{}", out_of_shape(type));
}

}  // namespace

void Daemons::send_down(const std::vector<int>& nodes, Message type, const Parcel& payload) {
  std::map<int, std::vector<int>> by_child;
  for (const int node : nodes) by_child[daemons_.at(node)->via].push_back(node);
  for (const auto& [via, behind] : by_child) {
    Daemon& child = *daemons_.at(via);
    if (!child.link) continue;
    const bool direct = behind.size() == 1 && behind[0] == via;
    const std::string begin = direct ? "" : relay_begin(behind, type, payload);
    child.link->send_with(direct ? type : Message::relay, begin, payload);
    traffic_.count(type, begin.size() + payload.size());
  }
}

Error Daemons::hear(Daemon& child, Message type, std::string_view payload) {
  if (Error wrong; hear_kept(child, type, payload, wrong)) return wrong;
  if (type != Message::relayed && type != Message::gathered && type != Message::gathered_groups)
    traffic_.count(type, payload.size());
  switch (type) {
    case Message::relayed:
      return hear_relayed(child, payload);
    case Message::gathered:
      return hear_gathered(child, payload);
    case Message::gathered_groups:
      return hear_gathered_groups(child, payload);
    case Message::joined:
      return hear_joined(child, payload);
    case Message::not_started:
      return hear_not_started(child, payload);
    case Message::counted:
      return traffic_.add(payload) ? Error() : senseless(type);
    case Message::parted: {
      int node = 0;
      LinkEnd how = LinkEnd::hung_up;
      std::string sentence;
      std::vector<int> nodes;
      if (!wire::unpack(payload, node, how, sentence) || !are_behind(child, {{node, 1}}, nodes) ||
          (how != LinkEnd::hung_up && how != LinkEnd::silent && how != LinkEnd::wrong))
        return senseless(type);
      return lose(*daemons_.at(node), how, sentence), Error();
    }
    default:
      return said(child.node, type, payload, true);
  }
}

// Nobody speaks for nodes that are not behind it.
bool Daemons::are_behind(const Daemon& child, const std::vector<Span>& spans, std::vector<int>& nodes) const {
  std::optional<std::vector<int>> all = nodes_in(spans);
  if (!all || !are_behind(child, *all)) return false;
  nodes = std::move(*all);
  return true;
}

bool Daemons::are_behind(const Daemon& child, const std::vector<int>& nodes) const {
  return !nodes.empty() && std::ranges::all_of(nodes, [&](int node) {
    const auto known = daemons_.find(node);
    return known != daemons_.end() && known->second->via == child.node;
  });
}

// What makes no sense is the fault of who said it, not of the child that has passed it on.
Error Daemons::said(int node, Message type, std::string_view payload, bool by_itself) {
  Daemon& daemon = *daemons_.at(node);
  if (daemon.lost) return {};
  Error wrong = heard(daemon, type, payload);
  if (!wrong || by_itself) return wrong;
  lose(daemon, LinkEnd::wrong, fmt::format("node {} is lost: {}; the job ends", daemon.name, wrong.message()));
  return {};
}

Error Daemons::hear_relayed(Daemon& child, std::string_view payload) {
  const std::optional<Relayed> relayed = read_relayed(payload);
  if (!relayed || !are_behind(child, relayed->nodes)) return senseless(Message::relayed);
  traffic_.count(relayed->type, payload.size());
  for (const int node : relayed->nodes)
    if (Error e = said(node, relayed->type, relayed->payload, node == child.node)) return e;
  return {};
}

// What all have given counts as the first one's.
Error Daemons::hear_gathered(Daemon& child, std::string_view payload) {
  std::vector<Span> spans;
  std::vector<int> nodes;
  std::string key, data;
  Addresses addresses;
  if (!wire::unpack(payload, spans, key, data, addresses) || !are_behind(child, spans, nodes))
    return senseless(Message::gathered);
  traffic_.count(Message::fence, payload.size());
  for (const int node : nodes) {
    if (Error e = said(node, Message::fence, wire::pack(key, data, addresses), node == child.node)) return e;
    data.clear();
    addresses.packed.clear();
  }
  return {};
}

// All groups count as the first one's.
Error Daemons::hear_gathered_groups(Daemon& child, std::string_view payload) {
  std::vector<Span> spans;
  std::vector<int> nodes;
  uint64_t number = 0;
  std::vector<RankGroup> groups;
  if (!wire::unpack(payload, spans, number, groups) || !are_behind(child, spans, nodes))
    return senseless(Message::gathered_groups);
  traffic_.count(Message::grouped, payload.size());
  for (const int node : nodes)
    if (Error e = said(node, Message::grouped, wire::pack(number, std::exchange(groups, {})), node == child.node))
      return e;
  return {};
}

Error Daemons::hear_joined(Daemon& child, std::string_view payload) {
  int node = 0, above = 0;
  NodeShape shape;
  std::vector<int> nodes;
  if (!wire::unpack(payload, node, shape, above) || !daemons_.contains(above) ||
      !are_behind(child, {{node, 1}}, nodes) || node == child.node || daemons_.at(node)->ready)
    return senseless(Message::joined);
  Daemon& daemon = *daemons_.at(node);
  daemon.ready = true;
  daemon.shape = sound(shape);
  lineage_.place(node, above);
  if (events_.joined) events_.joined(node, daemon.shape, above);
  check_ready();
  return {};
}

// The first of the nodes cannot be reached from the child, or so it says: from here, perhaps.
Error Daemons::hear_not_started(Daemon& child, std::string_view payload) {
  std::vector<Span> spans;
  std::vector<int> nodes;
  std::string why;
  if (!wire::unpack(payload, spans, why) || !are_behind(child, spans, nodes)) return senseless(Message::not_started);
  std::vector<DaemonStart::Node> share;
  for (const int node : nodes) {
    const Daemon& daemon = *daemons_.at(node);
    if (node == child.node || daemon.ready || daemon.lost) return senseless(Message::not_started);
    share.push_back({.number = node, .name = daemon.name});
  }
  if (gone_) return {};
  say(Level::debug, "{}; it is started from here instead", why);
  Error wrong = start_share(share);
  if (!wrong) return {};
  if (events_.not_started)
    hand_up(nodes, wrong.message());
  else
    lose(*daemons_.at(nodes[0]), LinkEnd::hung_up, wrong.message());
  return {};
}

void Daemons::hand_up(const std::vector<int>& nodes, const std::string& why) {
  for (const int node : nodes) {
    const Daemon& daemon = *daemons_.at(node);
    std::erase(daemon.shell->nodes, node);
    if (!daemon.dismissed && daemon.via != node && daemons_.contains(daemon.via)) --daemons_.at(daemon.via)->users;
  }
  for (const int node : nodes) daemons_.erase(node);
  events_.not_started(nodes, why);
}

void Daemons::lose_with_those_behind(Daemon& child, LinkEnd how, const std::string& reason) {
  const std::vector<int> nodes = child.shell->nodes;
  lose(child, how, fmt::format("node {} is lost: {}; the job ends", child.name, reason));
  for (const int node : nodes) {
    Daemon& daemon = *daemons_.at(node);
    if (daemon.via == child.node && &daemon != &child)
      lose(daemon, LinkEnd::hung_up,
           fmt::format("node {} is lost with {}, through which it was reached: {}; the job ends", daemon.name,
                       child.name, reason));
  }
}

}  // namespace tutti::launcher
