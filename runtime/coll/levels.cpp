// SPDX-License-Identifier: BSD-3-Clause
#include "coll/levels.hpp"

#include <algorithm>
#include <memory>

#include "coll/selection.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {

Levels::Levels(const Shape& shape) : s(shape), plan(shape), nodes(*shape.nodes), mine(nodes.mine().to_vector()) {
  for (int n = 0; n < nodes.nodes(); ++n)
    leaders.push_back(n == nodes.node_of(s.root) ? s.root : nodes.members(n).front());
  leader = leaders[static_cast<size_t>(nodes.node())];
  leads = s.rank == leader;
}

Shape Levels::within(Collective kind) const {
  Shape part = part_of(kind);
  part.rank = nodes.local();
  part.size = static_cast<int>(mine.size());
  part.root = static_cast<int>(std::ranges::find(mine, leader) - mine.begin());
  return part;
}

Shape Levels::between(Collective kind) const {
  Shape part = part_of(kind);
  part.rank = nodes.node();
  part.size = nodes.nodes();
  part.root = nodes.node_of(s.root);
  part.small_slot = part.large_slot = 0;
  return part;
}

void Levels::in_one_lane(std::initializer_list<Shape*> parts) {
  const auto is_long = [](const Shape* part) { return part->size > 1 && wants_large(*part); };
  if (std::ranges::none_of(parts, is_long)) return;
  for (Shape* part : parts) part->small_slot = 0;
}

void Levels::add_within(const Shape& part, const DataPlace& in, const DataPlace& out) {
  if (mine.size() > 1) plan.append(build(part), mine, in, out);
}

void Levels::add_between(const Shape& part, const DataPlace& in, const DataPlace& out) {
  add_across(leaders, part, in, out);
}

void Levels::add_across(const std::vector<int>& ranks, const Shape& part, const DataPlace& in, const DataPlace& out) {
  plan.append(build(part), ranks, in, out);
}

Shape Levels::part_of(Collective kind) const {
  Shape part = s;
  part.kind = kind;
  part.nodes = nullptr;
  part.counts.clear();
  return part;
}

Plan Levels::build(const Shape& part) const {
  const std::shared_ptr<const Selection> shipped = s.rules ? nullptr : Selection::shipped();
  return (s.rules ? *s.rules : *shipped).choose(part).build(part);
}

}  // namespace tutti::coll
