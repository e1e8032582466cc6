// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "engine/engine.hpp"
#include "mpi/check/sent_copy.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/process.hpp"
#include "mpi/p2p/bsend.hpp"
#include "mpi/p2p/operations.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;
using engine::Operation;
using engine::SendMode;
using engine::SendOperation;

class SendRequest final : public Request, public Pooled<SendRequest> {
 public:
  SendRequest(Comm& comm, Datatype& type) : Request(Kind::send, comm), type_(&type) {
    op.owner = this;
    op.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      auto& request = *static_cast<SendRequest*>(o.owner);
      request.finish(o.outcome.mpi_class == MPI_SUCCESS && !request.copy_);
    };
  }
  // Under --check=strict, before it starts.
  void send_a_copy() {
    copy_ = SentCopy::of(op.payload, strict->bytes_copied);
    if (copy_) op.payload = copy_->payload();
  }
  // The program hears of the end, perhaps before it gives up the request.
  void fill(MPI_Status& status) const override {
    fill_status(status, op.outcome);
    if (copy_) [[unlikely]]
      (void)copy_->judge();
  }
  Error error() const override {
    Error error = error_of(op.outcome);
    return error || !copy_ ? std::move(error) : strict->found(copy_->judge());
  }
  Error unheard_error() const override TUTTI_ENGINE_OWNED { return error_of(op.outcome); }
  Error cancel() override TUTTI_ENGINE_OWNED {
    if (!is_complete()) engine_of_process().cancel(op);
    return {};
  }
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    needs.awaits([&] { return fmt::format("a send with tag {}", op.match.tag); });
    mpi::add_needs(needs, op);
  }
  SendOperation op;

 private:
  const Ref<Datatype> type_;
  std::unique_ptr<SentCopy> copy_;  // under --check=strict
};
// The request of every send that was over when it started.
Request& sent_request() TUTTI_ENGINE_OWNED {
  static Request* const sent = []() TUTTI_ENGINE_OWNED {
    auto* made = new DoneRequest(Request::Kind::send, *current.world, false);
    made->live_for_ever();
    made->begin();
    made->finish(true);
    made->stays_complete();
    return made;
  }();
  return *sent;
}

// Short ones, which nothing has to be done for but once in so many.
constexpr int kSendsPerPass = 1024;

Error start_send(SendMode mode, const void* buf, int64_t count, const Datatype& type, int dest, int tag,
                 const Comm& comm, uint64_t signature = 0) {
  const Ref<Datatype> held = hold(type);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (mode == SendMode::standard && engine.send_at_once(comm.process_of(dest), {comm.user.context, comm.rank(), tag, 0},
                                                        type.payload(buf, count), type.pattern, signature)) {
    engine.over_at_once(kSendsPerPass);
    return {};
  }
  Blocking<SendOperation> send;
  describe(send.op, buf, count, type, dest, tag, comm, mode);
  send.op.signature = signature;
  engine.send(send.op);
  if (!send.done)
    engine.wait_until([&] { return send.done; },
                      [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                        if (!send.done) add_needs(needs, send.op);
                      });
  return error_of(send.op.outcome);
}

void note_send(const Comm& comm, int dest, int tag) {
  if (!strict) return;
  const Engine::Guard own(engine_of_process());
  strict->sends(comm, dest, tag);
}

// `signature`: of a ready send, for the receiver's --check=strict.
Error send_in_mode(SendMode mode, const void* buf, int64_t count, const Datatype& type, int dest, int tag,
                   const Comm& comm, uint64_t signature = 0) {
  if (dest == MPI_PROC_NULL) return {};
  if (!watches_buffers) [[likely]]
    return start_send(mode, buf, count, type, dest, tag, comm);
  TakenBuffers taken;
  if (Error e = taken.take({{type.payload(buf, count)}})) return e;
  note_send(comm, dest, tag);
  return start_send(mode, buf, count, type, dest, tag, comm, signature);
}

[[gnu::always_inline]] inline Error isend_in_mode(SendMode mode, const void* buf, int64_t count, Datatype& type,
                                                  int dest, int tag, Comm& comm, MPI_Request* request,
                                                  uint64_t signature = 0) {
  if (dest == MPI_PROC_NULL) return done_at_once(Request::Kind::send, comm, true, request);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (mode == SendMode::standard && !watches_buffers &&
      engine.send_at_once(comm.process_of(dest), {comm.user.context, comm.rank(), tag, 0}, type.payload(buf, count),
                          type.pattern)) {
    *request = handle_of<Request>(sent_request());
    return {};
  }
  auto* made = new SendRequest(comm, type);
  describe(made->op, buf, count, type, dest, tag, comm, mode);
  if (watches_buffers) [[unlikely]]
    if (Error e = check_start(*made, {{made->op.payload}})) return e;
  if (strict) [[unlikely]] {
    strict->sends(comm, dest, tag);
    made->op.signature = signature;
    made->send_a_copy();
  }
  *request = inventory::hand_out<Request>(*made);
  made->begin();
  engine.send(made->op);
  return {};
}

}  // namespace

Error send(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  return send_in_mode(SendMode::standard, buf, count, type, dest, tag, comm);
}
Error ssend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  return send_in_mode(SendMode::synchronous, buf, count, type, dest, tag, comm);
}
Error rsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  return send_in_mode(SendMode::standard, buf, count, type, dest, tag, comm, Strict::kReady);
}
Error bsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm) {
  if (dest == MPI_PROC_NULL) return {};
  if (watches_buffers) [[unlikely]] {
    TakenBuffers taken;
    if (Error e = taken.take({{type.payload(buf, count)}})) return e;
    note_send(comm, dest, tag);
  }
  const Engine::Guard own(engine_of_process());
  return send_buffer_for(comm).send(buf, count, type, dest, tag, comm);
}

Error isend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return isend_in_mode(SendMode::standard, buf, count, type, dest, tag, comm, request);
}
Error issend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return isend_in_mode(SendMode::synchronous, buf, count, type, dest, tag, comm, request);
}
Error irsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  return isend_in_mode(SendMode::standard, buf, count, type, dest, tag, comm, request, Strict::kReady);
}
Error ibsend(const void* buf, int64_t count, Datatype& type, int dest, int tag, Comm& comm, MPI_Request* request) {
  if (Error e = bsend(buf, count, type, dest, tag, comm)) return e;
  return done_at_once(Request::Kind::send, comm, dest == MPI_PROC_NULL, request);
}

}  // namespace tutti::mpi
