// SPDX-License-Identifier: BSD-3-Clause
// What the run of a program and the run of a graph of messages have in common: copies and reductions, how a
// run ends, and what it waits for.
#include <mpi.h>

#include <algorithm>
#include <utility>

#include "exec/execution_operations.hpp"

namespace tutti::coll {

bool Execution::copy(const Step& step) {
  const bool packs = step.from.unit == Unit::packed;
  if (!packs && step.into.unit != Unit::packed) {
    const Payload from = resolve(step.from), into = resolve(step.into);
    const int64_t bytes = std::min(from.bytes(), into.bytes());
    if (bytes <= 64 && from.contiguous() && into.contiguous()) {
      copy_short(into.data(), from.data(), static_cast<size_t>(bytes));
      return true;
    }
    return in_pieces(bytes, kPiece, [&](int64_t begin, int64_t length) { copy_payload(from, into, begin, length); });
  }
  const Buf& user = packs ? step.from : step.into;
  std::byte* const there = static_cast<std::byte*>(resolve(packs ? step.into : step.from).base);
  const Payload whole = packed_whole(user);
  return in_pieces(user.count, kPiece, [&](int64_t begin, int64_t length) {
    std::byte* const packed = there + begin;
    if (whole.contiguous()) {
      std::byte* const here = whole.data() + user.offset + begin;
      copy_short(packs ? packed : here, packs ? here : packed, static_cast<size_t>(length));
    } else if (packs) {
      whole.pack(user.offset + begin, packed, length);
    } else {
      whole.unpack(user.offset + begin, packed, length);
    }
  });
}

bool Execution::reduce(const Step& step) {
  const Payload into = resolve(step.into);
  return apply(resolve(step.from).base, into.base, into.base, into.count);
}

// The result does not depend on where it is cut: operations go element by element.
bool Execution::apply(const void* left, const void* right, void* into, int64_t count) {
  const Layout& layout = *call_.out_layout;
  const int64_t piece = std::max<int64_t>(kPiece / std::max<int64_t>(layout.size(), 1), 1);
  return in_pieces(count, piece, [&](int64_t begin, int64_t length) {
    const int64_t offset = begin * layout.extent();
    call_.reduction.apply(call_.reduction, moved(left, offset), moved(right, offset), moved(into, offset), length);
  });
}

void Execution::keep_polling() {
  if (!polled_) channel_.engine->add_poller(*this);
  polled_ = true;
}

void Execution::leave_lists() {
  if (std::exchange(late_, false)) late().remove(*this);
  if (std::exchange(polled_, false)) channel_.engine->remove_poller(*this);
}

void Execution::over() {
  active_ = false;
  channel_.engine->remove(*this);
  if (on_complete) on_complete(*this);
}

void Execution::resume() {
  if (active_ && !late_ && !plan_->is_program()) run_ready();  // a program is polled anyway
}

bool Execution::poll() {
  engine::Engine& engine = *channel_.engine;
  if (!(plan_->is_program() ? execute() : go_on())) return false;
  engine.note_event();
  return true;
}

void Execution::abandon(int error_class) {
  abandoned_ = true;
  mpi_class = error_class;
  leave_lists();  // rounds remain unleft: nothing more is to come of this communicator
  const bool program = plan_->is_program();
  if (program && messages_ == 0) return over();
  performing_ = true;  // what is withdrawn here completes at once: run_ready() comes last
  for (uint32_t i = 0; i < plan_->recvs; ++i)
    if (recvs_[i].posted) channel_.engine->cancel(recvs_[i]);
  for (uint32_t i = 0; i < plan_->sends; ++i)
    if (sends_[i].under_way) channel_.engine->cancel(sends_[i]);
  performing_ = false;
  if (program) return end_program();
  run_ready();
}

// ---- what it waits for

void Execution::add_needs(engine::Condition& needs) const {
  if (!active_) return;
  if (lane_) add_needs_in_lane(needs);
  if (plan_->is_program()) {
    if (messages_ == 0) return;
    for (uint32_t i = 0; i < plan_->sends; ++i)
      if (const BoundSend& op = sends_[i]; op.under_way && (!op.sent || !op.matched))
        needs.collective(op.peer, channel_.context, serial_);
    for (uint32_t i = 0; i < plan_->recvs; ++i)
      if (const BoundRecv& op = recvs_[i]; op.posted)
        needs.collective(channel_.process_of(op.match.source), channel_.context, serial_);
    return;
  }
  for (uint32_t i = 0; i < ready_begin_; ++i) {
    const Step& step = plan_->steps[ready_[i]];
    bool open = false;
    if (step.kind == Step::Kind::send) {
      const BoundSend& op = sends_[step.operation];
      open = !op.sent || !op.matched;
    } else if (step.kind == Step::Kind::recv) {
      open = recvs_[step.operation].posted;
    }
    if (open) needs.collective(channel_.process_of(step.peer), channel_.context, serial_);
  }
}

// Looks at the flags themselves: what is raised and not seen yet needs nobody. Where others still
// look at the slot, each of them has to go on with the oldest call that it has not left; and where
// the turn has not come, this rank with its own.
void Execution::add_needs_in_lane(engine::Condition& needs) const {
  const auto need = [&](int peer, std::optional<uint32_t> serial) {
    if (serial)
      needs.collective(channel_.process_of(channel_.neighbour(peer)), channel_.context, *serial);
    else
      needs.always();  // of a call that is forgotten
  };
  if (late_) return need(channel_.local(), lane_->oldest_serial());
  if (next_ >= plan_->steps.size()) return;
  const Step& step = plan_->steps[next_];
  const uint32_t round = first_round_ + static_cast<uint32_t>(step.slot);
  for (int peer = 0; peer < channel_.neighbours(); ++peer) {
    if (step.kind == Step::Kind::await) {
      if ((step.peer < 0 ? peer != channel_.local() : peer == step.peer) && !lane_->is_raised(round, peer))
        need(peer, serial_);
    } else if (step.kind == Step::Kind::claim) {
      const transport::Lane::Holder holder = lane_->holder(round, peer);
      if (holder.holds) need(peer, holder.serial);
    }
  }
}

}  // namespace tutti::coll
