// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/collective_start.hpp"

#include <optional>

#include "base/flight.hpp"
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
#include "mpi/comm/survivor.hpp"
#include "mpi/object/inventory.hpp"

namespace tutti::mpi {
namespace {

using coll::Call;

// `given`: by which the execution may be kept.
Error run_new(Comm& comm, const Call& call, const Arguments& given) {
  const engine::Engine::Guard own(*comm.hidden.engine);
  Result<std::unique_ptr<exec::Execution>> execution = prepare(comm, call);
  if (!execution) return std::move(execution).error();
  Error outcome = run(comm, **execution);
  if (!outcome && !keep(comm, given, false, *execution)) exec::keep(comm.planner, *std::move(execution));
  return outcome;
}

// A call like an earlier one: true if it has been run.
bool run_kept(const Arguments& given, Comm& comm, Error& outcome) {
  if (watches_buffers) [[unlikely]]
    return false;
  const engine::Engine::Guard own(*comm.hidden.engine);
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (comm.hidden.harm || (ledger && ledger->disturbed())) [[unlikely]]
    return false;
  if (!comm.repeated) return false;
  const Repeated::Loan known = comm.repeated->borrow(given);
  if (!known) return false;
  if (ledger) ledger->expect_nobody_inside();
  outcome = run(comm, *known);
  return true;
}

Error start_new(Comm& comm, std::unique_ptr<CollectiveRequest::New> what, MPI_Request* request) {
  ResolvedCall& resolved = what->resolved;
  Call& call = resolved.call;  // perhaps a copy's, which refers to the original's arrays
  call.in_types = resolved.in_types;
  call.out_types = resolved.out_types;
  call.in_layouts = resolved.in_layouts;
  call.out_layouts = resolved.out_layouts;
  call.signature = contract::in_form(call.signature, contract::Form::nonblocking);
  // Given back before the engine is: the operation may end from then on (Request::finish).
  const engine::Engine::Guard own(*comm.hidden.engine);
  auto made = Ref<CollectiveRequest>::adopt(new CollectiveRequest(comm, std::move(what)));
  if (comm.hidden.harm) [[unlikely]] {  // to start is local: whoever completes it hears of the failure
    made->retain();
    *request = inventory::hand_out<Request>(*made);
    made->fail(refusal(comm.hidden));
    return {};
  }
  Result<std::unique_ptr<exec::Execution>> execution = prepare(comm, call);
  if (!execution) return std::move(execution).error();
  (*execution)->binding().own_types();
  (*execution)->binding().own_arrays();
  made->retain();  // the handle's
  *request = inventory::hand_out<Request>(*made);
  note_serial(comm.hidden);
  made->start(*std::move(execution));
  return {};
}

// A call like an earlier one: true if it has been started.
bool start_kept(const Arguments& given, Comm& comm, MPI_Request* request) {
  if (watches_buffers) [[unlikely]]
    return false;
  const engine::Engine::Guard own(*comm.hidden.engine);
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (comm.hidden.harm || (ledger && ledger->disturbed())) [[unlikely]]
    return false;
  Repeated::Home home;
  std::unique_ptr<exec::Execution> known = comm.repeated ? comm.repeated->take(given, home) : nullptr;
  if (!known) return false;
  if (ledger) ledger->expect_nobody_inside();
  auto* const made = new CollectiveRequest(comm);
  *request = inventory::hand_out<Request>(*made);
  note_serial(comm.hidden);
  made->start(std::move(known), home);
  return true;
}

Error start_new(const Arguments& given, ResolvedCall resolved, Comm& comm, MPI_Request* request) {
  if (comm.hidden.ledger) sign(resolved.call, resolved.op, comm);
  const Call call = resolved.call;
  auto what = std::make_unique<CollectiveRequest::New>(std::move(resolved));
  if (!watches_buffers) [[likely]] {
    what->given = given;
    what->arrays.take_types(*what->given, call);
    return start_new(comm, std::move(what), request);
  }
  StartedBuffers taken;
  if (Error e = taken.take(call, comm)) return e;
  if (Error e = start_new(comm, std::move(what), request)) return e;
  taken.give_to(*resolve<Request>(*request));
  return {};
}

}  // namespace

Error start_step(Comm& comm, const Call& call, std::function<void(Error)> over, const Request*& step) {
  auto what = std::make_unique<CollectiveRequest::New>(ResolvedCall{.call = call});
  what->over = [over = std::move(over), &step](Error error) {
    step = nullptr;
    over(std::move(error));
  };
  if (comm.hidden.harm) [[unlikely]]
    return settle_first(comm.hidden);
  if (contract::Ledger* const ledger = comm.hidden.ledger; ledger && ledger->disturbed()) [[unlikely]]
    if (Error e = settle(comm.hidden)) return e;
  comm.find_area();
  Result<std::unique_ptr<exec::Execution>> execution = exec::prepare(comm.hidden, comm.planner, call);
  if (!execution) return std::move(execution).error();
  (*execution)->binding().own_arrays();
  auto made = Ref<CollectiveRequest>::adopt(new CollectiveRequest(comm, std::move(what)));
  step = made.get();
  made->start(*std::move(execution));
  return {};
}

void take_part(Comm& comm, const Call& call, std::function<void()> over) {
  struct Part {
    std::function<void()> over;
    const Request* step = nullptr;
  };
  const auto part = std::make_shared<Part>(Part{std::move(over)});
  const engine::Engine::Guard own(*comm.hidden.engine);
  note_serial(comm.hidden);
  if (start_step(comm, call, [part](const Error&) { part->over(); }, part->step)) part->over();
}

Error run(const Arguments& given, Comm& comm) {
  Error outcome;
  if (run_kept(given, comm, outcome)) return outcome;
  Result<ResolvedCall> made = resolve_call(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::blocking)) return e;
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  if (!watches_buffers) [[likely]]
    return run_new(comm, made->call, given);
  TakenBuffers taken;
  if (Error e = taken.take(made->call, comm)) return e;
  return strict ? run(comm, made->call) : run_new(comm, made->call, given);
}

Error start(Comm& comm, ResolvedCall resolved, MPI_Request* request, std::function<Error()> then) {
  StartedBuffers none;  // but the end is heard of
  if (watches_buffers) [[unlikely]]
    if (Error e = none.take({})) return e;
  if (Error e =
          start_new(comm, std::make_unique<CollectiveRequest::New>(std::move(resolved), std::move(then)), request))
    return e;
  if (watches_buffers) [[unlikely]]
    none.give_to(*resolve<Request>(*request));
  return {};
}

Error start(const Arguments& given, Comm& comm, MPI_Request* request) {
  if (start_kept(given, comm, request)) return {};
  Result<ResolvedCall> made = resolve_call(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::nonblocking)) return e;
  return start_new(given, *std::move(made), comm, request);
}

Error check_own_block(const ResolvedCall& resolved, Comm& comm, contract::Form form) {
  contract::Ledger* const ledger = comm.hidden.ledger;
  if (!ledger) return {};
  const std::optional<OwnBlock> own = mismatched_own_block(resolved.call, comm);
  if (!own) [[likely]]
    return {};
  const engine::Engine::Guard owned(*comm.hidden.engine);
  if (Error e = settle_first(comm.hidden)) return e;
  Call call = resolved.call;
  sign(call, resolved.op, comm);
  note_serial(comm.hidden);
  const bool types =
      own->sent_type->pattern && own->received_type->pattern && own->sent_type->pattern != own->received_type->pattern;
  ledger->own_block_differs(contract::in_form(call.signature, form), types ? MPI_ERR_TYPE : MPI_ERR_COUNT,
                            amount_text(own->sent, *own->sent_type), amount_text(own->received, *own->received_type));
  return settle(comm.hidden);
}

}  // namespace tutti::mpi
