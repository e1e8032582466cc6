// SPDX-License-Identifier: BSD-3-Clause
// Every rank with every other, straight from where the data lies to where it belongs: the least
// copies, and p - 1 messages. On a node a long message is read from its sender's memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "coll/plan.hpp"

namespace tutti::coll {

// Leaves part `rank` of the vector, reduced over all ranks, in `out`. `part(i)` is part i of my
// input. Step k: my part of the rank k before me comes in, that of the rank k behind me goes out.
// Keeps the order: ranks below mine arrive in falling order and are put before what has met, and so
// are, in a second accumulator, the ranks above mine, from the highest down. The result is where
// the last operand was, so that is `out`, unless it lies on what has still to go out.
template <class Part>
void reduce_pairwise(PlanBuilder& plan, const Shape& s, Part&& part, const Buf& out) {
  constexpr int kRooms = 4;
  const Buf mine = part(s.rank);
  if (s.size == 1) {
    plan.copy(mine, out);
    return;
  }
  const bool is_last = s.rank == s.size - 1;
  const Buf last = s.in_place ? plan.scratch_like(out) : out;
  Buf lower = mine, higher = last;
  PlanBuilder::Id lower_met = PlanBuilder::kNone, higher_met = PlanBuilder::kNone;
  if (s.rank > 0) {
    lower = is_last ? last : plan.scratch_like(out);
    lower_met = plan.copy(mine, lower).last();
  }
  std::array<std::optional<Buf>, kRooms> rooms;
  std::array<PlanBuilder::Id, kRooms> emptied, sent;
  emptied.fill(PlanBuilder::kNone), sent.fill(PlanBuilder::kNone);

  for (int k = 1; k < s.size; ++k) {
    const int from = (s.rank - k + s.size) % s.size, to = (s.rank + k) % s.size;
    const auto room = static_cast<size_t>(k % std::min(kRooms, s.size - 1));
    const bool first_higher = from == s.size - 1 && from > s.rank;
    if (!first_higher && !rooms[room]) rooms[room] = plan.scratch_like(out);
    const Buf incoming = first_higher ? higher : *rooms[room];
    const PlanBuilder::Id received = plan.recv(incoming, from).after(emptied[room]).last();
    if (first_higher) {
      higher_met = received;
    } else {
      PlanBuilder::Id& met = from < s.rank ? lower_met : higher_met;
      plan.reduce(incoming, from < s.rank ? lower : higher).after(received).after(met);
      emptied[room] = plan.last() == PlanBuilder::kNone ? received : plan.last();
      met = plan.last();
    }
    const auto turn = static_cast<size_t>(k % kRooms);
    plan.send(part(to), to).after(sent[turn]);
    sent[turn] = plan.last();
  }
  plan.fence();
  if (!is_last) plan.reduce(lower, higher).fence();
  if (last != out) plan.copy(last, out);
}

// `mine` goes to everybody, and place(i) takes what rank i gives.
template <class DataPlace>
void tell_everybody(PlanBuilder& plan, const Shape& s, const Buf& mine, DataPlace&& place) {
  for (int k = 1; k < s.size; ++k) {
    const int from = (s.rank - k + s.size) % s.size;
    plan.recv(place(from), from).send(mine, (s.rank + k) % s.size);
  }
}

}  // namespace tutti::coll
