// SPDX-License-Identifier: BSD-3-Clause
// What this process is between MPI_Init and MPI_Finalize: its place in the job, its engine, the
// two communicators that exist from the start. Made by init_thread(), taken down by finalize().
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "boot/job.hpp"
#include "coll/selection.hpp"
#include "engine/engine.hpp"
#include "engine/progress.hpp"
#include "mpi/context.hpp"
#include "mpi/objects.hpp"
#include "transport/node.hpp"

namespace tutti::mpi {

struct Process {
  std::unique_ptr<boot::Job> job;
  std::unique_ptr<transport::Node> transport;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::ProgressThread> helper;  // nullptr when switched off
  std::unique_ptr<ContextPool> contexts;
  std::shared_ptr<const coll::Selection> selection;  // of every communicator's algorithms
  Comm* world = nullptr;
  Comm* self = nullptr;
  int thread_level = MPI_THREAD_SINGLE;
  std::thread::id main_thread;
  uint64_t completions = 0;  // requests completed so far; changed by the engine's owner
};

// Valid while phase is running. Any thread.
Process& process();
inline engine::Engine& engine_of_process() { return *process().engine; }

// My process id: my rank in MPI_COMM_WORLD.
int my_process();

}  // namespace tutti::mpi
