// SPDX-License-Identifier: BSD-3-Clause
#include "exec/execution.hpp"

#include <mpi.h>

#include <utility>

#include "base/log.hpp"
#include "engine/engine.hpp"

namespace tutti::exec {

Execution::Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call)
    : channel_(channel),
      rounds_(channel, plan->lane),
      binding_(channel, rounds_, std::move(plan), call),
      messages_(*this, channel, binding_),
      pieces_(channel, binding_) {
  context = channel.context;
  explain = [](const UnderWay& e, life::Condition& needs)
                TUTTI_ENGINE_OWNED { static_cast<const Execution&>(e).add_needs(needs); };
}

Execution::~Execution() {
  TUTTI_INVARIANT(!running(), "a collective was destroyed while it ran");
}

bool Execution::helper_drives() const {
  return channel_.engine->helper_drives();
}

bool Execution::begin() {
  TUTTI_INVARIANT(!running(), "a collective was started while it ran");
  const uint32_t serial = channel_.next_serial++;
  const uint64_t signature = call().signature;
  const uint64_t history = channel_.ledger ? channel_.ledger->started(serial, signature) : 0;
  UnderWay::serial = serial;
  mpi_class = MPI_SUCCESS;
  state_ = State::running;
  messages_.begin(serial);
  pieces_.begin();
  channel_.engine->add(*this);
  if (!rounds_.exist()) return true;
  rounds_.take(plan().rounds, serial, history, signature);
  if (!rounds_.are_in_reach()) {
    list(Listed::late);
    return false;
  }
  rounds_.begin();
  return true;
}

void Execution::end() {
  list(Listed::nowhere);
  state_ = State::over;
  channel_.engine->remove(*this);
  if (on_complete) on_complete(*this);
}

void Execution::wait() {
  const contract::Ledger* ledger = channel_.ledger;
  channel_.engine->wait_until([&]() TUTTI_ENGINE_OWNED { return !running() || (ledger && ledger->disturbed()); },
                              [&](life::Condition& needs) TUTTI_ENGINE_OWNED { add_needs(needs); });
}

void Execution::note(int error_class) {
  if (mpi_class == MPI_SUCCESS) mpi_class = error_class;
}

void Execution::abandon(int error_class) {
  state_ = State::abandoned;
  mpi_class = error_class;
  list(Listed::nowhere);  // rounds remain unleft: nothing more is to come of this communicator
  without_end([this]() TUTTI_ENGINE_OWNED { messages_.withdraw(); });
  go_on();
}

bool Execution::ends_with_failure(int error_class) {
  if (!Messages::is_forsaken(error_class) || is_abandoned()) return false;
  abandon(error_class);
  return true;
}

// One at a time: what ends may begin or end others.
void Execution::abandon_those(engine::Engine& engine, const std::function<bool(const engine::Channel&)>& which,
                              int error_class) {
  const auto find = [&]() TUTTI_ENGINE_OWNED -> Execution* {
    for (const life::UnderWay* each = engine.under_way(); each; each = each->next) {
      if (!each->is_collective) continue;
      auto* const one = const_cast<Execution*>(static_cast<const Execution*>(each));
      if (!one->is_abandoned() && which(one->channel_)) return one;
    }
    return nullptr;
  };
  while (Execution* const found = find()) found->abandon(error_class);
}

void Execution::relist(Listed where) {
  if (listed_ == Listed::late) rounds_.late().remove(*this);
  if (listed_ == Listed::polled) channel_.engine->remove_poller(*this);
  if (where == Listed::late) rounds_.late().add(*this);
  if (where == Listed::polled) channel_.engine->add_poller(*this);
  listed_ = where;
}

// Only those whose first round is in reach are polled: any number may be outstanding.
void Execution::admit_late() {
  engine::Pollers& late = rounds_.late();
  while (!late.empty()) {
    auto& first = static_cast<Execution&>(*late.first());
    if (!first.rounds_.are_in_reach()) return;
    first.rounds_.begin();
    first.keep_polling();
  }
}

// ---- what it waits for

void Execution::add_needs(life::Condition& needs) const {
  if (!running()) return;
  if (is_late())
    rounds_.add_needs_of_late(needs);
  else if (const Step* const step = standing_at())
    rounds_.add_needs(*step, needs);
  messages_.add_needs(needs);
}

}  // namespace tutti::exec
