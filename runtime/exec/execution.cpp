// SPDX-License-Identifier: BSD-3-Clause
#include "exec/execution.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/log.hpp"
#include "base/stress_mode.hpp"
#include "coll/shared.hpp"

namespace tutti::coll {
namespace {

constexpr size_t kAlign = 64;

// By numbers: a base may be MPI_BOTTOM, and an element may begin before its memory.
void* moved(const void* base, int64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(bytes));
}

// The memory that `count` elements touch, from the address of the first.
struct Span {
  int64_t begin = 0, end = 0;
};
Span span_of(int64_t count, const Layout& layout) {
  if (count <= 0) return {};
  const int64_t last = (count - 1) * layout.extent();
  return {std::min<int64_t>(0, last) + layout.true_lower_bound(),
          std::max<int64_t>(0, last) + layout.true_lower_bound() + layout.true_extent()};
}

size_t aligned(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) & -alignment;
}

}  // namespace

struct Execution::BoundSend : engine::SendOperation {
  uint32_t step = 0;
  bool under_way = false;
};
struct Execution::BoundRecv : engine::RecvOperation {
  uint32_t step = 0;
};

Execution::Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call)
    : channel_(channel), plan_(std::move(plan)), call_(call), plan_bytes_(bytes_of(*plan_)) {
  if (plan_->lane == Lane::small) lane_ = &channel.area->small();
  if (plan_->lane == Lane::large) lane_ = &channel.area->large();
  context = channel.context;
  explain = [](const UnderWay& e, engine::Condition& needs) {
    static_cast<const Execution&>(e).add_needs(needs);
  };
  resumption_.execution = this;
  resumption_.perform = [](engine::Engine::Chore& chore) {
    Execution& execution = *static_cast<Resumption&>(chore).execution;
    execution.resumes_ = false;
    execution.run_ready();
  };
}

Execution::~Execution() {
  TUTTI_INVARIANT(!active_, "a collective was destroyed while it ran");
  if (!memory_) return;
  std::destroy_n(sends_, plan_->sends);
  std::destroy_n(recvs_, plan_->recvs);
  ::operator delete(memory_, std::align_val_t(kAlign));
}

// Also for another call of the same shape, whose types may need more or less scratch.
Error Execution::bind(const Call& call) {
  call_ = call;
  if (row_of(call.kind).reduces) call_.in_layout = call_.out_layout = element_layout(call);
  take_buffers();
  const Plan& plan = *plan_;
  const bool program = plan.is_program();
  size_t size = 0;
  const auto place = [&size](size_t bytes, size_t alignment) {
    const size_t at = aligned(size, alignment);
    size = at + bytes;
    return at;
  };
  const size_t steps = program ? 0 : plan.steps.size();
  const size_t sends_at = place(plan.sends * sizeof(BoundSend), alignof(BoundSend));
  const size_t recvs_at = place(plan.recvs * sizeof(BoundRecv), alignof(BoundRecv));
  const size_t scratch_at = place(plan.scratch.size() * sizeof(void*), alignof(void*));
  const size_t waits_at = place(steps * sizeof(uint32_t), alignof(uint32_t));
  const size_t ready_at = place(steps * sizeof(uint32_t), alignof(uint32_t));
  const size_t bound_at =
      place(program ? plan.steps.size() * sizeof(BoundStep) : 0, alignof(BoundStep));
  const size_t fixed = size;
  const auto scratch_span = [&](const Scratch& scratch) {
    if (!scratch.packed && scratch.like.unit != Unit::bytes) {
      const bool input = scratch.like.unit == Unit::in_type;
      return span_of(scratch.like.count, input ? *call_.in_layout : *call_.out_layout);
    }
    if (scratch.like.unit == Unit::bytes) return Span{0, scratch.like.count};
    const int64_t bytes = resolve(scratch.like).bytes();
    return Span{0, bytes > scratch.beyond ? bytes : 0};
  };
  for (const Scratch& scratch : plan.scratch) {
    const Span span = scratch_span(scratch);
    // Room to put element 0 itself, not the first byte that it touches, on a round address.
    place(static_cast<size_t>(span.end - span.begin) + (span.begin ? kAlign : 0), kAlign);
  }
  if (!memory_ || size > capacity_) {
    auto* const memory = static_cast<std::byte*>(
        ::operator new(std::max<size_t>(size, 1), std::align_val_t(kAlign), std::nothrow));
    if (!memory)
      return failure(MPI_ERR_NO_MEM, "{} bytes for a {} over {} ranks cannot be had", size,
                     name_of(call_.kind), channel_.size());
    if (memory_) {
      std::destroy_n(sends_, plan.sends);
      std::destroy_n(recvs_, plan.recvs);
      ::operator delete(memory_, std::align_val_t(kAlign));
    }
    memory_ = memory;
    capacity_ = size;
    sends_ = reinterpret_cast<BoundSend*>(memory_ + sends_at);
    recvs_ = reinterpret_cast<BoundRecv*>(memory_ + recvs_at);
    std::uninitialized_value_construct_n(sends_, plan.sends);
    std::uninitialized_value_construct_n(recvs_, plan.recvs);
    scratch_ = reinterpret_cast<void**>(memory_ + scratch_at);
    waits_ = reinterpret_cast<uint32_t*>(memory_ + waits_at);
    ready_ = reinterpret_cast<uint32_t*>(memory_ + ready_at);
    bound_ = reinterpret_cast<BoundStep*>(memory_ + bound_at);
  }
  size = fixed;
  for (size_t i = 0; i < plan.scratch.size(); ++i) {
    const Span span = scratch_span(plan.scratch[i]);
    const size_t at =
        place(static_cast<size_t>(span.end - span.begin) + (span.begin ? kAlign : 0), kAlign);
    const uintptr_t first =
        reinterpret_cast<uintptr_t>(memory_ + at) - static_cast<uintptr_t>(span.begin);
    scratch_[i] = reinterpret_cast<void*>((first + kAlign - 1) & -uintptr_t{kAlign});
  }
  if (program) bind_steps();
  return {};
}

Payload Execution::block(Region region, uint32_t i) const {
  const bool input = region == Region::input;
  const Ints& counts = input ? call_.in_counts : call_.out_counts;
  const Ints& displacements = input ? call_.in_displacements : call_.out_displacements;
  const void* base = input ? call_.in : call_.out;
  if (row_of(call_.kind).typed_arrays) {
    const Layout* layout = (input ? call_.in_layouts : call_.out_layouts)[i];
    return {moved(base, displacements[i]), counts[i], layout};
  }
  const Layout* layout = input ? call_.in_layout : call_.out_layout;
  return {moved(base, displacements[i] * layout->extent()), counts[i], layout};
}

void* Execution::home(const Buf& buf) const {
  switch (buf.region) {
    case Region::input:
      return const_cast<void*>(call_.in);
    case Region::output:
      return call_.out;
    case Region::scratch:
      return scratch_[buf.index];
    case Region::shared:
      break;
  }
  return lane_->data(first_round_ + buf.index, buf.rank);
}

Payload Execution::resolve(const Buf& buf) const {
  // The rarer units are the last ones.
  if (buf.unit >= Unit::packed) return buf.is_block() ? block(buf.region, buf.index) : range(buf);
  void* base = home(buf);
  if (buf.unit == Unit::bytes) {
    if (buf.count < 0)  // a packed scratch as a whole
      return {base, resolve(plan_->scratch[buf.index].like).bytes()};
    if (buf.region == Region::input) base = moved(base, call_.in_layout->true_lower_bound());
    if (buf.region == Region::output && call_.out_layout)
      base = moved(base, call_.out_layout->true_lower_bound());
    return {moved(base, buf.offset), buf.count};
  }
  const Layout* layout = buf.unit == Unit::in_type ? call_.in_layout : call_.out_layout;
  return {moved(base, buf.offset * layout->extent()), buf.count, layout};
}

// As many elements of the input or output as hold these packed bytes.
Payload Execution::packed_whole(const Buf& user) const {
  const Layout* layout = user.region == Region::input ? call_.in_layout : call_.out_layout;
  const int64_t last = user.offset + user.count, size = layout->size();
  return {home(user), last == size ? 1 : (last + size - 1) / size, layout};
}

// What a message of packed bytes carries. They are packed and unpacked where they lie.
Payload Execution::range(const Buf& buf) const {
  const Payload whole = packed_whole(buf);
  if (buf.count == 0) return {whole.base, 0};
  if (whole.contiguous()) return {whole.data() + buf.offset, buf.count};
  if (ranges_.empty()) ranges_.resize(plan_->ranges);
  LayoutRef& layout = ranges_[buf.range];
  layout = Layout::range(*whole.layout, whole.count, buf.offset, buf.count);
  return {whole.base, 1, layout.get()};
}

// ---- what both kinds of plans do

bool Execution::copy(const Step& step) {
  const bool packs = step.from.unit == Unit::packed;
  if (!packs && step.into.unit != Unit::packed) {
    const Payload from = resolve(step.from), into = resolve(step.into);
    const int64_t bytes = std::min(from.bytes(), into.bytes());
    if (bytes <= 64 && from.contiguous() && into.contiguous()) {
      copy_short(into.data(), from.data(), static_cast<size_t>(bytes));
      return true;
    }
    return in_pieces(bytes, kPiece, [&](int64_t begin, int64_t length) {
      copy_payload(from, into, begin, length);
    });
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
    call_.reduction.apply(call_.reduction, moved(left, offset), moved(right, offset),
                          moved(into, offset), length);
  });
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

// ---- plans of messages

void Execution::run_ready() {
  if (performing_) return;
  performing_ = true;
  while (ready_begin_ != ready_end_ && !resumes_ && !abandoned_ && !is_disturbed()) {
    if (waits_for_application(plan_->steps[ready_[ready_begin_]].kind)) {
      resumes_ = true;
      channel_.engine->leave_to_application(resumption_);
      break;
    }
    const bool complete = perform(ready_[ready_begin_++]);
    if (!complete) --ready_begin_;
    if (complete && (!std::exchange(was_long_, false) || ready_begin_ == ready_end_ ||
                     !channel_.engine->takes_turns()))
      continue;
    keep_polling();
    break;
  }
  performing_ = false;
  if (abandoned_ ? messages_ > 0 || resumes_ : left_ > 0 || is_disturbed()) return;
  leave_lists();
  over();
}

void Execution::step_done(uint32_t step) {
  --left_;
  for (uint32_t f = plan_->first_follower[step]; f < plan_->first_follower[step + 1]; ++f) {
    const uint32_t follower = plan_->followers[f];
    if (--waits_[follower] == 0) ready_[ready_end_++] = follower;
  }
}

// False: it is not over, and to be performed again.
bool Execution::perform(uint32_t index) {
  const Step& step = plan_->steps[index];
  switch (step.kind) {
    case Step::Kind::send:
      post_send(index);
      return true;
    case Step::Kind::recv:
      post_recv(index);
      return true;
    case Step::Kind::copy:
      if (!copy(step)) return false;
      break;
    case Step::Kind::reduce:
      if (!reduce(step)) return false;
      break;
    case Step::Kind::join:
      break;
    default:
      if (share(step)) break;
      stall(index);
      return true;
  }
  step_done(index);
  return true;
}

void Execution::post_send(uint32_t index) {
  const Step& step = plan_->steps[index];
  post_send(index, resolve(step.from), call_.pair_data ? signature_of(step.from) : call_.signature);
}

void Execution::post_send(uint32_t index, const Payload& payload, uint64_t signature) {
  const Step& step = plan_->steps[index];
  BoundSend& op = sends_[step.operation];
  op.step = index;
  op.payload = payload;
  op.peer = channel_.process_of(step.peer);
  op.match = {channel_.context, channel_.rank, step.slot, serial_};
  op.signature = signature;
  op.owner = this;
  op.under_way = true;
  ++messages_;
  op.on_complete = [](engine::Operation& done) {
    static_cast<BoundSend&>(done).under_way = false;
    static_cast<Execution*>(done.owner)->message_done(done, static_cast<BoundSend&>(done).step);
  };
  channel_.engine->send(op);
}

void Execution::post_recv(uint32_t index) {
  const Step& step = plan_->steps[index];
  BoundRecv& op = recvs_[step.operation];
  op.step = index;
  op.payload = resolve(step.into);
  op.match = {channel_.context, step.peer, step.slot, serial_};
  op.owner = this;
  ++messages_;
  op.on_complete = [](engine::Operation& done) {
    auto& receive = static_cast<BoundRecv&>(done);
    auto& execution = *static_cast<Execution*>(done.owner);
    if (receive.signature != execution.call_.signature) [[unlikely]] execution.compare(receive);
    execution.message_done(done, receive.step);
  };
  channel_.engine->recv(op);
}

void Execution::withdraw_receive(uint32_t operation) {
  channel_.engine->cancel(recvs_[operation]);
}

// The message that a take expects: it is here, or on its way into the block.
bool Execution::has_come(const BoundStep& step) const {
  return !recvs_[step_of(step).operation].posted;
}

// Of the data that one message of a v or w form carries.
uint64_t Execution::signature_of(const Buf& buf) const {
  if (buf.region == Region::scratch) return call_.signature;
  return call_.signature | call_.pair_data(call_, buf.region == Region::input, buf.index);
}

// Messages that came before this communicator was known here, and what the pairs of v and w forms
// exchange, are compared when they are received; the others were when they arrived.
void Execution::compare(const BoundRecv& receive) {
  if (!channel_.ledger || receive.outcome.cancelled || abandoned_) return;
  if (!call_.pair_data)
    return channel_.ledger->differs(serial_, receive.match.source, receive.signature);
  channel_.ledger->pair_differs(serial_, receive.match.source, receive.signature,
                                signature_of(plan_->steps[receive.step].into),
                                receive.outcome.sent_bytes, receive.payload.bytes());
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

void Execution::message_done(const engine::Operation& operation, uint32_t step) {
  --messages_;
  if (mpi_class == MPI_SUCCESS) mpi_class = operation.outcome.mpi_class;
  if (plan_->is_program()) return end_program();
  step_done(step);
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
    if (open)
      needs.collective(channel_.process_of(step.peer), channel_.context, serial_);
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
      if ((step.peer < 0 ? peer != channel_.local() : peer == step.peer) &&
          !lane_->is_raised(round, peer))
        need(peer, serial_);
    } else if (step.kind == Step::Kind::claim) {
      const transport::Lane::Holder holder = lane_->holder(round, peer);
      if (holder.holds) need(peer, holder.serial);
    }
  }
}

}  // namespace tutti::coll
