// SPDX-License-Identifier: BSD-3-Clause
// Deadlock detection. A rank whose blocked thread has stood still for long wishes for a round of the job's census
// (contract/census.hpp), which tells it if it seems to wait in vain. One rank of those that wait in a circle is told so:
// it asks those that it waits for, and those that they wait for, what they are in; whoever drives an engine answers, the
// progress thread too. If the answers make a deadlock (contract/deadlock.hpp) they are asked again:
// states that are the same both times held all at once in between, so that the second answers prove
// it. That rank reports. Slowness never is a deadlock: a rank
// that does not answer, computes, or has a thread outside of MPI is alive.
//
// What this costs in a program that is right: the census, in which no rank is asked by more than one other, and rarely a
// rank that asks others in vain, a few at a time.
//
// Refuses to judge what it cannot see: waits that name nobody (life/condition.hpp), and threads
// that may call MPI for the first time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/engine_owned.hpp"
#include "contract/census.hpp"
#include "contract/deadlock.hpp"

namespace tutti::contract {

struct Name {
  uint64_t job = 0;
  int32_t rank = 0;
};
// Processes of other jobs, whose numbers mean something here alone.
struct Others {
  int job_size = std::numeric_limits<int>::max();  // from there on
  // What every process understands, and the number of one here; -1: it is not known.
  Name (*name_of)(int process) = nullptr;
  int (*number_of)(const Name& name) = nullptr;
  std::string (*text_of)(int process) = nullptr;  // "rank 2 of another job on node3"
};

struct Deadlock {
  States states;             // of all that are known
  std::vector<int> members;  // that cannot go on, ascending
  Circle circle;
  Others others;
};

class Standstill {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::chrono::nanoseconds limit = std::chrono::seconds(3);  // of standing still before it asks
    // Between the answers and the second question.
    std::chrono::nanoseconds second_look = std::chrono::milliseconds(200);
    size_t most_asked = 64;  // at a time
  };
  // What it needs of the others, all called with the engine owned.
  struct Means {
    int process = 0;
    int ranks = 0;  // of the job; 0: they are not known, and nobody is asked
    // Engine::events().
    std::function<uint64_t()> events;
    // Of this process; with what a report says, or without.
    std::function<ProcessState(bool is_described)> state;
    // ProcessState::sent and received; `among`: ascending.
    std::function<void(std::span<const int> among, ProcessState& state)> count_messages;
    // To the same object of another process. `is_near`: a neighbour in the census' tree, which is spoken to directly.
    std::function<void(int process, const Bytes& message, bool is_near)> tell;
    // Called once for each deadlock, by one of its members; may end the process.
    std::function<void(const Deadlock&)> found;
    // Census::Means::is_gone.
    std::function<bool(int process)> is_gone = nullptr;
    Others others;
  };

  Standstill(const Options& options, Means means);
  Standstill(const Standstill&) = delete;

  // A thread of this process sleeps in a blocking call; again and again.
  void look(Clock::time_point now = Clock::now()) TUTTI_ENGINE_OWNED;
  // From another process.
  void message(int from, std::span<const std::byte> message, Clock::time_point now = Clock::now()) TUTTI_ENGINE_OWNED;

  // For tests: asked so far by this process, and rounds of the census that it has begun.
  uint64_t questions() const { return questions_; }
  uint32_t rounds() const { return census_.rounds(); }

 private:
  enum class What : uint8_t { question, answer, your_turn, census };
  enum class Phase : uint8_t { idle, first, rest, second };

  Census::Means means_of_census();
  void write_state(int to, bool is_described, std::span<const int> among, Bytes& bytes) TUTTI_ENGINE_OWNED;
  bool read_state(ProcessState& state, std::span<const std::byte> from) const TUTTI_ENGINE_OWNED;
  void write_processes(int to, std::span<const int> processes, Bytes& bytes) const;
  bool read_processes(std::span<const std::byte>& from, std::vector<int>& processes) const;
  void write_names(const std::set<int>& processes, Bytes& bytes) const;
  bool read_names(std::span<const std::byte>& from, std::map<int, int>& numbers) const;
  void notice(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void begin(Phase phase, Clock::time_point now) TUTTI_ENGINE_OWNED;
  void answer(int to, uint32_t round, std::span<const std::byte> question) TUTTI_ENGINE_OWNED;
  void take_answer(int from, uint32_t round, std::span<const std::byte> state,
                   Clock::time_point now) TUTTI_ENGINE_OWNED;
  void ask(int process) TUTTI_ENGINE_OWNED;
  void ask_more() TUTTI_ENGINE_OWNED;
  bool is_alive_by_the_known() TUTTI_ENGINE_OWNED;
  void be_called(const std::vector<int>& circle, const std::vector<int>& witnesses) TUTTI_ENGINE_OWNED;
  void judge_first(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void judge_second() TUTTI_ENGINE_OWNED;
  void give_up() TUTTI_ENGINE_OWNED;
  int speaker_of(const States& states) const TUTTI_ENGINE_OWNED;
  Clock::duration answer_time() const { return std::max<Clock::duration>(options_.limit, std::chrono::seconds(1)); }

  const Options options_;
  const Means means_;
  Census census_;

  uint64_t events_ TUTTI_OWNERS = 0;
  bool has_looked_ TUTTI_OWNERS = false;
  Clock::duration patience_ TUTTI_OWNERS;
  Clock::time_point next_wish_ TUTTI_OWNERS;
  Clock::time_point next_ TUTTI_OWNERS;  // resting: when to ask again; first and second: the deadline

  Phase phase_ TUTTI_OWNERS = Phase::idle;
  bool is_called_ TUTTI_OWNERS = false;  // to look whether it waits in vain
  uint32_t round_ TUTTI_OWNERS = 0;      // answers to older questions are dropped
  States states_ TUTTI_OWNERS, first_states_ TUTTI_OWNERS;
  Search search_ TUTTI_OWNERS;           // the first time
  size_t judged_ TUTTI_OWNERS = 0;       // how many states there were then
  std::deque<int> to_ask_ TUTTI_OWNERS;  // the first time: beside the search, those of its circle
  std::vector<int> among_ TUTTI_OWNERS;  // whose messages count, ascending
  Bytes among_for_own_ TUTTI_OWNERS;     // as written for ranks of this job
  std::set<int> awaited_ TUTTI_OWNERS;
  std::set<int> witnesses_ TUTTI_OWNERS;  // who wait for the circle that I speak for
  std::vector<int> reported_ TUTTI_OWNERS;
  uint64_t questions_ = 0;
};

}  // namespace tutti::contract
