// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/env/instance.hpp"

#include <mpi-ext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <thread>

#include "base/flight.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "boot/joining.hpp"
#include "contract/checker.hpp"
#include "contract/ledger.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "engine/wait/progress.hpp"
#include "functions.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/env/debugger.hpp"
#include "mpi/env/thread_level.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/errors_of_files.hpp"
#include "mpi/object/info.hpp"
#include "mpi/object/memory_kinds.hpp"
#include "mpi/object/process.hpp"
#include "mpi/p2p/bsend.hpp"
#include "mpi/process/parent.hpp"
#include "profile/profiler.hpp"
#include "transport/ends.hpp"
#include "transport/router.hpp"

namespace tutti::mpi::env {
namespace {

enum class World { not_yet, alive, over };

// Predefined attributes; the program may keep their addresses.
struct PredefinedAttributes {
  int tag_ub = std::numeric_limits<int>::max();
  int io = MPI_ANY_SOURCE;
  int host = MPI_PROC_NULL;
  int wtime_is_global = 0;
  int application = 0;
  int universe_size = 0;
  int survives_failures = 0;  // of mpi-ext.h
};

// What is known of the World Model and of sessions, whether MPI is in use or not. It lives as long as the process, and
// is never destroyed, because MPI_Initialized and its like may be called at any time, and exit handlers read it.
struct Instance {
  Mutex making;  // for opening and closing: one thread at a time
  bool is_open TUTTI_GUARDED_BY(making) = false;
  bool had_sessions TUTTI_GUARDED_BY(making) = false;           // since the process was opened
  bool report_only TUTTI_GUARDED_BY(making) = false;            // of findings: they end nothing
  std::optional<engine::Ticks> ticks TUTTI_GUARDED_BY(making);  // of the progress thread
  // What MPI_Finalize closed stays, for what the program did not free refers to it; there is one at most. It is kept
  // here for LeakSanitizer to find, as are its MPI_COMM_WORLD and MPI_COMM_SELF.
  std::atomic<Process*> closed{nullptr};
  std::array<Comm*, 2> closed_comms TUTTI_GUARDED_BY(making){};
  PredefinedAttributes attributes;
  bool watches_exit TUTTI_GUARDED_BY(making) = false;

  // For these, which change together, and are read by calls that are allowed at any time.
  Mutex counting;
  std::atomic<World> world{World::not_yet};
  int sessions TUTTI_GUARDED_BY(counting) = 0;      // alive
  CallSite session_end TUTTI_GUARDED_BY(counting);  // the latest

  CallsOfWorld calls;
  std::atomic<bool> exits{false};  // the program has returned, and no session is left
  std::atomic<int> world_level{MPI_THREAD_SINGLE};
  std::atomic<pid_t> opened_by{0};  // a forked child has the rest of the process, but not its threads
};
Instance& instance() {
  static auto& only = *new Instance;
  return only;
}

void set_phase(const Instance& i) TUTTI_REQUIRES(i.counting) {
  const bool runs = i.sessions > 0 || i.world == World::alive;
  current.phase.store(runs                     ? Phase::running
                      : i.world == World::over ? Phase::finalized
                                               : Phase::before_init,
                      std::memory_order_release);
}

void set_predefined_attributes(Comm& comm, const boot::JobInfo& job) {
  PredefinedAttributes& predefined = instance().attributes;
  predefined.application = job.application;
  predefined.universe_size = job.universe_size;
  comm.attributes.set_predefined(MPI_TAG_UB, &predefined.tag_ub);
  comm.attributes.set_predefined(MPI_IO, &predefined.io);
  comm.attributes.set_predefined(MPI_HOST, &predefined.host);
  comm.attributes.set_predefined(MPI_WTIME_IS_GLOBAL, &predefined.wtime_is_global);
  comm.attributes.set_predefined(MPI_APPNUM, &predefined.application);
  comm.attributes.set_predefined(MPI_LASTUSEDCODE, last_used_code());
  predefined.survives_failures = process().survivor != nullptr;
  comm.attributes.set_predefined(MPIX_FT, &predefined.survives_failures);
  if (predefined.universe_size > 0) comm.attributes.set_predefined(MPI_UNIVERSE_SIZE, &predefined.universe_size);
}

Comm* predefined_comm(ProcessList processes, int rank, uint64_t context, MPI_Comm handle, const char* name,
                      const boot::JobInfo& job) {
  auto group = Ref<Group>::adopt(new Group(std::move(processes), rank));
  auto* made = new Comm(std::move(group), context, Ref<Errhandler>(&initial_errhandler()));
  made->live_for_ever();
  made->handle = handle;
  made->set_name(name);
  set_predefined_attributes(*made, job);
  return made;
}

// Also sessions have them, for the library's own use: the program sees them in the World Model
// alone.
void make_predefined_comms(Process& p) {
  const boot::JobInfo& job = p.job->view();
  current.world = predefined_comm(ProcessList::range(0, job.size), job.rank, engine::ContextPool::world(),
                                  MPI_COMM_WORLD, "MPI_COMM_WORLD", job);
  current.self = predefined_comm({job.rank}, 0, p.contexts->self(), MPI_COMM_SELF, "MPI_COMM_SELF", job);
}

// Waits until what was sent is on its way.
void flush(Process& p) {
  const engine::Engine::Guard own(*p.engine);
  p.engine->wait_until([&]() TUTTI_ENGINE_OWNED { return p.engine->transport().flushed(); });
}

// What is suspected is told before the job is over.
void await_findings(Process& p) TUTTI_ENGINE_OWNED {
  if (p.checker) p.engine->wait_until([&]() TUTTI_ENGINE_OWNED { return p.checker->is_idle(); });
}

// Everybody has sent what he will. A message for a receive whose request is freed may be one too
// long, of which nobody else would hear.
void take_what_has_come(Process& p) {
  const engine::Engine::Guard own(*p.engine);
  while (p.engine->progress()) {
  }
}

// The calls on MPI_COMM_WORLD have come apart, and the program knows.
bool is_world_broken(const Process& p) {
  const engine::Engine::Guard own(*p.engine);
  const contract::Ledger* const ledger = current.world->hidden.ledger;
  return ledger && ledger->broken();
}

// The same where ranks may have failed: those who live agree that they are through, and then meet at the launcher, which
// knows who lives, answering each other while they wait there. It may be that one fails meanwhile, of which the others are
// not told here. What is left over is not told: for that each would have to answer each other one.
Error part_from_survivors(Process& p, bool closes) {
  if (!p.helper) p.helper = std::make_unique<engine::ProgressThread>(*p.engine);
  {
    const engine::Engine::Guard own(*p.engine);
    bool over = false;
    const life::Actor end =
        p.survivor->agree_to_end(*current.world, [&over](const survival::Decision&) { over = true; });
    p.engine->wait_until([&over] { return over; },
                         [&](life::Condition& needs) TUTTI_ENGINE_OWNED { p.survivor->add_needs(end, needs); });
  }
  processes::leave_connected_jobs();
  take_what_has_come(p);
  if (closes) {
    const engine::Engine::Guard own(*p.engine);
    p.finalizing = true;
    p.engine->set_observer(nullptr);
  }
  flush(p);
  if (Error e = p.job->fence()) say(Level::debug, "{}", e.message());
  if (!closes) return {};
  transport::say_no_ucx_errors();
  p.helper.reset();
  p.survivor.reset();
  return {};
}

// All ranks end the World Model. `closes`: nothing of this process goes on behind it.
Error part_from_others(Process& p, bool closes) {
  if (p.survivor) return part_from_survivors(p, closes);
  {
    const engine::Engine::Guard own(*p.engine);
    p.finalizing = closes;
    if (p.checker) p.checker->settle_all();
    await_findings(p);
  }
  Error e = run(*current.world,
                coll::Call{.kind = coll::Collective::barrier, .signature = contract::word_of(Function::Finalize)});
  if (e && is_world_broken(p)) e = p.job->fence();  // it can still end
  if (e) return e;
  {
    const engine::Engine::Guard own(*p.engine);
    await_findings(p);
  }
  if (strict)
    if (Error untold = tell_left_over(closes)) return untold;
  flush(p);
  processes::leave_connected_jobs();  // which waits for other jobs, and may wait in vain
  if (closes) {                       // asks and answers no more
    const engine::Engine::Guard own(*p.engine);
    await_findings(p);
    p.engine->set_observer(nullptr);
  }
  flush(p);
  // What the checker asked may have been all that a connection was made for, and UCX makes one with
  // the help of both ends: they stay until all are through.
  if (p.transport->has_ucx()) {
    if (Error ended = run(*current.world, coll::Call{.kind = coll::Collective::barrier})) return ended;
    // Nothing is awaited of anybody any more. A peer may be gone from here on, and UCX, which may still be making a
    // connection to it, calls that a timeout of its endpoint.
    if (closes) transport::say_no_ucx_errors();
    flush(p);
  }
  take_what_has_come(p);
  if (closes) p.helper.reset();
  const boot::JobInfo& job = p.job->view();
  // Between nodes a closed connection may discard what the other end has not read yet.
  if (job.node_ranks.size() < static_cast<size_t>(job.size)) return p.job->fence();
  return {};
}

// No thread of the library is left, and nobody waits for this process.
void close_process(Instance& i, Process& p) TUTTI_REQUIRES(i.making) {
  i.is_open = false;
  profile::end();
  if (flight::Record* record = flight::mine()) record->phase.store(flight::kFinalized, std::memory_order_relaxed);
  const std::function<void()> part = p.transport->parting();
  p.transport.reset();
  if (errors_of_files().are_overlooked())
    p.job->abort(
        1,
        "the calls of its ranks on a file do not fit together, as was said above, and nobody has looked at the "
        "errors that they returned: the job ends in MPI_Finalize, and not well");
  p.job->leave();
  // A rank that leaves PMIx (4.2) counts as lost in a fence that is open, perhaps that of a program
  // which another rank of the node runs after this one. One that has failed is never there.
  if (!i.attributes.survives_failures) part();
}

void start_helper(const Instance& i, Process& p) TUTTI_REQUIRES(i.making) {
  if (i.ticks) p.helper = std::make_unique<engine::ProgressThread>(*p.engine, *i.ticks);
}

// A process that has had sessions is still open: others may be in the middle of theirs, and what
// this one has sent may be on its way to them. All ranks of the job meet, and this one answers
// while it waits.
void part_at_exit(Instance& i, Process& p) TUTTI_REQUIRES(i.making) {
  {
    const engine::Engine::Guard own(*p.engine);
    p.finalizing = true;
    i.exits = true;
  }
  if (!p.helper) p.helper = std::make_unique<engine::ProgressThread>(*p.engine);
  // It fails where one has ended in another way, of which the launcher tells.
  if (Error e = p.job->fence()) say(Level::debug, "{}", e.message());
  {
    const engine::Engine::Guard own(*p.engine);
    p.engine->set_observer(nullptr);
  }
  transport::say_no_ucx_errors();  // others may be gone, as in part_from_others()
  flush(p);
  p.helper.reset();
  close_process(i, p);
}

// The process ends: another thread that begins or ends something is not waited for, since it may never be done.
void assume_nobody_makes([[maybe_unused]] const Instance& i) TUTTI_ASSERTS(i.making) {}

// A program that exits without MPI_Finalize must not find the thread in UCX's own exit.
void close_at_exit() {
  Instance& i = instance();
  assume_nobody_makes(i);
  if (getpid() != i.opened_by || !current.process) return;
  if (i.is_open && current.phase.load() != Phase::running) return part_at_exit(i, *current.process);
  current.process->helper.reset();
}

Error open(Instance& i, int level) TUTTI_REQUIRES(i.making) {
  auto p = std::make_unique<Process>();
  i.ticks.reset();
  if (Error e = open_process(*p, i.ticks, i.report_only)) {
    delete std::exchange(current.failed_job, p->job.release());
    return e;
  }
  p->thread_level = level;
  p->main_thread = std::this_thread::get_id();
  if (level == MPI_THREAD_MULTIPLE) current.concurrent_calls = true;
  i.closed = std::exchange(current.process, p.release());
  current.engine = current.process->engine.get();
  i.closed_comms = {current.world, current.self};
  make_predefined_comms(*current.process);
  current.process->job->report_ends(*current.process->processes);
  // Not before: others may have asked this process something already, and it answers.
  start_helper(i, *current.process);
  if (!std::exchange(i.watches_exit, true)) std::atexit(close_at_exit);
  i.opened_by = getpid();
  i.had_sessions = false;
  i.is_open = true;
  return {};
}

void show_world() {
  predefined_comms.set(reinterpret_cast<uintptr_t>(MPI_COMM_WORLD), current.world);
  predefined_comms.set(reinterpret_cast<uintptr_t>(MPI_COMM_SELF), current.self);
  current.on_no_object.store(current.self, std::memory_order_release);
}

void hide_world() {
  current.on_no_object.store(nullptr, std::memory_order_release);
  predefined_comms.set(reinterpret_cast<uintptr_t>(MPI_COMM_WORLD), nullptr);
  predefined_comms.set(reinterpret_cast<uintptr_t>(MPI_COMM_SELF), nullptr);
}

// `closes`: nothing of this process goes on behind it.
Error end_world_model(Instance& i, bool closes) {
  if (Error e = part_from_others(process(), closes)) return e;
  hide_world();
  const Lock count(i.counting);
  i.world = World::over;
  set_phase(i);
  return {};
}

}  // namespace

// Where Tutti's launcher runs a rank, it sees by itself that this one ended without MPI_Finalize.
// Others take exit code 0 for the good end of a rank whose peers wait for it, so that the rank ends
// the job. Registered when the library is loaded, it runs after whatever the program has for its
// exit, where MPI_Finalize may still stand. The C library alone tells the exit code, if it is glibc.
void end_job_of_others(int status, void*) {
  if (current.phase.load() != Phase::running || getpid() != instance().opened_by) return;
  const boot::JobInfo& job = process().job->view();
  if (job.own_launcher || job.size == 1) return;
  const int code = status & 0xff;
  process().job->abort(code ? code : 1,
                       fmt::format("this rank exited with code {} without MPI_Finalize; the job ends", code));
}
[[gnu::constructor]] void watch_exit() {
#ifdef __GLIBC__
  ::on_exit(end_job_of_others, nullptr);
#else
  std::atexit([] { end_job_of_others(1, nullptr); });
#endif
}

bool is_at_exit() {
  return instance().exits.load();
}
bool is_forked() {
  const pid_t opened_by = instance().opened_by;
  return opened_by != 0 && getpid() != opened_by;
}
CallsOfWorld& calls_of_world() {
  return instance().calls;
}
bool world_has_begun() {
  return instance().world.load() != World::not_yet;
}
bool world_has_ended() {
  return instance().world.load() == World::over;
}
int world_thread_level() {
  return instance().world_level.load();
}
bool is_main_thread() {
  return std::this_thread::get_id() == process().main_thread;
}

Error begin_world(int level) {
  Instance& i = instance();
  const Lock one(i.making);
  if (world_has_begun())
    return failure(MPI_ERR_OTHER, "MPI is initialized already{}",
                   world_has_ended() ? " and finalized: it starts once" : "");
  if (!i.is_open)
    if (Error e = open(i, level)) return e;
  Process& p = process();
  i.world_level = level;
  p.main_thread = std::this_thread::get_id();
  if (level > p.thread_level) p.thread_level = level;
  if (level == MPI_THREAD_MULTIPLE) current.concurrent_calls = true;
  info_env().set("maxprocs", std::to_string(p.job->view().size));
  info_env().set("thread_level", name_of_thread_level(level));
  info_env().set("mpi_memory_alloc_kinds", memory_kinds_given(nullptr));
  if (p.checker) look_at_callers_of_world(level, i.report_only);
  show_world();
  if (Error e = processes::meet_parent()) return e;
  wait_for_debugger(p.job->view());
  const Lock count(i.counting);
  i.world = World::alive;
  set_phase(i);
  return {};
}

Error end_world() {
  Instance& i = instance();
  {
    const Lock one(i.making);  // who begins a session meanwhile waits
    if (!i.had_sessions) {
      Process& p = process();
      if (Error e = end_world_model(i, true)) return e;
      close_process(i, p);
      return {};
    }
  }
  return end_world_model(i, false);
}

Error begin_session(int level) {
  Instance& i = instance();
  const Lock one(i.making);
  if (!i.is_open)
    if (Error e = open(i, MPI_THREAD_MULTIPLE)) return e;
  // Each session has a thread level of its own, which says nothing of the threads of others.
  process().thread_level = MPI_THREAD_MULTIPLE;
  if (process().checker) look_at_callers_of_session(level, i.report_only);
  current.concurrent_calls = true;
  i.had_sessions = true;
  const Lock count(i.counting);
  ++i.sessions;
  set_phase(i);
  return {};
}

void end_session() {
  flush(process());
  Instance& i = instance();
  const Lock count(i.counting);
  --i.sessions;
  i.session_end = here();
  set_phase(i);
}

CallSite latest_session_end() {
  Instance& i = instance();
  const Lock count(i.counting);
  return i.session_end;
}

}  // namespace tutti::mpi::env
