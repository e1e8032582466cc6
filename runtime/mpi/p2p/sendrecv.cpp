// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives in one call.
#include <memory>
#include <new>
#include <utility>

#include "engine/engine.hpp"
#include "memory/movers.hpp"
#include "mpi/object/current.hpp"
#include "mpi/p2p/operations.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;
using engine::Operation;
using engine::RecvOperation;
using engine::SendMode;
using engine::SendOperation;

// MPI_Isendrecv: a send and a receive behind one request; the status is the receive's.
class PairRequest final : public Request, public Pooled<PairRequest> {
 public:
  PairRequest(Comm& comm, Datatype& sent, Datatype& received)
      : Request(Kind::recv, comm), sent_(&sent), received_(&received) {
    send.owner = receive.owner = this;
    send.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      auto& pair = *static_cast<PairRequest*>(o.owner);
      pair.sending_ = false;
      pair.one_over();
    };
    receive.on_complete = [](Operation& o) TUTTI_ENGINE_OWNED {
      auto& pair = *static_cast<PairRequest*>(o.owner);
      compare_types(o.outcome, *pair.received_);
      pair.receiving_ = false;
      pair.one_over();
    };
  }
  // Posts what is not to or from MPI_PROC_NULL.
  void start(Engine& engine, bool sends, bool receives) TUTTI_ENGINE_OWNED {
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
  Error error() const override { return error_of_both(AskedFrom::unowned); }
  Error unheard_error() const override TUTTI_ENGINE_OWNED { return error_of_both(AskedFrom::in_pass); }
  Error error_of_both(AskedFrom from) const {
    if (receives_)
      if (Error e = error_of_receive(
              receive.outcome, {*comm, *received_, receive.payload.count, receive.match.source, receive.match.tag},
              from))
        return e;
    return error_of(send.outcome);
  }
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED {
    needs.all();
    if (sending_) mpi::add_needs(needs, send);
    if (receives_ && receiving_) mpi::add_needs(needs, receive, *comm);
    needs.end();
  }
  Error cancel() override TUTTI_ENGINE_OWNED {
    return failure(MPI_ERR_REQUEST, "a combined send and receive cannot be cancelled");
  }

  SendOperation send;
  RecvOperation receive;
  std::unique_ptr<std::byte[]> outgoing;  // of MPI_Isendrecv_replace

 private:
  void one_over() TUTTI_ENGINE_OWNED {
    if (--under_way_ == 0) finish();
  }
  const Ref<Datatype> sent_, received_;
  int under_way_ = 0;
  bool receives_ = false, sending_ = false, receiving_ = false;
};

// A packed copy of what `buf` holds, since a receive is about to overwrite it.
Result<std::unique_ptr<std::byte[]>> packed_copy(const void* buf, int64_t count, const Datatype& type) {
  const Payload payload = type.payload(buf, count);
  std::unique_ptr<std::byte[]> copy(new (std::nothrow) std::byte[static_cast<size_t>(payload.bytes())]);
  if (!copy) return failure(MPI_ERR_NO_MEM, "there is no memory for a copy of the {} bytes to send", payload.bytes());
  memory::pack(payload, 0, copy.get(), payload.bytes());
  return copy;
}

Error start_pair(PairRequest& made, int dest, int sendtag, int source, int recvtag, const Comm& comm,
                 MPI_Request* request) {
  if (watches_buffers) [[unlikely]]
    if (Error e = check_start(made, {{made.send.payload}, {made.receive.payload, true}})) return e;
  *request = inventory::hand_out<Request>(made);
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (strict) [[unlikely]] {
    const BufferUse sent{made.send.payload};
    strict->keep(made, {&sent, 1}, {});
    strict->sends(comm, dest, sendtag);
    strict->looks(comm, source, recvtag);
  }
  made.start(engine, dest != MPI_PROC_NULL, source != MPI_PROC_NULL);
  return {};
}

}  // namespace

Error sendrecv(const void* sendbuf, int64_t sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
               int64_t recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, MPI_Status* status) {
  const Ref<Datatype> held[] = {hold(sendtype), hold(recvtype)};
  Blocking<SendOperation> send;
  Blocking<RecvOperation> receive;
  send.done = dest == MPI_PROC_NULL;
  receive.done = source == MPI_PROC_NULL;
  if (!send.done) describe(send.op, sendbuf, sendcount, sendtype, dest, sendtag, comm, SendMode::standard);
  if (!receive.done) describe(receive.op, recvbuf, recvcount, recvtype, source, recvtag, comm);
  TakenBuffers taken;
  if (watches_buffers) [[unlikely]]
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
                    [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
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

Error sendrecv_replace(void* buf, int64_t count, Datatype& type, int dest, int sendtag, int source, int recvtag,
                       Comm& comm, MPI_Status* status) {
  MPI_Request request;
  if (Error e = isendrecv_replace(buf, count, type, dest, sendtag, source, recvtag, comm, &request)) return e;
  const Ref<Request> pair = Ref<Request>::adopt(resolve<Request>(request));
  {
    Engine& engine = engine_of_process();
    const Engine::Guard own(engine);
    engine.wait_until([&] { return pair->is_complete(); },
                      [&](life::Condition& needs) TUTTI_ENGINE_OWNED { pair->add_needs(needs); });
  }
  if (status) pair->fill(*status);
  return pair->error();
}

Error isendrecv(const void* sendbuf, int64_t sendcount, Datatype& sendtype, int dest, int sendtag, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, int source, int recvtag, Comm& comm, MPI_Request* request) {
  auto* made = new PairRequest(comm, sendtype, recvtype);
  const bool sends = dest != MPI_PROC_NULL, receives = source != MPI_PROC_NULL;
  if (sends) describe(made->send, sendbuf, sendcount, sendtype, dest, sendtag, comm, SendMode::standard);
  if (receives) describe(made->receive, recvbuf, recvcount, recvtype, source, recvtag, comm);
  return start_pair(*made, dest, sendtag, source, recvtag, comm, request);
}

Error isendrecv_replace(void* buf, int64_t count, Datatype& type, int dest, int sendtag, int source, int recvtag,
                        Comm& comm, MPI_Request* request) {
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

}  // namespace tutti::mpi
