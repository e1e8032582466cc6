// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives (the standard, section 6.13). Each has a context, a ledger and, while there is one
// left, an area of its own, which its initialisation agrees on: so the ranks may start several in any order,
// and between other collectives. Everything else is its communicator's. Its execution lies in the store
// between the starts, and is made again if it was forgotten there.
#include <memory>

#include "base/flight.hpp"
#include "contract/checker.hpp"
#include "contract/ledger.hpp"
#include "contract/signature.hpp"
#include "engine/engine.hpp"
#include "exec/execution.hpp"
#include "exec/preparation.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_request.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/persistent.hpp"

namespace tutti::mpi {
namespace {

// The starts of a persistent collective have one word, and its next one begins when this rank has seen the
// latest one complete: what others are ahead is all that its ledger has to remember.
constexpr uint32_t kKeptStarts = 4;

// It has its arrays of its own: programs free theirs after the initialisation, though the standard does not
// oblige an implementation to bear with it.
class PersistentCollective {
 public:
  PersistentCollective(const Arguments& given, ResolvedCall resolved, Comm& comm, uint64_t context);
  ~PersistentCollective();
  PersistentCollective(const PersistentCollective&) = delete;

  static Error start(const std::shared_ptr<PersistentCollective>& self, MPI_Request* request);

 private:
  void open() TUTTI_ENGINE_OWNED;
  Result<std::unique_ptr<exec::Execution>> execution() TUTTI_ENGINE_OWNED;

  const Ref<Comm> comm_;
  OwnArrays arrays_;
  SteadyArrays given_arrays_;  // the program's, under --check=strict
  ResolvedCall resolved_;
  contract::Origin origin_;
  engine::Channel channel_;
  std::unique_ptr<transport::Area> area_;  // nullptr: none
  bool opened_ = false;                    // it has been started
  exec::Kept idle_;
};

PersistentCollective::PersistentCollective(const Arguments& from_program, ResolvedCall resolved, Comm& comm,
                                           uint64_t context)
    : comm_(&comm), resolved_(std::move(resolved)), idle_(comm.store()) {
  coll::Call& call = resolved_.call;
  Arguments given = from_program;
  if (strict) [[unlikely]]
    given_arrays_.add_of(call, comm);
  arrays_.take_types(given, call);
  arrays_.take_counts(given, call, coll::ArrayLengths(call, comm.size()));
  call.in_layouts = resolved_.in_layouts;
  call.out_layouts = resolved_.out_layouts;
  call.in_types = resolved_.in_types;
  call.out_types = resolved_.out_types;
  call.signature = contract::in_form(call.signature, contract::Form::persistent);
  channel_.engine = comm.hidden.engine;
  channel_.context = context | 1;
  channel_.communicator = comm.context();
  channel_.rank = comm.hidden.rank;
  channel_.peers = comm.hidden.peers;
  channel_.sides = comm.hidden.sides;
  if (const flight::CallRecord* made_by = flight::now())
    origin_ = {made_by->function, made_by->caller, made_by->context};
  comm.note_context(context);
  if (comm.hidden.ledger) channel_.ledger = comm.checker()->open(channel_, origin_, kKeptStarts);
}

PersistentCollective::~PersistentCollective() {
  if (channel_.ledger && comm_->checker()) comm_->checker()->close(*channel_.ledger);
  const uint64_t context = channel_.context & ~uint64_t{1};
  if (opened_) flight::comm_freed(context);
  comm_->forget_context(context);
}

// What the first start finds out. Many are never started, and areas are few.
void PersistentCollective::open() {
  opened_ = true;
  area_ = comm_->share(channel_);
  if (!channel_.ledger) return;
  flight::comm_made({.context = channel_.context & ~uint64_t{1},
                     .parent = origin_.parent,
                     .caller = origin_.caller,
                     .size = comm_->size(),
                     .rank = comm_->rank(),
                     .remote_size = comm_->is_inter() ? comm_->remote_size() : 0,
                     .function = origin_.function});
}

Result<std::unique_ptr<exec::Execution>> PersistentCollective::execution() {
  if (std::unique_ptr<exec::Execution> kept = idle_.take()) return kept;
  if (!opened_) open();
  return exec::make(channel_, comm_->planner, resolved_.call);
}

Error PersistentCollective::start(const std::shared_ptr<PersistentCollective>& self, MPI_Request* request) {
  Comm& comm = *self->comm_;
  StartedBuffers taken;
  if (strict) [[unlikely]]
    if (Error e = strict->found(self->given_arrays_.judge(
            "arrays of a persistent collective stay as they are until MPI_Request_free (the standard, section 6.13)")))
      return e;
  if (watches_buffers) [[unlikely]]
    if (Error e = taken.take(self->resolved_.call, comm)) return e;
  {
    const engine::Engine::Guard own(*self->channel_.engine);
    if (comm.hidden.harm) [[unlikely]]
      if (Error e = settle_first(comm.hidden)) return e;
    if (Error e = settle_first(self->channel_)) return e;
    Result<std::unique_ptr<exec::Execution>> execution = self->execution();
    if (!execution) return std::move(execution).error();
    if (self->channel_.ledger) self->channel_.ledger->set_fatal(comm.errhandler->ends_job());
    auto* const made = new CollectiveRequest(comm, std::shared_ptr<exec::Kept>(self, &self->idle_));
    *request = inventory::hand_out<Request>(*made);
    note_serial(self->channel_);
    made->start(*std::move(execution));
  }
  if (watches_buffers) [[unlikely]]
    taken.give_to(*resolve<Request>(*request));
  return {};
}

}  // namespace

Error make_persistent(const Arguments& given, Comm& comm, Info*, MPI_Request* request) {
  Result<ResolvedCall> made = resolve_call(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::persistent)) return e;
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  Result<uint64_t> context =
      agree_on_context(comm, contract::in_form(made->call.signature, contract::Form::persistent));
  if (!context) return std::move(context).error();
  auto collective = std::make_shared<PersistentCollective>(given, *std::move(made), comm, *context);
  auto* started = new PersistentRequest(comm, [collective = std::move(collective)](MPI_Request* operation) {
    return PersistentCollective::start(collective, operation);
  });
  *request = inventory::hand_out<Request>(*started);
  return {};
}

}  // namespace tutti::mpi
