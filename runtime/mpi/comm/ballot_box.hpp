// SPDX-License-Identifier: BSD-3-Clause
// The agreements of a communicator whose ranks all share their node's memory, where they cast ballots (survival/ballots.hpp).
// Owns this rank's calls of them, one after the other, and wakes those who sleep and wait for it. Refuses to know who fails,
// which it is told, and what a decision is good for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/engine_owned.hpp"
#include "life/blocked.hpp"
#include "life/condition.hpp"
#include "mpi/comm/comm.hpp"
#include "survival/ballots.hpp"
#include "transport/shared/word_bells.hpp"

namespace tutti::mpi {

// Agreements among the serials of collectives, to whoever asks what a call waits for.
inline constexpr uint32_t kAgreements = uint32_t{1} << 31;

// With the engine owned. The communicator lives for as long as there are calls.
class BallotBox {
 public:
  // nullptr: they agree by messages, all of them.
  static std::unique_ptr<BallotBox> open(Comm& comm) TUTTI_ENGINE_OWNED;
  ~BallotBox() = default;
  BallotBox(const BallotBox&) = delete;

  // This rank calls the next agreement; `then` is what look() gives with its decision.
  using Then = std::function<void(const survival::Decision&)>;
  void call(uint32_t serial, survival::Contribution mine, Then then) TUTTI_ENGINE_OWNED;
  // The rank has failed.
  void fail(int rank) { failed_.add(rank); }
  // The decision of the oldest call, once nobody is missing, which is none any more then; the next one takes part.
  struct Outcome {
    survival::Decision decision;
    Then then;
  };
  std::optional<Outcome> look() TUTTI_ENGINE_OWNED;
  bool is_empty() const { return calls_.empty(); }
  // Whose calls the oldest one waits for.
  void add_needs(life::Condition& needs) const TUTTI_ENGINE_OWNED;
  // Its calls hear of nothing any more.
  void forget_calls() TUTTI_ENGINE_OWNED;

 private:
  // Is under way, for the engine, from the call to the decision.
  struct Call : life::UnderWay {
    Call(const BallotBox& box, uint32_t number, survival::Contribution mine, Then then);
    const BallotBox& box;
    const uint32_t number;
    survival::Contribution mine;
    Then then;
  };
  BallotBox(Comm& comm, std::byte* memory, std::unique_ptr<transport::WordBells> bells);
  void cast() TUTTI_ENGINE_OWNED;

  engine::Engine& engine_;
  const uint64_t context_;
  const ProcessList members_;
  const int rank_;
  const std::unique_ptr<transport::WordBells> bells_;
  survival::Ballots ballots_;
  survival::Ranks failed_;
  std::deque<Call> calls_;  // the oldest has been cast
};

}  // namespace tutti::mpi
