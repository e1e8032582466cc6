// SPDX-License-Identifier: BSD-3-Clause
// Building blocks that several collectives share: ways in which everybody gets every part, and the
// two buffers of a reduction. They write into a plan under construction.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "coll/pattern.hpp"
#include "coll/plan.hpp"

namespace tutti::coll {

// Place i holds part i; afterwards all hold all. p - 1 rounds, each part travels from neighbour to
// neighbour. `part(i)` is its buffer here, `rank(place)` who sits there, and `held(place, i)` says
// that this place has part i from the start, so that it need not travel there.
template <class Part, class RankAt, class Held>
void ring_exchange(PlanBuilder& plan, int place, int size, Part&& part, RankAt&& rank, Held&& held) {
  if (size == 1) return;
  const int left = place == 0 ? size - 1 : place - 1, right = place + 1 == size ? 0 : place + 1;
  constexpr int kReceive = 0;
  plan.repeat({.number = size - 1}, [&](int64_t step) {
    const int give = static_cast<int>((place - step + size) % size);
    const int take = static_cast<int>((place - step - 1 + size) % size);
    // A receive is posted one round ahead of its message.
    if (!held(place, take)) plan.recv(part(take), rank(left)).name(kReceive).after_earlier(kReceive, 2);
    if (!held(right, give)) plan.send(part(give), rank(right)).after_earlier(kReceive, 1);
  });
}

// The same in ceil(log2 p) rounds: after round k everybody holds the 2^k parts from its own on
// (Bruck and others 1997), here at their final places, so that a run of parts around the end
// travels as two messages. `parts(first, n)` is the buffer of adjacent parts.
template <class Parts, class RankAt>
void bruck_exchange(PlanBuilder& plan, int place, int size, Parts&& parts, RankAt&& rank) {
  for (int have = 1; have < size;) {
    const int n = std::min(have, size - have);
    const int from = (place + have) % size, to = (place - have + size) % size;
    plan.fence();
    each_run(from, n, size, [&](int first, int length) { plan.recv(parts(first, length), rank(from)); });
    each_run(place, n, size, [&](int first, int length) { plan.send(parts(first, length), rank(to)); });
    have += n;
  }
}

// A vector that is being reduced. `acc` is what has met so far, `incoming` room for the next; both
// change places where the incoming operand stands on the right, because a reduction leaves its
// result in its right operand. So operands always meet in rank order.
struct Accumulator {
  PlanBuilder& plan;
  int rank;
  Buf acc, incoming;
  // While there is one, `acc` is an input, which is not written: this takes its place when the first operand comes in.
  std::optional<Buf> spare = std::nullopt;
  bool commutes = false;  // so that the first operand may stand on the right, and nothing has to be copied

  // Elements [first, first + n) of what `peer` sent are in `incoming`.
  void absorb(int peer, int64_t first, int64_t n) {
    plan.fence();
    const bool on_left = peer < rank;
    if (spare && on_left && !commutes) {
      plan.copy(acc.slice(first, n), spare->slice(first, n)).fence();
      acc = *spare;
      spare.reset();
    }
    if (spare) {
      plan.reduce(acc.slice(first, n), incoming.slice(first, n));
      acc = std::exchange(incoming, *spare);
      spare.reset();
    } else if (on_left) {
      plan.reduce(incoming.slice(first, n), acc.slice(first, n));
    } else {
      plan.reduce(acc.slice(first, n), incoming.slice(first, n));
      std::swap(acc, incoming);
    }
    plan.fence();
  }
  void absorb(int peer) { absorb(peer, 0, acc.count); }
};

}  // namespace tutti::coll
