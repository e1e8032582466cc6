// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/process.hpp"

#include <utility>

#include "boot/joining.hpp"
#include "coll/selection.hpp"
#include "contract/checker.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "exec/store.hpp"
#include "members/processes.hpp"
#include "mpi/object/current.hpp"
#include "rma/window_end.hpp"
#include "transport/router.hpp"

namespace tutti::mpi {

Process::Process() : one_sided(std::make_unique<rma::Service>()), store(std::make_shared<exec::Store>()) {}
Process::~Process() = default;

void Process::select(std::shared_ptr<const coll::Selection> by) {
  const engine::Engine::Guard own(*engine);
  selection = std::move(by);
}

boot::Membership& own_job() {
  return *process().job;
}
bool has_launcher() {
  return !own_job().view().id.starts_with(boot::kSingleton);
}
contract::Checker* own_checker() {
  return process().checker.get();
}
int my_process() {
  return current.engine->process();
}

}  // namespace tutti::mpi
