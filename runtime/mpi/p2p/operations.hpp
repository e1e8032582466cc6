// SPDX-License-Identifier: BSD-3-Clause
// What the calls that send, receive or do both have in common: operations that are described by a
// call's arguments, those of blocking calls, which live on the stack, and the buffers that
// --check=strict and sanitizers are told of before one starts. Requests are in the files of the calls that make
// them.
#pragma once

#include <initializer_list>

#include "base/engine_owned.hpp"
#include "base/pooled.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/p2p/api_p2p.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {

inline void describe(engine::SendOperation& op, const void* buf, int64_t count, const Datatype& type, int dest, int tag,
                     const Comm& comm, engine::SendMode mode) {
  op.payload = type.payload(buf, count);
  op.peer = comm.process_of(dest);
  op.match = {comm.user.context, comm.rank(), tag, 0};
  op.pattern = type.pattern;
  op.mode = mode;
}

inline void describe(engine::RecvOperation& op, void* buf, int64_t count, const Datatype& type, int source, int tag,
                     const Comm& comm) {
  op.payload = type.payload(buf, count);
  op.match = {comm.user.context, source, tag, 0};
}

// An operation on the stack of a blocking call: `done` once it is complete.
template <class Op>
struct Blocking {
  Blocking() {
    op.owner = this;
    op.on_complete = [](engine::Operation& o) TUTTI_ENGINE_OWNED { static_cast<Blocking*>(o.owner)->done = true; };
  }
  Op op;
  bool done = false;
};

// Another thread may free the type while a blocking call is under way; predefined ones stay.
inline Ref<Datatype> hold(const Datatype& type) {
  return Ref<Datatype>(type.predefined ? nullptr : const_cast<Datatype*>(&type));
}

// What is over as soon as it starts: to or from MPI_PROC_NULL, or a buffered send.
Error done_at_once(Request::Kind kind, Comm& comm, bool proc_null, MPI_Request* request);

// Where buffers are watched, before an operation with a request: its own. On an error the request is
// gone.
Error check_start(Request& made, std::initializer_list<BufferUse> uses);

// Of a posted receive that has a request of its own (Request::interrupt, go_on); false: it has none.
bool interrupt_receive(engine::RecvOperation& operation) TUTTI_ENGINE_OWNED;
void resume_receive(engine::RecvOperation& operation) TUTTI_ENGINE_OWNED;

// Of a receive that is over, in a blocking call.
Error receive_status(engine::RecvOperation& op, const Comm& comm, const Datatype& type,
                     MPI_Status* status) TUTTI_ENGINE_OWNED;

// A request that is complete when it is made, and whose status says that nobody was at the other
// end, or nothing.
class DoneRequest final : public Request, public Pooled<DoneRequest> {
 public:
  DoneRequest(Kind kind, Comm& comm, bool proc_null) : Request(kind, comm), proc_null_(proc_null) {}
  void fill(MPI_Status& status) const override { proc_null_ ? fill_proc_null(status) : fill_status(status, {}); }
  Error error() const override { return {}; }
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED { needs.always(); }
  Error cancel() override TUTTI_ENGINE_OWNED { return {}; }

 private:
  const bool proc_null_;
};

}  // namespace tutti::mpi
