// SPDX-License-Identifier: BSD-3-Clause
// Revocations among made-up processes, by schedules that a seed makes: they make a communicator, revoke and free it, messages
// and news of failures come in any order, and processes fail at any step, also in the midst of telling the others.
// Whatever happens, if one who lives knows that it is revoked all do who live and have it.
#include "survival/revocations.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "schedules.hpp"

namespace tutti::survival {
namespace {

constexpr uint64_t kContext = 4712;

class World {
 public:
  World(uint64_t seed, int size, int deaths) : random_(seed), deaths_(deaths) {
    for (int i = 0; i < size; ++i) processes_.emplace_back(i);
  }

  void run() {
    for (int i = 0; i < 8 * size(); ++i) step();
    // What is under way comes, and those who are about to make it do.
    for (int i = 0; i < size(); ++i) make(i);
    while (deliver() || tell()) {
    }
  }

  void judge() const {
    bool any = false;
    for (const Process& each : processes_) any = any || (each.lives && each.knows);
    for (int i = 0; any && i < size(); ++i) {
      const Process& each = processes_[static_cast<size_t>(i)];
      EXPECT_TRUE(!each.lives || each.stage != Stage::has || each.knows) << "process " << i;
    }
  }
  int messages() const { return messages_; }

 private:
  enum class Stage { before, has, behind };
  struct Process {
    explicit Process(int self) : machine(self) {}
    Revocations machine;
    Stage stage = Stage::before;
    bool lives = true, knows = false;
  };

  int size() const { return static_cast<int>(processes_.size()); }
  int pick(int of) { return static_cast<int>(random_() % static_cast<uint64_t>(of)); }
  Process& at(int i) { return processes_[static_cast<size_t>(i)]; }

  void make(int i) {
    if (!at(i).lives || at(i).stage != Stage::before) return;
    at(i).stage = Stage::has;
    at(i).knows = at(i).machine.open(kContext, ProcessList::range(0, size()));
    send(i);
  }

  void step() {
    const int i = pick(size()), what = pick(16);
    if (what < 8) {
      deliver();
    } else if (what < 10) {
      tell();
    } else if (what < 13) {
      make(i);
    } else if (what == 13 && at(i).lives && at(i).stage == Stage::has) {
      at(i).knows = at(i).machine.revoke(kContext) || at(i).knows;
      send(i);
    } else if (what == 14 && at(i).lives && at(i).stage == Stage::has && pick(4) == 0) {
      at(i).stage = Stage::behind;
      at(i).machine.close(kContext);
    } else if (what == 15 && deaths_ > 0 && pick(4) == 0) {
      kill(i);
    }
  }

  void kill(int victim) {
    if (!at(victim).lives) return;
    at(victim).lives = false;
    --deaths_;
    for (int other = 0; other < size(); ++other) {
      std::deque<uint64_t>& wire = wires_[{victim, other}];
      while (!wire.empty() && pick(3) == 0) wire.pop_back();  // what is on its way may be lost
      if (at(other).lives) news_.emplace_back(other, victim);
    }
  }

  // It may fail before it has told all.
  void send(int from) {
    for (const Revocations::Word& word : at(from).machine.take_words())
      for (const int to : word.to) {
        if (deaths_ > 0 && pick(4 * size()) == 0) return kill(from);
        wires_[{from, to}].push_back(word.context);
        ++messages_;
      }
  }

  bool deliver() {
    std::vector<std::pair<int, int>> ways;
    for (const auto& [way, wire] : wires_)
      if (!wire.empty()) ways.push_back(way);
    if (ways.empty()) return false;
    const auto [from, to] = ways[static_cast<size_t>(pick(static_cast<int>(ways.size())))];
    wires_[{from, to}].pop_front();
    if (!at(to).lives) return true;
    at(to).knows = at(to).machine.hear(kContext, from) || at(to).knows;
    send(to);
    return true;
  }

  bool tell() {
    if (news_.empty()) return false;
    const auto which = news_.begin() + pick(static_cast<int>(news_.size()));
    const auto [to, victim] = *which;
    news_.erase(which);
    if (!at(to).lives) return true;
    at(to).machine.fail(victim);
    send(to);
    return true;
  }

  std::mt19937_64 random_;
  std::deque<Process> processes_;
  std::map<std::pair<int, int>, std::deque<uint64_t>> wires_;
  std::deque<std::pair<int, int>> news_;  // to whom, of whom
  int deaths_, messages_ = 0;
};

TEST(Revocations, ReachAllWhoLiveWhoeverFails) {
  for (int seed = 0; seed < times(20'000, 1'000'000); ++seed) {
    World world(static_cast<uint64_t>(seed), 2 + seed % 7, seed % 5);
    world.run();
    world.judge();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  for (int seed = 0; seed < times(10, 100); ++seed) {
    World world(static_cast<uint64_t>(seed), 64 + seed % 10 * 16, 40);
    world.run();
    world.judge();
    ASSERT_FALSE(HasFailure()) << "large, seed " << seed;
  }
}

TEST(Revocations, CostAMessageForEachMember) {
  Revocations machines[] = {Revocations(0), Revocations(1), Revocations(2)};
  for (Revocations& each : machines) EXPECT_FALSE(each.open(kContext, ProcessList::range(0, 3)));
  EXPECT_TRUE(machines[0].revoke(kContext));
  EXPECT_FALSE(machines[0].revoke(kContext));
  const std::vector<Revocations::Word> words = machines[0].take_words();
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0].to, (std::vector<int>{1, 2}));
  EXPECT_TRUE(machines[1].hear(kContext, 0));
  EXPECT_FALSE(machines[1].has_words());
  machines[1].close(kContext);  // and answers for it though
  machines[1].fail(0);
  const std::vector<Revocations::Word> again = machines[1].take_words();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].to, std::vector<int>{2});
}

}  // namespace
}  // namespace tutti::survival
