// SPDX-License-Identifier: BSD-3-Clause
// Who hears of the buffers of operations: the books of --check=strict, and the compiler's sanitizers in the program.
// AddressSanitizer is asked of each buffer whether it is the program's memory, and what an operation writes is closed to
// the program meanwhile (closed_memory.hpp); ThreadSanitizer is told that an operation uses it from its start until a call
// says that it is complete, so that the program's loads and stores race with it. A process that none of them looks on asks `watches_buffers` and nothing else. Any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "coll/call.hpp"
#include "mpi/check/outstanding.hpp"
#include "mpi/check/steady.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {

// Written once, before MPI_Init returns.
inline bool watches_buffers = false;
// Finds out whether a sanitizer looks on.
void open_buffers();

// The operation `owner` uses these from now on, until it is dropped; another time under the same owner: these, too. The
// error is that of the call, which starts nothing.
Error take_buffers(const void* owner, std::span<const BufferUse> uses);
// The same of one with a request, whose end drops them.
Error take_buffers(Request& request, std::span<const BufferUse> uses);
void drop_buffers(const void* owner);
// Of operations that threads have started and a call of one completes for all, as MPI_Win_flush does: that thread is behind
// them, and so is each whose own call, or request's end, finds them dropped.
void drop_buffers_for_all(const void* owner);
// Sanitizers alone are told: of what has been asked for already.
void show_buffers(Request& request, std::span<const BufferUse> uses);

// What a collective reads and writes here.
std::vector<BufferUse> uses_of(const coll::Call& call, const Comm& comm);

// The buffers of a blocking call, while it lives.
class TakenBuffers {
 public:
  Error take(std::initializer_list<BufferUse> uses) { return take(std::span(uses.begin(), uses.size())); }
  Error take(std::span<const BufferUse> uses);
  Error take(const coll::Call& call, const Comm& comm);
  ~TakenBuffers() {
    if (watches_buffers) [[unlikely]]
      drop();
  }
  TakenBuffers() = default;
  TakenBuffers(const TakenBuffers&) = delete;

 private:
  Error look_at(std::span<const BufferUse> uses);
  void drop();
  uint32_t barrier_ = 0;  // hearsay::may_tell()
};

// Those of a collective that starts, until it has a request, whose end drops them.
class StartedBuffers {
 public:
  Error take(const coll::Call& call, const Comm& comm);
  Error take(std::vector<BufferUse> uses);
  void give_to(Request& request);

 private:
  TakenBuffers taken_;
  std::vector<BufferUse> uses_;
  SteadyArrays arrays_;  // with --check=strict
};

}  // namespace tutti::mpi
