// SPDX-License-Identifier: BSD-3-Clause
// Binding: a plan meets the buffers, layouts and arrays of a call. Owns the one block of memory that holds the
// steps and the scratch; for a program each step is worked out in advance, as far as the call tells.
#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "exec/execution_operations.hpp"

namespace tutti::coll {
namespace {

constexpr size_t kAlign = 64;
constexpr int64_t kNoFlood = 1 << 20;  // whatever the caches are

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

// In bytes; as if without end where the kernel does not tell. (What the C library tells is the
// processor's own word, which in virtual machines may be ten times as much.)
int64_t last_level_cache() {
  static const int64_t size = [] {
    int64_t kib = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kib;
    return kib > 0 ? kib << 10 : INT64_MAX;
  }();
  return size;
}

}  // namespace

Execution::Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call)
    : channel_(channel), plan_(std::move(plan)), call_(call), plan_bytes_(bytes_of(*plan_)) {
  if (plan_->lane == Lane::small) lane_ = &channel.area->small();
  if (plan_->lane == Lane::large) lane_ = &channel.area->large();
  context = channel.context;
  explain = [](const UnderWay& e, engine::Condition& needs) { static_cast<const Execution&>(e).add_needs(needs); };
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
  const size_t bound_at = place(program ? plan.steps.size() * sizeof(BoundStep) : 0, alignof(BoundStep));
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
    auto* const memory =
        static_cast<std::byte*>(::operator new(std::max<size_t>(size, 1), std::align_val_t(kAlign), std::nothrow));
    if (!memory)
      return failure(MPI_ERR_NO_MEM, "{} bytes for a {} over {} ranks cannot be had", size, name_of(call_.kind),
                     channel_.size());
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
    const size_t at = place(static_cast<size_t>(span.end - span.begin) + (span.begin ? kAlign : 0), kAlign);
    const uintptr_t first = reinterpret_cast<uintptr_t>(memory_ + at) - static_cast<uintptr_t>(span.begin);
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
    if (buf.region == Region::output && call_.out_layout) base = moved(base, call_.out_layout->true_lower_bound());
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

// ---- the steps of a program

// Where `first` lies, which is part of `buf`.
Execution::End Execution::end_at(const Buf& buf, const void* first) const {
  const auto address = reinterpret_cast<uintptr_t>(first);
  if (buf.region == Region::shared)
    return {static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(home(buf))), buf.rank, buf.index, buf.region};
  return {static_cast<int64_t>(address - begins_[static_cast<size_t>(buf.region)]), 0, 0, buf.region};
}

// Of bytes in one run on both sides; others are copied as the plan's step says.
void Execution::bind_copy(const Step& step, BoundStep& bound) const {
  const bool packs = step.from.unit == Unit::packed;
  Payload from, into;
  if (packs || step.into.unit == Unit::packed) {
    const Buf& user = packs ? step.from : step.into;
    const Payload whole = packed_whole(user);
    if (!whole.contiguous()) return;
    const Payload mine{whole.data() + user.offset, user.count};
    from = packs ? mine : resolve(step.from);
    into = packs ? resolve(step.into) : mine;
  } else {
    from = resolve(step.from);
    into = resolve(step.into);
  }
  if (!from.contiguous() || !into.contiguous()) return;
  bound.length = std::min(from.bytes(), into.bytes());
  bound.from = end_at(step.from, from.data());
  bound.into = end_at(step.into, into.data());
  bound.direct = true;
  bound.is_long = bound.length > kPiece / 2;
  bound.shows = step.into.region == Region::shared && bound.length < kLongCopy;
}

// Of a show, an expect or a take.
void Execution::bind_block(const Step& step, BoundStep& bound) const {
  const bool shows = step.kind == Step::Kind::show;
  const Buf &user = shows ? step.from : step.into, &share = shows ? step.into : step.from;
  const Payload block = resolve(user);
  bound.length = block.bytes();
  bound.fits = bound.length <= room_in(share);
  if (step.kind == Step::Kind::expect) return;
  bound.direct = block.contiguous();
  bound.word = call_.pair_data ? signature_of(user) : call_.signature;
  (shows ? bound.from : bound.into) = end_at(user, bound.direct ? block.data() : block.base);
  (shows ? bound.into : bound.from) = end_at(share, resolve(share).base);
}

// Where the step before brings the right operand to where the result is to be, it is read where it
// lies instead.
void Execution::bind_reduce(const Step& step, BoundStep& bound, BoundStep* before) const {
  const Payload from = resolve(step.from), into = resolve(step.into);
  bound.length = into.count;
  bound.from = end_at(step.from, from.base);
  bound.right = bound.into = end_at(step.into, into.base);
  bound.direct = true;
  bound.is_long = into.bytes() > kPiece / 2;
  if (!before || before->kind != Step::Kind::copy || !before->direct || before->length != into.bytes() ||
      before->into != bound.into)
    return;
  bound.right = before->from;
  before->kind = Step::Kind::join;
}

void Execution::bind_steps() {
  int64_t shown = 0, got = 0;
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& step = plan_->steps[i];
    BoundStep& bound = *new (bound_ + i) BoundStep;
    bound.kind = step.kind;
    bound.peer = step.peer;
    bound.slot = static_cast<uint32_t>(step.slot);
    switch (step.kind) {
      case Step::Kind::copy:
        bind_copy(step, bound);
        if (step.into.region == Region::shared)
          shown = resolve(step.into).bytes();
        else if (step.from.region == Region::shared)
          got += bound.length;
        break;
      case Step::Kind::show:
      case Step::Kind::expect:
      case Step::Kind::take:
        bind_block(step, bound);
        if (step.kind == Step::Kind::take) bound_[i - 1].beside = !bound.fits;
        break;
      case Step::Kind::reduce:
        bind_reduce(step, bound, i > 0 ? &bound_[i - 1] : nullptr);
        break;
      case Step::Kind::publish:
        bound.length = std::exchange(shown, 0);
        break;
      default:
        break;
    }
  }
  const int64_t all_get = got * channel_.neighbours();
  floods_ = all_get > kNoFlood && all_get > last_level_cache() / 2;
}

}  // namespace tutti::coll
