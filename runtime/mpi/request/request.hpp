// SPDX-License-Identifier: BSD-3-Clause
// Requests (the standard, section 3.7): started operations of every kind behind one handle, so
// that any mixture of them can be completed together.
#pragma once

#include <atomic>
#include <memory>

#include "mpi/comm/comm.hpp"
#include "mpi/object/objects.hpp"
#include "mpi/object/process.hpp"
#include "mpi/type/datatype.hpp"

namespace tutti::mpi {

// The handle holds one reference; the operation, while it is under way, another. Completed by the
// engine's owner, read by any thread; freed before it is complete by the engine's owner alone.
class Request : public Object {
 public:
  enum class Kind : uint8_t { send, recv, collective, persistent, one_sided };

  Request(Kind kind, Comm& comm) : Object(Tag::request), kind(kind), comm(&comm) {}

  bool is_complete() const { return complete_.load(std::memory_order_acquire); }

  // For the operation: it is under way, and it is over. Engine owned. `well`: error() need not be
  // asked.
  void begin() { retain_unshared(); }
  void finish(bool well = false) {
    well_ = well;
    ++process().completions;
    const bool freed = release_unshared();
    complete_.store(true, std::memory_order_release);  // another thread may be done with it now
    if (freed) [[unlikely]]
      destroy();
  }

  // The status of a complete operation, without MPI_ERROR; and its error, if it failed.
  virtual void fill(MPI_Status& status) const = 0;
  virtual Error error() const = 0;
  bool ended_well() const { return well_; }
  // Whose action it needs to complete, as one term. Engine owned.
  void add_needs(engine::Condition& needs) const {
    is_complete() ? void(needs.always()) : add_open_needs(needs);
  }
  // MPI_Cancel. Engine owned.
  virtual Error cancel() = 0;
  // Whose error handler hears of its errors.
  virtual Object& raises_on() const { return *comm; }

  const Kind kind;
  const Ref<Comm> comm;

 private:
  virtual void add_open_needs(engine::Condition& needs) const = 0;  // while it is under way
  std::atomic<bool> complete_{false};
  bool well_ = false;
};

// A message that MPI_Mprobe has taken out of matching (the standard, section 3.8.2).
class Message final : public Object {
 public:
  Message(std::unique_ptr<engine::Unexpected> taken, Comm& comm)
      : Object(Tag::message), taken(std::move(taken)), comm(&comm) {}
  std::unique_ptr<engine::Unexpected> taken;
  const Ref<Comm> comm;
};

// Whose action a posted operation needs: that of the receiver, the sender, one of all that may
// send.
void add_needs(engine::Condition& needs, const engine::SendOperation& send);
void add_needs(engine::Condition& needs, const engine::RecvOperation& receive, const Comm& comm);
// The same of a probe.
void add_needs_of_source(engine::Condition& needs, int source, const Comm& comm);

// What a receive's or a send's outcome says, in the standard's terms.
void fill_status(MPI_Status& status, const engine::Outcome& outcome);
[[gnu::cold]] Error failure_of(const engine::Outcome& outcome);
inline Error error_of(const engine::Outcome& outcome) {
  if (outcome.mpi_class == MPI_SUCCESS) [[likely]]
    return {};
  return failure_of(outcome);
}
// Of a null or inactive request, and of a receive from MPI_PROC_NULL.
void fill_empty(MPI_Status& status);
void fill_proc_null(MPI_Status& status);

}  // namespace tutti::mpi
