// SPDX-License-Identifier: BSD-3-Clause
#include "coll/execution.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/log.hpp"

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
};
struct Execution::BoundRecv : engine::RecvOperation {
  uint32_t step = 0;
};

Execution::Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call)
    : channel_(channel), plan_(std::move(plan)), call_(call) {
  if (call.kind >= Collective::reduce) call_.in_layout = call_.out_layout = element_layout(call);
}

Execution::~Execution() {
  TUTTI_INVARIANT(!active_, "a collective was destroyed while it ran");
  if (!memory_) return;
  std::destroy_n(sends_, plan_->sends);
  std::destroy_n(recvs_, plan_->recvs);
  ::operator delete(memory_, std::align_val_t(kAlign));
}

Error Execution::allocate() {
  const Plan& plan = *plan_;
  size_t size = 0;
  const auto place = [&size](size_t bytes, size_t alignment) {
    const size_t at = aligned(size, alignment);
    size = at + bytes;
    return at;
  };
  const size_t sends_at = place(plan.sends * sizeof(BoundSend), alignof(BoundSend));
  const size_t recvs_at = place(plan.recvs * sizeof(BoundRecv), alignof(BoundRecv));
  const size_t scratch_at = place(plan.scratch.size() * sizeof(void*), alignof(void*));
  const size_t waits_at = place(plan.steps.size() * sizeof(uint32_t), alignof(uint32_t));
  const size_t ready_at = place(plan.steps.size() * sizeof(uint32_t), alignof(uint32_t));
  const size_t fixed = size;
  const auto scratch_span = [&](const Scratch& scratch) {
    if (!scratch.packed && scratch.like.unit != Unit::bytes) {
      const bool input = scratch.like.unit == Unit::in_type;
      return span_of(scratch.like.count, input ? *call_.in_layout : *call_.out_layout);
    }
    if (scratch.like.unit == Unit::bytes) return Span{0, scratch.like.count};
    return Span{0, resolve(scratch.like).bytes()};
  };
  for (const Scratch& scratch : plan.scratch) {
    const Span span = scratch_span(scratch);
    // Room to put element 0 itself, not the first byte that it touches, on a round address.
    place(static_cast<size_t>(span.end - span.begin) + (span.begin ? kAlign : 0), kAlign);
  }
  memory_ = static_cast<std::byte*>(
      ::operator new(std::max<size_t>(size, 1), std::align_val_t(kAlign), std::nothrow));
  if (!memory_)
    return failure(MPI_ERR_NO_MEM, "{} bytes for a {} over {} ranks cannot be had", size,
                   name_of(call_.kind), channel_.size());

  sends_ = reinterpret_cast<BoundSend*>(memory_ + sends_at);
  recvs_ = reinterpret_cast<BoundRecv*>(memory_ + recvs_at);
  std::uninitialized_value_construct_n(sends_, plan.sends);
  std::uninitialized_value_construct_n(recvs_, plan.recvs);
  scratch_ = reinterpret_cast<void**>(memory_ + scratch_at);
  waits_ = reinterpret_cast<uint32_t*>(memory_ + waits_at);
  ready_ = reinterpret_cast<uint32_t*>(memory_ + ready_at);
  size = fixed;
  for (size_t i = 0; i < plan.scratch.size(); ++i) {
    const Span span = scratch_span(plan.scratch[i]);
    const size_t at =
        place(static_cast<size_t>(span.end - span.begin) + (span.begin ? kAlign : 0), kAlign);
    const uintptr_t first =
        reinterpret_cast<uintptr_t>(memory_ + at) - static_cast<uintptr_t>(span.begin);
    scratch_[i] = reinterpret_cast<void*>((first + kAlign - 1) & -uintptr_t{kAlign});
  }
  return {};
}

Payload Execution::block(Region region, uint32_t i) const {
  const bool input = region == Region::input;
  const Ints& counts = input ? call_.in_counts : call_.out_counts;
  const Ints& displacements = input ? call_.in_displacements : call_.out_displacements;
  const void* base = input ? call_.in : call_.out;
  if (call_.kind == Collective::alltoallw) {
    const Layout* layout = (input ? call_.in_layouts : call_.out_layouts)[i];
    return {moved(base, displacements[i]), counts[i], layout};
  }
  const Layout* layout = input ? call_.in_layout : call_.out_layout;
  return {moved(base, displacements[i] * layout->extent()), counts[i], layout};
}

Payload Execution::resolve(const Buf& buf) const {
  if (buf.is_block()) return block(buf.region, buf.index);
  const void* base = buf.region == Region::input    ? call_.in
                     : buf.region == Region::output ? call_.out
                                                    : scratch_[buf.index];
  if (buf.unit == Unit::bytes) {
    if (buf.count < 0)  // a packed scratch as a whole
      return {const_cast<void*>(base), resolve(plan_->scratch[buf.index].like).bytes()};
    if (buf.region == Region::input) base = moved(base, call_.in_layout->true_lower_bound());
    if (buf.region == Region::output && call_.out_layout)
      base = moved(base, call_.out_layout->true_lower_bound());
    return {moved(base, buf.offset), buf.count};
  }
  const Layout* layout = buf.unit == Unit::in_type ? call_.in_layout : call_.out_layout;
  return {moved(base, buf.offset * layout->extent()), buf.count, layout};
}

void Execution::run() {
  if (performing_) return;
  performing_ = true;
  while (ready_begin_ != ready_end_) perform(ready_[ready_begin_++]);
  performing_ = false;
  if (left_ > 0) return;
  active_ = false;
  channel_.engine->remove_pending();
  on_complete(*this);
}

void Execution::step_done(uint32_t step) {
  --left_;
  for (uint32_t f = plan_->first_follower[step]; f < plan_->first_follower[step + 1]; ++f) {
    const uint32_t follower = plan_->followers[f];
    if (--waits_[follower] == 0) ready_[ready_end_++] = follower;
  }
}

void Execution::perform(uint32_t index) {
  const Step& step = plan_->steps[index];
  switch (step.kind) {
    case Step::Kind::send:
      return post_send(index);
    case Step::Kind::recv:
      return post_recv(index);
    case Step::Kind::copy:
      copy_payload(resolve(step.from), resolve(step.into));
      break;
    case Step::Kind::reduce: {
      const Payload into = resolve(step.into);
      call_.reduction.apply(call_.reduction, resolve(step.from).base, into.base, into.count);
      break;
    }
    case Step::Kind::join:
      break;
  }
  step_done(index);
}

void Execution::post_send(uint32_t index) {
  const Step& step = plan_->steps[index];
  BoundSend& op = sends_[step.operation];
  op.step = index;
  op.payload = resolve(step.from);
  op.peer = channel_.process_of(step.peer);
  op.match = {channel_.context, channel_.rank, step.slot, serial_};
  op.signature = call_.signature;
  op.owner = this;
  op.on_complete = [](engine::Operation& done) {
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
  op.on_complete = [](engine::Operation& done) {
    static_cast<Execution*>(done.owner)->message_done(done, static_cast<BoundRecv&>(done).step);
  };
  channel_.engine->recv(op);
}

void Execution::message_done(const engine::Operation& operation, uint32_t step) {
  if (mpi_class == MPI_SUCCESS) mpi_class = operation.outcome.mpi_class;
  step_done(step);
  run();
}

Result<std::unique_ptr<Execution>> prepare(engine::Channel& channel, Planner& planner,
                                           const Call& call) {
  std::unique_ptr<Execution> execution(
      new Execution(channel, planner.plan(shape_of(call, channel.rank, channel.size())), call));
  if (Error e = execution->allocate()) return e;
  return execution;
}

void start(Execution& e) {
  TUTTI_INVARIANT(!e.active_, "a collective was started while it ran");
  const Plan& plan = *e.plan_;
  e.serial_ = e.channel_.next_serial++;
  e.mpi_class = MPI_SUCCESS;
  e.active_ = true;
  e.left_ = static_cast<uint32_t>(plan.steps.size());
  e.ready_begin_ = e.ready_end_ = 0;
  if (e.left_ > 0) std::memcpy(e.waits_, plan.waits.data(), e.left_ * sizeof(uint32_t));
  for (uint32_t i = 0; i < e.left_; ++i)
    if (plan.waits[i] == 0) e.ready_[e.ready_end_++] = i;
  e.channel_.engine->add_pending();
  e.run();
}

}  // namespace tutti::coll
