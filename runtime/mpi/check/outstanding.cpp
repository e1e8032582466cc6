// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/outstanding.hpp"

#include <mpi.h>

#include <algorithm>
#include <utility>

#include "memory/movers.hpp"

namespace tutti::mpi {
namespace {

// Two layouts with gaps are laid out to be compared; longer ones are taken to be right.
constexpr uintptr_t kLongestCompared = 64 << 20;

constexpr size_t kMostRuns = 4096;  // of a layout that are compared with each other

struct Span {
  uintptr_t begin = 0, end = 0;  // equal: empty
};

Span span_of(const Payload& p) {
  if (p.count <= 0 || p.layout->size() == 0) return {};
  const int64_t last = (p.count - 1) * p.layout->extent();
  const auto base = reinterpret_cast<uintptr_t>(p.base);
  const int64_t first = std::min<int64_t>(0, last) + p.layout->true_lower_bound();
  const int64_t end = std::max<int64_t>(0, last) + p.layout->true_lower_bound() + p.layout->true_extent();
  return {base + static_cast<uintptr_t>(first), base + static_cast<uintptr_t>(end)};
}

// One byte for each of the span: 1 where there are data.
std::vector<unsigned char> shadow_of(const Payload& p, const Span& span) {
  std::vector<unsigned char> shadow(span.end - span.begin);
  const std::vector<unsigned char> ones(static_cast<size_t>(p.bytes()), 1);
  const uintptr_t base =
      reinterpret_cast<uintptr_t>(shadow.data()) + (reinterpret_cast<uintptr_t>(p.base) - span.begin);
  const Payload there{reinterpret_cast<void*>(base), p.count, p.layout};
  memory::unpack(there, 0, ones.data(), p.bytes());
  return shadow;
}

const char* side_of(const BufferUse& use) {
  return use.writes ? "receive" : "send";
}

}  // namespace

bool share_a_byte(const Payload& a, const Payload& b) {
  const Span at = span_of(a), bt = span_of(b);
  const uintptr_t begin = std::max(at.begin, bt.begin), end = std::min(at.end, bt.end);
  if (begin >= end) return false;
  if (a.contiguous() && b.contiguous()) return true;
  if (at.end - at.begin > kLongestCompared || bt.end - bt.begin > kLongestCompared) return false;
  const std::vector<unsigned char> in_a = shadow_of(a, at), in_b = shadow_of(b, bt);
  for (uintptr_t i = begin; i < end; ++i)
    if (in_a[i - at.begin] && in_b[i - bt.begin]) return true;
  return false;
}

bool overlaps_itself(const Payload& payload) {
  if (payload.contiguous() || payload.count <= 0) return false;
  std::vector<std::pair<int64_t, int64_t>> runs;  // begin, end
  const bool all = payload.layout->each_run(0, payload.bytes(), [&](int64_t at, int64_t bytes) {
    runs.emplace_back(at, at + bytes);
    return runs.size() < kMostRuns;
  });
  (void)all;  // what overlaps among the first ones overlaps
  std::ranges::sort(runs);
  for (size_t i = 1; i < runs.size(); ++i)
    if (runs[i].first < runs[i - 1].second) return true;
  return false;
}

const Outstanding::Taken* Outstanding::Book::shares(uintptr_t begin, uintptr_t end, const BufferUse& use) const {
  auto at = taken.lower_bound(begin > longest ? begin - longest : 0);
  for (; at != taken.end() && at->first < end; ++at) {
    const Taken& other = at->second;
    if (other.end > begin && share_a_byte(use.payload, other.use.payload)) return &other;
  }
  return nullptr;
}

const Outstanding::Taken* Outstanding::conflict_of(uintptr_t begin, uintptr_t end, const BufferUse& use) const {
  const Taken* const other = written_.shares(begin, end, use);
  return other || !use.writes ? other : read_.shares(begin, end, use);
}

Error Outstanding::take(const void* owner, std::span<const BufferUse> uses) {
  const CallSite place = here();
  const Lock lock(mutex_);
  for (const BufferUse& use : uses) {
    const Span span = span_of(use.payload);
    if (span.begin == span.end) continue;
    if (use.writes && overlaps_itself(use.payload)) {
      drop_locked(owner);
      return failure(MPI_ERR_TYPE,
                     "entries of the receive buffer's datatype overlap, so that a byte would be received twice (the "
                     "standard, section 5.1.11)");
    }
    if (const Taken* other = conflict_of(span.begin, span.end, use)) {
      Error error =
          other->owner == owner && other->use.writes == use.writes
              ? failure(MPI_ERR_BUFFER,
                        "two of the blocks that the call receives share bytes: each goes to a place of its own")
          : other->owner == owner
              ? failure(MPI_ERR_BUFFER, "the {} and the {} buffer of the call share bytes: none may lie in another",
                        side_of(other->use), side_of(use))
              : failure(MPI_ERR_BUFFER,
                        "the {} buffer shares bytes with the {} buffer of an operation that is not "
                        "complete",
                        side_of(use), side_of(other->use));
      if (other->owner != owner)
        mentions().push_back({"the operation that is not complete was started by", other->place});
      drop_locked(owner);
      return error;
    }
    Book& book = use.writes ? written_ : read_;
    book.longest = std::max(book.longest, span.end - span.begin);
    of_owner_[owner].push_back(book.taken.emplace(span.begin, Taken{span.end, use, owner, place}));
  }
  return {};
}

std::optional<CallSite> Outstanding::writer(uintptr_t begin, uintptr_t end) {
  const BufferUse use{{reinterpret_cast<void*>(begin), static_cast<int64_t>(end - begin), &Layout::bytes()}, false};
  const Lock lock(mutex_);
  const Taken* other = conflict_of(begin, end, use);
  return other ? std::optional(other->place) : std::nullopt;
}

void Outstanding::give_to(const void* owner, const void* new_owner) {
  const Lock lock(mutex_);
  auto node = of_owner_.extract(owner);
  if (node.empty()) return;
  for (const Map::iterator at : node.mapped()) at->second.owner = new_owner;
  node.key() = new_owner;
  of_owner_.insert(std::move(node));
}

void Outstanding::drop(const void* owner) {
  const Lock lock(mutex_);
  drop_locked(owner);
}

void Outstanding::drop_locked(const void* owner) {
  const auto at = of_owner_.find(owner);
  if (at == of_owner_.end()) return;
  for (const Map::iterator each : at->second) (each->second.use.writes ? written_ : read_).taken.erase(each);
  of_owner_.erase(at);
  for (Book* book : {&read_, &written_})
    if (book->taken.empty()) book->longest = 0;
}

}  // namespace tutti::mpi
