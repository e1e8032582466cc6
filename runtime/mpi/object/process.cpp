// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/process.hpp"

#include <utility>

#include "boot/joining.hpp"
#include "boot/processes.hpp"
#include "coll/selection.hpp"
#include "contract/checker.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "exec/store.hpp"
#include "mpi/object/current.hpp"
#include "rma/window_end.hpp"
#include "transport/router.hpp"

namespace tutti::mpi {

Process* the_process = nullptr;

Process::Process() : one_sided(std::make_unique<rma::Service>()), store(std::make_shared<exec::Store>()) {}
Process::~Process() = default;

void Process::select(std::shared_ptr<const coll::Selection> by) {
  const engine::Engine::Guard own(*engine);
  selection = std::move(by);
}

boot::Membership& own_job() {
  return *process().job;
}
contract::Checker* own_checker() {
  return process().checker.get();
}
int my_process() {
  return current.engine->process();
}

std::unique_ptr<boot::Membership>& job_that_failed_to_start() {
  static auto& job = *new std::unique_ptr<boot::Membership>;  // outlives exit handlers
  return job;
}

}  // namespace tutti::mpi
