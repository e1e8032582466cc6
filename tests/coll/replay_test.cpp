// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of every collective, replayed for all sizes from 1 to 65 and some larger ones:
// several roots and counts, in place or not, types that differ between ranks, blocks of no length.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>

#include "coll/selection.hpp"
#include "replay_cases.hpp"

namespace tutti::coll::replay {
namespace {

int most_ranks() {
  const char* limit = std::getenv("TUTTI_TEST_REPLAY_RANKS");
  return limit ? std::atoi(limit) : 65;
}

// By which the parts of hierarchical plans are chosen: messages only, also in pieces, and shared
// memory wherever it is.
const Selection* rules(int which) {
  static const std::shared_ptr<const Selection> all[] = {
      *Selection::parse("", "none"), *Selection::parse("bcast scatter_ring\n", "pieces"),
      *Selection::parse("barrier shared\nbcast shared\ngather shared\nscatter shared\nallgather shared\n"
                        "reduce shared_parts\nallreduce pairwise\nalltoall bruck\n"
                        "allgatherv bruck\n",
                        "shared")};
  return which % 4 == 3 ? nullptr : all[which % 4].get();
}

// Gives a rank its place among nodes, of which some have no shared memory.
void put_on_node(const Case& c, Rank& rank, std::vector<std::unique_ptr<NodeLayout>>& layouts) {
  if (c.places.empty()) return;
  Shape& s = rank.shape;
  layouts.push_back(std::make_unique<NodeLayout>(c.places, s.rank));
  s.nodes = layouts.back().get();
  s.rules = rules(c.size + static_cast<int>(c.count));
  if ((s.nodes->node() + c.size) % 4 == 3) s.small_slot = s.large_slot = 0;
}

// Equal nodes, unequal ones, ranks dealt out in turn, nodes of one rank, any.
std::vector<std::vector<int>> layouts_of(int size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<std::vector<int>> all(6, std::vector<int>(static_cast<size_t>(size)));
  for (int i = 0, node = 0, left = 1; i < size; ++i) {
    const auto at = static_cast<size_t>(i);
    all[0][at] = i / 4;
    all[1][at] = i * 2 / size;
    all[2][at] = i % 3;
    all[3][at] = i % 2;
    if (left-- == 0) ++node, left = node % 3;
    all[4][at] = node;
    all[5][at] = static_cast<int>(random() % 4);
  }
  return all;
}

void replay_once(const Case& c, const Algorithm& algorithm);

bool is_by_nodes(const Algorithm& algorithm) {
  return algorithm.needs == Needs::nodes || algorithm.needs == Needs::equal_nodes;
}

void replay(const Case& c, const Algorithm& algorithm) {
  if (!is_by_nodes(algorithm)) return replay_once(c, algorithm);
  if (c.size > 33 && c.size != 65 && c.size != 100) return;  // its parts are replayed by themselves
  int which = 0;
  for (const std::vector<int>& places : layouts_of(c.size)) {
    // All of them on few ranks, in turns on many.
    const int turns = c.size > 17 ? 6 : c.size > 9 ? 3 : 1;
    if (++which % turns != c.size % turns) continue;
    Case placed = c;
    placed.places = places;
    ASSERT_NO_FATAL_FAILURE(replay_once(placed, algorithm));
  }
}

void replay_once(const Case& c, const Algorithm& algorithm) {
  const Kind kind = kind_of(c.kind);
  std::vector<Rank> fresh;
  std::vector<std::unique_ptr<NodeLayout>> layouts;
  for (int r = 0; r < c.size; ++r) {
    fresh.push_back(basic(c, r));
    kind.set_up(c, fresh.back());
    put_on_node(c, fresh.back(), layouts);
    if (!objection(algorithm, fresh.back().shape).empty()) return;
  }
  for (const Sends sends : {Sends::eager, Sends::synchronous}) {
    std::vector<Rank> ranks = fresh;
    const uint64_t seed = static_cast<uint64_t>(c.size * 131 + c.root + c.count);
    const std::string wrong = run(ranks, algorithm, sends, seed);
    ASSERT_TRUE(wrong.empty()) << c.describe(algorithm) << (sends == Sends::eager ? ", eager: " : ", synchronous: ")
                               << wrong;
    for (const Rank& rank : ranks) {
      const std::string bad = kind.check(c, rank);
      ASSERT_TRUE(bad.empty()) << c.describe(algorithm) << ": rank " << rank.shape.rank << ": " << bad << "\n"
                               << to_string(algorithm.build(rank.shape));
    }
  }
}

bool has_root(Collective kind) {
  return row_of(kind).rooted();
}
bool reduces(Collective kind) {
  return row_of(kind).reduces;
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
INSTANTIATE_TEST_SUITE_P(Collectives, Replay, testing::Range(0, kCollectivesOverRanks),
                         [](auto& info) { return std::string(name_of(static_cast<Collective>(info.param))); });

// Up to few ranks, only what is just beyond a power of two from 18 on: the rest says the same, in 49 s instead of 7.
bool is_left_out(int size) {
  return most_ranks() < 65 && size > 18 && size != 33;
}

TEST_P(Replay, EverySizeUpTo65) {
  for (int size = 1; size <= most_ranks(); ++size)
    for (const Case& c : is_left_out(size) ? std::vector<Case>() : cases(size))
      for (const Algorithm& algorithm : algorithms(kind())) {
        ASSERT_NO_FATAL_FAILURE(replay(c, algorithm));
      }
}

TEST_P(Replay, SomeLargerSizes) {
  if (most_ranks() < 34) GTEST_SKIP() << "TUTTI_TEST_REPLAY_RANKS";
  for (const int size : {100, 128, 255})
    for (const Algorithm& algorithm : algorithms(kind()))
      for (const bool commutative : {true, false}) {
        const Case c{kind(), size, has_root(kind()) ? size / 3 : 0, 2, false, commutative};
        ASSERT_NO_FATAL_FAILURE(replay(c, algorithm));
      }
}

// Where a call has few steps and few cells, also thousands of ranks.
TEST_P(Replay, Thousands) {
  if (most_ranks() < 34) GTEST_SKIP() << "TUTTI_TEST_REPLAY_RANKS";
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
      if (unrolled(algorithm.build(middle.shape)).steps.size() > 100) continue;
      ASSERT_NO_FATAL_FAILURE(replay(c, algorithm));
    }
}

// Nodes with more ranks than a cache has lines to spare, and hundreds of them: equal nodes, a last one that is not full,
// ranks dealt out in turn.
TEST(ReplayNodes, ManyRanksANode) {
  if (most_ranks() < 34) GTEST_SKIP() << "TUTTI_TEST_REPLAY_RANKS";
  struct Layout {
    int size, node_ranks;
    bool in_turn;
  };
  for (const Layout& layout : {Layout{256, 64, false}, Layout{300, 96, false}, Layout{200, 40, true},
                               Layout{1024, 128, false}, Layout{1001, 13, false}})
    for (const Collective kind : {Collective::allreduce, Collective::allgather, Collective::allgatherv,
                                  Collective::alltoall, Collective::reduce_scatter, Collective::reduce_scatter_block})
      for (const bool commutative : {true, false}) {
        const bool square = kind != Collective::allreduce;
        if ((square && layout.size > 300) || (!reduces(kind) && !commutative)) continue;
        Case c{kind, layout.size, 0, square ? 1 : layout.size / 3, false, commutative};
        const int nodes = (layout.size + layout.node_ranks - 1) / layout.node_ranks;
        for (int i = 0; i < layout.size; ++i) c.places.push_back(layout.in_turn ? i % nodes : i / layout.node_ranks);
        for (const Algorithm& algorithm : algorithms(kind))
          if (is_by_nodes(algorithm)) {
            ASSERT_NO_FATAL_FAILURE(replay_once(c, algorithm));
          }
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
        std::vector<std::unique_ptr<NodeLayout>> layouts;
        const bool one_node = turn % 3 != 0 || size < 4;
        std::vector<int> places = layouts_of(size)[static_cast<size_t>(turn) / 2];
        const NodeLayout layout(places, 0);
        if (layout.nodes() < 2 || layout.most() < 2) places = layouts_of(size)[1];
        while (cases.size() < 10) {
          Case c{static_cast<Collective>(random() % kCollectivesOverRanks), size};
          c.root = has_root(c.kind) ? static_cast<int>(random() % static_cast<uint64_t>(size)) : 0;
          c.count = c.kind == Collective::barrier ? 6 : 6 * static_cast<int64_t>(random() % 4);
          c.commutative = !reduces(c.kind);
          const auto all = algorithms(c.kind);
          const Algorithm& algorithm = all[random() % all.size()];
          const bool in_memory = algorithm.needs == Needs::shared_memory || algorithm.needs == Needs::shared_slot;
          if (one_node ? !in_memory : !is_by_nodes(algorithm)) continue;
          if (!one_node) c.places = places;
          std::vector<Rank> fresh;
          bool fits = true;
          for (int r = 0; r < size; ++r) {
            fresh.push_back(basic(c, r));
            fresh.back().shape.small_slot = turn % 2 == 0 ? 56 : 4096;
            kind_of(c.kind).set_up(c, fresh.back());
            put_on_node(c, fresh.back(), layouts);
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
            ASSERT_EQ(kind_of(cases[i].kind).check(cases[i], rank), "") << cases[i].describe(*chosen[i]);
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
  const auto refused = [&](const char* why, Plan (*build)(const Shape&), Sends sends = Sends::eager) {
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
    return plan.copy(plan.in(), plan.out()).recv(plan.out(), 1 - s.rank).send(plan.in(), 1 - s.rank).done();
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
    plan.share(LaneSize::small);
    const int round = plan.round();
    plan.claim(round).publish(round).copy(plan.slot_elements(round, 1 - s.rank, 0, 4), plan.out());
    return plan.leave(round).done();
  });
  refused("touches a slot not claimed", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(LaneSize::small);
    const int round = plan.round();
    return plan.copy(plan.in(), plan.slot_elements(round, s.rank, 0, 4)).leave(round).done();
  });
  refused("writes a slot that is published", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(LaneSize::small);
    const int round = plan.round();
    plan.claim(round).publish(round).copy(plan.in(), plan.slot_elements(round, s.rank, 0, 4));
    return plan.leave(round).done();
  });
  refused("touches a round that it has left", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(LaneSize::small);
    const int round = plan.round();
    plan.claim(round).leave(round).copy(plan.in(), plan.slot_elements(round, s.rank, 0, 4));
    return plan.done();
  });
  refused("never leaves a round", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(LaneSize::small);
    return plan.claim(plan.round()).done();
  });
  refused("different rounds", [](const Shape& s) {
    PlanBuilder plan(s);
    plan.share(LaneSize::small);
    for (int i = 0; i <= s.rank; ++i) plan.leave(plan.round());
    return plan.done();
  });
  refused("deadlock", [](const Shape& s) {  // nobody shows what both await
    PlanBuilder plan(s);
    plan.share(LaneSize::small);
    const int round = plan.round();
    return plan.await(round).leave(round).done();
  });
  refused("cells for", [](const Shape& s) {
    PlanBuilder plan(s);
    return plan.send(plan.in().slice(0, 3), 1 - s.rank).recv(plan.out(), 1 - s.rank).done();
  });
}

// A broadcast of four packed bytes in two messages, to a rank whose memory has gaps.
TEST(ReplayMachine, RefusesWhatIsWrongOfPackedBytes) {
  static Buf first, second;  // where they are received
  static bool apart;         // each has a range of its own
  const auto replayed = [](const Buf& into_first, const Buf& into_second, bool own_ranges = true) {
    first = into_first, second = into_second, apart = own_ranges;
    std::vector<Rank> ranks;
    for (int r = 0; r < 2; ++r) {
      const Case c{Collective::bcast, 2, 0, 4};
      ranks.push_back(basic(c, r));
      set_up_bcast(c, ranks.back());
    }
    EXPECT_TRUE(ranks[0].shape.dense);
    EXPECT_FALSE(ranks[1].shape.dense);
    const auto build = [](const Shape& s) {
      PlanBuilder plan(s);
      if (s.rank == 0) return plan.send(plan.out_packed(0, 3), 1).send(plan.out_packed(3, 1), 1).done();
      Plan receives = plan.recv(first, 0).recv(second, 0).done();
      if (!apart) receives.steps[1].into.range = receives.steps[0].into.range;
      return receives;
    };
    const std::string wrong = run(ranks, {.name = "wrong", .build = build}, Sends::eager, 1);
    if (!wrong.empty()) return wrong;
    return check_bcast({Collective::bcast, 2, 0, 4}, ranks[1]);
  };
  const auto packed = [](int64_t offset, int64_t bytes) { return Buf{Region::output, Unit::packed, 0, offset, bytes}; };
  const auto refused = [](const std::string& wrong, const char* why) {
    EXPECT_NE(wrong.find(why), std::string::npos) << "expected '" << why << "', got: " << wrong;
  };
  EXPECT_EQ(replayed(packed(0, 3), packed(3, 1)), "");
  refused(replayed(packed(0, 3), {Region::output, Unit::bytes, 0, 3, 1}), "one run of bytes");
  refused(replayed(packed(0, 3), packed(3, 1), false), "no range of its own");
  refused(replayed(packed(0, 3), packed(2, 1)), "the same memory");
  refused(replayed(packed(0, 2), packed(2, 2)), "cells for");
  refused(replayed(packed(0, 3), packed(4, 1)), "outside");
  refused(replayed(packed(1, 3), packed(0, 1)), "is not cell");
}

}  // namespace
}  // namespace tutti::coll::replay
