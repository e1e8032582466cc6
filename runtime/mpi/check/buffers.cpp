// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/check/buffers.hpp"

#include <mpi.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "base/flight.hpp"
#include "base/log.hpp"
#include "engine/engine.hpp"
#include "mpi/check/among_threads.hpp"
#include "mpi/check/closed_memory.hpp"
#include "mpi/check/heap_blocks.hpp"
#include "mpi/check/initialised_memory.hpp"
#include "mpi/check/knowledge.hpp"
#include "mpi/check/known_memory.hpp"
#include "mpi/check/race_detector.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/known_arrays.hpp"
#include "mpi/request/buffers_end.hpp"

namespace tutti::mpi {
namespace {

using race_detector::Fiber;

// Who looks on, or can be asked: sanitizers, and of memory with --check=strict the allocator.
struct Sanitizers {
  bool asks_for_memory = false, tells_of_accesses = false, closes_memory = false, knows_values = false;
  HeapBlocks* heap = nullptr;  // lives as long as the process
  bool hears_of_ends() const { return tells_of_accesses || closes_memory || knows_values; }
};
Sanitizers sanitizers;

// Operations under way, as ThreadSanitizer is told of them.
struct UnderWay {
  Mutex mutex;
  struct Operation {
    Fiber fiber = nullptr;
    CallSite started;
  };
  using Operations = std::unordered_map<const void*, Operation>;  // by owner
  Operations operations TUTTI_GUARDED_BY(mutex);
  // Of those that are over, for the next ones: what is allocated the sanitizer looks at, too.
  std::vector<Operations::node_type> spare TUTTI_GUARDED_BY(mutex);
  race_detector::Order completed_for_all;  // by one thread's call: what the operations of others have done
  bool has_completed_for_all TUTTI_GUARDED_BY(mutex) = false;  // something has been put there, or soon is
};
UnderWay& under_way() {
  static auto& all = *new UnderWay;  // operations may end while the process does
  return all;
}

// `place`: of the call. Where that is not known, of the one that has started the operation. No fiber: there are too many
// already.
Fiber fiber_of(const void* owner, CallSite& place) {
  UnderWay& all = under_way();
  const LockAmongThreads lock(all.mutex);
  if (const auto at = all.operations.find(owner); at != all.operations.end()) {
    if (!place.caller) place = at->second.started;
    return at->second.fiber;
  }
  const Fiber fiber = race_detector::take_fiber(flight::name_of_function(place.function));
  if (!fiber) return nullptr;
  if (all.spare.empty()) {
    all.operations[owner] = {fiber, place};
    return fiber;
  }
  UnderWay::Operations::node_type node = std::move(all.spare.back());
  all.spare.pop_back();
  node.key() = owner;
  node.mapped() = {fiber, place};
  all.operations.insert(std::move(node));
  return fiber;
}

void begin_accesses(const void* owner, std::span<const BufferUse> uses) {
  CallSite place = here();
  const Fiber fiber = fiber_of(owner, place);
  if (!fiber) return;
  race_detector::name(fiber, flight::name_of_function(place.function));
  for (const BufferUse& use : uses) race_detector::access_behind_me(fiber, use.payload, use.writes, place.caller);
}

void end_accesses(const void* owner, bool for_all) {
  UnderWay& all = under_way();
  Fiber fiber = nullptr;
  bool hears = false;
  {
    const LockAmongThreads lock(all.mutex);
    hears = all.has_completed_for_all;
    if (const auto at = all.operations.find(owner); at != all.operations.end()) {
      fiber = at->second.fiber;
      all.spare.push_back(all.operations.extract(at));
      all.has_completed_for_all = hears || for_all;
    }
  }
  if (hears && (for_all || !fiber)) all.completed_for_all.acquire();  // perhaps by another thread
  if (!fiber) return;
  race_detector::order_me_behind(fiber);
  if (for_all) all.completed_for_all.release_of(fiber);
  race_detector::give_back(fiber);
}

Error ask_for_memory(std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    const char* const side = use.writes ? "receive" : "send";
    Error e = sanitizers.heap ? sanitizers.heap->left_by(use.payload, side) : outside_of_memory(use.payload, side);
    if (e && strict) e = strict->found(std::move(e));
    if (e) return e;
  }
  return {};
}

// From now on, and not before the call has found nothing wrong.
void show(const void* owner, std::span<const BufferUse> uses, initialised_memory::Started started) {
  if (sanitizers.tells_of_accesses) begin_accesses(owner, uses);
  if (sanitizers.closes_memory) closed_memory::close(owner, uses);
  if (sanitizers.knows_values) initialised_memory::begin(owner, uses, started);
}

void hide(const void* owner) {
  if (sanitizers.closes_memory) closed_memory::open(owner);
  if (sanitizers.knows_values) initialised_memory::end(owner);
}

// An error if a use begins in an array of Fortran and reaches beyond it. Of single bytes and characters nothing is said.
Error leaves_array(std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    const Layout& layout = *use.payload.layout;
    if (use.payload.count <= 0 || layout.extent() <= 1 || layout.size() == 0) continue;
    const auto base = reinterpret_cast<uintptr_t>(use.payload.base);
    const auto array = known_arrays::at(base);
    if (!array) continue;
    const __int128 end = static_cast<__int128>(base - array->begin) +
                         static_cast<__int128>(use.payload.count - 1) * layout.extent() + layout.true_lower_bound() +
                         layout.true_extent();
    if (end > static_cast<__int128>(array->bytes))
      return failure(
          MPI_ERR_COUNT,
          "the array has fewer elements than counts and displacements say: from where the buffer begins it has "
          "{} bytes, and a block ends at {}",
          array->bytes, static_cast<int64_t>(end));
  }
  return {};
}

// What a collective uses.
Error find_uses(const coll::Call& call, const Comm& comm, std::vector<BufferUse>& uses) {
  uses = uses_of(call, comm);
  return strict ? strict->found(leaves_array(uses)) : Error();
}

// A collective that nobody leaves before all have come has the same number everywhere; others have 0.
uint32_t number_of_barrier(const coll::Call& call, const Comm& comm) {
  const bool is_one =
      call.kind == coll::Collective::barrier || (call.kind == coll::Collective::allreduce && call.out_count > 0);
  if (!is_one || comm.is_inter()) return 0;  // between groups one waits for the other group's ranks alone
  constexpr uint64_t kNumbers = (1 << 20) - 1, kOdd = 0x9e3779b97f4a7c15;  // spreads communicators
  return static_cast<uint32_t>(1 + ((comm.context() * kOdd >> 20) + comm.hidden.next_serial) % kNumbers);
}

}  // namespace

void open_buffers() {
  // Tests of a library that is itself instrumented hand over what is no memory on purpose.
  if (strict && !sanitizer_looks_on()) sanitizers.heap = HeapBlocks::find().release();
  sanitizers.asks_for_memory = sanitizers.heap || (knows_memory() && (strict || !is_instrumented_itself()));
  sanitizers.tells_of_accesses = race_detector::is_here();
  sanitizers.closes_memory = closed_memory::is_possible();
  sanitizers.knows_values = initialised_memory::is_seen();
  if (race_detector::is_too_old())
    log_line(Level::note,
             "the program is built with -fsanitize=thread, whose runtime has no fibers here: it is not told what "
             "operations of MPI do to the program's memory (tutti-check(7))");
  watches_buffers = strict || sanitizers.asks_for_memory || sanitizers.hears_of_ends();
  if (!watches_buffers) return;
  knowledge::open();
  buffers_end = [](const void* request) {
    drop_buffers(request);
    hearsay::may_hear();
  };
}

Error take_buffers(const void* owner, std::span<const BufferUse> uses) {
  hearsay::may_tell();
  if (sanitizers.asks_for_memory)
    if (Error e = ask_for_memory(uses)) return e;
  if (strict)
    if (Error e = strict->take(owner, uses)) return e;
  if (sanitizers.knows_values) initialised_memory::ask_for_values(uses);
  show(owner, uses, initialised_memory::Started::no);
  return {};
}

Error take_buffers(Request& request, std::span<const BufferUse> uses) {
  if (Error e = take_buffers(static_cast<const void*>(&request), uses)) return e;
  if (sanitizers.hears_of_ends()) request.set_watched();
  return {};
}

void show_buffers(Request& request, std::span<const BufferUse> uses) {
  hearsay::may_tell();
  if (sanitizers.hears_of_ends() && request.set_watched()) show(&request, uses, initialised_memory::Started::perhaps);
}

void drop_buffers(const void* owner) {
  if (strict) strict->tells_of_end(owner);
  if (sanitizers.tells_of_accesses) end_accesses(owner, false);
  hide(owner);
}

void drop_buffers_for_all(const void* owner) {
  if (strict) strict->tells_of_end(owner);
  if (sanitizers.tells_of_accesses) end_accesses(owner, true);
  hide(owner);
}

// ---- blocking calls

Error TakenBuffers::take(std::span<const BufferUse> uses) {
  hearsay::may_tell();
  return look_at(uses);
}

Error TakenBuffers::take(const coll::Call& call, const Comm& comm) {
  if (current.concurrent_calls) {
    const engine::Engine::Guard own(comm.engine());  // another thread's call may take the next number
    barrier_ = number_of_barrier(call, comm);
  } else {
    barrier_ = number_of_barrier(call, comm);
  }
  if (strict && barrier_) strict->comes();
  hearsay::may_tell(barrier_);
  std::vector<BufferUse> uses;
  if (Error e = find_uses(call, comm, uses)) return e;
  return look_at(uses);
}

Error TakenBuffers::look_at(std::span<const BufferUse> uses) {
  if (sanitizers.asks_for_memory)
    if (Error e = ask_for_memory(uses)) return e;
  if (strict)
    if (Error e = strict->take(this, uses)) return e;
  if (sanitizers.tells_of_accesses)
    for (const BufferUse& use : uses) race_detector::access(use.payload, use.writes, here().caller);
  if (sanitizers.knows_values) {
    initialised_memory::ask_for_values(uses);
    initialised_memory::begin(this, uses, initialised_memory::Started::perhaps);
  }
  return {};
}

Error StartedBuffers::take(const coll::Call& call, const Comm& comm) {
  if (strict) arrays_.add_of(call, comm);
  std::vector<BufferUse> uses;
  if (Error e = find_uses(call, comm, uses)) return e;
  return take(std::move(uses));
}

Error StartedBuffers::take(std::vector<BufferUse> uses) {
  hearsay::may_tell();
  uses_ = std::move(uses);
  if (sanitizers.asks_for_memory)
    if (Error e = ask_for_memory(uses_)) return e;
  if (sanitizers.knows_values) initialised_memory::ask_for_values(uses_);
  return strict ? strict->take(&taken_, uses_) : Error();
}

void StartedBuffers::give_to(Request& request) {
  if (strict) {
    strict->outstanding().give_to(&taken_, &request);
    strict->keep(request, uses_, {.operation = "collective", .section = "6.12"});
    strict->keep(request, std::move(arrays_));
  }
  show_buffers(request, uses_);
}

void TakenBuffers::drop() {
  if (sanitizers.knows_values) initialised_memory::end(this);
  if (strict) {
    strict->outstanding().drop(this);
    if (barrier_) strict->leaves(barrier_);
  }
  hearsay::may_hear(barrier_);
}

}  // namespace tutti::mpi
