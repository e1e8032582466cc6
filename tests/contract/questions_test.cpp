// SPDX-License-Identifier: BSD-3-Clause
// What a checker that suspects something asks other ranks may be lost, and so may their answers.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "contract/checker.hpp"
#include "contract/signature.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "transport/testing/loopback.hpp"

namespace tutti::contract {
namespace {

using namespace std::chrono_literals;
using engine::Engine;
using transport::Header;

constexpr uint64_t kHidden = 7;

// In front of another transport: has no way for the first control messages.
class Lossy final : public transport::Transport {
 public:
  Lossy(Transport& inner, int losses) : inner_(inner), losses_(losses) {}
  int lost = 0;

  void set_receiver(transport::Receiver& receiver) override { inner_.set_receiver(receiver); }
  void send(int peer, transport::Outgoing& outgoing) override { inner_.send(peer, outgoing); }
  void notify(int peer, const Header& header) override { inner_.notify(peer, header); }
  void fetch(void* rendezvous, transport::Fetch& fetch) override { inner_.fetch(rendezvous, fetch); }
  void discard(void* rendezvous) override { inner_.discard(rendezvous); }
  Way way_to(int, bool) override { return lost < losses_ ? ++lost, Way::closed : Way::open; }
  bool progress() override { return inner_.progress(); }
  int descriptor() const override { return inner_.descriptor(); }
  bool arm(bool by_flags) override { return inner_.arm(by_flags); }
  bool flushed() override { return inner_.flushed(); }

 private:
  Transport& inner_;
  const int losses_;
};

struct Rank {
  Rank(transport::Transport& inner, int id, int losses)
      : way(inner, losses), engine(way, id), checker(engine, {.answer_time = 5ms}, hooks()) {
    const Engine::Guard own(engine);
    engine.set_observer(&checker);
    ledger = checker.open({.engine = &engine, .context = kHidden, .rank = id, .peers = ProcessList::range(0, 2)}, {});
    ledger->set_fatal(false);
    ledger->set_name("both");
  }
  ~Rank() {
    const Engine::Guard own(engine);
    engine.set_observer(nullptr);
  }
  static Hooks hooks() {
    Hooks made;
    made.others.job_size = std::numeric_limits<int>::max();  // asks each rank directly
    return made;
  }
  void start(Function function) {
    const Engine::Guard own(engine);
    ledger->started(0, word_of(function));
  }
  void suspect() {
    const Engine::Guard own(engine);
    checker.mismatch(*ledger, 0, Difference::function);
  }
  bool is_idle() {
    const Engine::Guard own(engine);
    return checker.is_idle();
  }
  void look() {
    const Engine::Guard own(engine);
    engine.progress();
    life::Blocked blocked;
    checker.waits(blocked, 0ns);
  }

  Lossy way;
  Engine engine;
  Checker checker;
  Ledger* ledger = nullptr;
};

// Rank 0 suspects something of the first call, with so many losses on the way from each of the two.
struct Pair {
  Pair(Function first, Function second, int questions, int answers)
      : asks{fabric.at(0), 0, questions}, answers{fabric.at(1), 1, answers} {
    asks.start(first);
    this->answers.start(second);
    asks.suspect();
  }
  bool is_settled() {
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (asks.ledger->suspected() && std::chrono::steady_clock::now() < end) {
      asks.look();
      answers.look();
      std::this_thread::sleep_for(100us);
    }
    for (int i = 0; i < 100; ++i) answers.look(), asks.look();  // what is under way arrives
    return !asks.ledger->suspected() && asks.checker.is_idle() && asks.engine.pending() == 0;
  }

  transport::LoopbackFabric fabric{2, 3};
  Rank asks, answers;
};

TEST(Questions, are_asked_again_where_they_or_their_answers_are_lost) {
  for (const auto& [questions, answers] : {std::pair{0, 0}, {1, 0}, {0, 1}, {2, 2}}) {
    Pair pair(Function::Barrier, Function::Bcast, questions, answers);
    EXPECT_TRUE(pair.is_settled());
    EXPECT_TRUE(pair.asks.ledger->broken()) << questions << " and " << answers;
    EXPECT_TRUE(pair.answers.ledger->broken());
    EXPECT_EQ(pair.answers.way.lost, answers);
  }
}

TEST(Questions, that_find_nothing_wrong_end_also_behind_losses) {
  Pair pair(Function::Barrier, Function::Barrier, 1, 1);
  EXPECT_TRUE(pair.is_settled());
  EXPECT_FALSE(pair.asks.ledger->disturbed());
}

TEST(Questions, end_where_there_is_no_way) {
  Pair pair(Function::Barrier, Function::Bcast, 1000, 0);
  EXPECT_TRUE(pair.is_settled());
  EXPECT_FALSE(pair.asks.ledger->disturbed());
}

// A rank has started a call that the other one has not come to, which has freed the communicator instead.
struct Left {
  Left() {
    asks.start(Function::Barrier);
    answers.checker.close(*answers.ledger);
  }
  void harm() {
    asks.checker.note_harm([](const engine::Channel& channel) { return channel.context == kHidden; });
  }
  bool is_settled() {
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (!asks.is_idle() && std::chrono::steady_clock::now() < end) {
      asks.look();
      answers.look();
      std::this_thread::sleep_for(100us);
    }
    return asks.is_idle();
  }

  transport::LoopbackFabric fabric{2, 3};
  Rank asks{fabric.at(0), 0, 0}, answers{fabric.at(1), 1, 0};
};

TEST(Questions, to_who_has_freed_the_communicator_find_that) {
  Left left;
  left.asks.suspect();
  EXPECT_TRUE(left.is_settled());
  EXPECT_TRUE(left.asks.ledger->broken());
}

TEST(Questions, to_who_has_freed_the_communicator_find_nothing_where_a_member_has_failed) {
  Left left;
  left.harm();
  left.asks.suspect();
  EXPECT_TRUE(left.is_settled());
  EXPECT_FALSE(left.asks.ledger->disturbed());
}

// Also where the failure becomes known while the questions are under way.
TEST(Questions, to_who_has_freed_the_communicator_find_nothing_where_a_member_fails_meanwhile) {
  Left left;
  left.asks.suspect();
  left.harm();
  EXPECT_TRUE(left.is_settled());
  EXPECT_FALSE(left.asks.ledger->disturbed());
}

// What a rank that has waited for long is answered suspects nothing then.
TEST(Questions, answers_of_who_has_freed_the_communicator_suspect_nothing_where_a_member_has_failed) {
  for (const bool is_harmed : {false, true}) {
    Left left;
    if (is_harmed) left.harm();
    {
      const Engine::Guard own(left.answers.engine);
      Header answer = control(Control::answer, kHidden, 0);
      answer.source = static_cast<int32_t>(Status::freed);
      left.answers.engine.send_control(0, answer);
    }
    const Engine::Guard own(left.asks.engine);
    while (left.asks.engine.progress()) {
    }
    EXPECT_EQ(left.asks.ledger->suspected(), !is_harmed);
  }
}

}  // namespace
}  // namespace tutti::contract
