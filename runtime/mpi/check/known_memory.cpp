// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/known_memory.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/check/closed_memory.hpp"

// Of the sanitizer's run-time library (sanitizer/asan_interface.h), where the program has it: the first byte that must
// not be touched, or nullptr. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::weak, gnu::visibility("default")]] void* __asan_region_is_poisoned(void* begin, size_t bytes);
// Of ThreadSanitizer's. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::weak, gnu::visibility("default")]] void __tsan_init();
// Of MemorySanitizer's. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" [[gnu::weak, gnu::visibility("default")]] void __msan_unpoison(const volatile void* begin, size_t bytes);

namespace tutti::mpi {

bool sanitizer_looks_on() {
  return __asan_region_is_poisoned || __tsan_init || __msan_unpoison;
}

bool knows_memory() {
  return __asan_region_is_poisoned != nullptr;
}

bool is_instrumented_itself() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer);
#else
  return false;
#endif
}

Error outside_of_memory(const Payload& payload, const char* side) {
  constexpr int kMostRuns = 4096;
  if (!__asan_region_is_poisoned || payload.count <= 0) return {};
  const auto base = reinterpret_cast<uintptr_t>(payload.base);
  const void* outside = nullptr;
  int runs = 0;
  (void)payload.layout->each_run(0, payload.bytes(), [&](int64_t at, int64_t bytes) {
    outside = __asan_region_is_poisoned(reinterpret_cast<void*>(base + static_cast<uintptr_t>(at)),
                                        static_cast<size_t>(bytes));
    return !outside && ++runs < kMostRuns;
  });
  if (!outside) return {};
  // Two operations that write the same bytes, which --check=strict tells.
  if (closed_memory::is_possible() && closed_memory::is_closed(reinterpret_cast<uintptr_t>(outside))) return {};
  const auto from_start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(outside) - base);
  const std::string where = base == 0        ? fmt::format("at the address {}", outside)  // MPI_BOTTOM
                            : from_start < 0 ? fmt::format("{} bytes before its start", -from_start)
                                             : fmt::format("{} bytes behind its start", from_start);
  return failure(MPI_ERR_BUFFER,
                 "{} the {} buffer leaves the memory that the program has there: it is shorter than count and datatype "
                 "say, or was freed, as AddressSanitizer knows",
                 where, side);
}

}  // namespace tutti::mpi
