// SPDX-License-Identifier: BSD-3-Clause
// What operations mean for epochs, told without any message: when an origin knows what of its own, and what a target
// answers behind the operations of others, in which order, by whatever way they come.
#include <gtest/gtest.h>
#include <mpi.h>

#include <set>
#include <string>
#include <vector>

#include "base/layout.hpp"
#include "rma/origin_side.hpp"
#include "rma/target_side.hpp"

namespace {

using namespace tutti;
using Behind = rma::TargetSide::Behind;
using Said = std::vector<std::string>;
using Ranks = std::vector<int>;

// ---- the origin

TEST(OriginSide, knows_what_is_complete_here_and_what_there) {
  rma::OriginSide origin;
  EXPECT_TRUE(origin.is_locally_complete(rma::kAll));
  EXPECT_FALSE(origin.begins_flush(2));  // there is nothing to ask
  origin.goes_unheard(2);
  origin.begins(2);
  EXPECT_FALSE(origin.is_locally_complete(2));
  EXPECT_FALSE(origin.is_locally_complete(rma::kAll));
  EXPECT_TRUE(origin.is_locally_complete(1));
  EXPECT_TRUE(origin.begins_flush(2));
  EXPECT_FALSE(origin.begins_flush(2));  // once is enough
  origin.ends(2, {}, {});
  EXPECT_TRUE(origin.is_locally_complete(2));
  EXPECT_FALSE(origin.is_flushed(2));
  EXPECT_FALSE(origin.is_flushed(rma::kAll));
  EXPECT_TRUE(origin.is_flushed(3));
  origin.flushed(2);
  EXPECT_TRUE(origin.is_flushed(2));
  EXPECT_TRUE(origin.is_flushed(rma::kAll));
}

TEST(OriginSide, an_operation_that_is_over_at_once_has_to_be_asked_for_too) {
  rma::OriginSide origin;
  origin.goes_unheard(1);
  origin.over({}, {});
  EXPECT_TRUE(origin.is_locally_complete(1));
  EXPECT_TRUE(origin.begins_flush(1));
  EXPECT_FALSE(origin.is_flushed(1));
}

TEST(OriginSide, an_error_is_its_operations_own_or_the_windows) {
  rma::OriginSide origin;
  std::string heard;
  const rma::Done done{[](void* owner, Error error) { *static_cast<std::string*>(owner) = error.message(); }, &heard};
  origin.begins(1);
  origin.ends(1, done, failure(MPI_ERR_OTHER, "mine"));
  EXPECT_EQ(heard, "mine");
  EXPECT_FALSE(origin.take_failure());
  origin.begins(1);
  origin.ends(1, {}, failure(MPI_ERR_OTHER, "first"));
  origin.failed(failure(MPI_ERR_OTHER, "second"));
  EXPECT_EQ(origin.take_failure().message(), "first");
  EXPECT_FALSE(origin.take_failure());
}

TEST(OriginSide, unlocking_asks_as_flushing_does) {
  rma::OriginSide origin;
  origin.begins_lock(1);
  EXPECT_FALSE(origin.is_locked(1));
  EXPECT_TRUE(origin.begins_holders(1));
  EXPECT_FALSE(origin.begins_holders(1));
  origin.told_holders(1, {0});
  ASSERT_EQ(origin.holders(1).size(), 1u);
  EXPECT_EQ(origin.holders(1).front(), 0);
  origin.granted(1);
  EXPECT_TRUE(origin.is_locked(1));
  origin.goes_unheard(1);
  origin.begins_unlock(1);
  EXPECT_FALSE(origin.is_locked(1) || origin.is_unlocked(1));
  EXPECT_FALSE(origin.begins_flush(1));
  origin.unlocked(1, false);
  EXPECT_TRUE(origin.is_unlocked(1));
  origin.begins_lock(1);
  EXPECT_TRUE(origin.holders(1).empty());  // those were an earlier lock's
  origin.told_holders(1, {});              // and so is what comes late
  EXPECT_TRUE(origin.begins_holders(1));
}

TEST(OriginSide, a_flush_of_all_asks_those_that_there_is_something_to_ask) {
  rma::OriginSide origin;
  Ranks asked;
  const auto ask = [&](int rank) { asked.push_back(rank); };
  origin.begins_flush_of_all(ask);
  EXPECT_EQ(asked, Ranks{});
  for (const int rank : {70'000, 3, 70'000, 5}) origin.goes_unheard(rank);
  origin.begins_flush(5);
  origin.begins_flush_of_all(ask);
  EXPECT_EQ(asked, (Ranks{70'000, 3}));
  EXPECT_FALSE(origin.is_flushed(rma::kAll));
  for (const int rank : {70'000, 3, 5}) origin.flushed(rank);
  EXPECT_TRUE(origin.is_flushed(rma::kAll));
  // What was asked by itself, and comes again, is asked once more, and once only.
  origin.goes_unheard(5);
  origin.begins_flush(5);
  origin.goes_unheard(5);
  asked.clear();
  origin.begins_flush_of_all(ask);
  EXPECT_EQ(asked, Ranks{5});
}

TEST(OriginSide, asks_for_locks_of_all_when_there_is_something_to_do) {
  rma::OriginSide origin;
  EXPECT_FALSE(origin.wants_lock(1));
  origin.begins_lock_of_all();
  EXPECT_TRUE(origin.wants_lock(1));
  for (const int rank : {7, 1}) origin.asked_under_lock_of_all(rank);
  EXPECT_FALSE(origin.wants_lock(1));
  EXPECT_TRUE(origin.wants_lock(2));
  EXPECT_EQ(origin.ends_lock_of_all(), (Ranks{7, 1}));
  EXPECT_FALSE(origin.wants_lock(2));
  origin.begins_lock_of_all();
  EXPECT_TRUE(origin.wants_lock(1));
  EXPECT_EQ(origin.ends_lock_of_all(), Ranks{});
}

TEST(OriginSide, knows_which_lazy_locks_are_settled) {
  rma::OriginSide origin;
  const auto unsettled = [&] {
    Ranks ranks;
    origin.each_unsettled([&](int rank) { ranks.push_back(rank); });
    return ranks;
  };
  EXPECT_TRUE(origin.are_settled(origin.last_lazy()));
  for (const int rank : {4, 2, 9}) origin.begins_lazy_lock(rank);
  const uint32_t until = origin.last_lazy();
  EXPECT_TRUE(origin.has_unsettled() && origin.is_unsettled(2));
  EXPECT_EQ(unsettled(), (Ranks{4, 2, 9}));
  origin.begins_question(4);
  origin.flushed(4);
  origin.begins_unlock(2);
  origin.unlocked(2, false);
  EXPECT_EQ(unsettled(), Ranks{9});
  origin.begins_lazy_lock(2);  // once more, which is another one
  EXPECT_FALSE(origin.are_settled(until));
  origin.begins_unlock(9);
  origin.unlocked(9, false);
  EXPECT_TRUE(origin.are_settled(until));
  EXPECT_FALSE(origin.are_settled(origin.last_lazy()));
  EXPECT_EQ(unsettled(), Ranks{2});
  origin.begins_unlock(2);
  origin.unlocked(2, false);
  EXPECT_FALSE(origin.has_unsettled());
  EXPECT_TRUE(origin.are_settled(origin.last_lazy()));
}

TEST(OriginSide, remembers_at_whose_locks_others_waited) {
  rma::OriginSide origin;
  const auto give_up = [&](int rank, bool awaited) {
    origin.begins_lock(rank);
    origin.begins_unlock(rank);
    origin.unlocked(rank, awaited);
  };
  for (const int rank : {5, 3, 8}) give_up(rank, rank != 8);
  EXPECT_EQ(origin.awaited(), (std::set{3, 5}));
  give_up(5, false);
  EXPECT_EQ(origin.awaited(), std::set{3});
}

// ---- the target

// Writes down what others are told.
struct Written final : rma::Answers {
  void flushed(int origin) override { said.push_back(fmt::format("{} flushed", origin)); }
  void granted(int origin) override { said.push_back(fmt::format("{} granted", origin)); }
  void unlocked(int origin, bool awaited) override {
    said.push_back(fmt::format("{} unlocked{}", origin, awaited ? " awaited" : ""));
  }
  void holders(int origin, const std::vector<int>& ranks) override {
    std::string text = fmt::format("{} holders", origin);
    for (const int rank : ranks) text += fmt::format(" {}", rank);
    said.push_back(text);
  }
  void failed(int origin, const Error& error) override {
    said.push_back(fmt::format("{} failed {}", origin, error.mpi_class()));
  }
  Said take() { return std::exchange(said, {}); }

  Said said;
};

struct Target : testing::Test {
  Target() { side.set_answers(answers); }

  Written answers;
  rma::TargetSide side{0};
};
using TargetSide = Target;

TEST_F(TargetSide, answers_when_all_operations_before_are_over) {
  side.begins(1);
  side.begins(1);
  side.says(1, Behind::flush);
  side.says(2, Behind::flush);
  EXPECT_EQ(answers.take(), Said{"2 flushed"});  // another one's operations are not waited for
  side.ends(1);
  EXPECT_TRUE(side.is_serving(1));
  EXPECT_EQ(answers.take(), Said{});
  side.ends(1);
  EXPECT_EQ(answers.take(), Said{"1 flushed"});
  EXPECT_TRUE(side.is_idle());
}

TEST_F(TargetSide, an_epoch_is_complete_behind_its_operations) {
  side.begins(1);
  side.says(1, Behind::complete);
  EXPECT_FALSE(side.is_completed_by(1));
  side.ends(1);
  EXPECT_TRUE(side.is_completed_by(1));
  side.take_complete(1);
  EXPECT_FALSE(side.is_completed_by(1));
  EXPECT_EQ(answers.take(), Said{});
}

TEST_F(TargetSide, a_lock_is_given_up_behind_the_operations_under_it) {
  side.asks_lock(1, {true});
  side.asks_lock(2, {true});
  EXPECT_EQ(answers.take(), Said{"1 granted"});
  side.begins(1);
  side.says(1, Behind::unlock);
  EXPECT_EQ(answers.take(), Said{});
  EXPECT_TRUE(side.lock().holds(1));
  side.ends(1);
  EXPECT_EQ(answers.take(), (Said{"2 granted", "1 unlocked"}));
}

TEST_F(TargetSide, who_waits_hears_of_whom_until_it_waits_no_more) {
  side.asks_lock(1, {true});
  side.asks_lock(2, {false});
  side.asks_lock(3, {true});
  side.asks_holders(3);
  EXPECT_EQ(answers.take(), (Said{"1 granted", "3 holders 1 2"}));
  side.says(1, Behind::unlock);
  EXPECT_EQ(answers.take(), (Said{"2 granted", "1 unlocked awaited", "3 holders 2"}));
  side.says(2, Behind::unlock);
  EXPECT_EQ(answers.take(), (Said{"3 granted", "2 unlocked", "3 holders"}));
  side.asks_lock(1, {true});
  EXPECT_EQ(answers.take(), Said{});
}

TEST_F(TargetSide, who_passes_waits_for_nobody_but_who_is_alone) {
  side.asks_lock(1, {});
  side.asks_lock(2, {.exclusive = true});
  side.asks_lock(3, {});
  side.asks_lock(4, {.passes = true});
  EXPECT_EQ(answers.take(), (Said{"1 granted", "4 granted"}));
  side.says(4, Behind::unlock);
  EXPECT_EQ(answers.take(), Said{"4 unlocked awaited"});
  side.says(1, Behind::unlock);
  EXPECT_EQ(answers.take(), (Said{"2 granted", "1 unlocked awaited"}));
  side.asks_lock(5, {.passes = true});
  side.asks_holders(5);
  EXPECT_EQ(answers.take(), Said{"5 holders 2"});
  side.says(2, Behind::unlock);
  EXPECT_EQ(answers.take(), (Said{"3 granted", "5 granted", "2 unlocked", "5 holders"}));
}

TEST_F(TargetSide, who_locks_what_is_exposed_hears_so_before_it_has_the_lock) {
  EXPECT_FALSE(side.expose());
  side.asks_lock(1, {false});
  EXPECT_EQ(answers.take(), (Said{fmt::format("1 failed {}", int{MPI_ERR_RMA_SYNC}), "1 granted"}));
  side.hide();
  side.asks_lock(2, {false});
  EXPECT_EQ(answers.take(), Said{"2 granted"});
  EXPECT_EQ(side.expose().mpi_class(), MPI_ERR_RMA_SYNC);
  side.says(1, Behind::unlock);
  side.says(2, Behind::unlock);
  EXPECT_FALSE(side.expose());
}

// A lock that others take elsewhere: who may have it is told in time.
struct Elsewhere final : rma::CommonLock {
  bool request(int rank, rma::LockWish, bool& is_exposed) override {
    is_exposed = exposed;
    if (free) holder = rank;
    return free;
  }
  void release(int) override { holder = -1; }
  bool holds(int rank) const override { return rank == holder; }
  bool is_awaited() const override { return awaited; }
  std::vector<int> before(int rank) const override { return rank == holder ? Ranks{} : others; }
  std::vector<int> first_ones() const override { return {1}; }

  bool free = false, exposed = false, awaited = false;
  int holder = -1;
  Ranks others{7, 8};
};

TEST_F(TargetSide, asks_a_common_lock_for_those_who_ask_it) {
  Elsewhere lock;
  side.set_lock(lock);
  side.asks_lock(1, {true});
  EXPECT_EQ(answers.take(), Said{});
  side.asks_holders(1);
  EXPECT_EQ(answers.take(), Said{"1 holders 7 8"});
  lock.others = {};  // nobody is known for a moment, yet it is not its turn
  side.lock_has_moved();
  EXPECT_EQ(answers.take(), Said{"1 holders"});
  lock.others = {8};
  side.lock_has_moved();
  EXPECT_EQ(answers.take(), Said{"1 holders 8"});
  lock.holder = 1;
  side.grants(1);
  EXPECT_EQ(answers.take(), (Said{"1 granted", "1 holders"}));
  side.says(1, Behind::unlock);
  EXPECT_EQ(answers.take(), Said{"1 unlocked"});
  EXPECT_EQ(lock.holder, -1);
  lock.free = lock.exposed = true;
  side.asks_lock(2, {false});
  EXPECT_EQ(answers.take(), (Said{fmt::format("2 failed {}", int{MPI_ERR_RMA_SYNC}), "2 granted"}));
}

// What is admitted is told to the witness, and nothing else.
struct Watching final : rma::Witness {
  void serves(int origin, uint64_t mark, const rma::Act&, const rma::TargetBuffer& buffer) override {
    heard.push_back(fmt::format("{} at {} mark {}", origin, buffer.count, mark));
  }
  void completes(int origin) override { heard.push_back(fmt::format("{} complete", origin)); }
  void hears(int, std::span<const std::byte>) override {}

  Said heard;
};

TEST_F(TargetSide, the_witness_hears_of_what_is_carried_out) {
  Watching witness;
  side.set_witness(witness);
  int64_t memory[4] = {};
  side.memory().set_dynamic();
  ASSERT_TRUE(side.memory().attach(memory, sizeof memory));
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory));
  EXPECT_FALSE(side.admit(1, {}, {address, 32}, 7));
  const Error error = side.admit(1, {}, {address, 33}, 8);
  EXPECT_EQ(error.mpi_class(), MPI_ERR_RMA_RANGE);
  EXPECT_NE(error.message().find("rank 0 of the window has attached no memory"), std::string::npos) << error.message();
  side.says(1, Behind::flush);
  EXPECT_EQ(witness.heard, (Said{"1 at 32 mark 7", "1 complete"}));
  EXPECT_EQ(side.memory().at({address, 32}).base, memory);
}

}  // namespace
