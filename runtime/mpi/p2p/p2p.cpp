// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <new>

#include "base/pool.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/object/entry.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/p2p/api_p2p.hpp"
#include "mpi/p2p/bsend.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;
using engine::Operation;
using engine::RecvOperation;
using engine::SendMode;
using engine::SendOperation;

void describe(SendOperation& op, const void* buf, int64_t count, const Datatype& type, int dest,
              int tag, const Comm& comm, SendMode mode) {
  op.payload = type.payload(buf, count);
  op.peer = comm.process_of(dest);
  op.match = {comm.user.context, comm.rank(), tag, 0};
  op.pattern = type.pattern;
  op.mode = mode;
}

void describe(RecvOperation& op, void* buf, int64_t count, const Datatype& type, int source, int tag,
              const Comm& comm) {
  op.payload = type.payload(buf, count);
  op.match = {comm.user.context, source, tag, 0};
}

// An operation on the stack of a blocking call: `done` once it is complete.
template <class Op>
struct Blocking {
  Blocking() {
    op.owner = this;
    op.on_complete = [](Operation& o) { static_cast<Blocking*>(o.owner)->done = true; };
  }
  Op op;
  bool done = false;
};

// Another thread may free the type while a blocking call is under way; predefined ones stay.
Ref<Datatype> hold(const Datatype& type) {
  return Ref<Datatype>(type.predefined ? nullptr : const_cast<Datatype*>(&type));
}

class SendRequest final : public Request, public Pooled<SendRequest> {
 public:
  SendRequest(Comm& comm, Datatype& type) : Request(Kind::send, comm), type_(&type) {
    op.owner = this;
    op.on_complete = [](Operation& o) {
      static_cast<SendRequest*>(o.owner)->finish(o.outcome.mpi_class == MPI_SUCCESS);
    };
  }
  void fill(MPI_Status& status) const override {
    fill_status(status, op.outcome);
  }
  Error error() const override { return error_of(op.outcome); }
  Error cancel() override {
    if (!is_complete()) engine_of_process().cancel(op);
    return {};
  }
  void add_open_needs(engine::Condition& needs) const override { mpi::add_needs(needs, op); }
  SendOperation op;

 private:
  const Ref<Datatype> type_;
};

class RecvRequest final : public Request, public Pooled<RecvRequest> {
 public:
  RecvRequest(Comm& comm, void* buf, int64_t count, Datatype& type, int source, int tag)
      : Request(Kind::recv, comm),
        op(type.payload(buf, count), {comm.user.context, source, tag, 0}, over, this),
        type_(&type) {}
  // Of a message that was there, and has not the types that it should.
  void end(const engine::Outcome& outcome) {
    begin();
    op.outcome = outcome;
    over(op);
  }
  void fill(MPI_Status& status) const override { fill_status(status, op.outcome); }
  Error error() const override {
    return error_of_receive(
        op.outcome, {*comm, *type_, op.payload.count, op.match.source, op.match.tag}, false);
  }
  Error cancel() override {
    if (!is_complete()) engine_of_process().cancel(op);
    return {};
  }
  void add_open_needs(engine::Condition& needs) const override { mpi::add_needs(needs, op, *comm); }
  // Under --check=strict: of one that takes a message of any source.
  void tell_strict() {
    op.on_complete = [](Operation& o) {
      auto& made = *static_cast<RecvRequest*>(o.owner);
      const auto known = inventory::history_of(static_cast<const Object*>(&made));
      strict->received_any(*made.comm, made.op.match.tag, made.op.outcome,
                           known ? known->made : Place());
      over(o);
    };
  }
  RecvOperation op;

 private:
  static void over(Operation& o) {
    auto& made = *static_cast<RecvRequest*>(o.owner);
    compare_types(o.outcome, *made.type_);
    made.finish(o.outcome.mpi_class == MPI_SUCCESS);
  }
  const Ref<Datatype> type_;
};

// A receive whose message was there.
class ReceivedRequest final : public Request, public Pooled<ReceivedRequest> {
 public:
  ReceivedRequest(Comm& comm, const engine::Outcome& outcome)
      : Request(Kind::recv, comm), outcome_(outcome) {
    begin();
    finish(true);
  }
  void fill(MPI_Status& status) const override { fill_status(status, outcome_); }
  Error error() const override { return {}; }
  Error cancel() override { return {}; }
  void add_open_needs(engine::Condition& needs) const override { needs.always(); }

 private:
  const engine::Outcome outcome_;
};

// What is over as soon as it starts: to or from MPI_PROC_NULL, or a buffered send.
class DoneRequest final : public Request, public Pooled<DoneRequest> {
 public:
  DoneRequest(Kind kind, Comm& comm, bool proc_null) : Request(kind, comm), proc_null_(proc_null) {}
  void fill(MPI_Status& status) const override {
    proc_null_ ? fill_proc_null(status) : fill_status(status, {});
  }
  Error error() const override { return {}; }
  void add_open_needs(engine::Condition& needs) const override { needs.always(); }
  Error cancel() override { return {}; }

 private:
  const bool proc_null_;
};

// The request of every send that was over when it started. Engine owned.
Request& sent_request() {
  static Request* const sent = [] {
    auto* made = new DoneRequest(Request::Kind::send, *process().world, false);
    made->live_for_ever();
    made->begin();
    made->finish(true);
    made->stays_complete();
    return made;
  }();
  return *sent;
}

// MPI_Isendrecv: a send and a receive behind one request; the status is the receive's.
class PairRequest final : public Request, public Pooled<PairRequest> {
 public:
  PairRequest(Comm& comm, Datatype& sent, Datatype& received)
      : Request(Kind::recv, comm), sent_(&sent), received_(&received) {
    send.owner = receive.owner = this;
    send.on_complete = [](Operation& o) {
      auto& pair = *static_cast<PairRequest*>(o.owner);
      pair.sending_ = false;
      pair.one_over();
    };
    receive.on_complete = [](Operation& o) {
      auto& pair = *static_cast<PairRequest*>(o.owner);
      compare_types(o.outcome, *pair.received_);
      pair.receiving_ = false;
      pair.one_over();
    };
  }
  // Posts what is not to or from MPI_PROC_NULL. Engine owned.
  void start(Engine& engine, bool sends, bool receives) {
    begin();
    under_way_ = 1 + sends + receives;
    receives_ = receiving_ = receives;
    sending_ = sends;
    if (receives) engine.recv(receive);
    if (sends) engine.send(send);
    one_over();
  }
  void fill(MPI_Status& status) const override {
    receives_ ? fill_status(status, receive.outcome) : fill_proc_null(status);
  }
  Error error() const override {
    if (receives_)
      if (Error e = error_of_receive(receive.outcome,
                                     {*comm, *received_, receive.payload.count,
                                      receive.match.source, receive.match.tag},
                                     false))
        return e;
    return error_of(send.outcome);
  }
  void add_open_needs(engine::Condition& needs) const override {
    needs.all();
    if (sending_) mpi::add_needs(needs, send);
    if (receives_ && receiving_) mpi::add_needs(needs, receive, *comm);
    needs.end();
  }
  Error cancel() override {
    return failure(MPI_ERR_REQUEST, "a combined send and receive cannot be cancelled");
  }

  SendOperation send;
  RecvOperation receive;
  std::unique_ptr<std::byte[]> outgoing;  // of MPI_Isendrecv_replace

 private:
  void one_over() {
    if (--under_way_ == 0) finish();
  }
  const Ref<Datatype> sent_, received_;
  int under_way_ = 0;
  bool receives_ = false, sending_ = false, receiving_ = false;
};

Error done_at_once(Request::Kind kind, Comm& comm, bool proc_null, MPI_Request* request) {
  auto* made = new DoneRequest(kind, comm, proc_null);
  {
    const Engine::Guard own(engine_of_process());
    made->begin();
    made->finish();
  }
  *request = inventory::hand_out<Request>(*made);
  return {};
}

Error start_send(SendMode mode, const void* buf, int64_t count, const Datatype& type, int dest,
                 int tag, const Comm& comm) {
  const Ref<Datatype> held = hold(type);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (mode == SendMode::standard &&
      engine.send_at_once(comm.process_of(dest), {comm.user.context, comm.rank(), tag, 0},
                          type.payload(buf, count), type.pattern))
    return {};
  Blocking<SendOperation> send;
  describe(send.op, buf, count, type, dest, tag, comm, mode);
  engine.send(send.op);
  if (!send.done)
    engine.wait_until([&] { return send.done; },
                      [&](engine::Condition& needs) {
                        if (!send.done) add_needs(needs, send.op);
                      });
  return error_of(send.op.outcome);
}

// Under --check=strict, before an operation with a request: its buffers, and what it tells others.
Error check_start(Request& made, std::initializer_list<BufferUse> uses) {
  Error error = strict->take(&made, {uses.begin(), uses.size()});
  if (error) made.release();
  return error;
}
void note_send(const Comm& comm, int dest, int tag) {
  const Engine::Guard own(engine_of_process());
  strict->sends(comm, dest, tag);
}

Error send_in_mode(SendMode mode, const void* buf, int64_t count, const Datatype& type, int dest,
                   int tag, const Comm& comm) {
  if (dest == MPI_PROC_NULL) return {};
  if (!strict) [[likely]]
    return start_send(mode, buf, count, type, dest, tag, comm);
  TakenBuffers taken;
  if (Error e = taken.take({{type.payload(buf, count)}})) return e;
  note_send(comm, dest, tag);
  return start_send(mode, buf, count, type, dest, tag, comm);
}

[[gnu::always_inline]] inline Error isend_in_mode(SendMode mode, const void* buf, int64_t count,
                                                  Datatype& type, int dest, int tag, Comm& comm,
                                                  MPI_Request* request) {
  if (dest == MPI_PROC_NULL) return done_at_once(Request::Kind::send, comm, true, request);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (mode == SendMode::standard && !strict &&
      engine.send_at_once(comm.process_of(dest), {comm.user.context, comm.rank(), tag, 0},
                          type.payload(buf, count), type.pattern)) {
    *request = handle_of<Request>(sent_request());
    return {};
  }
  auto* made = new SendRequest(comm, type);
  describe(made->op, buf, count, type, dest, tag, comm, mode);
  if (strict) [[unlikely]] {
    if (Error e = check_start(*made, {{made->op.payload}})) return e;
    strict->sends(comm, dest, tag);
  }
  *request = inventory::hand_out<Request>(*made);
  made->begin();
  engine.send(made->op);
  return {};
}

// A packed copy of what `buf` holds, since a receive is about to overwrite it.
Result<std::unique_ptr<std::byte[]>> packed_copy(const void* buf, int64_t count, const Datatype& type) {
  const Payload payload = type.payload(buf, count);
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[static_cast<size_t>(payload.bytes())]);
  if (!copy)
    return failure(MPI_ERR_NO_MEM, "there is no memory for a copy of the {} bytes to send",
                   payload.bytes());
  payload.pack(0, copy.get(), payload.bytes());
  return copy;
}

// Of one that is over, in a blocking call. Engine owned.
Error receive_status(RecvOperation& op, const Comm& comm, const Datatype& type, MPI_Status* status) {
  compare_types(op.outcome, type);
  if (status) fill_status(*status, op.outcome);
  return error_of_receive(
      op.outcome, {comm, type, op.payload.count, op.match.source, op.match.tag}, true);
}

}  // namespace

Message* HandleOf<Message>::predefined(uintptr_t) { return nullptr; }
Request* HandleOf<Request>::predefined(uintptr_t) { return nullptr; }

// ---- what they need

void add_needs(engine::Condition& needs, const SendOperation& op) {
  needs.process(op.peer);
}

void add_needs(engine::Condition& needs, const RecvOperation& op, const Comm& comm) {
  if (!op.posted) return void(needs.always());  // matched: its bytes are on their way
  add_needs_of_source(needs, op.match.source, comm);
}

void add_needs_of_source(engine::Condition& needs, int source, const Comm& comm) {
  if (source != MPI_ANY_SOURCE) return void(needs.process(comm.process_of(source)));
  needs.any();  // myself last: another of my threads
  const int sources = comm.remote_size();
  for (int i = 1; i <= sources; ++i) needs.process(comm.process_of((comm.rank() + i) % sources));
  needs.end();
}

// ---- sends

Error send(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  return send_in_mode(SendMode::standard, buf, count, type, dest, tag, comm);
}
Error ssend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  return send_in_mode(SendMode::synchronous, buf, count, type, dest, tag, comm);
}
Error rsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  return send_in_mode(SendMode::standard, buf, count, type, dest, tag, comm);
}
Error bsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  if (dest == MPI_PROC_NULL) return {};
  if (strict) [[unlikely]] {
    TakenBuffers taken;
    if (Error e = taken.take({{type.payload(buf, count)}})) return e;
    note_send(comm, dest, tag);
  }
  const Engine::Guard own(engine_of_process());
  return send_buffer().send(buf, count, type, dest, tag, comm);
}

Error isend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm,
            MPI_Request* request) {
  return isend_in_mode(SendMode::standard, buf, count, type, dest, tag, comm, request);
}
Error issend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm,
             MPI_Request* request) {
  return isend_in_mode(SendMode::synchronous, buf, count, type, dest, tag, comm, request);
}
Error irsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm,
             MPI_Request* request) {
  return isend_in_mode(SendMode::standard, buf, count, type, dest, tag, comm, request);
}
Error ibsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm,
             MPI_Request* request) {
  if (Error e = bsend(buf, count, type, dest, tag, comm)) return e;
  return done_at_once(Request::Kind::send, comm, dest == MPI_PROC_NULL, request);
}

// ---- receives

namespace {

template <bool strictly>
Error receive_from(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm,
                   MPI_Status* status) {
  const Ref<Datatype> held = hold(type);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if constexpr (strictly) strict->looks(comm, source, tag);
  if (!strictly && source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) {
    engine::Outcome outcome;
    if (engine.recv_at_once(comm.process_of(source), {comm.user.context, source, tag, 0},
                            type.payload(buf, count), outcome, true)) {
      if (status) fill_status(*status, outcome);
      compare_types(outcome, type);
      return error_of_receive(outcome, {comm, type, count, source, tag}, true);
    }
  }
  Blocking<RecvOperation> receive;
  describe(receive.op, buf, count, type, source, tag, comm);
  engine.recv(receive.op);
  if (!receive.done)
    engine.wait_until([&] { return receive.done; },
                      [&](engine::Condition& needs) { add_needs(needs, receive.op, comm); });
  if constexpr (strictly) strict->received(comm, source, tag, receive.op.outcome);
  return receive_status(receive.op, comm, type, status);
}

}  // namespace

Error recv(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm,
           MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    if (status) fill_proc_null(*status);
    return {};
  }
  if (!strict) [[likely]]
    return receive_from<false>(buf, count, type, source, tag, comm, status);
  TakenBuffers taken;
  if (Error e = taken.take({{type.payload(buf, count), true}})) return e;
  return receive_from<true>(buf, count, type, source, tag, comm, status);
}

Error irecv(void* buf, int64_t count, Datatype& type, int source, int tag, Comm& comm,
            MPI_Request* request) {
  if (source == MPI_PROC_NULL) return done_at_once(Request::Kind::recv, comm, true, request);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (!strict && engine.may_be_there() && source != MPI_ANY_SOURCE && tag != MPI_ANY_TAG) {
    engine::Outcome outcome;
    if (engine.recv_at_once(comm.process_of(source), {comm.user.context, source, tag, 0},
                            type.payload(buf, count), outcome, false)) {
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
  if (strict) [[unlikely]]
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

// ---- both

namespace {

Error start_pair(PairRequest& made, int dest, int sendtag, int source, int recvtag, const Comm& comm,
                 MPI_Request* request) {
  if (strict) [[unlikely]]
    if (Error e = check_start(made, {{made.send.payload}, {made.receive.payload, true}})) return e;
  *request = inventory::hand_out<Request>(made);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (strict) [[unlikely]] {
    strict->sends(comm, dest, sendtag);
    strict->looks(comm, source, recvtag);
  }
  made.start(engine, dest != MPI_PROC_NULL, source != MPI_PROC_NULL);
  return {};
}

}  // namespace

Error sendrecv(const void* sendbuf, int64_t sendcount, Datatype& sendtype, int dest, int sendtag,
               void* recvbuf, int64_t recvcount, Datatype& recvtype, int source, int recvtag,
               Comm& comm, MPI_Status* status) {
  const Ref<Datatype> held[] = {hold(sendtype), hold(recvtype)};
  Blocking<SendOperation> send;
  Blocking<RecvOperation> receive;
  send.done = dest == MPI_PROC_NULL;
  receive.done = source == MPI_PROC_NULL;
  if (!send.done)
    describe(send.op, sendbuf, sendcount, sendtype, dest, sendtag, comm, SendMode::standard);
  if (!receive.done) describe(receive.op, recvbuf, recvcount, recvtype, source, recvtag, comm);
  TakenBuffers taken;
  if (strict) [[unlikely]]
    if (Error e = taken.take({{send.op.payload}, {receive.op.payload, true}})) return e;
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (strict) [[unlikely]] {
    strict->sends(comm, dest, sendtag);
    strict->looks(comm, source, recvtag);
  }
  if (!receive.done) engine.recv(receive.op);
  if (!send.done) engine.send(send.op);
  engine.wait_until([&] { return send.done && receive.done; },
                    [&](engine::Condition& needs) {
                      if (!send.done) add_needs(needs, send.op);
                      if (!receive.done) add_needs(needs, receive.op, comm);
                    });
  if (source == MPI_PROC_NULL) {
    if (status) fill_proc_null(*status);
    return error_of(send.op.outcome);
  }
  if (Error e = receive_status(receive.op, comm, recvtype, status)) return e;
  return error_of(send.op.outcome);
}

Error sendrecv_replace(void* buf, int64_t count, Datatype& type, int dest, int sendtag, int source,
                       int recvtag, Comm& comm, MPI_Status* status) {
  MPI_Request request;
  if (Error e = isendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, &request))
    return e;
  const Ref<Request> pair = Ref<Request>::adopt(resolve<Request>(request));
  {
    Engine& engine = engine_of_process();
    const Engine::Guard own(engine);
    engine.wait_until([&] { return pair->is_complete(); },
                      [&](engine::Condition& needs) { pair->add_needs(needs); });
  }
  if (status) pair->fill(*status);
  return pair->error();
}

Error isendrecv(const void* sendbuf, int64_t sendcount, Datatype& sendtype, int dest, int sendtag,
                void* recvbuf, int64_t recvcount, Datatype& recvtype, int source, int recvtag,
                Comm& comm, MPI_Request* request) {
  auto* made = new PairRequest(comm, sendtype, recvtype);
  const bool sends = dest != MPI_PROC_NULL, receives = source != MPI_PROC_NULL;
  if (sends)
    describe(made->send, sendbuf, sendcount, sendtype, dest, sendtag, comm, SendMode::standard);
  if (receives) describe(made->receive, recvbuf, recvcount, recvtype, source, recvtag, comm);
  return start_pair(*made, dest, sendtag, source, recvtag, comm, request);
}

Error isendrecv_replace(void* buf, int64_t count, Datatype& type, int dest, int sendtag, int source,
                        int recvtag, Comm& comm, MPI_Request* request) {
  const bool sends = dest != MPI_PROC_NULL, receives = source != MPI_PROC_NULL;
  auto copy = packed_copy(buf, sends ? count : 0, type);
  if (!copy) return std::move(copy).error();
  auto* made = new PairRequest(comm, type, type);
  made->outgoing = *std::move(copy);
  if (sends) {
    describe(made->send, buf, count, type, dest, sendtag, comm, SendMode::standard);
    made->send.payload = {made->outgoing.get(), made->send.payload.bytes(), &Layout::bytes()};
  }
  if (receives) describe(made->receive, buf, count, type, source, recvtag, comm);
  return start_pair(*made, dest, sendtag, source, recvtag, comm, request);
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
  if (strict) [[unlikely]]
    if (Error e = buffers.take({{receive.op.payload, true}})) return e;
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (strict) [[unlikely]] strict->acts();
  engine.receive_taken(std::move(taken->taken), receive.op);
  engine.wait_until([&] { return receive.done; });
  Error error = receive_status(receive.op, *taken->comm, type, status);
  if (error) error_comm() = Ref<Object>(taken->comm.get());
  return error;
}

Error imrecv(void* buf, int64_t count, Datatype& type, MPI_Message* message, MPI_Request* request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    return done_at_once(Request::Kind::recv, *process().world, true, request);
  }
  Message* const given = take(*message);
  if (!given) return message_taken();
  const Ref<Message> taken = Ref<Message>::adopt(given);
  auto* made = new RecvRequest(const_cast<Comm&>(*taken->comm), buf, count, type, MPI_PROC_NULL,
                               MPI_ANY_TAG);  // it has matched already
  if (strict) [[unlikely]]
    if (Error e = check_start(*made, {{made->op.payload, true}})) return e;
  *request = inventory::hand_out<Request>(*made);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  made->begin();
  if (strict) [[unlikely]] strict->acts();
  engine.receive_taken(std::move(taken->taken), made->op);
  return {};
}

}  // namespace tutti::mpi
