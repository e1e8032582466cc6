// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <utility>

#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/process.hpp"
#include "mpi/p2p/operations.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;
using engine::Operation;
using engine::RecvOperation;

class RecvRequest final : public Request, public Pooled<RecvRequest> {
 public:
  RecvRequest(Comm& comm, void* buf, int64_t count, Datatype& type, int source, int tag)
      : Request(Kind::recv, comm),
        op(type.payload(buf, count), {comm.user.context, source, tag, 0}, over, this),
        type_(&type) {}
  // Of a message that was there, and has not the types that it should.
  void end(const engine::Outcome& outcome) TUTTI_ENGINE_OWNED {
    begin();
    op.outcome = outcome;
    over(op);
  }
  void fill(MPI_Status& status) const override { fill_status(status, op.outcome); }
  Error error() const override { return error_asked(AskedFrom::unowned); }
  Error unheard_error() const override TUTTI_ENGINE_OWNED { return error_asked(AskedFrom::in_pass); }
  Error error_asked(AskedFrom from) const {
    return error_of_receive(op.outcome, {*comm, *type_, op.payload.count, op.match.source, op.match.tag}, from);
  }
  Error cancel() override TUTTI_ENGINE_OWNED {
    if (!is_complete() || is_interrupted()) engine_of_process().cancel(op);
    return {};
  }
  // nullptr: it is another operation.
  static RecvRequest* of(RecvOperation& op) {
    const bool is_one = op.on_complete == over || op.on_complete == over_strictly;
    return is_one ? static_cast<RecvRequest*>(op.owner) : nullptr;
  }
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    needs.awaits([&] {
      return op.match.tag == MPI_ANY_TAG ? "a receive with any tag"
                                         : fmt::format("a receive with tag {}", op.match.tag);
    });
    mpi::add_needs(needs, op, *comm);
  }
  // Under --check=strict: of one that takes a message of any source.
  void tell_strict() { op.on_complete = over_strictly; }
  RecvOperation op;

 private:
  static void over(Operation& o) TUTTI_ENGINE_OWNED {
    auto& made = *static_cast<RecvRequest*>(o.owner);
    compare_types(o.outcome, *made.type_);
    made.finish(o.outcome.mpi_class == MPI_SUCCESS);
  }
  static void over_strictly(Operation& o) TUTTI_ENGINE_OWNED {
    auto& made = *static_cast<RecvRequest*>(o.owner);
    const auto known = inventory::history_of(static_cast<const Object*>(&made));
    strict->received_any(*made.comm, made.op.match.tag, made.op.outcome, known ? known->made : CallSite());
    over(o);
  }
  const Ref<Datatype> type_;
};

// A receive whose message was there.
class ReceivedRequest final : public Request, public Pooled<ReceivedRequest> {
 public:
  ReceivedRequest(Comm& comm, const engine::Outcome& outcome) : Request(Kind::recv, comm), outcome_(outcome) {
    begin();
    finish(true);
  }
  void fill(MPI_Status& status) const override { fill_status(status, outcome_); }
  Error error() const override { return {}; }
  Error cancel() override TUTTI_ENGINE_OWNED { return {}; }
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED { needs.always(); }

 private:
  const engine::Outcome outcome_;
};

template <bool strictly>
Error receive_from(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Status* status) {
  const Ref<Datatype> held = hold(type);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if constexpr (strictly) strict->looks(comm, source, tag);
  if (!strictly && source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) {
    engine::Outcome outcome;
    if (engine.recv_at_once(comm.process_of(source), {comm.user.context, source, tag, 0}, type.payload(buf, count),
                            outcome, true)) {
      if (status) fill_status(*status, outcome);
      compare_types(outcome, type);
      return error_of_receive(outcome, {comm, type, count, source, tag}, AskedFrom::in_receive);
    }
  }
  Blocking<RecvOperation> receive;
  describe(receive.op, buf, count, type, source, tag, comm);
  engine.recv(receive.op);
  if (!receive.done)
    engine.wait_until([&] { return receive.done; },
                      [&](life::Condition& needs) TUTTI_ENGINE_OWNED { add_needs(needs, receive.op, comm); });
  if constexpr (strictly) strict->received(comm, source, tag, receive.op.outcome);
  return receive_status(receive.op, comm, type, status);
}

}  // namespace

bool interrupt_receive(engine::RecvOperation& operation) {
  RecvRequest* const request = RecvRequest::of(operation);
  if (request) request->interrupt();
  return request != nullptr;
}

void resume_receive(engine::RecvOperation& operation) {
  if (RecvRequest* const request = RecvRequest::of(operation)) request->go_on();
}

Error recv(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    if (status) fill_proc_null(*status);
    return {};
  }
  if (!watches_buffers) [[likely]]
    return receive_from<false>(buf, count, type, source, tag, comm, status);
  TakenBuffers taken;
  if (Error e = taken.take({{type.payload(buf, count), true}})) return e;
  if (!strict) return receive_from<false>(buf, count, type, source, tag, comm, status);
  return receive_from<true>(buf, count, type, source, tag, comm, status);
}

Error irecv(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm, MPI_Request* request) {
  if (source == MPI_PROC_NULL) return done_at_once(Request::Kind::recv, comm, true, request);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (!watches_buffers && engine.may_be_there() && source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) {
    engine::Outcome outcome;
    if (engine.recv_at_once(comm.process_of(source), {comm.user.context, source, tag, 0}, type.payload(buf, count),
                            outcome, false)) {
      compare_types(outcome, type);
      if (outcome.mpi_class == MPI_SUCCESS) [[likely]] {
        *request = handle_of<Request>(*new ReceivedRequest(comm, outcome));
        return {};
      }
      auto* made = new RecvRequest(comm, buf, count, type, source, tag);
      *request = handle_of<Request>(*made);
      made->end(outcome);
      return {};
    }
  }
  auto* made = new RecvRequest(comm, buf, count, type, source, tag);
  if (watches_buffers) [[unlikely]]
    if (Error e = check_start(*made, {{made->op.payload, true}})) return e;
  *request = inventory::hand_out<Request>(*made);
  if (strict) [[unlikely]] {
    strict->acts();  // a sender that waits for it may hear of it at any time
    strict->looks(comm, source, tag);
    if (source == MPI_ANY_SOURCE) made->tell_strict();
  }
  made->begin();
  engine.recv(made->op);
  return {};
}

// ---- messages that a probe has matched

namespace {

// Gives up the handle. nullptr: another thread has received it.
Message* take(MPI_Message& handle) {
  Message* const message = resolve<Message>(std::exchange(handle, MPI_MESSAGE_NULL));
  return message && message->take() ? message : nullptr;
}

[[gnu::cold]] Error message_taken() {
  return failure(MPI_ERR_REQUEST,
                 "another thread receives this message, too: one that a probe has matched is received "
                 "once (the standard, section 3.8.3; argument message)");
}

}  // namespace

Error mrecv(void* buf, int64_t count, Datatype& type, MPI_Message* message, MPI_Status* status) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    if (status) fill_proc_null(*status);
    return {};
  }
  Message* const given = take(*message);
  if (!given) return message_taken();
  const Ref<Message> taken = Ref<Message>::adopt(given);
  const Ref<Datatype> held = hold(type);
  Blocking<RecvOperation> receive;
  receive.op.payload = type.payload(buf, count);
  TakenBuffers buffers;
  if (watches_buffers) [[unlikely]]
    if (Error e = buffers.take({{receive.op.payload, true}})) return e;
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (strict) [[unlikely]]
    strict->acts();
  engine.receive_taken(std::move(taken->taken), receive.op);
  engine.wait_until([&] { return receive.done; });
  Error error = receive_status(receive.op, *taken->comm, type, status);
  if (error) error_object() = Ref<HasErrhandler>(taken->comm.get());
  return error;
}

Error imrecv(void* buf, int64_t count, Datatype& type, MPI_Message* message, MPI_Request* request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    return done_at_once(Request::Kind::recv, *current.world, true, request);
  }
  Message* const given = take(*message);
  if (!given) return message_taken();
  const Ref<Message> taken = Ref<Message>::adopt(given);
  auto* made = new RecvRequest(const_cast<Comm&>(*taken->comm), buf, count, type, MPI_PROC_NULL,
                               MPI_ANY_TAG);  // it has matched already
  if (watches_buffers) [[unlikely]]
    if (Error e = check_start(*made, {{made->op.payload, true}})) return e;
  *request = inventory::hand_out<Request>(*made);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  made->begin();
  if (strict) [[unlikely]]
    strict->acts();
  engine.receive_taken(std::move(taken->taken), made->op);
  return {};
}

}  // namespace tutti::mpi
