// SPDX-License-Identifier: BSD-3-Clause
// The executor: every algorithm of every collective over the loopback, with types that have gaps, a
// negative lower bound, or differ between ranks; then what is particular to executions.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>

#include "../coll/part.hpp"
#include "../coll/ranks.hpp"

// One test asks for more memory than there is, and expects no for an answer.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace tutti::exec {
namespace {

using namespace coll;  // the plans, and the tests of them

Case long_case(Collective kind, int64_t items, bool commutative) {
  return {kind, items, 1, false, commutative || !row_of(kind).reduces};
}

std::vector<Case> cases(Collective kind, int size) {
  std::vector<Case> all;
  const bool reduces = row_of(kind).reduces;
  for (const int64_t items : {0, 2, 6, 250})
    for (const int root : {0, size - 1})
      for (const bool in_place : {false, true})
        for (const bool commutative : {true, false}) {
          if (!commutative && !reduces) continue;
          if (in_place && kind <= Collective::bcast) continue;
          all.push_back({kind, items, root, in_place, commutative});
        }
  if (size == 3 && kind != Collective::barrier)  // several segments of a pipeline
    for (const bool commutative : {true, false}) all.push_back(long_case(kind, 60000, commutative));
  return all;
}

class Execute : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Collectives, Execute, testing::Range(0, kCollectivesOverRanks),
                         [](auto& info) { return std::string(name_of(static_cast<Collective>(info.param))); });

// By this algorithm. Parts that are broadcasts go in pieces.
std::shared_ptr<const Selection> selection_of(Collective kind, const Algorithm& algorithm) {
  const auto selection =
      Selection::parse(std::string(name_of(kind)) + " " + std::string(algorithm.name) + "\nbcast scatter_ring", "test");
  EXPECT_TRUE(selection);
  return *selection;
}
bool is_in_memory(const Algorithm& algorithm) {
  return algorithm.needs == Needs::shared_memory || algorithm.needs == Needs::shared_slot;
}

void expect_right(const Case& c, const Algorithm& algorithm, engine::Channel& channel, Planner& planner) {
  Part part(c, channel.rank, channel.size());
  auto execution = prepare(channel, planner, part.call());
  ASSERT_TRUE(execution);
  finish(**execution, *channel.engine);
  EXPECT_EQ((*execution)->mpi_class, MPI_SUCCESS);
  EXPECT_EQ(part.check(), "") << name_of(c.kind) << " " << algorithm.name << ", rank " << channel.rank << " of "
                              << channel.size() << ", items " << c.items << ", root " << c.root << ", in place "
                              << c.in_place << ", commutative " << c.commutative << "\n"
                              << to_string((*execution)->plan());
}

// What is for several nodes is run on several, and all others on one. `places`: by rank, its node.
bool serves(const Algorithm& algorithm, const std::vector<int>& places) {
  const NodeLayout nodes(places, 0);
  if (algorithm.needs == Needs::equal_nodes) return nodes.nodes() > 1 && nodes.equal() && nodes.contiguous();
  return (nodes.nodes() > 1) == (algorithm.needs == Needs::nodes);
}

int most_ranks() {
  const char* const given = std::getenv("TUTTI_TEST_EXECUTION_RANKS");
  return given ? std::atoi(given) : 8;
}

TEST_P(Execute, EveryAlgorithmGivesTheRightAnswer) {
  const auto kind = static_cast<Collective>(GetParam());
  using Places = std::vector<int>;  // by rank: its node
  for (const Places& places : {Places(1), Places(2), Places(3), Places(5), Places(8), Places{0, 0, 1},
                               Places{0, 0, 1, 1}, Places{0, 1, 1, 0, 1}, Places{0, 0, 0, 1, 1, 1, 1, 2}}) {
    const auto size = static_cast<int>(places.size());
    if (size > most_ranks()) continue;
    const bool in_order = std::ranges::is_sorted(places);
    Ranks ranks(places, static_cast<uint64_t>(size));
    for (const Algorithm& algorithm : algorithms(kind)) {
      if (!serves(algorithm, places)) continue;
      if (is_in_memory(algorithm) && size == 1) continue;
      if (algorithm.needs == Needs::power_of_two && (size & (size - 1)) != 0) continue;
      const auto selection = selection_of(kind, algorithm);
      ranks.run([&](engine::Channel& channel) {
        Planner planner(selection), looping(selection, {.loops = true});
        for (const Case& c : cases(kind, size)) {
          if (!c.commutative && (algorithm.needs == Needs::commutative || !in_order)) continue;
          expect_right(c, algorithm, channel, planner);
          expect_right(c, algorithm, channel, looping);
        }
      });
    }
  }
}

// As barriers, and lingering.
TEST_P(Execute, UnderStressEveryAlgorithmGivesTheRightAnswer) {
  const auto kind = static_cast<Collective>(GetParam());
  for (const std::vector<int>& places : {std::vector(3, 0), {0, 0, 1, 1}}) {
    const auto size = static_cast<int>(places.size());
    Ranks ranks(places, 2);
    for (const Algorithm& algorithm : algorithms(kind)) {
      if (!serves(algorithm, places)) continue;
      if (algorithm.needs == Needs::power_of_two && (size & (size - 1)) != 0) continue;
      const auto selection = selection_of(kind, algorithm);
      ranks.run([&](engine::Channel& channel) {
        Planner barriers(selection, {.synchronising = true, .loops = true});
        Planner lingering(selection, {.chance = 7, .loops = true});
        for (const int64_t items : {6, 250})
          for (Planner* const planner : {&barriers, &lingering})
            expect_right({kind, items, size - 1, false, true}, algorithm, channel, *planner);
      });
    }
  }
}

// Where another thread of the process sleeps in its call all the time, each long step is cut.
TEST_P(Execute, LongStepsInPiecesGiveTheRightAnswer) {
  const auto kind = static_cast<Collective>(GetParam());
  if (kind == Collective::barrier) return;
  for (const std::vector<int>& places : {std::vector(4, 0), {0, 0, 1, 1}}) {
    Ranks ranks(places, 1);
    for (const Algorithm& algorithm : algorithms(kind)) {
      if (!serves(algorithm, places)) continue;
      const auto selection = selection_of(kind, algorithm);
      ranks.run([&](engine::Channel& channel) {
        bool over = false;
        std::thread other([&] {
          const engine::Engine::Guard own(*channel.engine);
          channel.engine->wait_until([&] { return over; });
        });
        Planner planner(selection);
        for (const bool commutative : {true, false})
          if (commutative || algorithm.needs != Needs::commutative)
            expect_right(long_case(kind, 20000, commutative), algorithm, channel, planner);
        over = true;
        channel.engine->leave();
        other.join();
        channel.engine->enter();
      });
    }
  }
}

Call sum_call(std::vector<uint32_t>& in, std::vector<uint32_t>& out) {
  static const LayoutRef word = Layout::dense(4, 4);
  Call call;
  call.kind = Collective::allreduce;
  call.in = in.data(), call.out = out.data();
  call.in_count = call.out_count = static_cast<int64_t>(in.size());
  call.in_layout = call.out_layout = word.get();
  call.reduction.apply = [](const Reduction&, const void* left, const void* right, void* into, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint32_t*>(into)[i] = static_cast<const uint32_t*>(left)[i] + static_cast<const uint32_t*>(right)[i];
  };
  return call;
}

// A reduction at which another thread asks for the engine in each piece: it gets its turn before the
// next one, but for the one that comes in the pass in which the message did.
struct Turns {
  engine::Engine* engine = nullptr;
  std::atomic<int> taken{0};
  int pieces = 0, seen = -1, in_vain = 0;

  static void add(const Reduction& self, const void* left, const void*, void* into, int64_t count) {
    auto& turns = *static_cast<Turns*>(self.datatype);
    ++turns.pieces;
    if (turns.taken == turns.seen) ++turns.in_vain;
    while (!turns.engine->ownership().contended()) std::this_thread::yield();
    turns.seen = turns.taken;
    for (int64_t i = 0; i < count; ++i) static_cast<uint32_t*>(into)[i] += static_cast<const uint32_t*>(left)[i];
  }
};
TEST(Executions, LongReductionsLetOtherThreadsInBetweenPieces) {
  constexpr size_t kWords = 1 << 18;
  for (const char* algorithm : {"recursive_doubling", "ring", "halving_doubling"}) {
    const auto selection = Selection::parse(std::string("allreduce ") + algorithm, "test");
    ASSERT_TRUE(selection);
    Ranks ranks(std::vector<int>(2), 1);
    ranks.run([&](engine::Channel& channel) {
      Turns turns{.engine = channel.engine};
      std::atomic<bool> over{false};
      std::thread other([&] {
        while (!over) {
          const engine::Engine::Guard own(*channel.engine);
          ++turns.taken;
        }
      });
      Planner planner(*selection);
      std::vector<uint32_t> in(kWords, 1), out(kWords);
      Call call = sum_call(in, out);
      call.reduction = {Turns::add, true, nullptr, &turns};
      auto execution = prepare(channel, planner, call);
      ASSERT_TRUE(execution);
      finish(**execution, *channel.engine);
      over = true;
      channel.engine->leave();
      other.join();
      channel.engine->enter();
      EXPECT_EQ(out, std::vector<uint32_t>(kWords, 2)) << algorithm;
      EXPECT_GE(turns.pieces, 8) << algorithm;
      EXPECT_LE(turns.in_vain, 1) << algorithm << ", of " << turns.pieces << " pieces";
    });
  }
}

// More than a mailbox of them, of three kinds, all under way before the first is waited for.
TEST(Executions, AnyNumberIsOutstandingOnOneChannel) {
  constexpr int kMany = 5000;
  Ranks ranks(3);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    std::vector<std::unique_ptr<Execution>> executions;
    std::vector<std::vector<uint32_t>> in(kMany), out(kMany);
    int left = 3 * kMany;
    const auto begin = [&](const Call& call) {
      auto execution = prepare(channel, planner, call);
      ASSERT_TRUE(execution);
      (*execution)->owner = &left;
      (*execution)->on_complete = [](Execution& e) { --*static_cast<int*>(e.owner); };
      executions.push_back(std::move(*execution));
      executions.back()->start();
    };
    std::vector<uint32_t> told(kMany);
    for (int i = 0; i < kMany; ++i) {
      const auto at = static_cast<size_t>(i);
      in[at].assign(i % 7 == 0 ? 100 : 2, static_cast<uint32_t>(i * 10 + channel.rank));
      out[at].assign(in[at].size(), 0);
      begin(sum_call(in[at], out[at]));
      Call bcast;
      bcast.kind = Collective::bcast;
      bcast.root = i % 3;
      if (bcast.root == channel.rank) told[at] = static_cast<uint32_t>(i) + 5;
      bcast.out = &told[at], bcast.out_count = 4, bcast.out_layout = &Layout::bytes();
      begin(bcast);
      begin({.kind = Collective::barrier});
    }
    channel.engine->wait_until([&] { return left == 0; });
    for (int i = 0; i < kMany; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(told[at], static_cast<uint32_t>(i) + 5);
      for (const uint32_t value : out[at]) ASSERT_EQ(value, static_cast<uint32_t>(30 * i + 3));
    }
  });
}

TEST(Executions, StartAgain) {
  Ranks ranks(5);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    std::vector<uint32_t> in(40), out(40);
    auto execution = prepare(channel, planner, sum_call(in, out));
    ASSERT_TRUE(execution);
    for (uint32_t round = 0; round < 200; ++round) {
      in.assign(40, round + static_cast<uint32_t>(channel.rank));
      finish(**execution, *channel.engine);
      EXPECT_FALSE((*execution)->running());
      EXPECT_EQ((*execution)->serial(), round);
      for (const uint32_t value : out) ASSERT_EQ(value, 5 * round + 10);
    }
  });
}

TEST(Executions, DestroyThemselvesWhenComplete) {
  Ranks ranks(4);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    int left = 100;
    for (int i = 0; i < 100; ++i) {
      auto execution = prepare(channel, planner, {.kind = Collective::barrier});
      ASSERT_TRUE(execution);
      Execution* raw = execution->release();
      raw->owner = &left;
      raw->on_complete = [](Execution& e) {
        --*static_cast<int*>(e.owner);
        delete &e;
      };
      raw->start();
    }
    channel.engine->wait_until([&] { return left == 0; });
  });
}

TEST(Executions, TruncationIsTheReceiversErrorAndTheNextCallIsFine) {
  for (const int64_t bytes : {100, 5000}) {
    Ranks ranks(4);
    ranks.run([&](engine::Channel& channel) {
      Planner planner;
      std::vector<uint8_t> data(static_cast<size_t>(bytes), channel.rank == 0 ? 1 : 0);
      Call call;
      call.kind = Collective::bcast;
      call.out = data.data(), call.out_layout = &Layout::bytes();
      call.out_count = channel.rank == 3 ? bytes / 2 : bytes;
      auto execution = prepare(channel, planner, call);
      ASSERT_TRUE(execution);
      finish(**execution, *channel.engine);
      EXPECT_EQ((*execution)->mpi_class, channel.rank == 3 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      std::vector<uint32_t> in(3, 1), out(3);
      auto next = prepare(channel, planner, sum_call(in, out));
      ASSERT_TRUE(next);
      finish(**next, *channel.engine);
      EXPECT_EQ((*next)->mpi_class, MPI_SUCCESS);
      EXPECT_EQ(out, std::vector<uint32_t>(3, 4));
    });
  }
}

TEST(Executions, MemoryThatCannotBeHadIsAnError) {
  Ranks ranks(2);
  ranks.run([&](engine::Channel& channel) {
    Planner planner;
    std::vector<uint32_t> one(1);
    Call call = sum_call(one, one);
    call.in_count = call.out_count = int64_t{1} << 60;
    auto execution = prepare(channel, planner, call);
    ASSERT_FALSE(execution);
    EXPECT_EQ(execution.error().mpi_class(), MPI_ERR_NO_MEM);
    EXPECT_NE(execution.error().message().find("allreduce"), std::string::npos);
  });
}

}  // namespace
}  // namespace tutti::exec
