// SPDX-License-Identifier: BSD-3-Clause
#include "rma/paths/kernel.hpp"

#include "rma/paths/message_wire.hpp"

namespace tutti::rma {
namespace {

// Of operations that come alone, by which a message takes longer: 2.4 us and 1.6 for 4 KiB, 6.0 and 5.8 for 64, 16 and 19
// for 256 (EPYC; eight in a row 3.8 and 13 for 4 KiB, 76 and 150 for 256).
constexpr int64_t kLongestAlone = 64 << 10;
// A copy keeps the engine, which other threads may wait for, and to wake the target is little beside a longer one.
constexpr int64_t kLongest = 16 << 20;
// To wake a target costs what some 20 copies of few bytes do (30 to 50 us and 1.6).
constexpr int kMostUnseen = 32;

}  // namespace

KernelPath::Row& KernelPath::row_of(int rank) {
  Row* row = rows_.find(rank);
  if (!row) row = &rows_.set(rank, {});
  if (row->since != synchronised_) {
    row->since = synchronised_;
    row->before = row->length;
    row->length = 0;
  }
  ++row->length;
  return *row;
}

// 0: not this way, or not now.
uint64_t KernelPath::address_of(const Target& target, int64_t bytes) {
  Row& row = row_of(target.rank);
  const uint64_t memory = origin_.memory_of(target.rank);
  const Payload there{nullptr, target.count, target.layout.get()};
  if (memory == 0 || bytes > kLongest || !there.contiguous() || origin_.is_unsettled(target.rank)) return 0;
  const int process = data_.process_of(target.rank);
  if (!copies_.can_copy(process)) return 0;
  // What follows in rows is sooner over where the target copies, too.
  const bool is_alone = row.length <= 1 && row.before <= 1;
  const bool is_sooner = is_alone && bytes > kLongestInline && bytes <= kLongestAlone;
  if (!is_sooner && (!copies_.hears_late(process) || ++row.unseen > kMostUnseen)) {
    row.unseen = 0;
    return 0;
  }
  return memory + static_cast<uint64_t>(target.displacement + target.layout->true_lower_bound());
}

bool KernelPath::put(const Local& origin, const Target& target, Done done) {
  const Payload from = origin.payload();
  if (!from.contiguous()) return false;
  const uint64_t address = address_of(target, from.bytes());
  if (address == 0 || !copies_.write(data_.process_of(target.rank), address, from.data(), from.bytes())) return false;
  origin_.over(done, {});
  return true;
}

bool KernelPath::get(const Local& origin, const Target& target, Done done) {
  const Payload into = origin.payload();
  const uint64_t address = address_of(target, into.bytes());
  if (address == 0 || !copies_.read(data_.process_of(target.rank), address, into)) return false;
  origin_.over(done, {});
  return true;
}

}  // namespace tutti::rma
