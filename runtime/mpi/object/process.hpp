// SPDX-License-Identifier: BSD-3-Clause
// What this process is while MPI is in use: its place in the job, its engine, and what all communicators share. Made
// by the first of MPI_Init and MPI_Session_init (env/instance.hpp), and used by those that follow. What most calls
// ask of it is in current.hpp.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/mutex.hpp"
#include "base/stress_mode.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::boot {
class Membership;
}
namespace tutti::coll {
class Selection;
}
namespace tutti::contract {
class Checker;
}
namespace tutti::engine {
class ContextPool;
class Engine;
class ProgressThread;
}  // namespace tutti::engine
namespace tutti::exec {
class Store;
}
namespace tutti::members {
class Processes;
}
namespace tutti::rma {
class Service;
}
namespace tutti::transport {
class Router;
class Transport;
}  // namespace tutti::transport

namespace tutti::mpi {

class Survivor;
namespace one_sided {
class Window;
}

struct Process {
  Process();
  ~Process();

  // By this the algorithms of communicators are chosen that are made from now on. Takes the engine.
  void select(std::shared_ptr<const coll::Selection> by);

  std::unique_ptr<boot::Membership> job;
  std::unique_ptr<members::Processes> processes;  // before the transport, which tells it of broken ends
  std::unique_ptr<transport::Router> transport;
  std::unique_ptr<transport::Transport> stress;   // around it, under --stress
  const std::unique_ptr<rma::Service> one_sided;  // before the engine, which hands it what comes
  std::unique_ptr<engine::Engine> engine;
  std::shared_ptr<Survivor> survivor;  // nullptr where the failure of a rank ends the job
  // Where it does not: ends the members of this communicator, of which this process is one, with this code. It returns if
  // that is all who live, or `of` is no communicator, and the job is to be ended. nullptr: it is in any case.
  void (*end_members)(const HasErrhandler& of, int code, const std::string& why) = nullptr;
  std::unique_ptr<contract::Checker> checker;      // nullptr when switched off
  std::unique_ptr<engine::ProgressThread> helper;  // nullptr when switched off
  std::unique_ptr<engine::ContextPool> contexts;
  std::shared_ptr<const coll::Selection> selection;  // of every communicator's algorithms
  // What is kept of collectives that are over, of all communicators.
  const std::shared_ptr<exec::Store> store;
  MPI_Comm parent = MPI_COMM_NULL;  // what MPI_Comm_get_parent returns
  // Contexts of communicators with processes of other jobs, and who these are, while they live.
  Mutex spanning_mutex;
  std::vector<std::pair<uint64_t, const Comm*>> spanning TUTTI_GUARDED_BY(spanning_mutex);
  StressMode stress_mode;
  bool windows_direct = true;  // the setting rma.direct
  // With a lock that was asked for and that nobody has waited for yet (rma/window_sync.cpp); nullptr: there is none.
  one_sided::Window* lazily_locked TUTTI_OWNERS = nullptr;
  std::atomic<int> thread_level = MPI_THREAD_SINGLE;  // the highest that the program may count on
  std::thread::id main_thread;
  // What is told once is not told again: of each Tolerated (tolerated.hpp), and of findings that are only reported the
  // place in the program (check/message_types.hpp).
  std::atomic<bool> told_tolerated[4] = {};
  std::set<uint64_t> told_callers TUTTI_OWNERS;
  bool finalizing TUTTI_OWNERS = false;  // in MPI_Finalize, behind what may still call MPI
};

// Valid while current.phase is running. Any thread.
inline Process& process() {
  return *current.process;
}

}  // namespace tutti::mpi
