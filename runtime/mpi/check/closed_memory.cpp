// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/closed_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "mpi/check/known_memory.hpp"

// AddressSanitizer's interface (sanitizer/asan_interface.h), and that for generated code. Null where the program has none.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
#define TUTTI_OF_SANITIZER [[gnu::weak, gnu::visibility("default")]]
TUTTI_OF_SANITIZER void __asan_get_shadow_mapping(size_t* scale, size_t* offset);
TUTTI_OF_SANITIZER const char* __asan_default_suppressions();
TUTTI_OF_SANITIZER void __asan_storeN(void* begin, size_t bytes);
#undef TUTTI_OF_SANITIZER
}
// NOLINTEND(bugprone-reserved-identifier)

namespace tutti::mpi::closed_memory {
namespace {

// The sanitizer keeps one byte for each eight of memory: 0, all of them may be touched; 1 to 7, so many from the first
// one on; others, none, and why.
constexpr uintptr_t kGrain = 8;
constexpr uint8_t kClosed = 0xf7;  // as __asan_poison_memory_region has it
constexpr uint8_t kFreed = 0xfd;
constexpr int kMostRuns = 4096;

struct Run {
  uintptr_t begin, end;
};

// Eight bytes of which operations write some.
struct Edge {
  uint8_t closed = 0;  // a bit for each byte
  uint8_t before = 0;  // what the sanitizer knew
  uint8_t told = 0;    // what it knows now
  // One that has only its first bytes open can be told of.
  uint8_t to_tell() const {
    const int there = before == 0 ? static_cast<int>(kGrain) : before;
    int open = there;
    while (open > 0 && (closed >> (open - 1) & 1) != 0) --open;
    const bool has_others = (closed & ((1 << open) - 1)) != 0;
    if (open == there || has_others) return before;
    return open == 0 ? kClosed : static_cast<uint8_t>(open);
  }
};

class All {
 public:
  All() {
    size_t scale = 0;
    __asan_get_shadow_mapping(&scale, &offset_);
    has_grains_of_eight = scale == 3;
  }
  bool has_grains_of_eight = false;

  void close(const void* owner, std::span<const BufferUse> uses);
  void open(const void* owner);
  bool is_closed(uintptr_t address);

 private:
  uint8_t& shadow(uintptr_t address) const { return *reinterpret_cast<uint8_t*>((address >> 3) + offset_); }
  void close(const Run& run) TUTTI_REQUIRES(mutex_);
  bool open(const Run& run) TUTTI_REQUIRES(mutex_);
  void close_part(uintptr_t begin, uintptr_t end) TUTTI_REQUIRES(mutex_);
  bool open_part(uintptr_t begin, uintptr_t end) TUTTI_REQUIRES(mutex_);

  size_t offset_ = 0;
  Mutex mutex_;
  std::unordered_map<const void*, std::vector<Run>> runs_ TUTTI_GUARDED_BY(mutex_);  // by owner
  std::unordered_map<uintptr_t, Edge> edges_ TUTTI_GUARDED_BY(mutex_);               // by their first byte
};

All& all() {
  static auto& it = *new All;  // operations may end while the process does
  return it;
}

uintptr_t grain_of(uintptr_t address) {
  return address & ~(kGrain - 1);
}
uint8_t bits_of(uintptr_t begin, uintptr_t end) {
  const uintptr_t first = begin - grain_of(begin);
  return static_cast<uint8_t>(((1U << (end - begin)) - 1) << first);
}

// The bytes at both ends of a run that do not fill eight, and all others; each may be empty.
struct Divided {
  uintptr_t begin, wholes, tail, end;
};
Divided divide(const Run& run) {
  const uintptr_t wholes = std::min(grain_of(run.begin + kGrain - 1), run.end);
  return {run.begin, wholes, std::max(grain_of(run.end), wholes), run.end};
}

void All::close_part(uintptr_t begin, uintptr_t end) {
  uint8_t& known = shadow(begin);
  const auto [at, is_new] = edges_.try_emplace(grain_of(begin));
  Edge& edge = at->second;
  if (!is_new && known != edge.told) edge = {};  // it has become other memory
  if (edge.closed == 0) {
    if (known >= kGrain) return void(edges_.erase(at));
    edge.before = edge.told = known;
  }
  edge.closed = static_cast<uint8_t>(edge.closed | bits_of(begin, end));
  known = edge.told = edge.to_tell();
}

bool All::open_part(uintptr_t begin, uintptr_t end) {
  uint8_t& known = shadow(begin);
  const auto at = edges_.find(grain_of(begin));
  if (at == edges_.end()) return known == kFreed;
  Edge& edge = at->second;
  edge.closed = static_cast<uint8_t>(edge.closed & ~bits_of(begin, end));
  const bool is_same = known == edge.told;
  if (is_same) known = edge.told = edge.to_tell();
  if (!is_same || edge.closed == 0) edges_.erase(at);
  return known == kFreed;
}

void All::close(const Run& run) {
  const Divided parts = divide(run);
  if (parts.begin < parts.wholes) close_part(parts.begin, parts.wholes);
  for (uintptr_t at = parts.wholes; at < parts.tail; at += kGrain)
    if (shadow(at) == 0) shadow(at) = kClosed;
  if (parts.tail < parts.end) close_part(parts.tail, parts.end);
}

// True: it was freed meanwhile.
bool All::open(const Run& run) {
  const Divided parts = divide(run);
  bool freed = parts.begin < parts.wholes && open_part(parts.begin, parts.wholes);
  for (uintptr_t at = parts.wholes; at < parts.tail; at += kGrain) {
    uint8_t& known = shadow(at);
    if (known == kClosed) known = 0;
    freed |= known == kFreed;
  }
  if (parts.tail < parts.end) freed |= open_part(parts.tail, parts.end);
  return freed;
}

void All::close(const void* owner, std::span<const BufferUse> uses) {
  const Lock lock(mutex_);
  for (const BufferUse& use : uses) {
    if (!use.writes || use.by_program || use.payload.count <= 0) continue;
    const auto base = reinterpret_cast<uintptr_t>(use.payload.base);
    std::vector<Run>& runs = runs_[owner];
    int told = 0;
    (void)use.payload.layout->each_run(0, use.payload.bytes(), [&](int64_t at, int64_t bytes) TUTTI_REQUIRES(mutex_) {
      const uintptr_t begin = base + static_cast<uintptr_t>(at);
      runs.push_back({begin, begin + static_cast<uintptr_t>(bytes)});
      close(runs.back());
      return ++told < kMostRuns;
    });
  }
}

void All::open(const void* owner) {
  Run freed{0, 0};
  {
    const Lock lock(mutex_);
    const auto of_owner = runs_.extract(owner);
    if (!of_owner) return;
    for (const Run& run : of_owner.mapped())
      if (open(run)) freed = run;
  }
  // The sanitizer says so itself, as it would have, had it seen the operation write there: with who has freed it.
  if (freed.end != 0 && __asan_storeN) __asan_storeN(reinterpret_cast<void*>(freed.begin), freed.end - freed.begin);
}

bool All::is_closed(uintptr_t address) {
  const Lock lock(mutex_);
  for (const auto& [owner, runs] : runs_)
    for (const Run& run : runs)
      if (grain_of(address) < run.end && run.begin < grain_of(address) + kGrain) return true;
  return false;
}

// The program has been told to, by mpicc in itself or by mpirun. clang puts its own text before that of mpicc, which is
// weak.
bool looks_away() {
  if (const char* const text = __asan_default_suppressions ? __asan_default_suppressions() : nullptr;
      text && std::string_view(text).find("libmpi_abi") != std::string_view::npos)
    return true;
  const char* const options = std::getenv("ASAN_OPTIONS");
  bool is_ours = false;
  for (std::string_view rest = options ? options : ""; !rest.empty();) {  // the last one holds
    const std::string_view option = rest.substr(0, rest.find(':'));
    if (option.starts_with("suppressions=")) is_ours = option.find("share/tutti/asan.supp") != std::string_view::npos;
    rest.remove_prefix(std::min(option.size() + 1, rest.size()));
  }
  return is_ours;
}

}  // namespace

bool is_possible() {
  return !is_instrumented_itself() && knows_memory() && __asan_get_shadow_mapping && looks_away() &&
         all().has_grains_of_eight;
}

void close(const void* owner, std::span<const BufferUse> uses) {
  all().close(owner, uses);
}
void open(const void* owner) {
  all().open(owner);
}
bool is_closed(uintptr_t address) {
  return all().is_closed(address);
}

}  // namespace tutti::mpi::closed_memory
