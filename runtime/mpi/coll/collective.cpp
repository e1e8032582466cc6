// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective.hpp"

#include <optional>

#include "base/flight.hpp"
#include "base/pool.hpp"
#include "contract/ledger.hpp"
#include "engine/listener.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/object/inventory.hpp"

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
  if (execution.mpi_class == MPI_ERR_PROC_ABORTED)
    return failure(execution.mpi_class, "a process of the communicator is gone: its job has ended");
  return failure(execution.mpi_class, "a message of the collective could not be carried");
}

// A nonblocking collective under way.
void tell(const Comm& comm, engine::Happening what) {
  engine::tell_listener({.what = what, .context = comm.context()});
}

class CollectiveRequest final : public Request,
                                public Pooled<CollectiveRequest>,
                                private contract::Abandonable {
 public:
  // One that is not like those before it.
  struct New {
    explicit New(Prepared prepared, std::function<Error()> then = {})
        : prepared(std::move(prepared)), then(std::move(then)) {}
    Prepared prepared;
    std::function<Error()> then;
    std::function<void(Error)> over;  // hears of the end instead of whoever completes the request
    std::optional<Arguments> given;  // by which the execution may be kept
    OwnArrays arrays;                // of types, which it refers to
  };

  explicit CollectiveRequest(Comm& comm, std::unique_ptr<New> made = {})
      : Request(Kind::collective, comm), new_(std::move(made)) {}

  // `home`: where the execution goes when it is over.
  void start(std::unique_ptr<coll::Execution> execution, Repeated::Home home = {}) {
    execution_ = std::move(execution);
    home_ = home;
    execution_->owner = this;
    execution_->on_complete = [](coll::Execution& done) {
      static_cast<CollectiveRequest*>(done.owner)->over();
    };
    begin();
    if (contract::Ledger* ledger = comm->hidden.ledger) ledger->add(*this);
    tell(*comm, engine::Happening::collective_begun);
    coll::start(*execution_);
  }
  void fill(MPI_Status& status) const override { fill_empty(status); }
  void add_open_needs(engine::Condition& needs) const override {
    needs.all();
    execution_->add_needs(needs);
    needs.end();
  }
  Error error() const override {
    if (failed_) return Error(failed_.mpi_class(), failed_.message());
    return execution_ ? outcome_of(*execution_) : Error();
  }
  Error cancel() override {
    return failure(
        MPI_ERR_REQUEST,
        "the request belongs to a nonblocking collective, which cannot be cancelled (the "
        "standard, section 6.12)");
  }

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
    } else if (new_ && new_->then) {
      failed_ = new_->then();
    }
    if (new_ && new_->over) return end_step();
    const bool well = !failed_ && execution_->mpi_class == MPI_SUCCESS;
    if (well) leave_execution();
    tell(*comm, engine::Happening::collective_ended);
    finish(well);
  }
  void end_step() {
    new_->over(error());
    tell(*comm, engine::Happening::collective_ended);
    finish(true);
  }
  void leave_execution() {
    if (home_.generation > 0)
      comm->repeated.give_back(home_, std::move(execution_));
    else if (new_ && new_->given)
      comm->repeated.keep(*new_->given, true, comm->size(), execution_);
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
  Repeated::Home home_;
  std::unique_ptr<coll::Execution> execution_;
  Error failed_;  // of New::then
  const std::unique_ptr<New> new_;
};

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
  tell(comm, engine::Happening::collective_begun);
  coll::run(execution);
  tell(comm, engine::Happening::collective_ended);
  if (ledger && ledger->disturbed()) [[unlikely]]
    return end_disturbed(execution, *ledger);
  return outcome_of(execution);
}

// What comes before each call. The engine is owned.
Error settle_first(Comm& comm) {
  if (strict) [[unlikely]]
    strict->acts();
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (!ledger) return {};
  ledger->expect_nobody_inside();
  if (ledger->disturbed()) [[unlikely]]
    return settle(*ledger);
  return {};
}

// `given`: by which the execution may be kept; nullptr: it is not.
Error run_call(Comm& comm, const Call& call, const Arguments* given) {
  const engine::Engine::Guard own(engine_of_process());
  if (Error e = settle_first(comm)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  Error outcome = run_through(comm, **execution);
  if (!outcome && !(given && comm.repeated.keep(*given, false, comm.size(), *execution)))
    coll::keep(comm.planner, *std::move(execution));
  return outcome;
}

// A call like an earlier one: true if it has been run.
bool run_again(const Arguments& given, Comm& comm, Error& outcome) {
  if (strict) [[unlikely]]
    return false;
  const engine::Engine::Guard own(engine_of_process());
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (ledger && ledger->disturbed()) [[unlikely]]
    return false;
  coll::Execution* const known = comm.repeated.borrow(given);
  if (!known) return false;
  if (ledger) ledger->expect_nobody_inside();
  outcome = run_through(comm, *known);
  return true;
}

Error start_new(Comm& comm, std::unique_ptr<CollectiveRequest::New> what, MPI_Request* request) {
  Prepared& prepared = what->prepared;
  Call& call = prepared.call;  // perhaps a copy's, which refers to the original's arrays
  call.in_types = prepared.in_types;
  call.out_types = prepared.out_types;
  call.in_layouts = prepared.in_layouts;
  call.out_layouts = prepared.out_layouts;
  call.signature = contract::in_form(call.signature, contract::Form::nonblocking);
  auto made = Ref<CollectiveRequest>::adopt(new CollectiveRequest(comm, std::move(what)));
  const engine::Engine::Guard own(engine_of_process());
  if (Error e = settle_first(comm)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  (*execution)->own_types();
  (*execution)->own_arrays();
  made->retain();  // the handle's
  *request = inventory::hand_out<Request>(*made);
  note_serial(comm);
  made->start(*std::move(execution));
  return {};
}

}  // namespace

Error start_step(Comm& comm, const Call& call, std::function<void(Error)> over, const Request*& step) {
  auto what = std::make_unique<CollectiveRequest::New>(Prepared{.call = call});
  what->over = [over = std::move(over), &step](Error error) {
    step = nullptr;
    over(std::move(error));
  };
  if (contract::Ledger* const ledger = comm.hidden.ledger; ledger && ledger->disturbed()) [[unlikely]]
    if (Error e = settle(*ledger)) return e;
  comm.find_area();
  Result<std::unique_ptr<coll::Execution>> execution =
      coll::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  (*execution)->own_arrays();
  auto made = Ref<CollectiveRequest>::adopt(new CollectiveRequest(comm, std::move(what)));
  step = made.get();
  made->start(*std::move(execution));
  return {};
}

Error run(const Arguments& given, Comm& comm) {
  Error outcome;
  if (run_again(given, comm, outcome)) return outcome;
  Result<Prepared> made = prepared(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::blocking)) return e;
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  if (!strict) [[likely]]
    return run_call(comm, made->call, &given);
  TakenBuffers taken;
  if (Error e = taken.take(made->call, comm)) return e;
  return run_call(comm, made->call, nullptr);
}

Error run(Comm& comm, const Call& call) {
  return run_call(comm, call, nullptr);
}

Error start(Comm& comm, Prepared prepared, MPI_Request* request, std::function<Error()> then) {
  return start_new(comm,
                   std::make_unique<CollectiveRequest::New>(std::move(prepared), std::move(then)),
                   request);
}

Error start(const Arguments& given, Comm& comm, MPI_Request* request) {
  if (start_again(given, comm, request)) return {};
  Result<Prepared> made = prepared(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::nonblocking)) return e;
  return start_prepared(given, *std::move(made), comm, request);
}

Error check_own_block(const Prepared& prepared, Comm& comm, contract::Form form) {
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (!ledger) return {};
  const std::optional<OwnBlock> own = mismatched_own_block(prepared.call, comm);
  if (!own) [[likely]]
    return {};
  const engine::Engine::Guard owned(engine_of_process());
  if (Error e = settle_first(comm)) return e;
  Call call = prepared.call;
  sign(call, prepared.op, comm);
  note_serial(comm);
  const bool types = own->sent_type->pattern && own->received_type->pattern &&
                     own->sent_type->pattern != own->received_type->pattern;
  ledger->own_block_differs(contract::in_form(call.signature, form),
                            types ? MPI_ERR_TYPE : MPI_ERR_COUNT,
                            amount_text(own->sent, *own->sent_type),
                            amount_text(own->received, *own->received_type));
  return settle(*ledger);
}

bool start_again(const Arguments& given, Comm& comm, MPI_Request* request) {
  if (strict) [[unlikely]]
    return false;
  const engine::Engine::Guard own(engine_of_process());
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (ledger && ledger->disturbed()) [[unlikely]]
    return false;
  Repeated::Home home;
  std::unique_ptr<coll::Execution> known = comm.repeated.take(given, home);
  if (!known) return false;
  if (ledger) ledger->expect_nobody_inside();
  auto* const made = new CollectiveRequest(comm);
  *request = inventory::hand_out<Request>(*made);
  note_serial(comm);
  made->start(std::move(known), home);
  return true;
}

Error start_prepared(const Arguments& given, Prepared prepared, Comm& comm, MPI_Request* request) {
  if (comm.hidden.ledger) sign(prepared.call, prepared.op, comm);
  const Call call = prepared.call;
  auto what = std::make_unique<CollectiveRequest::New>(std::move(prepared));
  if (!strict) [[likely]] {
    what->given = given;
    what->arrays.take_types(*what->given, call);
    return start_new(comm, std::move(what), request);
  }
  TakenBuffers taken;  // until there is a request
  if (Error e = taken.take(call, comm)) return e;
  if (Error e = start_new(comm, std::move(what), request)) return e;
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

}  // namespace tutti::mpi
