// SPDX-License-Identifier: BSD-3-Clause
// A value for each of some processes, by process number: a table of those alone that were added,
// whatever their numbers are, since a rank of a large job talks to few of the others. Finding one
// takes a multiplication and, as a rule, one look at memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti {

// `Value` is copied when the table grows: keep what others refer to elsewhere, and a pointer to it
// here.
template <class Value>
class ByProcess {
 public:
  ByProcess() : slots_(size_t{1} << kFewest) {}

  // nullptr: it has not been added.
  const Value* find(int process) const { return const_cast<ByProcess*>(this)->find(process); }
  Value* find(int process) {
    Slot& first = slots_[home_of(process)];
    if (first.process == process) [[likely]]
      return &first.value;
    return find_behind(process);
  }

  // Adds it, or changes its value. What find() has told before no longer holds.
  Value& set(int process, Value value) {
    if (Value* const known = find(process)) return *known = std::move(value);
    if (2 * ++size_ > slots_.size()) grow();
    return put(process, std::move(value));
  }

  size_t size() const { return size_; }
  // visit(process, value), in no order; it must not add any.
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.process != kNobody) visit(slot.process, slot.value);
  }

 private:
  static constexpr int kNobody = -1, kFewest = 3;
  struct Slot {
    int process = kNobody;
    Value value{};
  };

  // Consecutive numbers, and those of every so many-th process, come apart.
  size_t home_of(int process) const { return static_cast<uint32_t>(process) * uint32_t{0x9E3779B1} >> shift_; }
  size_t behind(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  [[gnu::noinline]] Value* find_behind(int process) {
    for (size_t i = home_of(process); slots_[i].process != kNobody; i = behind(i))
      if (slots_[i].process == process) return &slots_[i].value;
    return nullptr;
  }
  Value& put(int process, Value value) {
    size_t i = home_of(process);
    while (slots_[i].process != kNobody) i = behind(i);
    slots_[i] = {process, std::move(value)};
    return slots_[i].value;
  }
  void grow() {
    std::vector<Slot> before(2 * slots_.size());
    std::swap(before, slots_);
    --shift_;
    for (Slot& slot : before)
      if (slot.process != kNobody) put(slot.process, std::move(slot.value));
  }

  std::vector<Slot> slots_;  // a power of two of them, half of which are free at least
  int shift_ = 32 - kFewest;
  size_t size_ = 0;
};

}  // namespace tutti
