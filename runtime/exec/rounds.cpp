// SPDX-License-Identifier: BSD-3-Clause
#include "exec/rounds.hpp"

namespace tutti::exec {

Rounds::Rounds(engine::Channel& channel, coll::LaneSize lane)
    : channel_(channel), late_(&channel.late[lane == coll::LaneSize::large]) {
  if (lane == coll::LaneSize::small) lane_ = &channel.area->small();
  if (lane == coll::LaneSize::large) lane_ = &channel.area->large();
}

void Rounds::need(life::Condition& needs, int peer, std::optional<uint32_t> serial) const {
  if (serial)
    needs.collective(channel_.process_of(channel_.neighbour(peer)), channel_.context, *serial);
  else
    needs.always();  // of a call that is forgotten
}

// Looks at the flags themselves: what is raised and not seen yet needs nobody. Where others still
// look at the slot, each of them has to go on with the oldest call that it has not left.
void Rounds::add_needs(const Step& step, life::Condition& needs) const {
  const uint32_t round = first_ + static_cast<uint32_t>(step.slot);
  for (int peer = 0; peer < channel_.neighbours(); ++peer) {
    if (step.kind == Step::Kind::await) {
      if ((step.peer < 0 ? peer != channel_.local() : peer == step.peer) && !lane_->is_raised(round, peer))
        need(needs, peer, serial_);
    } else if (step.kind == Step::Kind::claim) {
      const transport::Lane::Holder holder = lane_->holder(round, peer);
      if (holder.holds) need(needs, peer, holder.serial);
    }
  }
}

// This rank has to go on with its own.
void Rounds::add_needs_of_late(life::Condition& needs) const {
  need(needs, channel_.local(), lane_->oldest_serial());
}

}  // namespace tutti::exec
