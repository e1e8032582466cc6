// SPDX-License-Identifier: BSD-3-Clause
// Plans on thousands of ranks, by the rules as shipped: simulated time beside the least that it can be, steps, bytes of
// plans and of scratch, and what a node sends. All of it is the same on each run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "exec/binding.hpp"
#include "model/simulation.hpp"

namespace tutti::model {
namespace {

using enum coll::Collective;

const Costs kCosts;

struct Limit {
  Ask ask;
  double over_bound;  // at most
  int64_t steps, plan_bytes, scratch_bytes;
};

void expect_within(const Job& job, const Limit& limit) {
  const Outcome got = simulate(kCosts, job, limit.ask);
  SCOPED_TRACE(testing::Message() << coll::name_of(limit.ask.kind) << " of " << limit.ask.bytes << " bytes on "
                                  << job.ranks << " ranks, " << job.node_ranks << " a node: " << got.algorithm << ", "
                                  << got.seconds * 1e6 << " us");
  ASSERT_TRUE(got.whole) << got.why;
  EXPECT_LE(got.seconds / bound_of(kCosts, job, limit.ask).seconds(), limit.over_bound);
  EXPECT_LE(got.steps, limit.steps);
  EXPECT_LE(got.plan_bytes, limit.plan_bytes);
  EXPECT_LE(got.scratch_bytes, limit.scratch_bytes);
}

constexpr int64_t kMedium = 64 << 10, kLong = 16 << 20;

// By hand: 8 nodes are known to all after 3 rounds of 1.5 + 2 x 0.3 us.
TEST(Model, BoundsAreTheLargestOfThree) {
  const Job job{1024, 128};
  const Bound barriers = bound_of(kCosts, job, {barrier, 0});
  EXPECT_NEAR(barriers.seconds(), 3 * 2.1e-6 + 2 * 0.15e-6, 1e-12);
  const Bound vector = bound_of(kCosts, job, {allreduce, kLong});
  EXPECT_NEAR(vector.card, 2.0 * kLong * 7 / 8 / 12.5e9, 1e-9);
  EXPECT_NEAR(vector.core, 3.0 * kLong / 20e9, 1e-9);
  EXPECT_EQ(vector.seconds(), vector.core);
  const Bound blocks = bound_of(kCosts, job, {alltoall, 1000});
  EXPECT_NEAR(blocks.seconds(), 128.0 * 896 * 1000 / 12.5e9, 1e-9);
  EXPECT_EQ(bound_of(kCosts, {1, 1}, {bcast, 8}).card, 0);
}

// One message between two ranks, and what a card with many of them does.
TEST(Simulation, AMessageTakesWhatTheModelSays) {
  const auto rules = coll::Selection::parse("bcast binomial", "rules");
  ASSERT_TRUE(rules) << rules.error().message();
  const Outcome two = simulate(kCosts, {2, 1}, {bcast, 12500}, **rules, Ranks::all);
  ASSERT_TRUE(two.whole) << two.why;
  EXPECT_NEAR(two.seconds, 0.3e-6 + 1.5e-6 + 1e-6 + 0.3e-6, 1e-12);
  EXPECT_EQ(two.card_messages, 1);
  EXPECT_EQ(two.card_bytes, 12500);
  // The root sends twice, and its card carries one message after the other.
  const Outcome three = simulate(kCosts, {3, 1}, {bcast, 125000}, **rules, Ranks::all);
  ASSERT_TRUE(three.whole) << three.why;
  EXPECT_NEAR(three.seconds, 0.3e-6 + 1.5e-6 + 20e-6 + 0.3e-6, 1e-12);
}

TEST(Simulation, OneNodeStandsForAllWhereAllAreAlike) {
  for (const Job& job : {Job{512, 16}, Job{768, 24}, Job{4096, 128}})
    for (const Ask& ask : {Ask{barrier, 0}, Ask{allreduce, 8}, Ask{allreduce, kMedium}, Ask{allreduce, 1 << 20},
                           Ask{allgather, 8}, Ask{allgatherv, 8}}) {
      const Outcome one = simulate(kCosts, job, ask, *coll::Selection::shipped(), Ranks::of_one_node);
      const Outcome all = simulate(kCosts, job, ask, *coll::Selection::shipped(), Ranks::all);
      SCOPED_TRACE(testing::Message() << coll::name_of(ask.kind) << " " << ask.bytes << " on " << job.ranks);
      ASSERT_TRUE(all.whole) << all.why;
      if (!one.whole) continue;  // then all ranks' plans are run
      EXPECT_NEAR(one.seconds / all.seconds, 1, 0.01);
      EXPECT_EQ(one.card_bytes, all.card_bytes);
    }
}

TEST(Simulation, RefusesNodesThatAreNotAlike) {
  const Outcome tree = simulate(kCosts, {512, 16}, {bcast, 8}, *coll::Selection::shipped(), Ranks::of_one_node);
  EXPECT_FALSE(tree.whole);
}

// 128 nodes of 128 ranks.
TEST(Plans, TenThousandRanks) {
  const Job job{1 << 14, 128};
  for (const Limit& limit : {
           Limit{{barrier, 0}, 1.3, 60, 8 << 10, 64},
           Limit{{bcast, 8}, 1.3, 60, 8 << 10, 64},
           Limit{{bcast, kMedium}, 3.2, 300, 64 << 10, 64},
           Limit{{reduce, 8}, 1.3, 60, 8 << 10, 1 << 10},
           Limit{{allreduce, 8}, 1.3, 60, 8 << 10, 1 << 10},
           Limit{{allreduce, kMedium}, 4, 300, 64 << 10, 2 * kMedium + 1024},
           Limit{{allreduce, kLong}, 2.5, 900, 256 << 10, 1 << 20},
           Limit{{allgather, 8}, 2.5, 300, 64 << 10, 1 << 10},
           Limit{{reduce_scatter_block, 8}, 3, 300, 64 << 10, 300 << 10},
           Limit{{reduce_scatter, 8}, 3, 300, 64 << 10, 300 << 10},
           Limit{{reduce_scatter_block, kLong >> 14}, 2.5, 500, 64 << 10, 2 << 20},
       })
    expect_within(job, limit);
}

// Loops of what is a step for each rank, or for each piece.
TEST(Plans, WhereEachBlockIsAStep) {
  const Job job{1 << 14, 128};
  expect_within(job, {{allgatherv, 8}, 15, 450, 64 << 10, 300 << 10});
  expect_within({1 << 10, 128}, {{alltoall, 8}, 1.7, 700, 128 << 10, 128 << 10});
  expect_within({1 << 10, 128}, {{bcast, kLong}, 2, 300, 64 << 10, 64});
}

// More than are worth running: what the plans of some ranks are.
TEST(Plans, OfMoreRanksAreNotLonger) {
  const Job job{1 << 17, 128};
  std::vector<int> places(static_cast<size_t>(job.ranks));
  for (int rank = 0; rank < job.ranks; ++rank) places[static_cast<size_t>(rank)] = rank / job.node_ranks;
  const NodeLayout layout(places, 0);
  struct Most {
    Ask ask;
    size_t steps, bytes;
  };
  for (const Most& most : {Most{{alltoall, 8}, 800, 128 << 10}, Most{{allgatherv, 8}, 300, 64 << 10},
                           Most{{allgather, 8}, 100, 16 << 10}, Most{{bcast, kLong}, 300, 64 << 10}}) {
    const Calls calls(job, most.ask);
    for (const int rank : {0, 77, 65'000, job.ranks - 1}) {
      const NodeLayout nodes = layout.seen_by(rank);
      const coll::Shape shape = calls.shape(rank, nodes);
      const coll::Plan plan = coll::Selection::shipped()->choose(shape).build(shape);
      EXPECT_LE(plan.written_steps(), most.steps) << coll::name_of(most.ask.kind) << ", rank " << rank;
      EXPECT_LE(exec::bytes_of(plan), most.bytes) << coll::name_of(most.ask.kind) << ", rank " << rank;
    }
  }
}

// Of a long vector a node sends what it must, and next to nothing more.
TEST(Plans, StripesShareTheNet) {
  const Job job{1 << 14, 128};
  const Outcome vector = simulate(kCosts, job, {allreduce, kLong});
  ASSERT_TRUE(vector.whole) << vector.why;
  EXPECT_LE(vector.card_bytes, 2 * kLong);
  const Outcome blocks = simulate(kCosts, job, {reduce_scatter_block, 8});
  ASSERT_TRUE(blocks.whole) << blocks.why;
  EXPECT_LE(blocks.card_bytes, 8 * (1 << 14) + 128 * 8);
}

TEST(Plans, ManyRanksOfOneNode) {
  for (const int ranks : {64, 128, 256}) {
    expect_within({ranks, ranks}, {{bcast, kMedium}, 1.5, 100, 16 << 10, 0});
    expect_within({ranks, ranks}, {{allreduce, kMedium}, 2, 100, 16 << 10, kMedium});
  }
}

TEST(Plans, AMillionRanks) {
  if (!std::getenv("TUTTI_TEST_MILLION")) GTEST_SKIP() << "TUTTI_TEST_MILLION";
  const Job job{1 << 20, 128};
  for (const Limit& limit : {
           Limit{{barrier, 0}, 1.2, 60, 8 << 10, 64},
           Limit{{allreduce, 8}, 1.2, 80, 8 << 10, 1 << 10},
           Limit{{allreduce, kMedium}, 2.9, 300, 64 << 10, 2 * kMedium},
           Limit{{allreduce, kLong}, 2.5, 900, 256 << 10, 1 << 20},
           Limit{{allgather, 8}, 2, 100, 16 << 10, 1 << 10},
       })
    expect_within(job, limit);
  expect_within({1 << 14, 128}, {{alltoall, 8}, 1.5, 200, 64 << 10, 400 << 10});
}

}  // namespace
}  // namespace tutti::model
