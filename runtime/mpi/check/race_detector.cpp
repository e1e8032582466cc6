// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/race_detector.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/os/thread_sanitizer.hpp"
#include "mpi/check/among_threads.hpp"

// ThreadSanitizer's interface for those who switch threads by themselves, and for generated code. Null where the program
// has none. Fibers came with gcc 10 and clang 9. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
#define TUTTI_OF_SANITIZER [[gnu::weak, gnu::visibility("default")]]
TUTTI_OF_SANITIZER void* __tsan_get_current_fiber();
TUTTI_OF_SANITIZER void* __tsan_create_fiber(unsigned flags);
TUTTI_OF_SANITIZER void __tsan_switch_to_fiber(void* fiber, unsigned flags);
TUTTI_OF_SANITIZER void __tsan_set_fiber_name(void* fiber, const char* name);
TUTTI_OF_SANITIZER void __tsan_read_range_pc(void* begin, unsigned long bytes, void* caller);
TUTTI_OF_SANITIZER void __tsan_write_range_pc(void* begin, unsigned long bytes, void* caller);
TUTTI_OF_SANITIZER void __tsan_acquire(void* address);
TUTTI_OF_SANITIZER void __tsan_release(void* address);
#undef TUTTI_OF_SANITIZER
}
// NOLINTEND(bugprone-reserved-identifier)

namespace tutti::mpi::race_detector {

struct OneFiber {
  void* const handle;
  std::string name{};
};

namespace {

// A library that is instrumented itself shows the sanitizer what it does, which would race with what is told here.
#if defined(__SANITIZE_THREAD__)
constexpr bool kIsInstrumented = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kIsInstrumented = true;
#else
constexpr bool kIsInstrumented = false;
#endif
#else
constexpr bool kIsInstrumented = false;
#endif

constexpr size_t kMostFibers = 1024;
constexpr int kMostRuns = 4096;
constexpr unsigned kInOrder = 0;  // what is switched to is behind what switches to it
constexpr unsigned kUnordered = 1;

// The calling thread acts as the fiber. Nothing but what is told to the sanitizer may happen meanwhile.
class As {
 public:
  As(Fiber fiber, unsigned how) : self_(__tsan_get_current_fiber()) { __tsan_switch_to_fiber(fiber->handle, how); }
  // In order, the thread would be behind the accesses of the fiber, and nothing would ever be told.
  ~As() { __tsan_switch_to_fiber(self_, kUnordered); }
  As(const As&) = delete;

 private:
  void* const self_;
};

struct Pool {
  Mutex mutex;
  std::vector<Fiber> free TUTTI_GUARDED_BY(mutex);
  size_t made TUTTI_GUARDED_BY(mutex) = 0;
  bool has_told TUTTI_GUARDED_BY(mutex) = false;
};
Pool& pool() {
  static auto& it = *new Pool;  // operations may end while the process does
  return it;
}

}  // namespace

bool is_here() {
  return !kIsInstrumented && is_under_thread_sanitizer() && __tsan_get_current_fiber && __tsan_create_fiber &&
         __tsan_switch_to_fiber && __tsan_set_fiber_name && __tsan_read_range_pc && __tsan_write_range_pc &&
         __tsan_acquire && __tsan_release;
}

bool is_too_old() {
  return !kIsInstrumented && is_under_thread_sanitizer() && !is_here();
}

void Order::release() {
  __tsan_release(&address_);
}
void Order::acquire() {
  __tsan_acquire(&address_);
}
void Order::release_of(Fiber fiber) {
  const As as(fiber, kUnordered);
  __tsan_release(&address_);
}
void Order::acquire_for(Fiber fiber) {
  const As as(fiber, kUnordered);
  __tsan_acquire(&address_);
}

Fiber take_fiber(std::string_view name) {
  Pool& all = pool();
  const LockAmongThreads lock(all.mutex);
  if (!all.free.empty()) {
    // A name costs as much as all else. The latest few that were given back: a program has few kinds under way at once.
    constexpr ptrdiff_t kLatest = 8;
    const auto end = all.free.end();
    const auto begin = end - std::min<ptrdiff_t>(kLatest, end - all.free.begin());
    const auto same = std::find_if(begin, end, [&](Fiber each) { return each->name == name; });
    const auto taken = same == end ? end - 1 : same;
    const Fiber fiber = *taken;
    *taken = all.free.back();
    all.free.pop_back();
    return fiber;
  }
  if (all.made < kMostFibers) {
    ++all.made;
    return new OneFiber{__tsan_create_fiber(0)};
  }
  if (!all.has_told)
    log_line(
        Level::warning,
        fmt::format("more than {} operations are under way at once: ThreadSanitizer is told nothing of some of them "
                    "(tutti-check(7))",
                    kMostFibers));
  all.has_told = true;
  return nullptr;
}

void give_back(Fiber fiber) {
  const LockAmongThreads lock(pool().mutex);
  pool().free.push_back(fiber);
}

void name(Fiber fiber, std::string_view name) {
  if (fiber->name == name) return;
  fiber->name = name;
  __tsan_set_fiber_name(fiber->handle, fiber->name.c_str());
}

void order_me_behind(Fiber fiber) {
  void* const self = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->handle, kUnordered);
  __tsan_switch_to_fiber(self, kInOrder);
}

void access(const Payload& payload, bool writes, uint64_t caller) {
  if (payload.count <= 0) return;
  const auto base = reinterpret_cast<uintptr_t>(payload.base);
  int runs = 0;
  (void)payload.layout->each_run(0, payload.bytes(), [&](int64_t at, int64_t bytes) {
    void* const begin = reinterpret_cast<void*>(base + static_cast<uintptr_t>(at));
    (writes ? __tsan_write_range_pc : __tsan_read_range_pc)(begin, static_cast<unsigned long>(bytes),
                                                            reinterpret_cast<void*>(caller));
    return ++runs < kMostRuns;
  });
}

void access(Fiber fiber, const Payload& payload, bool writes, uint64_t caller) {
  const As as(fiber, kUnordered);
  access(payload, writes, caller);
}

void access_behind_me(Fiber fiber, const Payload& payload, bool writes, uint64_t caller) {
  const As as(fiber, kInOrder);
  access(payload, writes, caller);
}

}  // namespace tutti::mpi::race_detector
