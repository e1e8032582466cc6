// SPDX-License-Identifier: BSD-3-Clause
// Deadlock detection. A rank whose blocked thread has stood still for long asks those that it waits
// for, and those that they wait for, what they are in; whoever drives an engine answers, the
// progress thread too. If the answers make a deadlock (contract/deadlock.hpp) they are asked again:
// states that are the same both times held all at once in between, so that the second answers prove
// it. One rank of those that wait in a circle reports. Slowness never is a deadlock: a rank
// that does not answer, computes, or has a thread outside of MPI is alive.
//
// Refuses to judge what it cannot see: waits that name nobody (life/condition.hpp), and threads
// that may call MPI for the first time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/engine_owned.hpp"
#include "contract/deadlock.hpp"

namespace tutti::engine {
class Engine;
}
namespace tutti::life {
struct Blocked;
}

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
    // At once, of those about whom nothing is known: a rank that waits for any of thousands mostly hears from the first
    // ones that it waits rightly.
    size_t most_asked = 64;
  };
  // What it needs of the others, all called with the engine owned.
  struct Means {
    // To the same object of another process.
    std::function<void(int process, const Bytes& message)> tell;
    // May no thread act but those that stand in blocking calls (Engine::blocked())?
    std::function<bool()> all_threads_blocked;
    // Fills in what the report says of the call that a thread is in.
    std::function<void(const life::Blocked&, BlockedThread&)> describe;
    // ProcessState::lying of this process; nullptr: nobody asks.
    std::function<std::vector<Lying>()> lying = nullptr;
    // Called once for each deadlock, by one of its members; may end the process.
    std::function<void(const Deadlock&)> found;
    // This process calls MPI no more: who waits for it waits in vain. nullptr: it may always.
    std::function<bool()> has_ended = nullptr;
    Others others;
  };

  Standstill(engine::Engine& engine, const Options& options, Means means);

  // A thread of this process sleeps in a blocking call; again and again.
  void look(Clock::time_point now = Clock::now()) TUTTI_ENGINE_OWNED;
  // From another process.
  void message(int from, std::span<const std::byte> message) TUTTI_ENGINE_OWNED;

  uint64_t questions() const { return questions_; }  // asked so far, for tests

 private:
  enum class What : uint8_t { question, answer, your_turn };
  enum class Phase : uint8_t { idle, first, rest, second };

  ProcessState own_state() TUTTI_ENGINE_OWNED;
  void write_state(int to, Bytes& bytes) TUTTI_ENGINE_OWNED;
  bool read_state(ProcessState& state, std::span<const std::byte> from) const TUTTI_ENGINE_OWNED;
  void notice(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void begin(Phase phase, Clock::time_point now) TUTTI_ENGINE_OWNED;
  void ask(int process) TUTTI_ENGINE_OWNED;
  void ask_for_the_unknown() TUTTI_ENGINE_OWNED;
  void judge_first(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void judge_second(Clock::time_point now) TUTTI_ENGINE_OWNED;
  void give_up(Clock::time_point now) TUTTI_ENGINE_OWNED;
  int speaker_of(const States& states) const TUTTI_ENGINE_OWNED;
  Clock::duration answer_time() const { return std::max<Clock::duration>(options_.limit, std::chrono::seconds(1)); }

  engine::Engine& engine_;
  const Options options_;
  const Means means_;

  uint64_t events_ TUTTI_OWNERS = 0;  // when they changed last: since_
  Clock::time_point since_ TUTTI_OWNERS;
  Clock::duration patience_ TUTTI_OWNERS;
  Clock::time_point next_ TUTTI_OWNERS;  // idle: when to ask; resting: when to ask again; else the deadline

  Phase phase_ TUTTI_OWNERS = Phase::idle;
  uint32_t round_ TUTTI_OWNERS = 0;  // answers to older questions are dropped
  States states_ TUTTI_OWNERS, first_states_ TUTTI_OWNERS;
  std::set<int> awaited_ TUTTI_OWNERS;
  std::set<int> witnesses_ TUTTI_OWNERS;  // who wait for the circle that I speak for
  std::vector<int> reported_ TUTTI_OWNERS;
  uint64_t questions_ = 0;
};

}  // namespace tutti::contract
