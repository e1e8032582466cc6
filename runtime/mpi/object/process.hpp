// SPDX-License-Identifier: BSD-3-Clause
// What this process is while MPI is in use: its place in the job, its engine, the two communicators that
// exist from the start. Made by the first of MPI_Init and MPI_Session_init (env/instance.hpp), and used by
// those that follow.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/stress_mode.hpp"
#include "boot/job.hpp"
#include "boot/processes.hpp"
#include "coll/selection.hpp"
#include "contract/checker.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "exec/store.hpp"
#include "mpi/object/objects.hpp"
#include "rma/window.hpp"
#include "transport/node.hpp"

namespace tutti::mpi {

using engine::ContextPool;
using engine::kNoContext;
using engine::random_context;
using engine::spans_jobs;

struct Process {
  std::unique_ptr<boot::Job> job;
  std::unique_ptr<transport::Node> transport;
  std::unique_ptr<transport::Transport> stress;  // around it, under --stress
  rma::Service one_sided;                        // before the engine, which hands it what comes
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<contract::Checker> checker;      // nullptr when switched off
  std::unique_ptr<engine::ProgressThread> helper;  // nullptr when switched off
  std::unique_ptr<ContextPool> contexts;
  std::shared_ptr<const coll::Selection> selection;  // of every communicator's algorithms
  // What is kept of collectives that are over, of all communicators.
  const std::shared_ptr<exec::Store> store = std::make_shared<exec::Store>();
  Comm* world = nullptr;  // the program's between MPI_Init and MPI_Finalize alone
  Comm* self = nullptr;
  std::unique_ptr<boot::Processes> processes;  // changed with the engine owned
  MPI_Comm parent = MPI_COMM_NULL;             // what MPI_Comm_get_parent returns
  // Contexts of communicators with processes of other jobs, and who these are, while they live.
  std::mutex spanning_mutex;
  std::vector<std::pair<uint64_t, const Comm*>> spanning;
  StressMode stress_mode;
  std::vector<int> node_of;                           // by process, once a communicator has asked; boot::Job::nodes()
  std::atomic<int> thread_level = MPI_THREAD_SINGLE;  // the highest that the program may count on
  std::thread::id main_thread;
  bool finalizing = false;   // in MPI_Finalize, behind what may still call MPI; the engine's owner's
  uint64_t completions = 0;  // requests completed so far; changed by the engine's owner
};

// Several threads may be in calls of MPI at once (MPI_THREAD_MULTIPLE). Set before the call that allows it
// returns, and never reset.
inline bool concurrent_calls = false;

// nullptr before MPI_Init; written by it alone.
extern Process* the_process;
// Valid while phase is running. Any thread.
inline Process& process() {
  return *the_process;
}
inline engine::Engine& engine_of_process() {
  return *process().engine;
}

// After a failed initialization: the job to end, if it had been joined by then.
std::unique_ptr<boot::Job>& job_that_failed_to_start();

// My process number: my rank in MPI_COMM_WORLD.
int my_process();

}  // namespace tutti::mpi
