// SPDX-License-Identifier: BSD-3-Clause
#include "contract/wait_graph.hpp"

#include <algorithm>
#include <utility>

namespace tutti::contract {

using life::Actor;
using life::Condition;

uint32_t WaitGraph::add_node(int32_t parent, uint32_t missing) {
  nodes_.push_back({.parent = parent, .missing = missing});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

void WaitGraph::come_true(uint32_t node) {
  nodes_[node].missing = 0;
  open_.push_back(node);
}

void WaitGraph::count_down(uint32_t node) {
  if (nodes_[node].missing > 0 && --nodes_[node].missing == 0) open_.push_back(node);
}

// ---- adding

void WaitGraph::add_process(int process, bool can_act) {
  if (static_cast<size_t>(process) >= places_.size())
    places_.resize(std::max(static_cast<size_t>(process) + 1, places_.size() * 2), -1);
  places_[static_cast<size_t>(process)] = static_cast<int32_t>(known_.size());
  const auto entity = static_cast<uint32_t>(entities_.size());
  known_.push_back({process, entity, entity + 1});
  entities_.push_back({.node = add_node(-1, 1)});
  nodes_.back().is_entity = true;
  if (can_act) come_true(entities_.back().node);
}

void WaitGraph::add_thread(const Condition& needs) {
  Known& known = known_.back();
  Entity& entity = entities_[known.first_entity];
  const auto size = static_cast<uint32_t>(needs.nodes().size());
  uint32_t parts = 0;
  for (uint32_t i = 0; i < size; i = needs.nodes()[i].end) ++parts;
  const uint32_t all = add_node(static_cast<int32_t>(entity.node), parts);
  if (parts == 0) come_true(all);
  const auto first = static_cast<uint32_t>(leaves_.size());
  add_parts(needs, 0, size, all);
  if (known.threads++ > 0) return;
  entity.first_leaf = first;
  entity.end_leaf = static_cast<uint32_t>(leaves_.size());
}

void WaitGraph::add_course(uint64_t context, uint32_t serial, const Condition& needs, bool can_act) {
  const uint32_t node = add_node(-1, 1);
  nodes_.back().is_entity = true;
  const auto first = static_cast<uint32_t>(leaves_.size());
  if (can_act || needs.nodes().empty()) come_true(node);
  add_parts(needs, 0, static_cast<uint32_t>(needs.nodes().size()), node);
  entities_.push_back({node, first, static_cast<uint32_t>(leaves_.size()), context, serial});
  Known& known = known_.back();
  ++known.end_entity;
  if (known.end_entity - known.first_entity > kFewCourses)
    courses_.try_emplace({known.first_entity, context, serial}, known.end_entity - 1);
}

void WaitGraph::add_parts(const Condition& needs, uint32_t from, uint32_t to, uint32_t parent) {
  const std::vector<Condition::Node>& parts = needs.nodes();
  for (uint32_t i = from; i < to; i = parts[i].end) {
    const Condition::Node& part = parts[i];
    switch (part.kind) {
      case Condition::Kind::actor:
        leaves_.push_back({.actor = part.actor, .parent = parent});
        break;
      case Condition::Kind::some:
        if (part.count == 0) break;  // never comes true, and nobody is to blame
        leaves_.push_back({.actor = {},
                           .parent = parent,
                           .range = add_range(part.actor.process, static_cast<int>(part.count), part.stride)});
        break;
      case Condition::Kind::any:
        add_parts(needs, i + 1, part.end, add_node(static_cast<int32_t>(parent), 1));
        break;
      case Condition::Kind::all: {
        uint32_t count = 0;
        for (uint32_t child = i + 1; child < part.end; child = parts[child].end) ++count;
        const uint32_t group = add_node(static_cast<int32_t>(parent), count);
        if (count == 0) come_true(group);
        add_parts(needs, i + 1, part.end, group);
        break;
      }
    }
  }
}

// A range that many name, such as all of MPI_COMM_WORLD, is looked through once.
int32_t WaitGraph::add_range(int first, int count, int stride) {
  const auto [at, is_new] = range_of_.try_emplace({first, count, stride}, static_cast<int32_t>(ranges_.size()));
  if (is_new) ranges_.push_back({first, count, stride, add_node(-1, 1)});
  return at->second;
}

// ---- solving

void WaitGraph::wait_for(uint32_t node, uint32_t waiter) {
  waiters_.push_back({waiter, nodes_[node].waiters});
  nodes_[node].waiters = static_cast<int32_t>(waiters_.size() - 1);
}

void WaitGraph::subscribe(const Actor& actor, uint32_t waiter) {
  if (const Entity* entity = entity_of(actor))
    wait_for(entity->node, waiter);
  else if (actor.process < alive_below_)
    count_down(waiter);
}

void WaitGraph::subscribe(const Range& range) {
  for (int i = 0; i < range.count && !is_true(range.node); ++i)
    subscribe(Actor{range.first + i * range.stride}, range.node);
}

void WaitGraph::solve(int alive_below, bool is_all) {
  alive_below_ = alive_below;
  const auto anybody = range_of_.find({0, kAnybody, 1});
  const int32_t anybodys = anybody == range_of_.end() ? -1 : anybody->second;
  for (const Range& range : ranges_)
    if (range.count != kAnybody) subscribe(range);
  for (const Leaf& leaf : leaves_)
    leaf.range < 0 ? subscribe(leaf.actor, leaf.parent)
                   : wait_for(ranges_[static_cast<size_t>(leaf.range)].node, leaf.parent);
  if (anybodys >= 0 && !is_all) come_true(ranges_[static_cast<size_t>(anybodys)].node);
  while (!open_.empty()) {
    const uint32_t at = open_.back();
    open_.pop_back();
    const Node node = nodes_[at];
    if (node.parent >= 0) count_down(static_cast<uint32_t>(node.parent));
    for (int32_t w = node.waiters; w >= 0; w = waiters_[static_cast<size_t>(w)].next)
      count_down(waiters_[static_cast<size_t>(w)].node);
    if (node.is_entity && anybodys >= 0) count_down(ranges_[static_cast<size_t>(anybodys)].node);
  }
}

// ---- what has come out

// A call that is not under way there has to be made by a thread.
const WaitGraph::Entity* WaitGraph::entity_of(const Actor& actor) const {
  const int32_t place = place_of(actor.process);
  if (place < 0) return nullptr;
  const Known& known = known_[static_cast<size_t>(place)];
  const uint32_t end = actor.is_process() ? 0 : std::min(known.end_entity, known.first_entity + kFewCourses);
  for (uint32_t i = known.first_entity + 1; i < end; ++i)
    if (entities_[i].context == actor.context && entities_[i].serial == actor.serial) return &entities_[i];
  if (!actor.is_process() && end < known.end_entity)
    if (const auto at = courses_.find({known.first_entity, actor.context, actor.serial}); at != courses_.end())
      return &entities_[at->second];
  return &entities_[known.first_entity];
}

bool WaitGraph::alive(const Actor& actor) const {
  const Entity* entity = entity_of(actor);
  return entity ? is_true(entity->node) : actor.process < alive_below_;
}

std::vector<int> WaitGraph::dead() const {
  std::vector<int> dead;
  for (const Known& known : known_)
    if (!is_true(entities_[known.first_entity].node)) dead.push_back(known.process);
  std::ranges::sort(dead);
  return dead;
}

bool WaitGraph::is_in_vain(const Leaf& leaf) const {
  const bool is_alive = leaf.range < 0 ? alive(leaf.actor) : is_true(ranges_[static_cast<size_t>(leaf.range)].node);
  if (is_alive) return false;
  for (auto node = static_cast<int32_t>(leaf.parent); node >= 0; node = nodes_[static_cast<size_t>(node)].parent)
    if (is_true(static_cast<uint32_t>(node))) return false;
  return true;
}

// The first one for whose sake it cannot go on; nullptr: there is none, nobody could help it.
const WaitGraph::Leaf* WaitGraph::culprit_of(const Entity& entity) const {
  for (uint32_t i = entity.first_leaf; i < entity.end_leaf; ++i)
    if (is_in_vain(leaves_[i])) return &leaves_[i];
  return nullptr;
}

// Of a range the one that comes after the process that waits; itself where there is nobody else.
Actor WaitGraph::actor_of(const Leaf& leaf, int self) const {
  if (leaf.range < 0) return leaf.actor;
  const Range& range = ranges_[static_cast<size_t>(leaf.range)];
  if (range.count == kAnybody) {
    for (const Known& known : known_)
      if (known.process != self) return Actor{known.process};
    return Actor{self};
  }
  int after = -1;
  for (int i = 0; i < range.count && after < 0; ++i)
    if (range.first + i * range.stride == self) after = i;
  return Actor{range.first + (after + 1) % range.count * range.stride};
}

Circle WaitGraph::circle_from(int dead) const {
  std::vector<Actor> path{{dead}};
  std::map<std::tuple<int, uint64_t, uint32_t>, size_t> place{{{dead, 0, 0}, 0}};
  for (;;) {
    const Actor& at = path.back();
    const Entity* const entity = entity_of(at);
    const Leaf* const leaf = entity ? culprit_of(*entity) : nullptr;
    if (!leaf) return {{at.process}, false};
    const Actor culprit = actor_of(*leaf, at.process);
    const Entity* const needed = entity_of(culprit);
    const bool is_under_way = needed && needed->context != 0;
    const Actor next = is_under_way ? culprit : Actor{culprit.process};
    const auto [before, is_new] = place.try_emplace({next.process, next.context, next.serial}, path.size());
    if (is_new) {
      path.push_back(next);
      continue;
    }
    std::vector<int> processes;
    for (size_t i = before->second; i < path.size(); ++i)
      if (processes.empty() || processes.back() != path[i].process) processes.push_back(path[i].process);
    while (processes.size() > 1 && processes.front() == processes.back()) processes.pop_back();
    return {std::move(processes), true};
  }
}

}  // namespace tutti::contract
