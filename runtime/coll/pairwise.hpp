// SPDX-License-Identifier: BSD-3-Clause
// Every rank with every other, straight from where the data lies to where it belongs: the least
// copies, and p - 1 messages. On a node a long message is read from its sender's memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

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
  const Buf lower = s.rank == 0 ? mine : is_last ? last : plan.scratch_like(out), higher = last;
  // In this trip, if any, the last operand comes in, straight to where the others meet it.
  const auto brings_last = [&](int64_t trip) { return trip == s.rank && !is_last; };
  const int rooms = std::min(kRooms, s.size - 1);
  std::array<Buf, kRooms> room;  // one after the other, so that a loop finds them
  for (int i = 0; i < rooms; ++i)
    if (s.size - 1 > kRooms || !brings_last(i)) room[static_cast<size_t>(i)] = plan.scratch_like(out);

  // Steps of a trip by which others wait: what has met so far, a room that is free again, and a send.
  constexpr int kMet = 0, kEmptied = 1, kSent = 2;
  plan.repeat({.number = s.size - 1, .row = rooms}, [&](int64_t trip) {
    const int k = static_cast<int>(trip) + 1;
    const int from = (s.rank - k + s.size) % s.size, to = (s.rank + k) % s.size;
    PlanBuilder::Id met = PlanBuilder::kNone;
    if (trip == 0 && s.rank > 0) met = plan.copy(mine, lower).last();
    if (brings_last(trip)) {
      plan.recv(higher, from).name(kMet);
    } else {
      const Buf& incoming = room[static_cast<size_t>(trip % rooms)];
      const int before = brings_last(trip - rooms) ? 2 * rooms : rooms;  // the last time that it was taken
      const PlanBuilder::Id received =
          plan.recv(incoming, from).name(kEmptied).after_earlier(kEmptied, static_cast<uint32_t>(before)).last();
      plan.reduce(incoming, from < s.rank ? lower : higher).after(received).after(met);
      plan.name(kMet).name(kEmptied).after_earlier(kMet, 1);
    }
    plan.send(part(to), to).name(kSent).after_earlier(kSent, kRooms);
  });
  plan.fence();
  if (!is_last) plan.reduce(lower, higher).fence();
  if (last != out) plan.copy(last, out);
}

// `mine` goes to everybody, and place(i) takes what rank i gives.
template <class DataPlace>
void tell_everybody(PlanBuilder& plan, const Shape& s, const Buf& mine, DataPlace&& place) {
  plan.repeat({.number = s.size - 1}, [&](int64_t k) {
    const int from = static_cast<int>((s.rank - k - 1 + s.size) % s.size);
    plan.recv(place(from), from).send(mine, static_cast<int>((s.rank + k + 1) % s.size));
  });
}

}  // namespace tutti::coll
