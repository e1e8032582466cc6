// SPDX-License-Identifier: BSD-3-Clause
#include "exec/binding.hpp"

#include <mpi.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tutti::exec {

namespace {

size_t bytes_in(const coll::Graph& graph) {
  return bytes_of(graph.steps) + bytes_of(graph.waits) + bytes_of(graph.first_follower) + bytes_of(graph.followers);
}

}  // namespace

size_t bytes_of(const Plan& plan) {
  size_t bytes = sizeof plan + bytes_in(plan) + bytes_of(plan.scratch) + bytes_of(plan.loops);
  for (const coll::Loop& loop : plan.loops) bytes += bytes_in(loop) + bytes_of(loop.growths) + bytes_of(loop.carried);
  return bytes;
}

Binding::Binding(const engine::Channel& channel, const Rounds& rounds, std::shared_ptr<const Plan> plan,
                 const Call& call)
    : channel_(channel),
      rounds_(rounds),
      plan_(std::move(plan)),
      plan_bytes_(bytes_of(*plan_)),
      call_(call),
      scratch_(plan_->scratch.size()) {}

Binding::Span Binding::span_of(int64_t count, const Layout& layout) {
  if (count <= 0) return {};
  const int64_t last = (count - 1) * layout.extent();
  return {std::min<int64_t>(0, last) + layout.true_lower_bound(),
          std::max<int64_t>(0, last) + layout.true_lower_bound() + layout.true_extent()};
}

Binding::Span Binding::span_of(const Scratch& scratch) const {
  if (scratch.like.unit == Unit::bytes) return {0, scratch.like.count};
  if (!scratch.packed)
    return span_of(scratch.like.count, scratch.like.unit == Unit::in_type ? *call_.in_layout : *call_.out_layout);
  const int64_t bytes = resolve(scratch.like).bytes();
  return {0, bytes > scratch.beyond ? bytes : 0};
}

// Enough to put element 0 itself, not the first byte that it touches, on a round address.
size_t Binding::room_for(const Span& span) {
  const auto bytes = static_cast<size_t>(span.end - span.begin) + (span.begin ? kAlign : 0);
  return (bytes + kAlign - 1) & -kAlign;
}

Error Binding::bind(const Call& call) {
  call_ = call;
  if (row_of(call.kind).reduces) call_.in_layout = call_.out_layout = element_layout(call);
  take_buffers();
  if (scratch_.empty()) return {};
  size_t size = 1;
  for (const Scratch& scratch : plan_->scratch) size += room_for(span_of(scratch));
  if (size > capacity_) {
    auto* const memory = static_cast<std::byte*>(::operator new(size, std::align_val_t(kAlign), std::nothrow));
    if (!memory)
      return failure(MPI_ERR_NO_MEM, "{} bytes for a {} over {} ranks cannot be had", size, name_of(call.kind),
                     channel_.size());
    memory_.reset(memory);
    capacity_ = size;
  }
  auto next = reinterpret_cast<uintptr_t>(memory_.get());
  for (size_t i = 0; i < scratch_.size(); ++i) {
    const Span span = span_of(plan_->scratch[i]);
    const uintptr_t first = next - static_cast<uintptr_t>(span.begin);
    scratch_[i] = reinterpret_cast<void*>((first + kAlign - 1) & -uintptr_t{kAlign});
    next += room_for(span);
  }
  return {};
}

void Binding::own_types() {
  const auto own = [](auto& kept, auto& input, auto& output) {
    const auto* const first = input.empty() ? output.data() : input.data();
    if (first == kept.data()) return;  // they are already, or there are none
    kept.assign(input.begin(), input.end());
    kept.insert(kept.end(), output.begin(), output.end());
    const std::span all(std::as_const(kept));
    input = all.first(input.size());
    output = all.subspan(input.size());
  };
  own(layouts_, call_.in_layouts, call_.out_layouts);
  own(types_, call_.in_types, call_.out_types);
}

void Binding::own_arrays() {
  const ArrayLengths lengths(call_, channel_.size());
  const std::pair<Ints*, int> arrays[] = {{&call_.in_counts, lengths.in},
                                          {&call_.in_displacements, lengths.in},
                                          {&call_.out_counts, lengths.out},
                                          {&call_.out_displacements, lengths.out}};
  numbers_.clear();
  numbers_.reserve(2 * static_cast<size_t>(lengths.in + lengths.out));  // they stay where they are
  for (const auto& [array, length] : arrays) {
    if (!*array) continue;
    const int64_t* const own = numbers_.data() + numbers_.size();
    for (int i = 0; i < length; ++i) numbers_.push_back((*array)[i]);
    *array = Ints(own);
  }
}

Payload Binding::block(Region region, uint32_t i) const {
  const bool input = region == Region::input;
  const Ints& counts = input ? call_.in_counts : call_.out_counts;
  const Ints& displacements = input ? call_.in_displacements : call_.out_displacements;
  const void* base = input ? call_.in : call_.out;
  if (row_of(call_.kind).input == coll::Holds::typed_arrays) {
    const Layout* layout = (input ? call_.in_layouts : call_.out_layouts)[i];
    return {moved(base, displacements[i]), counts[i], layout};
  }
  const Layout* layout = input ? call_.in_layout : call_.out_layout;
  return {moved(base, displacements[i] * layout->extent()), counts[i], layout};
}

void* Binding::home(const Buf& buf) const {
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
  return rounds_.data(buf.index, buf.rank);
}

Payload Binding::resolve(const Buf& buf) const {
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

Payload Binding::packed_whole(const Buf& user) const {
  const Layout* layout = user.region == Region::input ? call_.in_layout : call_.out_layout;
  const int64_t last = user.offset + user.count, size = layout->size();
  return {home(user), last == size ? 1 : (last + size - 1) / size, layout};
}

// What a message of packed bytes carries. They are packed and unpacked where they lie.
Payload Binding::range(const Buf& buf) const {
  const Payload whole = packed_whole(buf);
  if (buf.count == 0) return {whole.base, 0};
  if (whole.contiguous()) return {whole.data() + buf.offset, buf.count};
  if (ranges_.empty()) ranges_.resize(plan_->ranges);
  LayoutRef& layout = ranges_[buf.range];
  layout = Layout::range(*whole.layout, whole.count, buf.offset, buf.count);
  return {whole.base, 1, layout.get()};
}

}  // namespace tutti::exec
