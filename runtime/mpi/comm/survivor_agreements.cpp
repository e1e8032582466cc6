// SPDX-License-Identifier: BSD-3-Clause
// What survivors agree on: each communicator's agreements, in memory that all its ranks share or by messages.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fault_point.hpp"
#include "engine/engine.hpp"
#include "members/processes.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

// The serials of ends among those of agreements.
constexpr uint32_t kEnds = uint32_t{1} << 30;

}  // namespace

survival::Contribution Survivor::contribution(const Comm& comm) {
  poll();
  const int size = comm.hidden.size();
  survival::Contribution out{.acknowledged = survival::Ranks(size), .failed = survival::Ranks(size)};
  const Lock lock(mutex_);
  const auto at = members_.find(comm.context());
  if (at == members_.end()) return out;
  const Members& members = at->second;
  for (size_t i = 0; i < members.failed.size(); ++i) {
    const int rank = comm.hidden.peers.rank_of(members.failed[i]);
    out.failed.add(rank);
    if (i < members.acknowledged) out.acknowledged.add(rank);
  }
  return out;
}

void Survivor::introduce(Talks& talks, const Comm& comm) {
  if (!talks.members.empty()) return;
  talks.members = comm.hidden.peers;
  const int size = comm.hidden.size();
  talks.shape = {
      .size = size, .rank = comm.hidden.rank, .first_side = comm.hidden.sides ? comm.hidden.sides.first : size};
}

Survivor::Talks& Survivor::talks_of(const Comm& comm) {
  Talks& talks = talks_[comm.context()];
  introduce(talks, comm);
  receive_early(talks);
  return talks;
}

void Survivor::receive_early(Talks& talks) {
  for (const auto& [header, text] : std::exchange(talks.early, {})) receive(talks, header, text);
}

Survivor::Round::Round(const Talks& of, uint64_t of_context, uint32_t number) : talks(of), machine(of.shape) {
  explain = [](const UnderWay& self, life::Condition& needs) TUTTI_ENGINE_OWNED {
    const auto& round = static_cast<const Round&>(self);
    for (const int rank : round.machine.awaited())
      needs.collective(round.talks.members[rank], round.context, round.serial);
  };
  context = of_context;
  serial = number | kAgreements;
  is_collective = false;
}

Survivor::Round& Survivor::round_of(uint64_t context, Talks& talks, uint32_t serial) {
  std::unique_ptr<Round>& round = talks.rounds[serial];
  if (round) return *round;
  round = std::make_unique<Round>(talks, context, serial);
  const Lock lock(mutex_);
  for (const int process : lost_)
    if (const int rank = talks.members.rank_of(process); rank >= 0) round->machine.fail(rank);
  return *round;
}

void Survivor::end(Round& round) {
  if (std::exchange(round.then, {})) process_.engine->remove(round);
}

// All before it have been decided here.
uint32_t Survivor::settled(const Talks& talks) {
  for (const auto& [serial, round] : talks.rounds)
    if (!round->machine.decision()) return serial;
  return talks.next;
}

life::Actor Survivor::agree(Comm& comm, survival::Contribution mine, Then then) {
  Talks& talks = talks_of(comm);
  const uint32_t serial = talks.next++;
  BallotBox* const box = box_of(comm, talks);
  if (!box) return begin(comm, serial, std::move(mine), std::move(then));
  box->call(serial, std::move(mine), std::move(then));
  TUTTI_FAULT_POINT("agreement.contributed");
  if (!std::exchange(talks.is_awaiting, true)) awaiting_.push_back(&talks);
  look_into_box(talks);
  return {process_.engine->process(), comm.context(), serial};
}

BallotBox* Survivor::box_of(Comm& comm, Talks& talks) {
  if (std::exchange(talks.knows_how, true)) return talks.box.get();
  talks.box = BallotBox::open(comm);
  if (!talks.box) return nullptr;
  const Lock lock(mutex_);
  for (const int process : lost_)
    if (const int rank = talks.members.rank_of(process); rank >= 0) talks.box->fail(rank);
  return talks.box.get();
}

// What hears of a decision may call others.
bool Survivor::look_into_box(Talks& talks) {
  bool any = false;
  while (const std::optional<BallotBox::Outcome> outcome = talks.box->look()) {
    TUTTI_FAULT_POINT("agreement.decided");
    is_decided(talks.members, outcome->decision, outcome->then);
    any = true;
  }
  return any;
}

bool Survivor::look_for_ballots() {
  bool any = false;
  for (size_t i = 0; i < awaiting_.size();) {
    Talks& talks = *awaiting_[i];
    any |= look_into_box(talks);
    if (i >= awaiting_.size() || awaiting_[i] != &talks) continue;  // a look within it has taken some out
    if (!talks.box->is_empty()) {
      ++i;
      continue;
    }
    talks.is_awaiting = false;
    awaiting_.erase(awaiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return any;
}

life::Actor Survivor::agree_to_end(const Comm& comm, Then then) {
  return begin(comm, kEnds + ends_++, contribution(comm), std::move(then));
}

life::Actor Survivor::begin(const Comm& comm, uint32_t serial, survival::Contribution mine, Then then) {
  const uint64_t context = comm.context();
  Talks& talks = talks_of(comm);
  mine.settled = std::min(settled(talks), serial);
  Round& round = round_of(context, talks, serial);
  round.then = std::move(then);
  process_.engine->add(round);
  round.machine.contribute(std::move(mine));
  TUTTI_FAULT_POINT("agreement.contributed");
  go_on(context, talks, serial);
  return {process_.engine->process(), context, serial};
}

void Survivor::add_needs(const life::Actor& name, life::Condition& needs) const {
  const auto talks = talks_.find(name.context);
  if (talks == talks_.end()) return;
  if (talks->second.box && !(name.serial & kEnds)) return talks->second.box->add_needs(needs);
  const auto round = talks->second.rounds.find(name.serial);
  if (round != talks->second.rounds.end()) round->second->add_needs(needs);
}

void Survivor::receive(Talks& talks, const transport::Header& header, std::string_view text) {
  if (header.serial < talks.forgotten) return;  // it would begin anew
  const std::optional<survival::Message> message = survival::Message::read(text, talks.shape.size);
  if (message) round_of(header.ticket, talks, header.serial).machine.receive(header.source, *message);
}

// Sends what the machine has to say, and tells of its decision. Others need not be told any more what all have heard.
void Survivor::go_on(uint64_t context, Talks& talks, uint32_t serial) {
  const auto at = talks.rounds.find(serial);
  if (at == talks.rounds.end()) return;
  Round& round = *at->second;
  for (const auto& [rank, message] : round.machine.take_messages()) {
    std::string text;
    message.write(text);
    const transport::Header header{.source = talks.shape.rank, .tag = kAgreement, .serial = serial, .ticket = context};
    process_.engine->send_of_survival(talks.members[rank], header, reinterpret_cast<const std::byte*>(text.data()),
                                      static_cast<int64_t>(text.size()));
    TUTTI_FAULT_POINT("agreement.told_one");
  }
  if (!round.machine.decision() || !round.then) return;
  TUTTI_FAULT_POINT("agreement.decided");
  const survival::Decision decision = *round.machine.decision();
  const Then then = round.then;
  end(round);
  talks.forgotten = std::max(talks.forgotten, std::min(decision.settled, serial));
  talks.rounds.erase(talks.rounds.begin(), talks.rounds.lower_bound(talks.forgotten));
  is_decided(talks.members, decision, then);
}

// Of some failures this rank may hear so first.
void Survivor::is_decided(const ProcessList& members, const survival::Decision& decision, const Then& then) {
  process_.engine->note_event();
  for (int rank = 0; rank < members.size(); ++rank)
    if (decision.failed.has(rank))
      process_.processes->report(members[rank], members::State::failed, "has failed, as others have agreed");
  if (process_.processes->changes() != read_) take_changes();
  then(decision);
}

}  // namespace tutti::mpi
