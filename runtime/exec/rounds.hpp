// SPDX-License-Identifier: BSD-3-Clause
// Rounds: those that one run has taken in its lane (transport/shared/lane.hpp), by their numbers in its plan. Owns
// what the run's flags say of its call, and compares what those of the others say; refuses to know what is in the
// slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/engine_owned.hpp"
#include "contract/ledger.hpp"
#include "engine/channel.hpp"
#include "exec/plans.hpp"
#include "life/condition.hpp"

namespace tutti::exec {

// What came on this channel may be of another call: nothing is made of it, or passed on, before that is known.
inline bool is_disturbed(const engine::Channel& channel) TUTTI_ENGINE_OWNED {
  return channel.ledger && channel.ledger->disturbed();
}

class Rounds {
 public:
  Rounds(engine::Channel& channel, coll::LaneSize lane);

  // False: the plan has none.
  bool exist() const { return lane_ != nullptr; }
  // The next `number` ones are those of the call of this serial. `history`: the ledger's, of the calls before.
  void take(uint32_t number, uint32_t serial, uint64_t history, uint64_t signature) TUTTI_ENGINE_OWNED {
    first_ = lane_->take(number);
    serial_ = serial;
    history_ = history;
    word_ = signature ^ history;
    awaited_ = 0;
  }
  // False: their turn has not come. To be asked before begin(), and nothing below before that.
  bool are_in_reach() const TUTTI_ENGINE_OWNED { return lane_->is_in_reach(first_); }
  void begin() TUTTI_ENGINE_OWNED { lane_->begin(first_, serial_, history_); }
  // Of this lane and channel: those whose turn has not come, in order.
  engine::Pollers& late() const TUTTI_ENGINE_OWNED { return *late_; }

  // My slot of the round may be written.
  [[gnu::always_inline]] bool claim(uint32_t round) TUTTI_ENGINE_OWNED {
    const bool free = lane_->claim(first_ + round);
    if (const auto serial = lane_->contradiction(); serial && channel_.ledger) [[unlikely]]
      channel_.ledger->contradicted(*serial);
    return free && !is_disturbed(channel_);
  }
  // Shows my slot of the round to `to`, or to all (-1).
  void publish(uint32_t round, int to) TUTTI_ENGINE_OWNED { lane_->raise(first_ + round, word_, to); }
  // The slot of `peer`, or, if -1, those of all others, may be read.
  [[gnu::always_inline]] bool is_there(uint32_t round, int peer) TUTTI_ENGINE_OWNED {
    if (peer >= 0) return is_raised(round, peer) && !is_disturbed(channel_);
    for (const int size = channel_.neighbours(); awaited_ < size; ++awaited_)
      if (awaited_ != channel_.local() && !is_raised(round, awaited_)) return false;
    awaited_ = 0;
    return !is_disturbed(channel_);
  }
  // Of all others, those before this one have been there.
  int awaited() const TUTTI_ENGINE_OWNED { return awaited_; }
  // The flag that is_there() would look at next is not raised.
  bool is_missing(uint32_t round, int peer) const TUTTI_ENGINE_OWNED {
    if (peer < 0) peer = awaited_;
    return peer != channel_.local() && !lane_->is_raised(first_ + round, peer);
  }
  void leave(uint32_t round) TUTTI_ENGINE_OWNED { lane_->leave(first_ + round); }

  std::byte* data(uint32_t round, int rank) const { return lane_->data(first_ + round, rank); }
  // The slot of `peer` was there before it was asked for: so may be the next one.
  void fetch_next(uint32_t round, int peer) const { lane_->fetch_next(first_ + round, peer); }
  void put(std::byte* to, const std::byte* from, size_t bytes) { lane_->put(to, from, bytes); }
  void get(std::byte* to, const std::byte* from, size_t bytes) { lane_->get(to, from, bytes); }

  // The calls at other ranks without which it cannot go on from this step, side by side.
  void add_needs(const Step& step, life::Condition& needs) const TUTTI_ENGINE_OWNED;
  // The same of one whose turn has not come.
  void add_needs_of_late(life::Condition& needs) const TUTTI_ENGINE_OWNED;

 private:
  [[gnu::always_inline]] bool is_raised(uint32_t round, int peer) TUTTI_ENGINE_OWNED {
    if (!lane_->is_raised(first_ + round, peer)) return false;
    const uint64_t word = lane_->signature(first_ + round, peer);
    if (word != word_ && channel_.ledger) [[unlikely]]
      channel_.ledger->flag_differs(serial_, word ^ history_);
    return true;
  }
  void need(life::Condition& needs, int peer, std::optional<uint32_t> serial) const TUTTI_ENGINE_OWNED;

  engine::Channel& channel_;
  transport::Lane* lane_ = nullptr;
  engine::Pollers* const late_;
  uint32_t first_ = 0;  // in the lane, of the latest start
  uint32_t serial_ = 0;
  uint64_t history_ = 0;
  uint64_t word_ = 0;  // beside my flags: the call's signature and the history
  int awaited_ = 0;
};

}  // namespace tutti::exec
