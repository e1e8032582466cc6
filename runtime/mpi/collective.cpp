// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective.hpp"

#include "base/flight.hpp"
#include "contract/ledger.hpp"
#include "mpi/api_collective.hpp"
#include "mpi/collective_arguments.hpp"
#include "mpi/collective_signature.hpp"
#include "mpi/inventory.hpp"
#include "mpi/strict.hpp"

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
    return failure(
        MPI_ERR_REQUEST,
        "the request belongs to a nonblocking collective, which cannot be cancelled (the "
        "standard, section 6.12)");
  }

  Prepared prepared;

 private:
  void over() {
    contract::Ledger* ledger = comm->hidden.ledger;
    if (ledger &&
        ledger->suspected()) {  // what came may be of another call: not before it is known
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
  bool held_ = false;  // complete, but for the word of the contract checker
  bool abandoned_ = false;
  std::unique_ptr<coll::Execution> execution_;
  Error failed_;  // of then_
  const std::function<Error()> then_;
};

// Nothing to complain of in the buffers of a call whose other arguments are good.
bool are_apart(const void* in, const void* out) {
  return in != out && out != MPI_IN_PLACE;
}

Likeness likeness_of(Collective kind, const void* sendbuf, int64_t count, const Datatype& type,
                     const Op& op, int root = 0) {
  return {.kind = kind,
          .in_place = sendbuf == MPI_IN_PLACE,
          .root = root,
          .op = &op,
          .in_type = &type,
          .in_count = count};
}

Error run_call(Comm& comm, const Call& call, const Likeness* like);

Error run(Result<Prepared> prepared, Comm& comm, const Likeness* like = nullptr) {
  if (!prepared) return std::move(prepared).error();
  if (comm.hidden.ledger) sign(prepared->call, prepared->op, comm);
  if (!strict) [[likely]]
    return run_call(comm, prepared->call, like);
  TakenBuffers taken;
  if (Error e = taken.take(prepared->call, comm)) return e;
  return run_call(comm, prepared->call, nullptr);
}

// Something is wrong on the communicator: waits until it is known what. No error: it was nothing,
// or has only been reported.
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

// This thread is inside a blocking call, with the engine owned on both ends.
class Inside {
 public:
  Inside(contract::Ledger* ledger, const flight::Call* call) : ledger_(ledger) {
    if (ledger_) ledger_->enter(call);
  }
  ~Inside() {
    if (ledger_) ledger_->leave();
  }
  Inside(const Inside&) = delete;

 private:
  contract::Ledger* const ledger_;
};

// For the flight record: the call that this thread is in is the communicator's next.
const flight::Call* note_serial(const Comm& comm) {
  flight::Call* call = flight::now();
  if (!call) return nullptr;
  flight::set(call->context, comm.context());
  flight::set(call->serial, comm.hidden.next_serial + 1);
  return call;
}

// Runs what is prepared, to its end. The engine is owned.
Error run_through(Comm& comm, coll::Execution& execution) {
  contract::Ledger* const ledger = comm.hidden.ledger;
  const Inside inside(ledger, note_serial(comm));
  coll::run(execution);
  if (ledger && ledger->disturbed()) [[unlikely]]
    return end_disturbed(execution, *ledger);
  return outcome_of(execution);
}

Error run_call(Comm& comm, const Call& call, const Likeness* like) {
  const engine::Engine::Guard own(engine_of_process());
  if (strict) [[unlikely]]
    strict->acts();
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (ledger) ledger->expect_nobody_inside();
  if (ledger && ledger->disturbed()) [[unlikely]]
    if (Error e = settle(*ledger)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  Error outcome = run_through(comm, **execution);
  if (!outcome && !(like && comm.repeated.keep(*like, *execution)))
    coll::keep(comm.planner, *std::move(execution));
  return outcome;
}

// A call like an earlier one: true if it has been run.
bool run_again(Comm& comm, const Likeness& like, const void* in, void* out, Error& outcome) {
  if (strict) [[unlikely]]
    return false;
  const engine::Engine::Guard own(engine_of_process());
  contract::Ledger* const ledger = comm.hidden.ledger;
  coll::Execution* known = comm.repeated.find(like);
  if (!known) return false;
  if (ledger) ledger->expect_nobody_inside();
  if (ledger && ledger->disturbed()) [[unlikely]]
    return false;
  known->rebind(in, out);
  outcome = run_through(comm, *known);
  return true;
}

// A blocking call, made by `make` unless it is like an earlier one. `alike`: what it has in common
// with such a one suffices to know that its arguments are good.
template <class Make>
Error run_or_repeat(Comm& comm, const Likeness& like, const void* in, void* out, bool alike,
                    Make&& make) {
  Error outcome;
  if (alike && run_again(comm, like, in, out, outcome)) return outcome;
  return run(make(), comm, &like);
}

}  // namespace

Error run(Comm& comm, const Call& call) {
  return run_call(comm, call, nullptr);
}

Error start(Comm& comm, Prepared prepared, MPI_Request* request, std::function<Error()> then) {
  auto made = Ref<CollectiveRequest>::adopt(
      new CollectiveRequest(comm, std::move(prepared), std::move(then)));
  Call& call = made->prepared.call;
  call.signature = contract::in_form(call.signature, contract::Form::nonblocking);
  const engine::Engine::Guard own(engine_of_process());
  if (strict) [[unlikely]]
    strict->acts();
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (ledger) ledger->expect_nobody_inside();
  if (ledger && ledger->disturbed()) [[unlikely]]
    if (Error e = settle(*ledger)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  made->retain();  // the handle's
  *request = inventory::hand_out<Request>(*made);
  note_serial(comm);
  made->start(*std::move(execution));
  return {};
}

Error start_checked(Result<Prepared> prepared, Comm& comm, MPI_Request* request) {
  if (!prepared) return std::move(prepared).error();
  if (comm.hidden.ledger) sign(prepared->call, prepared->op, comm);
  if (!strict) [[likely]]
    return start(comm, *std::move(prepared), request);
  TakenBuffers taken;  // until there is a request
  if (Error e = taken.take(prepared->call, comm)) return e;
  if (Error e = start(comm, *std::move(prepared), request)) return e;
  strict->outstanding().give_to(&taken, resolve<Request>(*request));
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
  return run_or_repeat(comm, {.kind = Collective::barrier}, nullptr, nullptr, true,
                       [&] { return barrier_call(comm); });
}
Error ibarrier(Comm& comm, MPI_Request* request) {
  return start_checked(barrier_call(comm), comm, request);
}
Error bcast(void* buffer, int64_t count, Datatype& type, int root, Comm& comm) {
  const Likeness like{
      .kind = Collective::bcast, .root = root, .out_type = &type, .out_count = count};
  return run_or_repeat(comm, like, nullptr, buffer, buffer != MPI_IN_PLACE,
                       [&] { return bcast_call(buffer, count, type, root, comm); });
}
Error ibcast(void* buffer, int64_t count, Datatype& type, int root, Comm& comm,
             MPI_Request* request) {
  return start_checked(bcast_call(buffer, count, type, root, comm), comm, request);
}
Error gather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) {
  return run(gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
             comm);
}
Error igather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
              MPI_Request* request) {
  return start_checked(
      gather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), comm,
      request);
}
Error gatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm) {
  return run(
      gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
      comm);
}
Error igatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               Ints recvcounts, Ints displs, const Datatype* recvtype, int root, Comm& comm,
               MPI_Request* request) {
  return start_checked(
      gatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
      comm, request);
}
Error scatter(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) {
  return run(scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
             comm);
}
Error iscatter(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
               MPI_Request* request) {
  return start_checked(
      scatter_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), comm,
      request);
}
Error scatterv(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
               void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) {
  return run(scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype,
                           root, comm),
             comm);
}
Error iscatterv(const void* sendbuf, Ints sendcounts, Ints displs, const Datatype* sendtype,
                void* recvbuf, int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
                MPI_Request* request) {
  return start_checked(scatterv_call(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                     recvtype, root, comm),
                       comm, request);
}
Error allgather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, Comm& comm) {
  const Likeness like{.kind = Collective::allgather,
                      .in_place = sendbuf == MPI_IN_PLACE,
                      .in_type = sendtype,
                      .out_type = &recvtype,
                      .in_count = sendcount,
                      .out_count = recvcount};
  return run_or_repeat(comm, like, sendbuf, recvbuf, are_apart(sendbuf, recvbuf), [&] {
    return allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}
Error iallgather(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 int64_t recvcount, Datatype& recvtype, Comm& comm, MPI_Request* request) {
  return start_checked(
      allgather_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm,
      request);
}
Error allgatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm) {
  return run(
      allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
      comm);
}
Error iallgatherv(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  Ints recvcounts, Ints displs, Datatype& recvtype, Comm& comm,
                  MPI_Request* request) {
  return start_checked(
      allgatherv_call(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
      comm, request);
}
Error alltoall(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               int64_t recvcount, Datatype& recvtype, Comm& comm) {
  const Likeness like{.kind = Collective::alltoall,
                      .in_place = sendbuf == MPI_IN_PLACE,
                      .in_type = sendtype,
                      .out_type = &recvtype,
                      .in_count = sendcount,
                      .out_count = recvcount};
  return run_or_repeat(comm, like, sendbuf, recvbuf, are_apart(sendbuf, recvbuf), [&] {
    return alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}
Error ialltoall(const void* sendbuf, int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                int64_t recvcount, Datatype& recvtype, Comm& comm, MPI_Request* request) {
  return start_checked(
      alltoall_call(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), comm,
      request);
}
Error alltoallv(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm) {
  return run(alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                            recvtype, comm),
             comm);
}
Error ialltoallv(const void* sendbuf, Ints sendcounts, Ints sdispls, const Datatype* sendtype,
                 void* recvbuf, Ints recvcounts, Ints rdispls, Datatype& recvtype, Comm& comm,
                 MPI_Request* request) {
  return start_checked(alltoallv_call(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                      rdispls, recvtype, comm),
                       comm, request);
}
Error alltoallw(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes,
                Comm& comm) {
  return run(alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,
                            recvtypes, comm),
             comm);
}
Error ialltoallw(const void* sendbuf, Ints sendcounts, Ints sdispls, const MPI_Datatype* sendtypes,
                 void* recvbuf, Ints recvcounts, Ints rdispls, const MPI_Datatype* recvtypes,
                 Comm& comm, MPI_Request* request) {
  return start_checked(alltoallw_call(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                      rdispls, recvtypes, comm),
                       comm, request);
}
Error reduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, int root,
             Comm& comm) {
  const Likeness like = likeness_of(Collective::reduce, sendbuf, count, type, op, root);
  const bool at_root = comm.rank() == root;
  return run_or_repeat(comm, like, sendbuf, at_root ? recvbuf : nullptr,
                       at_root ? are_apart(sendbuf, recvbuf) : sendbuf != MPI_IN_PLACE,
                       [&] { return reduce_call(sendbuf, recvbuf, count, type, op, root, comm); });
}
Error ireduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, int root,
              Comm& comm, MPI_Request* request) {
  return start_checked(reduce_call(sendbuf, recvbuf, count, type, op, root, comm), comm, request);
}
Error allreduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                Comm& comm) {
  const Likeness like = likeness_of(Collective::allreduce, sendbuf, count, type, op);
  return run_or_repeat(comm, like, sendbuf, recvbuf, are_apart(sendbuf, recvbuf),
                       [&] { return allreduce_call(sendbuf, recvbuf, count, type, op, comm); });
}
Error iallreduce(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
                 Comm& comm, MPI_Request* request) {
  return start_checked(allreduce_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}
Error reduce_scatter(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type, Op& op,
                     Comm& comm) {
  return run(reduce_scatter_call(sendbuf, recvbuf, recvcounts, type, op, comm), comm);
}
Error ireduce_scatter(const void* sendbuf, void* recvbuf, Ints recvcounts, Datatype& type, Op& op,
                      Comm& comm, MPI_Request* request) {
  return start_checked(reduce_scatter_call(sendbuf, recvbuf, recvcounts, type, op, comm), comm,
                       request);
}
Error reduce_scatter_block(const void* sendbuf, void* recvbuf, int64_t recvcount, Datatype& type,
                           Op& op, Comm& comm) {
  return run(reduce_scatter_block_call(sendbuf, recvbuf, recvcount, type, op, comm), comm);
}
Error ireduce_scatter_block(const void* sendbuf, void* recvbuf, int64_t recvcount, Datatype& type,
                            Op& op, Comm& comm, MPI_Request* request) {
  return start_checked(reduce_scatter_block_call(sendbuf, recvbuf, recvcount, type, op, comm), comm,
                       request);
}
Error scan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm) {
  return run(scan_call(sendbuf, recvbuf, count, type, op, comm), comm);
}
Error iscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm,
            MPI_Request* request) {
  return start_checked(scan_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}
Error exscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op,
             Comm& comm) {
  return run(exscan_call(sendbuf, recvbuf, count, type, op, comm), comm);
}
Error iexscan(const void* sendbuf, void* recvbuf, int64_t count, Datatype& type, Op& op, Comm& comm,
              MPI_Request* request) {
  return start_checked(exscan_call(sendbuf, recvbuf, count, type, op, comm), comm, request);
}

}  // namespace tutti::mpi
