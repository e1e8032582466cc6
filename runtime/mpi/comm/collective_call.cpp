// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/collective_call.hpp"

#include <mpi-ext.h>

#include "base/flight.hpp"
#include "contract/ledger.hpp"
#include "engine/engine.hpp"
#include "exec/execution.hpp"
#include "exec/preparation.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/watcher.hpp"

namespace tutti::mpi {
namespace {

using coll::Call;
using coll::Collective;

[[gnu::cold]] Error end_disturbed(const Comm& comm, exec::Execution& execution) TUTTI_ENGINE_OWNED {
  engine::Engine& engine = *comm.hidden.engine;
  const contract::Ledger& ledger = *comm.hidden.ledger;
  for (;;) {
    if (Error e = settle(comm.hidden)) {
      if (execution.running()) execution.abandon(e.mpi_class());
      engine.wait_until([&] { return !execution.running(); });
      return e;
    }
    execution.resume();
    engine.wait_until([&]() TUTTI_ENGINE_OWNED { return !execution.running() || ledger.disturbed(); });
    if (!execution.running() && !ledger.disturbed()) return outcome_of(execution);
  }
}

// This thread is inside a blocking call.
class Inside {
 public:
  Inside(contract::Ledger* ledger, const flight::CallRecord* call) TUTTI_ENGINE_OWNED : ledger_(ledger) {
    if (ledger_) ledger_->enter(call);
  }
  ~Inside() TUTTI_ENGINE_OWNED {
    if (ledger_) ledger_->leave();
  }
  Inside(const Inside&) = delete;

 private:
  contract::Ledger* const ledger_;
};

// How a blocking collective has ended, which the program is about to hear.
Error heard(Error outcome, const Comm& comm) {
  if (outcome && checking.watcher && outcome.mpi_class() == MPIX_ERR_PROC_FAILED && survivor_of(comm)) [[unlikely]]
    survivor_of(comm)->told_of_failure(comm);
  return outcome;
}

}  // namespace

Error outcome_of(const exec::Execution& execution) {
  if (execution.mpi_class == MPI_SUCCESS) return {};
  if (execution.mpi_class == MPI_ERR_TRUNCATE)
    return failure(MPI_ERR_TRUNCATE,
                   "a rank sent more than this rank's count and datatype receive: the ranks' "
                   "counts and datatypes do not fit together");
  if (execution.mpi_class == MPIX_ERR_PROC_FAILED)
    return failure(execution.mpi_class, "a process of the communicator has failed");
  if (execution.mpi_class == MPIX_ERR_REVOKED) return failure(execution.mpi_class, "the communicator is revoked");
  if (execution.mpi_class == MPI_ERR_PROC_ABORTED)
    return failure(execution.mpi_class, "a process of the communicator is gone: its job has ended");
  return failure(execution.mpi_class, "a message of the collective could not be carried");
}

Error settle(const engine::Channel& channel) {
  const contract::Ledger& ledger = *channel.ledger;
  channel.engine->wait_until([&]() TUTTI_ENGINE_OWNED { return !ledger.suspected(); });
  return ledger.broken() ? ledger.error() : Error();
}

const flight::CallRecord* note_serial(const engine::Channel& channel) {
  flight::CallRecord* call = flight::now();
  if (!call) return nullptr;
  flight::set(call->context, channel.context & ~uint64_t{1});
  flight::set(call->serial, channel.next_serial + 1);
  return call;
}

Error settle_first(const engine::Channel& channel) {
  if (channel.harm) [[unlikely]]
    return refusal(channel);
  if (checking.watcher) [[unlikely]]
    checking.watcher->acts();
  contract::Ledger* const ledger = channel.ledger;
  if (!ledger) return {};
  ledger->expect_nobody_inside();
  if (ledger->disturbed()) [[unlikely]]
    return settle(channel);
  return {};
}

Result<std::unique_ptr<exec::Execution>> prepare(Comm& comm, const Call& call) {
  if (Error e = settle_first(comm.hidden)) return e;
  comm.find_area();
  return exec::prepare(comm.hidden, comm.planner, call);
}

Error run(Comm& comm, exec::Execution& execution) {
  contract::Ledger* const ledger = comm.hidden.ledger;
  const Inside inside(ledger, note_serial(comm.hidden));
  tell(comm, life::Happening::collective_begun, comm.hidden.next_serial);
  execution.run();
  tell(comm, life::Happening::collective_ended, execution.serial());
  if (ledger && ledger->disturbed()) [[unlikely]]
    return end_disturbed(comm, execution);
  return outcome_of(execution);
}

Error run(Comm& comm, const Call& call) {
  const engine::Engine::Guard own(*comm.hidden.engine);
  Result<std::unique_ptr<exec::Execution>> execution = prepare(comm, call);
  if (!execution) return heard(std::move(execution).error(), comm);
  // What a window's own says its call knows better.
  if (!comm.is_of_window) hearsay::may_tell();
  Error outcome = run(comm, **execution);
  if (!comm.is_of_window) hearsay::may_hear();
  if (!outcome) exec::keep(comm.planner, *std::move(execution));
  return heard(std::move(outcome), comm);
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
  return {.kind = Collective::bcast, .root = root, .out = data, .out_count = bytes, .out_layout = &Layout::bytes()};
}

}  // namespace tutti::mpi
