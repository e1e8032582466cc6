// SPDX-License-Identifier: BSD-3-Clause
// One agreement among the ranks of a communicator of which any may fail at any step, as a machine that is told of calls,
// messages and failures and hands out messages: it sends none itself, reads no clock, and can be run with made-up ranks.
//
// What holds: nobody decides otherwise than anybody else, also of those who fail after they have decided; whoever lives
// and has called decides, once everybody who lives has called; the decision is made of the contributions of all who
// live then, and of some of those who have failed. It takes for granted that a rank that is told to have failed sends
// nothing any more that has not been sent, that each failure is told to everybody who lives, sooner or later, and that
// messages between two ranks that live arrive.
//
// The coordinator is the lowest rank that is not known to have failed. In a first phase everybody tells it what he
// contributes. Once nobody who lives is missing it makes a proposal, and in a second phase everybody adopts that and
// says so; once nobody who lives is missing there either, that is the decision, which it tells to all. Where a
// coordinator fails, everybody tells the next one what he contributes and what he has adopted; a proposal that any of
// them has adopted is proposed again. (With detectors that err not this is the classical rotating coordinator, after
// Chandra and Toueg, Journal of the ACM 43, 1996.) A decision is known as one before anybody can have acted on it, since
// it is told only when all who live have adopted it. Four steps, each of one message from or to each rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "survival/ranks.hpp"

namespace tutti::survival {

// Who takes part: the ranks of a group, or of two, of which the first has the ranks below `first_side`.
struct Shape {
  int size = 1, rank = 0;
  int first_side = 1;  // one group: `size`
};

// What a rank brings.
struct Contribution {
  uint64_t flag = ~uint64_t{0};
  Ranks acknowledged;    // of whose failure it need not be told by the outcome
  Ranks failed;          // as far as it knows
  uint64_t word = 0;     // what it proposes where one has to choose for all, as coordinator; it does not travel
  uint32_t settled = 0;  // all agreements on the communicator before this number have been decided at that rank
};

struct Decision {
  uint64_t flags[2] = {~uint64_t{0}, ~uint64_t{0}};  // of either side: the bitwise AND
  Ranks contributors;
  Ranks failed;                 // what the contributors knew, together with all who have not contributed
  bool unacknowledged = false;  // somebody has not contributed whose failure not all contributors had acknowledged
  uint64_t word = 0;
  uint32_t settled = 0;  // the least of all

  bool operator==(const Decision&) const = default;
};

struct Message {
  enum class Kind : uint8_t { contribution, proposal, adoption, decision };
  Kind kind = Kind::contribution;
  Contribution contribution;         // of a contribution
  std::optional<Decision> decision;  // of a proposal and a decision; of a contribution what its sender has adopted

  void write(std::string& to) const;
  // nullopt: it is none among so many ranks.
  static std::optional<Message> read(std::string_view from, int size);
};

class Agreement {
 public:
  explicit Agreement(const Shape& shape);

  // This rank's call, once.
  void contribute(Contribution mine);
  // What becomes known, in any order and as often as one likes.
  void fail(int rank);
  void receive(int from, const Message& message);

  // What is to be sent now, to other ranks, in this order; there is nothing any more afterwards.
  std::vector<std::pair<int, Message>> take_messages() { return std::exchange(out_, {}); }
  // On whom it depends whether this rank, which has called, goes on: as coordinator on those whose calls are missing,
  // otherwise on the coordinator. Nobody: it has decided, or what is missing comes without anybody's call.
  std::vector<int> awaited() const;
  // Known to this rank, whether or not it has called.
  const std::optional<Decision>& decision() const { return decision_; }

 private:
  int coordinator() const { return living_.first(); }
  bool leads() const { return coordinator() == shape_.rank; }
  void tell_coordinator();
  void go_on();
  Decision proposal() const;
  void decide(const Decision& decision);
  void send_to_all(Message::Kind kind);

  const Shape shape_;
  Ranks living_;
  std::optional<Contribution> mine_;
  int told_ = -1;  // the coordinator that knows what this rank contributes, or that the decision has been made
  std::optional<Decision> adopted_, decision_;
  // As coordinator: who has contributed, and what; who has adopted.
  std::vector<std::optional<Contribution>> gathered_;
  bool proposed_ = false, announced_ = false;
  Ranks adopters_;
  std::vector<std::pair<int, Message>> out_;
};

}  // namespace tutti::survival
