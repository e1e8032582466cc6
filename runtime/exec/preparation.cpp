// SPDX-License-Identifier: BSD-3-Clause
#include "exec/preparation.hpp"

#include <utility>

#include "coll/shared.hpp"
#include "exec/graph/graph_run.hpp"
#include "exec/program/program_run.hpp"

namespace tutti::exec {
namespace {

Shape shape_on(engine::Channel& channel, const Call& call) {
  Shape shape = shape_of(call, channel.rank, channel.size());
  shape.nodes = channel.nodes;
  if (transport::Area* area = channel.area) {
    shape.small_slot = area->small().data_bytes();
    if (wants_large(shape) && area->has_large()) {
      shape.large_slot = area->large().data_bytes();
      shape.large_windows = area->large().windows();
      if (!shape.nodes) shape.read_rate = area->read_rate();
    }
  }
  return shape;
}

std::unique_ptr<Execution> execution_of(std::shared_ptr<const Plan> plan, engine::Channel& channel, const Call& call) {
  if (plan->is_program()) return std::make_unique<ProgramRun>(channel, std::move(plan), call);
  return std::make_unique<GraphRun>(channel, std::move(plan), call);
}

}  // namespace

Result<std::unique_ptr<Execution>> prepare(engine::Channel& channel, Planner& planner, const Call& call) {
  Planner::Known& known = planner.known(shape_on(channel, call));
  std::unique_ptr<Execution> execution = known.take();
  if (!execution) execution = execution_of(known.plan, channel, call);
  if (Error e = execution->bind(call)) return e;
  return execution;
}

Result<std::unique_ptr<Execution>> make(engine::Channel& channel, Planner& planner, const Call& call) {
  std::unique_ptr<Execution> execution = execution_of(planner.plan(shape_on(channel, call)), channel, call);
  if (Error e = execution->bind(call)) return e;
  return execution;
}

void keep(Planner& planner, std::unique_ptr<Execution> execution) {
  Planner::Known* known = planner.latest();
  if (!known || known->plan.get() != &execution->plan()) return;
  execution->on_complete = nullptr;
  known->keep(execution);
}

}  // namespace tutti::exec
