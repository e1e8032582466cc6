// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a job need, brought to one of them in a few bytes each (contract/sketch.hpp), who judges it and calls
// those that seem to wait for each other, by the same way. A round goes down and up a tree of the ranks, so that none of them is asked by
// more than one other, whatever waits for whom: a rank gets and sends as many messages as it has neighbours there. The
// tree's edges are jumps of 1, 2, 4, 8 ... ranks, those of contract/relay.hpp, and mostly lie within a node:
//
//   0 ─┬─ 1                 a rank's parent is its number without the lowest bit that is set
//      ├─ 2 ── 3
//      └─ 4 ─┬─ 5
//            └─ 6 ── 7
//
// Rounds are made on demand. A rank that has stood still for long wishes for one, its parent hands the wish on, once for
// many, and the root begins one, unless there was one lately: the more ranks there are to judge, the rarer. Who has stood
// still since before a round has been in it. All of this may be lost, and a rank may not answer: then it counts as one that
// goes on, and those below it are asked by the rank above from the next round on.
//
// Decides nothing: the answers are of different moments, and what looks like a deadlock is asked again by one of those that
// are in it (contract/standstill.hpp). Ranks of other jobs are not asked here; who needs one is called in turn.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/engine_owned.hpp"
#include "contract/sketch.hpp"

namespace tutti::contract {

// ---- the tree

inline int parent_in_census(int rank) {
  return rank & (rank - 1);
}
// Those with the most below them first.
std::vector<int> children_in_census(int rank, int ranks);
// Of the longest way down.
int height_in_census(int rank, int ranks);

class Census {
 public:
  using Clock = std::chrono::steady_clock;
  // To judge one rank takes less than a microsecond; so this is less than a thousandth of the root's time.
  static constexpr std::chrono::microseconds kPauseForEach{300};

  // All called with the engine owned.
  struct Means {
    int process = 0;
    int ranks = 0;  // of the job; 0: nobody is asked
    std::function<void(int process, const Bytes& message)> tell;
    // Adds this process' own sketch.
    std::function<void(Bytes&)> sketch;
    // Has it ended, so that it never answers? nullptr: nobody has.
    std::function<bool(int process)> is_gone = nullptr;
    // This process is to look whether it waits in vain, as `dead` seem to, ascending: some of them where they are many. Of
    // these it is in a circle with those that stand in `circle`.
    std::function<void(const std::vector<int>& circle, const std::vector<int>& dead)> called;
  };
  // `limit`: for how long a rank stands still before it wishes for a round.
  Census(std::chrono::nanoseconds limit, Means means);

  // This rank stands still.
  void wish(Clock::time_point now) TUTTI_ENGINE_OWNED;
  // Again and again, while a thread of this process sleeps in a call.
  void look(Clock::time_point now) TUTTI_ENGINE_OWNED;
  // From another process of the job.
  void message(int from, std::span<const std::byte> message, Clock::time_point now) TUTTI_ENGINE_OWNED;

  uint32_t rounds() const { return rounds_; }  // begun here, for tests

 private:
  enum class What : uint8_t { wish, round, sketches, call };
  struct Round {
    int32_t root = 0;
    uint32_t number = 0;
    friend bool operator==(const Round&, const Round&) = default;
  };

  void hand_on_wish(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void begin(int asker, const Round& round, Clock::time_point now) TUTTI_ENGINE_OWNED;
  void ask_below(int rank) TUTTI_ENGINE_OWNED;
  void close_if_late(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void give_up_the_silent() TUTTI_ENGINE_OWNED;
  void finish(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void judge(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void call_some(const Sketches& sketches, const std::vector<int>& dead) TUTTI_ENGINE_OWNED;
  void call_for_others(const Sketches& sketches, const std::vector<int>& dead) TUTTI_ENGINE_OWNED;
  void call(int process, std::vector<int> circle, std::span<const int> dead) TUTTI_ENGINE_OWNED;
  void hand_on_call(std::span<const std::byte> call) TUTTI_ENGINE_OWNED;
  void send(int to, What what, const Round& round, std::span<const std::byte> rest = {}) TUTTI_ENGINE_OWNED;
  bool is_gone(int process) const { return means_.is_gone && means_.is_gone(process); }
  int root() const;
  int above() const;

  const std::chrono::nanoseconds limit_;
  const Means means_;

  Round round_ TUTTI_OWNERS{.root = -1};                              // the latest in which this rank was asked
  Clock::time_point seen_ TUTTI_OWNERS{}, handed_on_ TUTTI_OWNERS{};  // it, and a wish
  bool is_open_ TUTTI_OWNERS = false;                                 // it has not been answered
  int asker_ TUTTI_OWNERS = -1;
  Bytes gathered_ TUTTI_OWNERS;
  size_t asked_ TUTTI_OWNERS = 0;
  std::set<int> missing_ TUTTI_OWNERS;  // whose answers are awaited
  std::set<int> silent_ TUTTI_OWNERS;   // did not answer in the last round
  Clock::time_point deadline_ TUTTI_OWNERS{};

  // The root's.
  uint32_t rounds_ = 0;
  bool is_wished_ TUTTI_OWNERS = false;
  Clock::time_point next_round_ TUTTI_OWNERS{};
  std::set<int> called_ TUTTI_OWNERS;
};

}  // namespace tutti::contract
