// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective.hpp"

#include "base/flight.hpp"
#include "contract/ledger.hpp"
#include "mpi/api_collective.hpp"
#include "mpi/collective_signature.hpp"

namespace tutti::mpi {
namespace {

using coll::Call;
using coll::Collective;

Error outcome_of(const coll::Execution& execution) {
  if (execution.mpi_class == MPI_SUCCESS) return {};
  if (execution.mpi_class == MPI_ERR_TRUNCATE)
    return failure(MPI_ERR_TRUNCATE,
                   "a rank sent more than this rank's count and datatype receive: the ranks' "
                   "counts and datatypes do not fit together");
  return failure(execution.mpi_class, "a message of the collective could not be carried");
}

// A nonblocking collective under way.
class CollectiveRequest final : public Request, private contract::Abandonable {
 public:
  CollectiveRequest(Comm& comm, Prepared given, std::function<Error()> then)
      : Request(Kind::collective, comm), prepared(std::move(given)), then_(std::move(then)) {
    prepared.call.in_types = prepared.in_types;
    prepared.call.out_types = prepared.out_types;
  }

  void start(std::unique_ptr<coll::Execution> execution) {
    execution_ = std::move(execution);
    execution_->owner = this;
    execution_->on_complete = [](coll::Execution& done) {
      static_cast<CollectiveRequest*>(done.owner)->over();
    };
    begin();
    if (contract::Ledger* ledger = comm->hidden.ledger) ledger->add(*this);
    coll::start(*execution_);
  }
  void fill(MPI_Status& status) const override { fill_empty(status); }
  void add_open_needs(engine::Condition& needs) const override {
    needs.all();
    execution_->add_needs(needs);
    needs.end();
  }
  Error error() const override {
    if (!failed_)
      if (Error e = outcome_of(*execution_)) return e;
    return failed_ ? Error(failed_.mpi_class(), failed_.message()) : Error();
  }
  Error cancel() override {
    return failure(MPI_ERR_REQUEST,
                   "the request belongs to a nonblocking collective, which cannot be cancelled (the "
                   "standard, section 6.12)");
  }

  Prepared prepared;

 private:
  void over() {
    contract::Ledger* ledger = comm->hidden.ledger;
    if (ledger && ledger->suspected()) {  // what came may be of another call: not before it is known
      held_ = true;
      return;
    }
    if (ledger && !abandoned_) ledger->remove(*this);
    if (abandoned_) {
      failed_ = ledger->error();
    } else if (then_) {
      failed_ = then_();
    }
    finish();
  }
  void abandon() override {
    abandoned_ = true;
    if (held_) return over();
    execution_->abandon(MPI_ERR_OTHER);
  }
  void resume() override {
    if (std::exchange(held_, false)) return over();
    execution_->resume();
  }
  bool held_ = false;       // complete, but for the word of the contract checker
  bool abandoned_ = false;
  std::unique_ptr<coll::Execution> execution_;
  Error failed_;  // of then_
  const std::function<Error()> then_;
};

// ---- arguments. `call` refers to types and operations by plain pointers; `uses` keeps them.

Ref<Object> use(const Object& object) { return Ref<Object>(const_cast<Object*>(&object)); }

void set_in(Prepared& p, const void* buf, int64_t count, const Datatype* type) {
  p.call.in = buf;
  p.call.in_count = count;
  if (!type) return;
  p.call.in_layout = type->layout.get();
  p.call.in_type = type;
  p.uses.add(use(*type));
}

void set_out(Prepared& p, void* buf, int64_t count, const Datatype* type) {
  p.call.out = buf;
  p.call.out_count = count;
  if (!type) return;
  p.call.out_layout = type->layout.get();
  p.call.out_type = type;
  p.uses.add(use(*type));
}

Error not_in_place(const void* buf, const char* argument, const char* where) {
  if (buf != MPI_IN_PLACE) return {};
  return failure(MPI_ERR_BUFFER, "MPI_IN_PLACE is allowed {} only (argument {})", where, argument);
}

// The two buffers of a call must not be one, unless MPI_IN_PLACE says so (section 6.2).
// Other types may have other places from the same address on.
Error not_aliased(const void* in, const void* out, int64_t count, const Datatype* in_type,
                  const Datatype* out_type) {
  if (in != out || in == nullptr || count == 0) return {};
  if (in_type != out_type || !in_type || in_type->layout->size() == 0) return {};
  return failure(MPI_ERR_BUFFER,
                 "the send and the receive buffer are the same: pass MPI_IN_PLACE instead");
}

Error array_given(const Ints& array, const char* argument) {
  if (array) return {};
  return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
}

Error counts_valid(const Ints& counts, int n, const char* argument) {
  if (Error e = array_given(counts, argument)) return e;
  for (int i = 0; i < n; ++i)
    if (counts[i] < 0)
      return failure(MPI_ERR_COUNT, "count {} for rank {} is negative (argument {})", counts[i], i,
                     argument);
  return {};
}

Result<Prepared> barrier_call(Comm&) { return Prepared{.call = {.kind = Collective::barrier}}; }

Result<Prepared> bcast_call(void* buffer, int64_t count, const Datatype& type, int root, Comm&) {
  if (Error e = not_in_place(buffer, "buffer", "in other collectives")) return e;
  Prepared p{.call = {.kind = Collective::bcast, .root = root}};
  set_out(p, buffer, count, &type);
  return p;
}

Result<Prepared> gather_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                             void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                             Comm& comm) {
  Prepared p{.call = {.kind = Collective::gather, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(sendbuf, "sendbuf", "at the root")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  if (at_root) {
    if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
    set_out(p, recvbuf, recvcount, recvtype);
    if (Error e = not_aliased(sendbuf, recvbuf, recvcount, sendtype, recvtype)) return e;
  }
  return p;
}

Result<Prepared> gatherv_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                              void* recvbuf, Ints recvcounts, Ints displs, const Datatype* recvtype,
                              int root, Comm& comm) {
  Prepared p{.call = {.kind = Collective::gatherv, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(sendbuf, "sendbuf", "at the root")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  if (at_root) {
    if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
    if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
    if (Error e = array_given(displs, "displs")) return e;
    set_out(p, recvbuf, 0, recvtype);
    p.call.out_counts = recvcounts;
    p.call.out_displacements = displs;
  }
  return p;
}

Result<Prepared> scatter_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                              void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root,
                              Comm& comm) {
  Prepared p{.call = {.kind = Collective::scatter, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = recvbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(recvbuf, "recvbuf", "at the root")) return e;
  if (!p.call.in_place) set_out(p, recvbuf, recvcount, recvtype);
  if (at_root) {
    if (Error e = not_in_place(sendbuf, "sendbuf", "as recvbuf")) return e;
    set_in(p, sendbuf, sendcount, sendtype);
    if (Error e = not_aliased(sendbuf, recvbuf, sendcount, sendtype, recvtype)) return e;
  }
  return p;
}

Result<Prepared> scatterv_call(const void* sendbuf, Ints sendcounts, Ints displs,
                               const Datatype* sendtype, void* recvbuf, int64_t recvcount,
                               const Datatype* recvtype, int root, Comm& comm) {
  Prepared p{.call = {.kind = Collective::scatterv, .root = root}};
  const bool at_root = comm.rank() == root;
  p.call.in_place = recvbuf == MPI_IN_PLACE;
  if (!at_root)
    if (Error e = not_in_place(recvbuf, "recvbuf", "at the root")) return e;
  if (!p.call.in_place) set_out(p, recvbuf, recvcount, recvtype);
  if (at_root) {
    if (Error e = not_in_place(sendbuf, "sendbuf", "as recvbuf")) return e;
    if (Error e = counts_valid(sendcounts, comm.size(), "sendcounts")) return e;
    if (Error e = array_given(displs, "displs")) return e;
    set_in(p, sendbuf, 0, sendtype);
    p.call.in_counts = sendcounts;
    p.call.in_displacements = displs;
  }
  return p;
}

Result<Prepared> allgather_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                                void* recvbuf, int64_t recvcount, const Datatype& recvtype, Comm&) {
  Prepared p{.call = {.kind = Collective::allgather}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = not_aliased(sendbuf, recvbuf, recvcount, sendtype, &recvtype)) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  set_out(p, recvbuf, recvcount, &recvtype);
  return p;
}

Result<Prepared> allgatherv_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                                 void* recvbuf, Ints recvcounts, Ints displs,
                                 const Datatype& recvtype, Comm& comm) {
  Prepared p{.call = {.kind = Collective::allgatherv}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  if (Error e = array_given(displs, "displs")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  set_out(p, recvbuf, 0, &recvtype);
  p.call.out_counts = recvcounts;
  p.call.out_displacements = displs;
  return p;
}

Result<Prepared> alltoall_call(const void* sendbuf, int64_t sendcount, const Datatype* sendtype,
                               void* recvbuf, int64_t recvcount, const Datatype& recvtype, Comm&) {
  Prepared p{.call = {.kind = Collective::alltoall}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (Error e = not_aliased(sendbuf, recvbuf, recvcount, sendtype, &recvtype)) return e;
  if (!p.call.in_place) set_in(p, sendbuf, sendcount, sendtype);
  set_out(p, recvbuf, recvcount, &recvtype);
  return p;
}

Result<Prepared> alltoallv_call(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                const Datatype* sendtype, void* recvbuf, Ints recvcounts,
                                Ints rdispls, const Datatype& recvtype, Comm& comm) {
  Prepared p{.call = {.kind = Collective::alltoallv}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) {
    if (Error e = counts_valid(sendcounts, comm.size(), "sendcounts")) return e;
    if (Error e = array_given(sdispls, "sdispls")) return e;
    set_in(p, sendbuf, 0, sendtype);
    p.call.in_counts = sendcounts;
    p.call.in_displacements = sdispls;
  }
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  if (Error e = array_given(rdispls, "rdispls")) return e;
  set_out(p, recvbuf, 0, &recvtype);
  p.call.out_counts = recvcounts;
  p.call.out_displacements = rdispls;
  return p;
}

Error resolve_types(const MPI_Datatype* handles, int n, const char* argument, Prepared& p,
                    std::vector<const Layout*>& layouts, std::vector<const void*>& types) {
  if (!handles) return failure(MPI_ERR_ARG, "the array is NULL (argument {})", argument);
  for (int i = 0; i < n; ++i) {
    const Datatype* type = resolve<Datatype>(handles[i]);
    if (!type || !type->committed)
      return failure(MPI_ERR_TYPE, "the datatype for rank {} is {} (argument {})", i,
                     type ? "not committed" : "invalid", argument);
    layouts.push_back(type->layout.get());
    types.push_back(type);
    p.uses.add(use(*type));
  }
  return {};
}

Result<Prepared> alltoallw_call(const void* sendbuf, Ints sendcounts, Ints sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf, Ints recvcounts,
                                Ints rdispls, const MPI_Datatype* recvtypes, Comm& comm) {
  Prepared p{.call = {.kind = Collective::alltoallw, .in = sendbuf, .out = recvbuf}};
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) {
    if (Error e = counts_valid(sendcounts, comm.size(), "sendcounts")) return e;
    if (Error e = array_given(sdispls, "sdispls")) return e;
    if (Error e = resolve_types(sendtypes, comm.size(), "sendtypes", p, p.in_layouts, p.in_types)) return e;
    p.call.in_counts = sendcounts;
    p.call.in_displacements = sdispls;
    p.call.in_layouts = p.in_layouts;
    p.call.in_types = p.in_types;
  }
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  if (Error e = array_given(rdispls, "rdispls")) return e;
  if (Error e = resolve_types(recvtypes, comm.size(), "recvtypes", p, p.out_layouts, p.out_types)) return e;
  p.call.out_counts = recvcounts;
  p.call.out_displacements = rdispls;
  p.call.out_layouts = p.out_layouts;
  p.call.out_types = p.out_types;
  return p;
}

// The reductions: one vector in, one out, of the same type.
Result<Prepared> reduction_call(Collective kind, const void* sendbuf, void* recvbuf, int64_t count,
                                const Datatype& type, const Op& op) {
  Prepared p{.call = {.kind = kind}};
  Result<coll::Reduction> reduction = bind(op, type);
  if (!reduction) return std::move(reduction).error();
  p.call.reduction = *reduction;
  // A function of a program that has not asked for concurrency meets none.
  p.call.reduction.on_application_threads =
      !op.predefined && process().thread_level < MPI_THREAD_MULTIPLE;
  p.op = &op;
  p.call.in_place = sendbuf == MPI_IN_PLACE;
  if (Error e = not_in_place(recvbuf, "recvbuf", "as sendbuf")) return e;
  if (!p.call.in_place) set_in(p, sendbuf, count, &type);
  set_out(p, recvbuf, count, &type);
  p.uses.add(use(op));
  return p;
}

Result<Prepared> reduce_call(const void* sendbuf, void* recvbuf, int64_t count,
                             const Datatype& type, const Op& op, int root, Comm& comm) {
  const bool at_root = comm.rank() == root;
  if (at_root) {
    if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  } else if (Error e = not_in_place(sendbuf, "sendbuf", "at the root")) {
    return e;
  }
  Result<Prepared> p = reduction_call(Collective::reduce, sendbuf, at_root ? recvbuf : nullptr,
                                      count, type, op);
  if (p) p->call.root = root;
  return p;
}

Result<Prepared> allreduce_call(const void* sendbuf, void* recvbuf, int64_t count,
                                const Datatype& type, const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  return reduction_call(Collective::allreduce, sendbuf, recvbuf, count, type, op);
}

Result<Prepared> reduce_scatter_call(const void* sendbuf, void* recvbuf, Ints recvcounts,
                                     const Datatype& type, const Op& op, Comm& comm) {
  if (Error e = counts_valid(recvcounts, comm.size(), "recvcounts")) return e;
  Result<Prepared> p = reduction_call(Collective::reduce_scatter, sendbuf, recvbuf, 0, type, op);
  if (p) p->call.out_counts = recvcounts;
  return p;
}

Result<Prepared> reduce_scatter_block_call(const void* sendbuf, void* recvbuf, int64_t recvcount,
                                           const Datatype& type, const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, recvcount, &type, &type)) return e;
  return reduction_call(Collective::reduce_scatter_block, sendbuf, recvbuf, recvcount, type, op);
}

Result<Prepared> scan_call(const void* sendbuf, void* recvbuf, int64_t count, const Datatype& type,
                           const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  return reduction_call(Collective::scan, sendbuf, recvbuf, count, type, op);
}

Result<Prepared> exscan_call(const void* sendbuf, void* recvbuf, int64_t count,
                             const Datatype& type, const Op& op, Comm&) {
  if (Error e = not_aliased(sendbuf, recvbuf, count, &type, &type)) return e;
  return reduction_call(Collective::exscan, sendbuf, recvbuf, count, type, op);
}

Error run(Result<Prepared> prepared, Comm& comm) {
  if (!prepared) return std::move(prepared).error();
  if (comm.hidden.ledger) sign(prepared->call, prepared->op, comm);
  return run(comm, prepared->call);
}

Error start(Result<Prepared> prepared, Comm& comm, MPI_Request* request) {
  if (!prepared) return std::move(prepared).error();
  if (comm.hidden.ledger) sign(prepared->call, prepared->op, comm);
  return start(comm, *std::move(prepared), request);
}

// Something is wrong on the communicator: waits until it is known what. No error: it was nothing, or
// has only been reported.
[[gnu::cold]] Error settle(const contract::Ledger& ledger) {
  engine_of_process().wait_until([&] { return !ledger.suspected(); });
  return ledger.broken() ? ledger.error() : Error();
}

[[gnu::cold]] Error end_disturbed(coll::Execution& execution, const contract::Ledger& ledger) {
  engine::Engine& engine = engine_of_process();
  for (;;) {
    if (Error e = settle(ledger)) {
      if (execution.running()) execution.abandon(e.mpi_class());
      engine.wait_until([&] { return !execution.running(); });
      return e;
    }
    execution.resume();
    engine.wait_until([&] { return !execution.running() || ledger.disturbed(); });
    if (!execution.running() && !ledger.disturbed()) return outcome_of(execution);
  }
}

// For the flight record: the call that this thread is in is the communicator's next.
void note_serial(const Comm& comm) {
  flight::Call* call = flight::now();
  if (!call) return;
  call->context = comm.context();
  call->serial = comm.hidden.next_serial + 1;
}

}  // namespace

Error run(Comm& comm, const Call& call) {
  const engine::Engine::Guard own(engine_of_process());
  const contract::Ledger* ledger = comm.hidden.ledger;
  if (ledger && ledger->disturbed()) [[unlikely]]
    if (Error e = settle(*ledger)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  note_serial(comm);
  coll::run(**execution);
  if (ledger && ledger->disturbed()) [[unlikely]]
    return end_disturbed(**execution, *ledger);
  Error outcome = outcome_of(**execution);
  coll::keep(comm.planner, *std::move(execution));
  return outcome;
}

Error start(Comm& comm, Prepared prepared, MPI_Request* request, std::function<Error()> then) {
  auto made = Ref<CollectiveRequest>::adopt(
      new CollectiveRequest(comm, std::move(prepared), std::move(then)));
  Call& call = made->prepared.call;
  call.signature = contract::in_form(call.signature, contract::Form::nonblocking);
  const engine::Engine::Guard own(engine_of_process());
  const contract::Ledger* ledger = comm.hidden.ledger;
  if (ledger && ledger->disturbed()) [[unlikely]]
    if (Error e = settle(*ledger)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  made->retain();  // the handle's
  *request = handle_of<Request>(*made);
  note_serial(comm);
  made->start(*std::move(execution));
  return {};
}

Call allgather_bytes(const void* in, void* out, int64_t bytes_per_rank) {
  return {.kind = Collective::allgather,
          .in = in,
          .out = out,
          .in_count = bytes_per_rank,
          .out_count = bytes_per_rank,
          .in_layout = &Layout::bytes(),
          .out_layout = &Layout::bytes()};
}

Call bcast_bytes(void* data, int64_t bytes, int root) {
  return {.kind = Collective::bcast,
          .root = root,
          .out = data,
          .out_count = bytes,
          .out_layout = &Layout::bytes()};
}

// ---- the two forms of each

Error barrier(Comm& comm) {
  return run(barrier_call(comm), comm);
}
Error ibarrier(Comm& comm, MPI_Request* request) {
  return start(barrier_call(comm), comm, request);
}
Error bcast(void* buffer, int64_t count, Datatype& type, int root, Comm& comm) {
  return run(bcast_call(buffer, count, type, root, comm), comm);
}
Error ibcast(void* buffer, int64_t count, Datatype& type, int root, Comm& comm,
             MPI_Request* request) {
  return start(bcast_call(buffer, count, type, root, comm), comm, request);
}
Error gather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) {
  return run(gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), comm);
}
Error igather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
              MPI_Request* request) {
  return start(gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), comm, request);
}
Error gatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm) {
  return run(gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm), comm);
}
Error igatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm,
               MPI_Request* request) {
  return start(gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm), comm, request);
}
Error scatter(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) {
  return run(scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), comm);
}
Error iscatter(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
               MPI_Request* request) {
  return start(scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), comm, request);
}
Error scatterv(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
               void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) {
  return run(scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm), comm);
}
Error iscatterv(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
                void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
                MPI_Request* request) {
  return start(scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm), comm, request);
}
Error allgather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, Comm& comm) {
  return run(allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm);
}
Error iallgather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 int64_t recvcount, Datatype& recvtype, Comm& comm, MPI_Request* request) {
  return start(allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm, request);
}
Error allgatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm) {
  return run(allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm), comm);
}
Error iallgatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm,
                  MPI_Request* request) {
  return start(allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm), comm, request);
}
Error alltoall(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               int64_t recvcount, Datatype& recvtype, Comm& comm) {
  return run(alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm);
}
Error ialltoall(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, Comm& comm, MPI_Request* request) {
  return start(alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm, request);
}
Error alltoallv(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm) {
  return run(alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), comm);
}
Error ialltoallv(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                 void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm,
                 MPI_Request* request) {
  return start(alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), comm, request);
}
Error alltoallw(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes,
                Comm& comm) {
  return run(alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), comm);
}
Error ialltoallw(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                 void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes,
                 Comm& comm, MPI_Request* request) {
  return start(alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), comm, request);
}
Error reduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, int root,
             Comm& comm) {
  return run(reduce_call(sendbuf, recvbuf, count, type, op, root, comm), comm);
}
Error ireduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, int root,
              Comm& comm, MPI_Request* request) {
  return start(reduce_call(sendbuf, recvbuf, count, type, op, root, comm), comm, request);
}
Error allreduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                Comm& comm) {
  return run(allreduce_call(sendbuf, recvbuf, count, type, op, comm), comm);
}
Error iallreduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                 Comm& comm, MPI_Request* request) {
  return start(allreduce_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}
Error reduce_scatter(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type, Op& op,
                     Comm& comm) {
  return run(reduce_scatter_call(sendbuf, recvbuf, recvcounts, type, op, comm), comm);
}
Error ireduce_scatter(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type, Op& op,
                      Comm& comm, MPI_Request* request) {
  return start(reduce_scatter_call(sendbuf, recvbuf, recvcounts, type, op, comm), comm, request);
}
Error reduce_scatter_block(const void* sendbuf, void* recvbuf, int64_t recvcount, Datatype& type,
                           Op& op, Comm& comm) {
  return run(reduce_scatter_block_call(sendbuf, recvbuf, recvcount, type, op, comm), comm);
}
Error ireduce_scatter_block(const void* sendbuf, void* recvbuf, int64_t recvcount, Datatype& type,
                            Op& op, Comm& comm, MPI_Request* request) {
  return start(reduce_scatter_block_call(sendbuf, recvbuf, recvcount, type, op, comm), comm, request);
}
Error scan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm) {
  return run(scan_call(sendbuf, recvbuf, count, type, op, comm), comm);
}
Error iscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm,
            MPI_Request* request) {
  return start(scan_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}
Error exscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm) {
  return run(exscan_call(sendbuf, recvbuf, count, type, op, comm), comm);
}
Error iexscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm,
              MPI_Request* request) {
  return start(exscan_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}

}  // namespace tutti::mpi
