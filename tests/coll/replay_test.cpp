// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of every collective, replayed for all sizes from 1 to 65 and some larger ones:
// several roots and counts, in place or not, types that differ between ranks, blocks of no length.
#include "replay.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>

namespace tutti::coll::replay {
namespace {

int most_ranks() {
  const char* limit = std::getenv("TUTTI_TEST_REPLAY_RANKS");
  return limit ? std::atoi(limit) : 65;
}

// One call on `size` ranks.
struct Case {
  Collective kind;
  int size = 1, root = 0;
  int64_t count = 1;  // cells of a block, or elements of a vector
  bool in_place = false, commutative = true;

  std::string describe(const Algorithm& algorithm) const {
    return std::string(name_of(kind)) + " " + std::string(algorithm.name) + ": " +
           std::to_string(size) + " ranks, root " + std::to_string(root) + ", count " +
           std::to_string(count) + (in_place ? ", in place" : "") +
           (commutative ? "" : ", not commutative");
  }
};

constexpr int64_t kPerBlock = 1'000'000;

// Cells of the block from one rank to another (alltoallv, alltoallw); the same both ways, as in
// place demands.
int64_t pair_cells(const Case& c, int a, int b) {
  return c.count * ((a * b + a + b) % 4);
}
// Cells of a rank's block in the other v forms.
int64_t own_cells(const Case& c, int rank) {
  return c.count * ((rank * 3 + 1) % 4);
}

// Cells of an element: two ranks describe the same bytes differently. Divides all block lengths.
int64_t element(const Case& c, int rank, bool input) {
  if (c.count == 0) return 1;
  if (c.count % 6 != 0) return c.count % 2 == 0 ? 1 + (rank + input) % 2 : 1;
  constexpr int64_t kElements[] = {2, 3, 6, 1};
  return kElements[(rank + 2 * input) % 4];
}

std::vector<Cell> empty(int64_t cells) {
  return std::vector<Cell>(static_cast<size_t>(cells));
}
void put(std::vector<Cell>& at, int64_t offset, int64_t count, int rank, int64_t what) {
  for (int64_t i = 0; i < count; ++i) at[static_cast<size_t>(offset + i)] = datum(rank, what + i);
}
std::string expect(const std::vector<Cell>& at, int64_t offset, int64_t count, int from,
                   int64_t what) {
  for (int64_t i = 0; i < count; ++i)
    if (!(at[static_cast<size_t>(offset + i)] == datum(from, what + i)))
      return "cell " + std::to_string(offset + i) + " is not cell " + std::to_string(i) +
             " of rank " + std::to_string(from);
  return {};
}

// Blocks in falling order with a gap between them.
std::vector<Block> spread(const Case& c, const std::function<int64_t(int)>& cells, int64_t& total) {
  std::vector<Block> blocks(static_cast<size_t>(c.size));
  total = 0;
  for (int i = c.size - 1; i >= 0; --i) {
    blocks[static_cast<size_t>(i)] = {total, cells(i)};
    total += cells(i) + 1;
  }
  return blocks;
}

Rank basic(const Case& c, int r) {
  Rank rank;
  Shape& s = rank.shape;
  s.kind = c.kind;
  s.size = c.size, s.rank = r, s.root = c.root;
  s.in_place = c.in_place;
  s.commutative = c.commutative;
  s.segment = 4;
  if (c.size > 1) {
    s.small_slot = c.size % 3 == 0 ? 1 : 4096;  // too small for anything, or large enough for most
    s.large_slot = c.size + 1;
  }
  return rank;
}

// ---- what moves data: set-up and expectation

void set_up_rooted(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const bool is_root = s.rank == c.root,
             gathers = c.kind == Collective::gather || c.kind == Collective::gatherv;
  const bool v = c.kind == Collective::gatherv || c.kind == Collective::scatterv;
  rank.in_cells = element(c, s.rank, true), rank.out_cells = element(c, s.rank, false);
  s.in_place = c.in_place && is_root;
  if (!v) s.bytes = c.count;
  const auto cells = [&](int i) { return v ? own_cells(c, i) : c.count; };
  int64_t all = 0;
  std::vector<Block> blocks;
  if (v)
    blocks = spread(c, cells, all);
  else
    all = c.count * c.size;
  const auto offset = [&](int i) {
    return v ? blocks[static_cast<size_t>(i)].offset : i * c.count;
  };
  if (gathers) {
    if (!s.in_place) {
      s.in_count = cells(s.rank) / rank.in_cells;
      rank.input = empty(cells(s.rank));
      put(rank.input, 0, cells(s.rank), s.rank, 0);
    }
    if (!is_root) return;
    s.out_count = v ? 0 : c.count / rank.out_cells;
    rank.output = empty(all);
    rank.out_blocks = blocks;
    if (s.in_place) put(rank.output, offset(s.rank), cells(s.rank), s.rank, 0);
  } else {
    if (!s.in_place) {
      s.out_count = cells(s.rank) / rank.out_cells;
      rank.output = empty(cells(s.rank));
    }
    if (!is_root) return;
    s.in_count = v ? 0 : c.count / rank.in_cells;
    rank.input = empty(all);
    rank.in_blocks = blocks;
    for (int i = 0; i < c.size; ++i) put(rank.input, offset(i), cells(i), s.rank, i * kPerBlock);
  }
}

std::string check_rooted(const Case& c, const Rank& rank) {
  const Shape& s = rank.shape;
  const bool gathers = c.kind == Collective::gather || c.kind == Collective::gatherv;
  const bool v = c.kind == Collective::gatherv || c.kind == Collective::scatterv;
  const auto cells = [&](int i) { return v ? own_cells(c, i) : c.count; };
  if (!gathers)
    return s.in_place ? "" : expect(rank.output, 0, cells(s.rank), c.root, s.rank * kPerBlock);
  if (s.rank != c.root) return {};
  for (int i = 0; i < c.size; ++i) {
    const int64_t at = v ? rank.out_blocks[static_cast<size_t>(i)].offset : i * c.count;
    if (std::string wrong = expect(rank.output, at, cells(i), i, 0); !wrong.empty()) return wrong;
  }
  return {};
}

void set_up_bcast(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  s.in_place = false;
  s.bytes = c.count;
  s.dense = s.rank % 3 != 1;
  rank.out_cells = element(c, s.rank, false);
  s.out_count = c.count / rank.out_cells;
  rank.output = empty(c.count);
  if (s.rank == c.root) put(rank.output, 0, c.count, c.root, 0);
}
std::string check_bcast(const Case& c, const Rank& rank) {
  return expect(rank.output, 0, c.count, c.root, 0);
}

void set_up_allgather(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const bool v = c.kind == Collective::allgatherv;
  rank.in_cells = element(c, s.rank, true), rank.out_cells = element(c, s.rank, false);
  const int64_t mine = v ? own_cells(c, s.rank) : c.count;
  int64_t at = s.rank * c.count;
  if (v) {
    int64_t all;
    rank.out_blocks = spread(
        c, [&](int i) { return own_cells(c, i); }, all);
    rank.output = empty(all);
    at = rank.out_blocks[static_cast<size_t>(s.rank)].offset;
    for (int i = 0; i < c.size; ++i) {
      s.counts.push_back(own_cells(c, i));
      s.bytes += own_cells(c, i);
    }
  } else {
    s.out_count = c.count / rank.out_cells;
    s.bytes = c.count;
    rank.output = empty(c.count * c.size);
  }
  if (c.in_place) return put(rank.output, at, mine, s.rank, 0);
  s.in_count = mine / rank.in_cells;
  rank.input = empty(mine);
  put(rank.input, 0, mine, s.rank, 0);
}
std::string check_allgather(const Case& c, const Rank& rank) {
  const bool v = c.kind == Collective::allgatherv;
  for (int i = 0; i < c.size; ++i) {
    const int64_t at = v ? rank.out_blocks[static_cast<size_t>(i)].offset : i * c.count;
    if (std::string wrong = expect(rank.output, at, v ? own_cells(c, i) : c.count, i, 0);
        !wrong.empty())
      return wrong;
  }
  return {};
}

void set_up_alltoall(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const bool v = c.kind != Collective::alltoall;
  rank.in_cells = element(c, s.rank, true), rank.out_cells = element(c, s.rank, false);
  const auto cells = [&](int i) { return v ? pair_cells(c, s.rank, i) : c.count; };
  int64_t all = c.count * c.size;
  std::vector<Block> blocks;
  if (v) blocks = spread(c, cells, all);
  rank.in_blocks = rank.out_blocks = blocks;
  rank.output = empty(all);
  if (!v) {
    s.bytes = c.count;
    s.out_count = c.count / rank.out_cells;
    s.in_count = c.in_place ? 0 : c.count / rank.in_cells;
  }
  if (!c.in_place) rank.input = empty(all);
  std::vector<Cell>& from = c.in_place ? rank.output : rank.input;
  for (int i = 0; i < c.size; ++i)
    put(from, v ? blocks[static_cast<size_t>(i)].offset : i * c.count, cells(i), s.rank,
        i * kPerBlock);
}
std::string check_alltoall(const Case& c, const Rank& rank) {
  const int me = rank.shape.rank;
  const bool v = c.kind != Collective::alltoall;
  for (int i = 0; i < c.size; ++i) {
    const int64_t at = v ? rank.out_blocks[static_cast<size_t>(i)].offset : i * c.count;
    const int64_t cells = v ? pair_cells(c, me, i) : c.count;
    if (std::string wrong = expect(rank.output, at, cells, i, me * kPerBlock); !wrong.empty())
      return wrong;
  }
  return {};
}

// ---- reductions

bool scatters(Collective kind) {
  return kind == Collective::reduce_scatter || kind == Collective::reduce_scatter_block;
}
int64_t scattered(const Case& c, int rank) {  // elements of its block
  return c.kind == Collective::reduce_scatter ? own_cells(c, rank) : c.count;
}

void set_up_reduction(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  rank.in_cells = rank.out_cells = 2;
  int64_t vector = c.count;
  if (scatters(c.kind)) {
    vector = 0;
    for (int i = 0; i < c.size; ++i) {
      if (c.kind == Collective::reduce_scatter) s.counts.push_back(scattered(c, i));
      vector += scattered(c, i);
    }
    if (c.kind == Collective::reduce_scatter_block) s.out_count = c.count;
  } else {
    s.in_count = s.out_count = c.count;
  }
  s.bytes = 2 * vector;
  if (c.kind == Collective::reduce) s.in_place = c.in_place && s.rank == c.root;
  const int64_t result = scatters(c.kind) ? scattered(c, s.rank) : c.count;
  const bool has_output = c.kind != Collective::reduce || s.rank == c.root;
  rank.output = empty(2 * (s.in_place ? vector : has_output ? result : 0));
  if (!s.in_place) rank.input = empty(2 * vector);
  put(s.in_place ? rank.output : rank.input, 0, 2 * vector, s.rank, 0);
}

std::string check_reduction(const Case& c, const Rank& rank) {
  const int me = rank.shape.rank;
  if (c.kind == Collective::reduce && me != c.root) return {};
  if (c.kind == Collective::exscan && me == 0) {
    for (const Cell& cell : rank.output)
      if (!c.in_place && cell.who != 0) return "rank 0 of an exscan has written its output";
    return {};
  }
  int end = c.size;
  if (c.kind == Collective::scan) end = me + 1;
  if (c.kind == Collective::exscan) end = me;
  int64_t what = 0, count = c.count;
  if (scatters(c.kind)) {
    for (int i = 0; i < me; ++i) what += 2 * scattered(c, i);
    count = scattered(c, me);
  }
  Cell expected = reduced(0, end, 0);
  for (int64_t i = 0; i < 2 * count; ++i) {
    const Cell& got = rank.output[static_cast<size_t>(i)];
    expected.what = what + i;
    if (got.who != expected.who || got.what != expected.what)
      return "cell " + std::to_string(i) + " misses an operand, or has one twice";
    if (!c.commutative && !(got == expected))
      return "cell " + std::to_string(i) + " met its operands out of order";
  }
  return {};
}

// ---- one case

struct Kind {
  void (*set_up)(const Case&, Rank&);
  std::string (*check)(const Case&, const Rank&);
};
Kind kind_of(Collective kind) {
  switch (kind) {
    case Collective::barrier:
      return {[](const Case&, Rank&) {}, [](const Case&, const Rank&) { return std::string(); }};
    case Collective::bcast:
      return {set_up_bcast, check_bcast};
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
      return {set_up_rooted, check_rooted};
    case Collective::allgather:
    case Collective::allgatherv:
      return {set_up_allgather, check_allgather};
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::alltoallw:
      return {set_up_alltoall, check_alltoall};
    default:
      return {set_up_reduction, check_reduction};
  }
}

void replay(const Case& c, const Algorithm& algorithm) {
  const Kind kind = kind_of(c.kind);
  std::vector<Rank> fresh;
  for (int r = 0; r < c.size; ++r) {
    fresh.push_back(basic(c, r));
    kind.set_up(c, fresh.back());
    if (!objection(algorithm, fresh.back().shape).empty()) return;
  }
  for (const Sends sends : {Sends::eager, Sends::synchronous}) {
    std::vector<Rank> ranks = fresh;
    const uint64_t seed = static_cast<uint64_t>(c.size * 131 + c.root + c.count);
    const std::string wrong = run(ranks, algorithm, sends, seed);
    ASSERT_TRUE(wrong.empty()) << c.describe(algorithm)
                               << (sends == Sends::eager ? ", eager: " : ", synchronous: ")
                               << wrong;
    for (const Rank& rank : ranks) {
      const std::string bad = kind.check(c, rank);
      ASSERT_TRUE(bad.empty()) << c.describe(algorithm) << ": rank " << rank.shape.rank << ": "
                               << bad << "\n"
                               << to_string(algorithm.build(rank.shape));
    }
  }
}

bool has_root(Collective kind) {
  switch (kind) {
    case Collective::bcast:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::reduce:
      return true;
    default:
      return false;
  }
}
bool reduces(Collective kind) {
  return kind >= Collective::reduce;
}

class Replay : public testing::TestWithParam<int> {
 protected:
  Collective kind() const { return static_cast<Collective>(GetParam()); }
  std::vector<Case> cases(int size) const {
    std::vector<Case> all;
    std::vector<int> roots{0};
    if (has_root(kind())) {
      if (size > 1) roots.push_back(size - 1);
      if (size > 2) roots.push_back(size / 2);
      if (size > 5) roots.push_back(1);
    }
    std::vector<int64_t> counts{6};
    if (kind() == Collective::bcast || reduces(kind()))
      counts = {1, 13, size + 1};           // fewer than ranks, odd, a few more than ranks
    if (scatters(kind())) counts = {1, 3};  // of a block each
    if (size % 8 < 3) counts.push_back(0);
    for (const int root : roots)
      for (const int64_t count : counts)
        for (const bool in_place : {false, true}) {
          if (in_place && (kind() == Collective::barrier || kind() == Collective::bcast)) continue;
          if (kind() == Collective::barrier && count != counts.front()) continue;
          for (const bool commutative : {true, false}) {
            if (!commutative && !reduces(kind())) continue;
            all.push_back({kind(), size, root, count, in_place, commutative});
          }
        }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Collectives, Replay, testing::Range(0, kCollectives), [](auto& info) {
  return std::string(name_of(static_cast<Collective>(info.param)));
});

TEST_P(Replay, EverySizeUpTo65) {
  for (int size = 1; size <= most_ranks(); ++size)
    for (const Case& c : cases(size))
      for (const Algorithm& algorithm : algorithms(kind())) {
        ASSERT_NO_FATAL_FAILURE(replay(c, algorithm));
      }
}

TEST_P(Replay, SomeLargerSizes) {
  if (most_ranks() < 65) GTEST_SKIP() << "TUTTI_TEST_REPLAY_RANKS";
  for (const int size : {100, 128, 255})
    for (const Algorithm& algorithm : algorithms(kind()))
      for (const bool commutative : {true, false}) {
        const Case c{kind(), size, has_root(kind()) ? size / 3 : 0, 2, false, commutative};
        ASSERT_NO_FATAL_FAILURE(replay(c, algorithm));
      }
}

// Where a call has few steps and few cells, also thousands of ranks.
TEST_P(Replay, Thousands) {
  if (most_ranks() < 65) GTEST_SKIP() << "TUTTI_TEST_REPLAY_RANKS";
  const bool square = kind() >= Collective::allgather && kind() <= Collective::alltoallw;
  if ((square && kind() > Collective::allgatherv) || scatters(kind()))
    GTEST_SKIP() << "as many cells as the square of the ranks, several times";
  for (const int size : {1000, 1024, 2048, 3001})
    for (const Algorithm& algorithm : algorithms(kind())) {
      if (square && size > 1024) continue;
      const Case c{kind(), size, has_root(kind()) ? size / 3 : 0, 1, false, true};
      Rank middle = basic(c, size / 2);
      kind_of(kind()).set_up(c, middle);
      if (!objection(algorithm, middle.shape).empty()) continue;
      if (algorithm.build(middle.shape).steps.size() > 100) continue;
      ASSERT_NO_FATAL_FAILURE(replay(c, algorithm));
    }
}

// Calls through shared memory follow one another, or are outstanding all at once: the slots of one
// become those of another.
TEST(ReplayShared, ManyCallsOnOneCommunicator) {
  std::mt19937_64 random(5);
  for (const int size : {2, 3, 4, 5, 8, 16, 23, 33})
    for (const bool one_by_one : {true, false})
      for (int turn = 0; turn < 12; ++turn) {
        std::vector<Case> cases;
        std::vector<std::vector<Rank>> ranks;
        std::vector<const Algorithm*> chosen;
        while (cases.size() < 10) {
          Case c{static_cast<Collective>(random() % kCollectives), size};
          c.root = has_root(c.kind) ? static_cast<int>(random() % static_cast<uint64_t>(size)) : 0;
          c.count = c.kind == Collective::barrier ? 6 : 6 * static_cast<int64_t>(random() % 4);
          c.commutative = !reduces(c.kind);
          const auto all = algorithms(c.kind);
          const Algorithm& algorithm = all[random() % all.size()];
          if (algorithm.needs != Needs::shared_memory) continue;
          std::vector<Rank> fresh;
          bool fits = true;
          for (int r = 0; r < size; ++r) {
            fresh.push_back(basic(c, r));
            fresh.back().shape.small_slot = turn % 2 == 0 ? 40 : 4096;
            kind_of(c.kind).set_up(c, fresh.back());
            fits = fits && objection(algorithm, fresh.back().shape).empty();
          }
          if (!fits) continue;
          cases.push_back(c), ranks.push_back(std::move(fresh)), chosen.push_back(&algorithm);
        }
        std::vector<Outstanding> calls;
        for (size_t i = 0; i < cases.size(); ++i) calls.push_back({&ranks[i], chosen[i]});
        const std::string wrong = run(calls, one_by_one, random());
        ASSERT_EQ(wrong, "") << size << " ranks";
        for (size_t i = 0; i < cases.size(); ++i)
          for (const Rank& rank : ranks[i])
            ASSERT_EQ(kind_of(cases[i].kind).check(cases[i], rank), "")
                << cases[i].describe(*chosen[i]);
      }
}

// The machine itself: it must find what it is there to find.
TEST(ReplayMachine, RefusesWhatIsWrong) {
  const auto two = [](Plan (*build)(const Shape&), Sends sends) {
    std::vector<Rank> ranks;
    for (int r = 0; r < 2; ++r) {
      const Case c{Collective::allreduce, 2, 0, 4, false, false};
      ranks.push_back(basic(c, r));
      set_up_reduction(c, ranks.back());
    }
    return run(ranks, {.name = "wrong", .build = build}, sends, 1);
  };
  const auto refused = [&](const char* why, Plan (*build)(const Shape&),
                           Sends sends = Sends::eager) {
    const std::string wrong = two(build, sends);
    EXPECT_NE(wrong.find(why), std::string::npos) << "expected '" << why << "', got: " << wrong;
  };
  refused("reads what nobody wrote", [](const Shape& s) {
    PlanBuilder plan(s);
    return plan.send(plan.scratch_like(plan.out()), 1 - s.rank).recv(plan.out(), 1 - s.rank).done();
  });
  refused(
      "deadlock",
      [](const Shape& s) {  // only where sends do not wait for receives
        PlanBuilder plan(s);
        return plan.send(plan.in(), 1 - s.rank).fence().recv(plan.out(), 1 - s.rank).done();
      },
      Sends::synchronous);
  refused("never received", [](const Shape& s) {
    PlanBuilder plan(s);
    return plan.send(plan.in(), 1 - s.rank).done();
  });
  refused("same memory", [](const Shape& s) {
    PlanBuilder plan(s);
    return plan.copy(plan.in(), plan.out())
        .recv(plan.out(), 1 - s.rank)
        .send(plan.in(), 1 - s.rank)
        .done();
  });
  refused("writes the input", [](const Shape& s) {
    PlanBuilder plan(s);
    return plan.send(plan.in(), 1 - s.rank).fence().recv(plan.in(), 1 - s.rank).done();
  });
  refused("do not belong together", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.copy(plan.in(), plan.out()).fence();
    return plan.reduce(plan.in().slice(0, 1), plan.out().slice(1, 1)).done();
  });
  refused("reads a slot not awaited", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(Lane::small);
    const int round = plan.round();
    plan.claim(round).publish(round).copy(plan.slot_elements(round, 1 - s.rank, 0, 4), plan.out());
    return plan.leave(round).done();
  });
  refused("touches a slot not claimed", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(Lane::small);
    const int round = plan.round();
    return plan.copy(plan.in(), plan.slot_elements(round, s.rank, 0, 4)).leave(round).done();
  });
  refused("writes a slot that is published", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(Lane::small);
    const int round = plan.round();
    plan.claim(round).publish(round).copy(plan.in(), plan.slot_elements(round, s.rank, 0, 4));
    return plan.leave(round).done();
  });
  refused("touches a round that it has left", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(Lane::small);
    const int round = plan.round();
    plan.claim(round).leave(round).copy(plan.in(), plan.slot_elements(round, s.rank, 0, 4));
    return plan.done();
  });
  refused("never leaves a round", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(Lane::small);
    return plan.claim(plan.round()).done();
  });
  refused("different rounds", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(Lane::small);
    for (int i = 0; i <= s.rank; ++i) plan.leave(plan.round());
    return plan.done();
  });
  refused("deadlock", [](const Shape& s) {  // nobody shows what both await
    PlanBuilder plan(s);
    plan.share(Lane::small);
    const int round = plan.round();
    return plan.await(round).leave(round).done();
  });
  refused("cells for", [](const Shape& s) {
    PlanBuilder plan(s);
    return plan.send(plan.in().slice(0, 3), 1 - s.rank).recv(plan.out(), 1 - s.rank).done();
  });
}

}  // namespace
}  // namespace tutti::coll::replay
