// SPDX-License-Identifier: BSD-3-Clause
// Loops of plans: what becomes one, what it says, and how large plans of many ranks are. That they say the same as plans
// without them each replay shows (replay_test.cpp).
#include <gtest/gtest.h>

#include <vector>

#include "coll/algorithm.hpp"
#include "coll/peer_counts.hpp"
#include "coll/plan.hpp"
#include "exec/binding.hpp"

namespace tutti::coll {
namespace {

Shape shape_of_alltoall(int rank, int size) {
  Shape s;
  s.kind = Collective::alltoall;
  s.rank = rank, s.size = size;
  s.in_count = s.out_count = s.bytes = 8;
  return s;
}

std::vector<int> peers_of(const Plan& plan, Step::Kind kind) {
  std::vector<int> peers;
  for (const Step& step : unrolled(plan).steps)
    if (step.kind == kind) peers.push_back(step.peer);
  return peers;
}

TEST(Loops, AreWhatGrowsEvenlyAndNothingElse) {
  Shape s = shape_of_alltoall(0, 1000);
  PlanBuilder plan(s);
  std::vector<int> expected;
  const auto peer = [](int64_t i) { return static_cast<int>(i < 300 ? 1 + i : i == 300 ? 900 : 2 * i - 250); };
  plan.repeat({.number = 500}, [&](int64_t i) { plan.send(plan.in_block(3), peer(i)); });
  for (int64_t i = 0; i < 500; ++i) expected.push_back(peer(i));
  const Plan made = plan.done();
  EXPECT_EQ(made.loops.size(), 2u);
  EXPECT_LE(made.steps.size(), 4u) << to_string(made);
  EXPECT_EQ(peers_of(made, Step::Kind::send), expected) << to_string(made);
}

// Two that lie between others are left out: neither what comes before nor what comes after may go over them.
TEST(Loops, DoNotGoOverGaps) {
  Shape s = shape_of_alltoall(0, 1000);
  PlanBuilder plan(s);
  plan.repeat({.number = 900}, [&](int64_t i) {
    if (i != 400 && i != 401) plan.recv(plan.out_block(static_cast<int>(i) + 1), static_cast<int>(i) + 1);
  });
  const Plan made = plan.done();
  EXPECT_EQ(made.loops.size(), 2u) << to_string(made);
  const std::vector<int> peers = peers_of(made, Step::Kind::recv);
  EXPECT_EQ(peers.size(), 898u);
  EXPECT_EQ(std::ranges::count(peers, 401), 0);
  EXPECT_EQ(std::ranges::count(peers, 402), 0);
}

TEST(Loops, OfRowsHaveTwoDistances) {
  Shape s = shape_of_alltoall(0, 10);
  PlanBuilder plan(s);
  const Buf room = plan.scratch_bytes(1 << 20);
  const auto from = [](int64_t k) { return k % 40 * 1000 + k / 40 * 8; };
  plan.repeat({.number = 40 * 30, .row = 40},
              [&](int64_t k) { plan.copy(room.slice(from(k), 8), room.slice(100'000 + 8 * k, 8)); });
  const Plan made = plan.done();
  ASSERT_EQ(made.loops.size(), 1u) << to_string(made);
  EXPECT_EQ(made.loops[0].row, 40u);
  int64_t k = 0;
  for (const Step& step : unrolled(made).steps) {
    if (step.kind != Step::Kind::copy) continue;
    EXPECT_EQ(step.from.offset, from(k));
    EXPECT_EQ(step.into.offset, 100'000 + 8 * k++);
  }
  EXPECT_EQ(k, 40 * 30);
}

// Messages with one peer are numbered on through a loop, and so behind it.
TEST(Loops, NumberTheirMessages) {
  Shape s = shape_of_alltoall(0, 300);
  PlanBuilder plan(s);
  plan.send(plan.in_block(1), 1);
  plan.repeat({.number = 100, .seats = 1}, [&](int64_t) { plan.send(plan.in_block(1), 1); });
  plan.send(plan.in_block(1), 1);
  plan.repeat({.number = 100}, [&](int64_t i) { plan.send(plan.in_block(1), 100 + static_cast<int>(i)); });
  plan.send(plan.in_block(1), 150);
  plan.send(plan.in_block(1), 220);
  int next = 0;
  for (const Step& step : unrolled(plan.done()).steps) {
    if (step.kind != Step::Kind::send) continue;
    if (step.peer == 1)
      EXPECT_EQ(step.slot, next++);
    else
      EXPECT_EQ(step.slot, step.peer == 150 && next++ > 102 ? 1 : 0) << step.peer;
  }
}

TEST(Loops, TakeNoOperationsForTripsThatAreNotUnderWay) {
  Shape s = shape_of_alltoall(0, 5000);
  PlanBuilder plan(s);
  plan.repeat({.number = 4999, .seats = 32}, [&](int64_t i) { plan.send(plan.in_block(1), static_cast<int>(i) + 1); });
  const Plan made = plan.done();
  EXPECT_EQ(made.sends, 32u);
  EXPECT_EQ(made.written_steps(), 2u);
}

TEST(PeerCounts, KnowSetsOfPeers) {
  PeerCounts counts;
  const PeerSet even{.first = 0, .along = 2, .row = 50, .across = 0, .rows = 1};
  EXPECT_EQ(counts.next_of_each(even), 0);
  EXPECT_EQ(counts.next_of_each(even), 1);
  EXPECT_EQ(counts.next(4), 2);
  EXPECT_EQ(counts.next(5), 0);
  EXPECT_FALSE(counts.next_of_each(even));  // one of them has had another one
  const PeerSet rows{.first = 200, .along = 1, .row = 3, .across = 10, .rows = 5};
  EXPECT_EQ(counts.next_of_each(rows), 0);
  EXPECT_EQ(counts.next(212), 1);
  EXPECT_EQ(counts.next(213), 0);
  EXPECT_EQ(counts.take(7, 9), 0);
  EXPECT_EQ(counts.next(7), 9);
}

// What a plan of very many ranks takes, whoever it is for: of each algorithm that has a message for each rank.
TEST(Loops, KeepPlansSmall) {
  for (const int size : {1000, 100'000})
    for (const int rank : {0, size / 3, size - 1})
      for (const Collective kind : {Collective::alltoall, Collective::alltoallv, Collective::allgather,
                                    Collective::allgatherv, Collective::gather, Collective::scatter}) {
        Shape s = shape_of_alltoall(rank, size);
        s.kind = kind;
        s.root = size / 2;
        if (kind == Collective::allgatherv) s.counts.assign(static_cast<size_t>(size), 8), s.bytes = 8 * int64_t{size};
        for (const Algorithm& algorithm : algorithms(kind)) {
          const bool by_message = algorithm.name == "linear" || algorithm.name == "pairwise" ||
                                  algorithm.name == "ring" || algorithm.name == "direct";
          if (!by_message) continue;
          const Plan plan = algorithm.build(s);
          EXPECT_LE(plan.written_steps(), 300u) << name_of(kind) << " " << algorithm.name << ", rank " << rank;
          EXPECT_LE(exec::bytes_of(plan), size_t{64} << 10) << name_of(kind) << " " << algorithm.name;
          EXPECT_LE(plan.sends + plan.recvs, 400u);  // under way at once
        }
      }
}

}  // namespace
}  // namespace tutti::coll
