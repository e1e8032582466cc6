// SPDX-License-Identifier: BSD-3-Clause
// Plans that are put together of plans within the nodes and between them, each chosen by the rules for the ranks that it
// concerns. For those who write such algorithms (hierarchical.cpp, striped.cpp).
#pragma once

#include <initializer_list>
#include <vector>

#include "base/node_layout.hpp"
#include "coll/plan.hpp"

namespace tutti::coll {

// The plan of one rank, written part by part. The root of a call leads its node, elsewhere the
// lowest rank does.
//
//   7 ranks on 3 nodes, root 3:   0 1 2 | 3 4 | 5 6     leaders 0 3 5
class Levels {
 public:
  explicit Levels(const Shape& shape);

  // Shapes of parts: all of the call's own values but ranks and root, which is the leader, …
  Shape within(Collective kind) const;
  // … or the leader of the call's root.
  Shape between(Collective kind) const;
  // A plan uses one lane: the large one, if a part needs it.
  static void in_one_lane(std::initializer_list<Shape*> parts);

  void add_within(const Shape& part, const DataPlace& in, const DataPlace& out);
  void add_between(const Shape& part, const DataPlace& in, const DataPlace& out);
  // The same between ranks that are as many, one on each node.
  void add_across(const std::vector<int>& ranks, const Shape& part, const DataPlace& in, const DataPlace& out);

  const Shape& s;
  PlanBuilder plan;
  const NodeLayout& nodes;
  const std::vector<int> mine;  // the ranks of my node
  std::vector<int> leaders;     // by node
  int leader = 0;               // of my node
  bool leads = false;           // that is me

 private:
  Shape part_of(Collective kind) const;
  Plan build(const Shape& part) const;
};

inline const DataPlace kSame;
inline const DataPlace kNothing{.same = false};
inline DataPlace at(const Buf& buf) {
  return {.same = false, .at = buf};
}

}  // namespace tutti::coll
