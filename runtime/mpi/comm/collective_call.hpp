// SPDX-License-Identifier: BSD-3-Clause
// A collective call on a communicator, from what comes before it to what came of it: under the eyes of the contract
// checker, in the flight record, told to whoever listens. What makes communicators, windows and files runs its own
// exchanges by it, too.
#pragma once

#include <memory>

#include "base/engine_owned.hpp"
#include "base/flight.hpp"
#include "coll/call.hpp"
#include "life/sinks.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::exec {
class Execution;
}

namespace tutti::mpi {

// Starts the call and waits for it. Errors: what prepare() refuses, and what the
// messages met.
Error run(Comm& comm, const coll::Call& call) TUTTI_ENGINE_NOT_OWNED;

// A collective of plain bytes, for the library's own use: `in` of each rank to `out` of all.
coll::Call allgather_bytes(const void* in, void* out, int64_t bytes_per_rank);
coll::Call bcast_bytes(void* data, int64_t bytes, int root);

// ---- the parts of it, for calls that are kept or have a request

// What comes before each call on a hidden channel: whatever is suspected there is settled.
Error settle_first(const engine::Channel& channel) TUTTI_ENGINE_OWNED;
// Something is wrong on the channel, which has a ledger: waits until it is known what. No error: it was
// nothing, or has only been reported.
[[gnu::cold]] Error settle(const engine::Channel& channel) TUTTI_ENGINE_OWNED;
// For the flight record: the call that this thread is in is the channel's next.
const flight::CallRecord* note_serial(const engine::Channel& channel);
// `serial`: the channel's own of the call, which counts from 0.
inline void tell(const Comm& comm, life::Happening what, uint32_t serial) TUTTI_ENGINE_OWNED {
  if (life::is_wanted(what)) [[unlikely]]
    life::tell({.what = what,
                .process = comm.is_inter() ? -1 : comm.process_of(0),
                .serial = serial + 1,
                .context = comm.context()});
}
// An execution of a new call; an error if it is refused.
Result<std::unique_ptr<exec::Execution>> prepare(Comm& comm, const coll::Call& call) TUTTI_ENGINE_OWNED;
// Runs what is prepared, to its end.
Error run(Comm& comm, exec::Execution& execution) TUTTI_ENGINE_OWNED;
// Of an execution that is over.
Error outcome_of(const exec::Execution& execution);

}  // namespace tutti::mpi
