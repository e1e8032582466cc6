// SPDX-License-Identifier: BSD-3-Clause
// Preparation: from a call to an execution of it, which is bound and may be started; nothing
// is sent.
#pragma once

#include <memory>

#include "base/engine_owned.hpp"
#include "exec/execution.hpp"
#include "exec/planner.hpp"

namespace tutti::exec {

// An execution that the planner has kept, or a new one. The channel, the call's buffers, layouts and arrays outlive
// it. Fails with MPI_ERR_NO_MEM.
// Reductions read the vector's count and layout from in_count and in_layout, or under MPI_IN_PLACE
// from out_count and out_layout; reduce_scatter(_block) their counts from the out side always.
Result<std::unique_ptr<Execution>> prepare(engine::Channel& channel, Planner& planner,
                                           const Call& call) TUTTI_ENGINE_OWNED;

// A new one, also for a channel other than the one that the planner's executions are for, whose ranks are the same:
// they share the plans alone.
Result<std::unique_ptr<Execution>> make(engine::Channel& channel, Planner& planner,
                                        const Call& call) TUTTI_ENGINE_OWNED;

// Gives an execution that is over back, for the next call of its shape.
void keep(Planner& planner, std::unique_ptr<Execution> execution) TUTTI_ENGINE_OWNED;

}  // namespace tutti::exec
