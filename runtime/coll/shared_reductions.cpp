// SPDX-License-Identifier: BSD-3-Clause
// Reductions among ranks that share memory. A result is always a0 op (a1 op (… op an)), folded from
// the highest rank down, so that operands meet in rank order and every rank that computes an
// element gets the same bits.
#include "coll/pattern.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

constexpr int64_t kAhead = 3;  // fewer than windows
// What a rank has itself is folded from where it was before it was shown: the lines of the slot
// have gone to those that read it, and would have to come back. In place that may be overwritten by
// then: of a vector up to here a copy is kept; a longer one is read from the slot.
constexpr int64_t kShort = 4 << 10;

class Reducer {
 public:
  // `keeps_input`: nothing is written where the input is before it has been folded.
  explicit Reducer(const Shape& shape, bool keeps_input = false)
      : s(shape),
        plan(shape),
        pieces(pieces_of(shape)),
        in(plan.in()),
        out(plan.out()),
        keeps_input_(keeps_input || !shape.in_place) {
    plan.share(pieces.lane);
    if (pieces.total == 0) return;
    const Buf piece = out_like(std::min(pieces.piece, pieces.total));
    if (!s.dense) operand_ = plan.scratch_like(piece);
    if (keeps_input_ || pieces.rounds() > 1 || pieces.total * pieces.unit > kShort) return;
    copied_ = true;
    own_ = plan.scratch_like(piece);
  }

  // Elements [first, first + n) of the vector to my slot, from its beginning on.
  void show(int round, int64_t first, int64_t n, int to = -1) {
    plan.claim(round).copy(in.slice(first, n), slot(round, s.rank, 0, n)).publish(round, to);
    if (copied_) keep(round, first, n);
  }
  // The same but for elements [begin, begin + size) of these, which I fold.
  void show_around(int round, int64_t first, int64_t n, int64_t begin, int64_t size) {
    plan.claim(round)
        .copy(in.slice(first, begin), slot(round, s.rank, 0, begin))
        .copy(in.slice(first + begin + size, n - begin - size), slot(round, s.rank, begin + size, n - begin - size))
        .publish(round);
  }
  // For me alone, what the result may come to lie on.
  void keep(int round, int64_t first, int64_t n) {
    if (copied_)
      plan.copy(in.slice(first, n), own_.slice(0, n));
    else if (!keeps_input_)
      plan.claim(round).copy(in.slice(first, n), slot(round, s.rank, 0, n));
  }
  // into = the fold over the ranks begin … end-1 of elements [first, first + n) of their slots,
  // which are those from `base` on of the vector.
  void fold(int round, int begin, int end, int64_t base, int64_t first, const Buf& into) {
    const Buf mine = in.slice(base + first, into.count);
    if (end - 1 != s.rank || into != mine) plan.copy(operand(round, end - 1, mine, first, into), into);
    for (int rank = end - 2; rank >= begin; --rank) meet(operand(round, rank, mine, first, into), into);
  }
  // into = from, of a slot or of my own, op into.
  void meet(const Buf& from, const Buf& into) {
    if (s.dense || from.region != Region::shared) {
      plan.reduce(from, into);
    } else {
      const Buf unpacked = operand_.slice(0, into.count);
      plan.copy(from, unpacked).reduce(unpacked, into);
    }
  }
  void load(int round, int rank, int64_t first, const Buf& into) {
    plan.copy(slot(round, rank, first, into.count), into);
  }
  // Elements of a slot: as such where they are laid out as they are packed.
  Buf slot(int round, int rank, int64_t first, int64_t n) const {
    if (s.dense) return plan.slot_elements(round, rank, first, n);
    return plan.slot_bytes(round, rank, first * pieces.unit, n * pieces.unit);
  }
  Buf out_like(int64_t n) const { return {Region::output, Unit::out_type, 0, 0, n}; }

  const Shape& s;
  PlanBuilder plan;
  const RoundCut pieces;
  const Buf in, out;

 private:
  Buf operand(int round, int rank, const Buf& mine, int64_t first, const Buf& into) const {
    if (rank == s.rank && keeps_input_) return mine;
    if (rank == s.rank && copied_) return own_.slice(first, into.count);
    return slot(round, rank, first, into.count);
  }

  const bool keeps_input_;
  bool copied_ = false;
  Buf operand_;
  Buf own_;  // the copy
};

// How far the pieces are shown ahead of the parts, and these ahead of what reads them: where ranks
// share cores, each gets so far in one turn. (Seven instead of three leave the caches: 1 MiB among
// 8 ranks takes half as long again.) A rank that shows a part may have twice that and two rounds
// that it has not left.
int64_t ahead_of_parts(const Reducer& r) {
  const int64_t windows = r.pieces.lane == LaneSize::large ? r.s.large_windows : 4;
  return std::min({kAhead, (windows - 2) / 2, r.pieces.rounds()});
}

// Pieces of the vector, each in two rounds: in the first one everybody folds one part of it and
// shows the others; in the second everybody shows that part. finish(round, i, part) reads the
// second.
template <class Finish>
Plan in_parts(const Shape& s, Finish&& finish) {
  Reducer r(s, true);
  const int64_t n = r.pieces.rounds();
  const int64_t ahead = ahead_of_parts(r);
  // In the order in which they are shown: each in front of the parts of the piece so far before it.
  const auto whole_round = [=](int64_t i) { return static_cast<int>(i < ahead ? i : 2 * i - ahead); };
  const auto part_round = [=](int64_t i) { return static_cast<int>(i + ahead < n ? 2 * i + ahead + 1 : n + i); };
  r.plan.take_rounds(2 * n);
  const Buf folded =
      s.dense ? Buf{} : r.plan.scratch_like(r.out_like(std::min(r.pieces.piece, r.pieces.total) / s.size + 1));
  const auto show_part = [&](int64_t i) {
    const Split split{r.pieces.size(i), s.size};
    const int64_t mine = split.size(s.rank);
    const Buf into = r.slot(part_round(i), s.rank, 0, mine);
    r.plan.await(whole_round(i)).claim(part_round(i));
    if (mine > 0) {
      if (s.dense) {
        r.fold(whole_round(i), 0, s.size, r.pieces.begin(i), split.begin(s.rank), into);
      } else {
        r.fold(whole_round(i), 0, s.size, r.pieces.begin(i), split.begin(s.rank), folded.slice(0, mine));
        r.plan.copy(folded.slice(0, mine), into);
      }
    }
    r.plan.publish(part_round(i)).leave(whole_round(i));
  };
  r.plan.repeat({.number = n + 2 * ahead}, [&](int64_t i) {
    if (i < n) {
      const Split split{r.pieces.size(i), s.size};
      r.show_around(whole_round(i), r.pieces.begin(i), r.pieces.size(i), split.begin(s.rank), split.size(s.rank));
    }
    if (i >= ahead && i - ahead < n) show_part(i - ahead);
    if (const int64_t over = i - 2 * ahead; over >= 0) {
      finish(r, part_round(over), over);
      r.plan.leave(part_round(over));
    }
  });
  return r.plan.done();
}

// All parts of a piece, to where they belong.
void collect(Reducer& r, int round, int64_t i) {
  const Split split{r.pieces.size(i), r.s.size};
  for (int rank = 0; rank < r.s.size; ++rank)
    if (split.size(rank) > 0)
      r.load(round, rank, 0, r.out.slice(r.pieces.begin(i) + split.begin(rank), split.size(rank)));
}

// My scan: the fold over the ranks up to me, or before me.
Plan fold_up_to(const Shape& s, int end) {
  Reducer r(s);
  const int64_t n = r.pieces.rounds();
  r.plan.take_rounds(n);
  pipeline(
      r.plan, n, std::min(kAhead, n - 1),
      [&](int64_t i) { r.show(static_cast<int>(i), r.pieces.begin(i), r.pieces.size(i)); },
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        for (int rank = 0; rank < s.rank; ++rank) r.plan.await(round, rank);
        const int64_t begin = r.pieces.begin(i);
        if (end > 0) r.fold(round, 0, end, begin, 0, r.out.slice(begin, r.pieces.size(i)));
        r.plan.leave(round);
      });
  return r.plan.done();
}

}  // namespace

// Everybody folds everything: one flag each, p times the work. Wins for short
// vectors.
Plan shared_allreduce(const Shape& s) {
  Reducer r(s);
  const int64_t n = r.pieces.rounds();
  r.plan.take_rounds(n);
  pipeline(
      r.plan, n, std::min(kAhead, n - 1),
      [&](int64_t i) { r.show(static_cast<int>(i), r.pieces.begin(i), r.pieces.size(i)); },
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        r.plan.await(round);
        const int64_t begin = r.pieces.begin(i);
        r.fold(round, 0, s.size, begin, 0, r.out.slice(begin, r.pieces.size(i)));
        r.plan.leave(round);
      });
  return r.plan.done();
}

// Everybody folds one part and reads the others: wins for long vectors.
Plan shared_allreduce_parts(const Shape& s) {
  return in_parts(s, [](Reducer& r, int round, int64_t i) {
    r.plan.await(round);
    collect(r, round, i);
  });
}

// The root folds everything: wins on two ranks, and for short vectors.
Plan shared_reduce(const Shape& s) {
  Reducer r(s);
  const int64_t n = r.pieces.rounds();
  r.plan.take_rounds(n);
  const bool is_root = s.rank == s.root;
  r.plan.repeat({.number = n}, [&](int64_t i) {
    const int round = static_cast<int>(i);
    const int64_t first = r.pieces.begin(i), size = r.pieces.size(i);
    if (is_root) {
      r.keep(round, first, size);
      r.plan.await(round);
      r.fold(round, 0, s.size, first, 0, r.out.slice(first, size));
    } else {
      r.show(round, first, size, s.root);
    }
    r.plan.leave(round);
  });
  return r.plan.done();
}

// Everybody folds one part, the root reads them: wins for long vectors on more than two ranks.
Plan shared_reduce_parts(const Shape& s) {
  return in_parts(s, [](Reducer& r, int round, int64_t i) {
    if (r.s.rank != r.s.root) return;
    r.plan.await(round);
    collect(r, round, i);
  });
}

// Everybody shows the blocks of the others and folds its own, a piece of the vector a round. Of a
// short vector, and in place, where its own lands in front of what has been shown already, all of
// it is shown. (Of 2 KiB between two ranks that is even faster.)
Plan shared_reduce_scatter(const Shape& s) {
  Reducer r(s);
  const int64_t n = r.pieces.rounds();
  r.plan.take_rounds(n);
  int64_t mine = 0;
  for (int rank = 0; rank < s.rank; ++rank) mine += s.part_count(rank);
  const bool shows_all = s.in_place || r.pieces.total * r.pieces.unit <= kShort;
  const auto part_of_mine = [&](int64_t i) {
    const int64_t begin = r.pieces.begin(i), end = begin + r.pieces.size(i);
    const int64_t from = std::clamp(mine, begin, end);
    return Range{from, std::clamp(mine + r.out.count, from, end)};
  };
  pipeline(
      r.plan, n, std::min(kAhead, n - 1),
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        const int64_t begin = r.pieces.begin(i), size = r.pieces.size(i);
        if (shows_all) return r.show(round, begin, size);
        const Range part = part_of_mine(i);
        r.show_around(round, begin, size, part.begin - begin, part.size());
      },
      [&](int64_t i) {
        const int round = static_cast<int>(i);
        const int64_t begin = r.pieces.begin(i);
        const Range part = part_of_mine(i);
        if (part.size() > 0 || n == 1) r.plan.await(round);
        if (part.size() > 0)
          r.fold(round, 0, s.size, begin, part.begin - begin, r.out.slice(part.begin - mine, part.size()));
        r.plan.leave(round);
      });
  return r.plan.done();
}

// Everybody reads the vectors of all before it: one step, p / 2 times the work. Wins for short
// vectors of many ranks.
Plan shared_scan(const Shape& s) {
  return fold_up_to(s, s.rank + 1);
}
Plan shared_exscan(const Shape& s) {
  return fold_up_to(s, s.rank);
}

// From rank to rank: each reads what the one before it shows, and shows the next what has met so
// far. One flag and one operand a rank, but p - 1 steps until the last one has its result, for
// which those before it do not wait: wins for few ranks and for long vectors.
//
//   rank   0    1      2        3
//   shows  a0 → a0a1 → a0a1a2 → …
Plan shared_scan_chain(const Shape& s) {
  Reducer r(s, true);
  r.plan.take_rounds(r.pieces.rounds());
  r.plan.repeat({.number = r.pieces.rounds()}, [&](int64_t i) {
    const int round = static_cast<int>(i);
    const int64_t first = r.pieces.begin(i), n = r.pieces.size(i);
    const Buf sum = r.out.slice(first, n);
    r.plan.copy(r.in.slice(first, n), sum);
    if (s.rank > 0) {
      r.plan.await(round, s.rank - 1);
      r.meet(r.slot(round, s.rank - 1, 0, n), sum);
    }
    if (s.rank + 1 < s.size) r.plan.claim(round).copy(sum, r.slot(round, s.rank, 0, n)).publish(round, s.rank + 1);
    r.plan.leave(round);
  });
  return r.plan.done();
}

// The same; what is shown is not the result, and in place is folded before that overwrites mine.
Plan shared_exscan_chain(const Shape& s) {
  Reducer r(s, true);
  r.plan.take_rounds(r.pieces.rounds());
  const Buf met =
      s.dense || s.rank == 0 ? Buf{} : r.plan.scratch_like(r.out_like(std::min(r.pieces.piece, r.pieces.total)));
  r.plan.repeat({.number = r.pieces.rounds()}, [&](int64_t i) {
    const int round = static_cast<int>(i);
    const int64_t first = r.pieces.begin(i), n = r.pieces.size(i);
    const Buf mine = r.in.slice(first, n), shown = r.slot(round, s.rank, 0, n);
    const Buf before = r.slot(round, s.rank > 0 ? s.rank - 1 : 0, 0, n);
    if (s.rank > 0) r.plan.await(round, s.rank - 1);
    if (s.rank + 1 < s.size) {
      const Buf sum = s.rank == 0 || s.dense ? shown : met.slice(0, n);
      r.plan.claim(round).copy(mine, sum);
      if (s.rank > 0) r.meet(before, sum);
      if (sum != shown) r.plan.copy(sum, shown);
      r.plan.publish(round, s.rank + 1);
    }
    if (s.rank > 0) r.plan.copy(before, r.out.slice(first, n));
    r.plan.leave(round);
  });
  return r.plan.done();
}

}  // namespace tutti::coll
