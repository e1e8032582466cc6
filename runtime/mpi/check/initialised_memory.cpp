// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/initialised_memory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

// MemorySanitizer's interface (sanitizer/msan_interface.h). Null where the program has none.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
#define TUTTI_OF_SANITIZER [[gnu::weak, gnu::visibility("default")]]
TUTTI_OF_SANITIZER void __msan_unpoison(const volatile void* begin, size_t bytes);
TUTTI_OF_SANITIZER intptr_t __msan_test_shadow(const volatile void* begin, size_t bytes);
TUTTI_OF_SANITIZER void __msan_check_mem_is_initialized(const volatile void* begin, size_t bytes);
#undef TUTTI_OF_SANITIZER
}
// NOLINTEND(bugprone-reserved-identifier)

namespace tutti::mpi::initialised_memory {
namespace {

constexpr int kMostRuns = 4096;

struct Run {
  void* begin;
  size_t bytes;
};

// ---- valgrind, whose requests cost some instructions where it is not there

#ifdef VALGRIND_MAKE_MEM_DEFINED
bool is_under_valgrind() {
  return RUNNING_ON_VALGRIND != 0;
}
void forget([[maybe_unused]] const Run& run) {
  (void)VALGRIND_MAKE_MEM_UNDEFINED(run.begin, run.bytes);
}
void define([[maybe_unused]] const Run& run) {
  (void)VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(run.begin, run.bytes);
}
void tell([[maybe_unused]] const Run& run) {
  (void)VALGRIND_CHECK_MEM_IS_DEFINED(run.begin, run.bytes);
}
// Whether none of the bytes has a value, as far as that is known.
bool has_no_value(const Run& run) {
  std::array<unsigned char, 4096> bits{};
  for (size_t done = 0; done < run.bytes;) {
    const size_t now = std::min(run.bytes - done, bits.size());
    constexpr unsigned kRead = 1;
    if (VALGRIND_GET_VBITS(static_cast<char*>(run.begin) + done, bits.data(), now) != kRead) return false;
    if (std::any_of(bits.begin(), bits.begin() + static_cast<ptrdiff_t>(now), [](auto of) { return of != 0xff; }))
      return false;
    done += now;
  }
  return run.bytes > 0;
}
#else
bool is_under_valgrind() {
  return false;
}
void forget(const Run&) {}
void define(const Run&) {}
void tell(const Run&) {}
bool has_no_value(const Run&) {
  return false;
}
#endif

// ---- MemorySanitizer

// From the first one on that has no value: -1, there is none.
intptr_t first_without(const Run& run) {
  return __msan_test_shadow(run.begin, run.bytes);
}
bool has_no_value_for_compiler(const Run& run) {
  for (size_t i = 0; i < run.bytes; ++i)
    if (first_without({static_cast<char*>(run.begin) + i, 1}) != 0) return false;
  return run.bytes > 0;
}

void ask(const Run& run, int64_t number) {
  const auto bytes = static_cast<size_t>(number);
  if (__msan_unpoison) {
    const intptr_t at = first_without(run);
    if (at < 0) return;
    for (size_t i = static_cast<size_t>(at) / bytes * bytes; i + bytes <= run.bytes; i += bytes) {
      const Run one{static_cast<char*>(run.begin) + i, bytes};
      if (has_no_value_for_compiler(one)) return __msan_check_mem_is_initialized(one.begin, one.bytes);
    }
    return;
  }
  for (size_t i = 0; i + bytes <= run.bytes; i += bytes) {
    const Run one{static_cast<char*>(run.begin) + i, bytes};
    if (has_no_value(one)) return tell(one);
  }
}

template <class Visit>
void each_run(const Payload& payload, Visit visit) {
  if (payload.count <= 0) return;
  const auto base = reinterpret_cast<uintptr_t>(payload.base);
  int runs = 0;
  (void)payload.layout->each_run(0, payload.bytes(), [&](int64_t at, int64_t bytes) {
    visit(Run{reinterpret_cast<void*>(base + static_cast<uintptr_t>(at)), static_cast<size_t>(bytes)});
    return ++runs < kMostRuns;
  });
}

// Operations under way.
struct UnderWay {
  Mutex mutex;
  std::unordered_map<const void*, std::vector<Run>> runs TUTTI_GUARDED_BY(mutex);  // by owner
};
UnderWay& under_way() {
  static auto& all = *new UnderWay;  // operations may end while the process does
  return all;
}

// One in place wants what is there.
bool is_read_too(const BufferUse& use, std::span<const BufferUse> uses) {
  return use.reads_too || std::ranges::any_of(uses, [&](const BufferUse& other) {
           return !other.writes && other.payload.base == use.payload.base;
         });
}

}  // namespace

bool is_seen() {
  return __msan_unpoison != nullptr || is_under_valgrind();
}

void ask_for_values(std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    if (use.writes) continue;
    const Payload& sent = use.payload;
    const bool of_numbers = sent.layout->is_dense() && sent.layout->extent() > 1;
    each_run(sent,
             [&](const Run& run) { ask(run, of_numbers ? sent.layout->extent() : static_cast<int64_t>(run.bytes)); });
  }
}

void begin(const void* owner, std::span<const BufferUse> uses, Started started) {
  UnderWay& all = under_way();
  const Lock lock(all.mutex);
  for (const BufferUse& use : uses) {
    if (!use.writes) continue;
    const bool forgets = started == Started::no && !use.by_program && !is_read_too(use, uses);
    std::vector<Run>& runs = all.runs[owner];
    each_run(use.payload, [&](const Run& run) {
      runs.push_back(run);
      if (forgets) forget(run);
    });
  }
}

void end(const void* owner) {
  UnderWay& all = under_way();
  const Lock lock(all.mutex);
  const auto of_owner = all.runs.extract(owner);
  if (!of_owner) return;
  for (const Run& run : of_owner.mapped()) {
    if (__msan_unpoison) __msan_unpoison(run.begin, run.bytes);
    define(run);
  }
}

}  // namespace tutti::mpi::initialised_memory
