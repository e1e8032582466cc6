// SPDX-License-Identifier: BSD-3-Clause
// Binding: a plan and the buffers, layouts and arrays of a call, in which the plan's symbolic buffers lie. Owns
// the scratch; refuses to know what is done with any of it, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/result.hpp"
#include "exec/rounds.hpp"

namespace tutti::exec {

// By numbers: a base may be MPI_BOTTOM, and an element may begin before its memory.
inline void* moved(const void* base, int64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(bytes));
}

// Memory that a plan takes.
size_t bytes_of(const Plan& plan);

// What a list owns beside itself.
template <class T>
size_t bytes_of(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);  // NOLINT(bugprone-sizeof-expression): some are lists of pointers
}

class Binding {
 public:
  // `rounds`: in which the plan's shared buffers lie.
  Binding(const engine::Channel& channel, const Rounds& rounds, std::shared_ptr<const Plan> plan, const Call& call);
  Binding(const Binding&) = delete;

  // Also to another call of the same shape, whose types may need more or less scratch. Not while it runs, as all
  // that changes it. Fails with MPI_ERR_NO_MEM.
  Error bind(const Call& call);
  // To a call that is like the last one in all but its buffers.
  void rebind(const void* in, void* out) {
    call_.in = in;
    call_.out = out;
    take_buffers();
  }
  // The same of arrays that say the same; where the call has none, it is not given any.
  void rebind_arrays(Ints in_counts, Ints in_displacements, Ints out_counts, Ints out_displacements) {
    if (call_.in_counts) call_.in_counts = in_counts;
    if (call_.in_displacements) call_.in_displacements = in_displacements;
    if (call_.out_counts) call_.out_counts = out_counts;
    if (call_.out_displacements) call_.out_displacements = out_displacements;
  }
  // Makes the w form's arrays of types its own: the call's end before it does.
  void own_types();
  // The same of the arrays of counts and displacements, which steps read when their turn comes: of a
  // call that may return before they have.
  void own_arrays();

  const Call& call() const { return call_; }
  const Plan& plan() const { return *plan_; }
  // Bytes that it takes beside itself, with its plan, which others may have, too.
  size_t footprint() const {
    return capacity_ + plan_bytes_ + bytes_of(scratch_) + bytes_of(layouts_) + bytes_of(types_) + bytes_of(numbers_) +
           bytes_of(ranges_);
  }

  // What a message, a copy or a reduction finds there.
  Payload resolve(const Buf& buf) const;
  // As many elements of the input or output as hold these packed bytes.
  Payload packed_whole(const Buf& user) const;
  // Where the buffer's memory begins: element 0 of the input or output, a scratch, the data of a slot.
  void* home(const Buf& buf) const;
  // The same, as a number, of what does not lie in a slot; offsets in scratch are its addresses.
  uintptr_t begin_of(Region region) const { return begins_[static_cast<size_t>(region)]; }
  void* scratch(int number) const { return scratch_[static_cast<size_t>(number)]; }
  // Of the data that one message of a v or w form carries.
  uint64_t signature_of(const Buf& buf) const {
    if (!call_.pair_data || buf.region == Region::scratch) return call_.signature;
    return call_.signature | call_.pair_data(call_, buf.region == Region::input, buf.index);
  }

 private:
  static constexpr size_t kAlign = 64;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(kAlign)); }
  };
  // The memory that elements touch, from the address of the first.
  struct Span {
    int64_t begin = 0, end = 0;
  };
  void take_buffers() {
    begins_[static_cast<size_t>(Region::input)] = reinterpret_cast<uintptr_t>(call_.in);
    begins_[static_cast<size_t>(Region::output)] = reinterpret_cast<uintptr_t>(call_.out);
  }
  static Span span_of(int64_t count, const Layout& layout);
  static size_t room_for(const Span& span);
  Span span_of(const Scratch& scratch) const;
  Payload block(Region region, uint32_t i) const;
  Payload range(const Buf& buf) const;

  const engine::Channel& channel_;
  const Rounds& rounds_;
  const std::shared_ptr<const Plan> plan_;
  const size_t plan_bytes_;
  Call call_;
  uintptr_t begins_[3] = {};  // by region: where the input and the output begin; scratch: 0
  std::unique_ptr<std::byte[], Free> memory_;
  size_t capacity_ = 0;                 // of memory_, in which all scratch lies
  std::vector<void*> scratch_;          // where element 0 would begin
  std::vector<const Layout*> layouts_;  // own_types(): of the input, and of the output
  std::vector<const void*> types_;
  std::vector<int64_t> numbers_;           // own_arrays()
  mutable std::vector<LayoutRef> ranges_;  // of messages of packed bytes with gaps, as last posted
};

}  // namespace tutti::exec
