// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/ballot_box.hpp"

#include <utility>

#include "engine/engine.hpp"
#include "mpi/comm/area_key.hpp"
#include "mpi/object/process.hpp"
#include "transport/router.hpp"

namespace tutti::mpi {

BallotBox::Call::Call(const BallotBox& of, uint32_t its_number, survival::Contribution its, Then its_then)
    : box(of), number(its_number), mine(std::move(its)), then(std::move(its_then)) {
  explain = [](const UnderWay& self, life::Condition& needs)
                TUTTI_ENGINE_OWNED { static_cast<const Call&>(self).box.add_needs(needs); };
  context = of.context_;
  serial = number | kAgreements;
  is_collective = false;
}

// Whether there is an area, and memory in it, is the same for all ranks and for ever: also for those who ask after one of
// them has failed.
std::unique_ptr<BallotBox> BallotBox::open(Comm& comm) {
  using survival::Ballots;
  const int size = comm.hidden.size();
  if (size > Ballots::kMostRanks) return nullptr;
  comm.find_area();
  if (!comm.hidden.area || comm.hidden.neighbours() != size) return nullptr;
  transport::Router& transport = *comm.process.transport;
  std::byte* const memory = transport.ballot_memory(area_key(comm.hidden), Ballots::bytes(size));
  std::unique_ptr<transport::WordBells> bells = transport.bells_for(comm.hidden.peers.to_vector());
  if (!memory || !bells) return nullptr;
  return std::unique_ptr<BallotBox>(new BallotBox(comm, memory, std::move(bells)));
}

BallotBox::BallotBox(Comm& comm, std::byte* memory, std::unique_ptr<transport::WordBells> bells)
    : engine_(comm.engine()),
      context_(comm.context()),
      members_(comm.hidden.peers),
      rank_(comm.hidden.rank),
      bells_(std::move(bells)),
      ballots_(memory, comm.hidden.size(), rank_),
      failed_(comm.hidden.size()) {}

void BallotBox::call(uint32_t serial, survival::Contribution mine, Then then) {
  engine_.add(calls_.emplace_back(*this, serial, std::move(mine), std::move(then)));
  if (calls_.size() == 1) cast();
}

void BallotBox::cast() {
  const Call& oldest = calls_.front();
  bells_->waits();
  ballots_.cast(oldest.number, oldest.mine);
  transport::WordBells::has_written();
  for (int rank = 0; rank < members_.size(); ++rank)
    if (rank != rank_) bells_->ring_if_asleep(rank);
}

std::optional<BallotBox::Outcome> BallotBox::look() {
  if (calls_.empty()) return std::nullopt;
  Call& oldest = calls_.front();
  std::optional<survival::Decision> decision = ballots_.count(oldest.number, failed_);
  if (!decision) return std::nullopt;
  Outcome out{*std::move(decision), std::move(oldest.then)};
  engine_.remove(oldest);
  calls_.pop_front();
  if (!calls_.empty()) cast();
  return out;
}

void BallotBox::add_needs(life::Condition& needs) const {
  if (calls_.empty()) return;
  const Call& oldest = calls_.front();
  for (const int rank : ballots_.awaited(oldest.number, failed_))
    needs.collective(members_[rank], context_, oldest.serial);
}

void BallotBox::forget_calls() {
  for (Call& each : calls_) engine_.remove(each);
  calls_.clear();
}

}  // namespace tutti::mpi
