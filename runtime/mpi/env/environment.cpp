// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "base/config.hpp"
#include "base/dead_folders.hpp"
#include "base/flight.hpp"
#include "base/log.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective.hpp"
#include "mpi/env/api_environment.hpp"
#include "mpi/env/thread_level.hpp"
#include "mpi/object/entry.hpp"
#include "mpi/object/process.hpp"
#include "mpi/p2p/bsend.hpp"
#include "mpi/process/parent.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/testing/stress.hpp"

namespace tutti::mpi {

Process* the_process = nullptr;

namespace {

// A rank whose node has more ranks than cores gives its core away sooner.
engine::Waiting waiting_of(const Config& config, const boot::JobView& job) {
  engine::Waiting waiting;
  const int cores = boot::allowed_cores();
  const bool crowded = static_cast<int>(job.node_ranks.size()) > cores;
  const bool told = config.value("wait.spins").origin != "default";
  waiting.spreads = crowded && config.flag("wait.spread");
  waiting.adapts = !crowded && !told;  // who yields from the first poll on has adapted
  waiting.polls = crowded && !told ? 1 : static_cast<int>(config.number("wait.spins"));
  say(Level::debug,
      "ranks on this node: {}, cores for them: {}; a call that waits looks {} times first",
      job.node_ranks.size(), cores, waiting.polls);
  return waiting;
}

transport::NodeOptions transport_options(const Config& config, const boot::JobView& job) {
  const std::string tls(config.text("transport.ucx_tls"));
  return {.job = job.id,
          .process = job.rank,
          .job_size = job.size,
          .neighbours = job.node_ranks,
          .shared_memory = config.flag("transport.shared_memory"),
          .read_peers = config.text("transport.cma") == "auto",
          .both_copy = static_cast<int>(job.node_ranks.size()) <= boot::allowed_cores(),
          .no_way =
              [](int peer, const Error& why) {
                const std::vector<int>& near = process().job->view().node_ranks;
                process().job->abort(
                    1,
                    fmt::format("a message to rank {}{} cannot leave: {}", peer,
                                std::ranges::binary_search(near, peer) ? " on the same node" : "",
                                why.message()));
              },
          .ucx = {tls},
          .ucx_is_told = tls.empty() ? ""
                                     : fmt::format("with transport.ucx_tls={} (from: {})", tls,
                                                   config.value("transport.ucx_tls").origin)};
}

transport::Wiring wiring_of(boot::Job& job) {
  transport::Wiring wiring{
      .publish = [&job](const std::string& address) { return job.publish(address); },
      .fence = [&job] { return job.fence(); },
      .address_of = [&job](int peer) { return job.address_of(peer); }};
  if (!job.view().own_launcher) {
    wiring.tell_node = [&job](const std::string& word) { return job.tell_node(word); };
    wiring.told_by = [&job](int rank) { return job.told_by(rank); };
    wiring.node_is_visible = boot::sees_processes_of_node();
  }
  return wiring;
}

// Below MPI_THREAD_MULTIPLE no second thread may call MPI while one is in a call.
bool all_threads_blocked() {
  Process& p = process();
  if (p.thread_level != MPI_THREAD_MULTIPLE) return true;
  std::vector<int> waiting;
  for (const engine::Blocked* b = p.engine->blocked(); b; b = b->next) waiting.push_back(b->thread);
  return p.threads.none_but(waiting, std::as_bytes(std::span(&p.engine->ownership(), 1)));
}

contract::Hooks contract_hooks(int job_size) {
  return {.end_job = [](int code, const std::string& text) { process().job->abort(code, text); },
          .is_finalizing = [] { return process().finalizing; },
          .all_threads_blocked = all_threads_blocked,
          .may_have_sent = may_have_sent,
          .job_size = job_size};
}

contract::Options contract_options(const Config& config) {
  return {.level = static_cast<contract::Level>(config.value("contract.check").number),
          .report_only = config.flag("contract.report_only"),
          .ask_after = config.duration("contract.ask_after"),
          .standstill = config.duration("contract.standstill")};
}

// The flight record and the checker that reads it; both or none.
void open_contract(Process& p, const Config& config) {
  const contract::Options options = contract_options(config);
  if (options.level == contract::Level::off) return flight::switch_off();
  const boot::JobView& view = p.job->view();
  flight::open(view.id, view.rank, view.size, view.host);
  p.checker = std::make_unique<contract::Checker>(*p.engine, options, contract_hooks(view.size));
  const engine::Engine::Guard own(*p.engine);
  p.engine->set_observer(p.checker.get());
  type_comparison = {.on = true, .report_only = options.report_only};
  if (options.level == contract::Level::strict) open_strict(options.report_only);
}

Error open_engine(Process& p, const Config& config) {
  using Kind = StressMode::Kind;
  const boot::JobView& view = p.job->view();
  const std::optional<StressMode> mode = stress_mode(config.text("contract.stress"));
  if (!mode)
    return failure(MPI_ERR_ARG, "the setting contract.stress (from: {}) takes {}, not '{}'",
                   config.value("contract.stress").origin, kStressModes,
                   config.text("contract.stress"));
  p.stress_mode = *mode;
  transport::Transport* transport = &p.transport->direct();
  if (mode->kind != Kind::off) {
    transport = p.transport.get();  // which may get more ways to others while it runs
    p.stress = transport::stressed(
        *transport,
        {.disturb = mode->kind == Kind::random, .seed = mode->seed, .process = view.rank});
    transport = p.stress.get();
  }
  p.engine = std::make_unique<engine::Engine>(*transport, view.rank, waiting_of(config, view));
  p.engine->set_active_handler(&p.one_sided);
  if (mode->kind == Kind::sync) p.engine->set_manner(engine::Manner::synchronous);
  if (mode->kind == Kind::loose) p.engine->set_manner(engine::Manner::buffering);
  if (mode->kind == Kind::random) p.engine->shuffle(mode->seed + static_cast<uint64_t>(view.rank));
  return {};
}

// `ticks`: of the progress thread, if there is to be one. `report_only`: findings end nothing.
Error open_process(Process& p, std::optional<engine::Ticks>& ticks, bool& report_only) {
  transport::use_remote_fences();  // before PMIx starts a thread
  Result<Config> config = Config::load();
  if (config) set_log_level(static_cast<Level>(config->value("log.level").number));
  // Before anything else can go wrong: what does is said by the launcher then, once for all ranks.
  Result<std::unique_ptr<boot::Job>> job = boot::Job::join();
  if (!job) return std::move(job).error();
  p.job = *std::move(job);
  const boot::JobView& view = p.job->view();
  p.processes = std::make_unique<boot::Processes>(boot::Processes::id_of(view.id, view.size), view.size);
  set_speaker(fmt::format("rank {} on {}", view.rank, view.host));
  // Our own launcher has done so; others know nothing of what a killed one has left.
  if (!view.own_launcher && view.size > 1 && view.rank == view.node_ranks.front())
    remove_dead_folders(folder_of_jobs());
  if (!config) return std::move(config).error();
  Result<std::shared_ptr<const coll::Selection>> selection = coll::Selection::load(
      std::string(config->text("collectives.override")),
      std::string(config->text("collectives.rules")));
  if (!selection)
    return std::move(selection).error().within(fmt::format(
        "the settings collectives.rules (from: {}) and collectives.override (from: {})",
        config->value("collectives.rules").origin, config->value("collectives.override").origin));
  p.selection = *std::move(selection);

  Result<std::unique_ptr<transport::Node>> transport =
      transport::Node::open(transport_options(*config, view), wiring_of(*p.job));
  if (!transport) return std::move(transport).error();
  p.transport = *std::move(transport);

  if (Error e = open_engine(p, *config)) return e;
  open_contract(p, *config);
  report_only = config->flag("contract.report_only");
  p.contexts = std::make_unique<ContextPool>(view.rank);
  if (config->flag("progress.thread")) {
    using std::chrono::duration_cast, std::chrono::microseconds;
    ticks = engine::Ticks{duration_cast<microseconds>(config->duration("progress.tick_min")),
                          duration_cast<microseconds>(config->duration("progress.tick_max"))};
  }
  return {};
}

// Predefined attributes; the values live as long as the process.
struct PredefinedAttributes {
  int tag_ub = std::numeric_limits<int>::max();
  int io = MPI_ANY_SOURCE;
  int host = MPI_PROC_NULL;
  int wtime_is_global = 0;
  int application = 0;
  int universe_size = 0;
};
PredefinedAttributes predefined;

void set_predefined_attributes(Comm& comm, const boot::JobView& job) {
  predefined.application = job.application;
  predefined.universe_size = job.universe_size;
  comm.attributes.set_predefined(MPI_TAG_UB, &predefined.tag_ub);
  comm.attributes.set_predefined(MPI_IO, &predefined.io);
  comm.attributes.set_predefined(MPI_HOST, &predefined.host);
  comm.attributes.set_predefined(MPI_WTIME_IS_GLOBAL, &predefined.wtime_is_global);
  comm.attributes.set_predefined(MPI_APPNUM, &predefined.application);
  comm.attributes.set_predefined(MPI_LASTUSEDCODE, last_used_code());
  if (predefined.universe_size > 0)
    comm.attributes.set_predefined(MPI_UNIVERSE_SIZE, &predefined.universe_size);
}

Comm* predefined_comm(std::vector<int> processes, int rank, uint64_t context, MPI_Comm handle,
                      const char* name, const boot::JobView& job) {
  auto group = Ref<Group>::adopt(
      new Group(std::make_shared<const std::vector<int>>(std::move(processes)), rank));
  auto* made = new Comm(std::move(group), context,
                        Ref<Errhandler>(HandleOf<Errhandler>::predefined(
                            reinterpret_cast<uintptr_t>(MPI_ERRORS_ARE_FATAL))));
  made->live_for_ever();
  made->handle = handle;
  made->set_name(name);
  set_predefined_attributes(*made, job);
  predefined_comms.set(reinterpret_cast<uintptr_t>(handle), made);
  return made;
}

void make_predefined_comms(Process& p) {
  const boot::JobView& job = p.job->view();
  std::vector<int> everyone(static_cast<size_t>(job.size));
  for (int i = 0; i < job.size; ++i) everyone[static_cast<size_t>(i)] = i;
  p.world = predefined_comm(std::move(everyone), job.rank, ContextPool::world(), MPI_COMM_WORLD,
                            "MPI_COMM_WORLD", job);
  p.self = predefined_comm({job.rank}, 0, p.contexts->self(), MPI_COMM_SELF, "MPI_COMM_SELF", job);
}

// Asks and answers no more, and waits until what was sent is on its way.
void flush(Process& p) {
  const engine::Engine::Guard own(*p.engine);
  p.engine->set_observer(nullptr);
  p.engine->wait_until([&] { return p.engine->transport().flushed(); });
}

// What is suspected is told before the job is over. The engine is owned.
void await_findings(Process& p) {
  if (p.checker) p.engine->wait_until([&] { return p.checker->is_idle(); });
}

// Everybody has sent what he will. A message for a receive whose request is freed may be one too long, of which
// nobody else would hear.
void take_what_has_come(Process& p) {
  const engine::Engine::Guard own(*p.engine);
  while (p.engine->progress()) {
  }
}

// Nobody is left who waits for a message of mine or for my progress.
Error part_from_others(Process& p) {
  {
    const engine::Engine::Guard own(*p.engine);
    p.finalizing = true;
    if (p.checker) p.checker->settle_all();
    await_findings(p);
  }
  Error e = run(*p.world, coll::Call{.kind = coll::Collective::barrier,
                                     .signature = contract::word_of(Function::Finalize)});
  const contract::Ledger* ledger = p.world->hidden.ledger;
  // Where the calls on MPI_COMM_WORLD have come apart, and the program knows, it can still end.
  if (e && ledger && ledger->broken()) e = p.job->fence();
  if (e) return e;
  {
    const engine::Engine::Guard own(*p.engine);
    await_findings(p);
  }
  if (strict)
    if (Error untold = tell_left_over()) return untold;
  flush(p);
  leave_connected_jobs();
  flush(p);
  // What the checker asked may have been all that a connection was made for, and UCX makes one with
  // the help of both ends: they stay until all are through.
  if (p.transport->has_ucx()) {
    if (Error ended = run(*p.world, coll::Call{.kind = coll::Collective::barrier})) return ended;
    flush(p);
  }
  take_what_has_come(p);
  p.helper.reset();
  const boot::JobView& job = p.job->view();
  // Between nodes a closed connection may discard what the other end has not read yet.
  if (job.node_ranks.size() < static_cast<size_t>(job.size))
    return p.job->fence();
  return {};
}

}  // namespace

int my_process() { return the_process->engine->process(); }

std::unique_ptr<boot::Job>& job_that_failed_to_start() {
  static auto& job = *new std::unique_ptr<boot::Job>;  // outlives exit handlers
  return job;
}

pid_t initialized_by = 0;  // a forked child has the rest of the process, but not its threads

// Where Tutti's launcher runs a rank, it sees by itself that this one ended without MPI_Finalize.
// Others take exit code 0 for the good end of a rank whose peers wait for it, so that the rank ends
// the job. Registered when the library is loaded, it runs after whatever the program has for its
// exit, where MPI_Finalize may still stand. The C library alone tells the exit code.
void end_job_of_others(int status, void*) {
  if (phase.load() != Phase::running || getpid() != initialized_by) return;
  const boot::JobView& job = process().job->view();
  if (job.own_launcher || job.size == 1) return;
  const int code = status & 0xff;
  process().job->abort(
      code ? code : 1,
      fmt::format("this rank exited with code {} without MPI_Finalize; the job ends", code));
}
[[gnu::constructor]] void watch_exit() {
  ::on_exit(end_job_of_others, nullptr);
}

Error init(int* argc, char*** argv) {
  int provided;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

namespace {

// Two threads may call at once: the first one is at it, the other has its error.
std::atomic<bool> initializing{false}, finalizing{false};

Error initialize(int required, int* provided) {
  auto p = std::make_unique<Process>();
  std::optional<engine::Ticks> ticks;
  bool report_only = false;
  if (Error e = open_process(*p, ticks, report_only)) {
    job_that_failed_to_start() = std::move(p->job);
    return e;
  }
  p->thread_level = *provided = required;
  concurrent_calls = required == MPI_THREAD_MULTIPLE;
  p->main_thread = std::this_thread::get_id();
  the_process = p.release();
  make_predefined_comms(*the_process);
  // Not before: others may have asked this process something already, and it answers.
  if (ticks)
    the_process->helper = std::make_unique<engine::ProgressThread>(*the_process->engine, *ticks);
  {
    const engine::Engine::Guard own(*the_process->engine);
    the_process->threads.opened();  // the progress thread is the last of the library's own
  }
  info_env().set("maxprocs", std::to_string(the_process->job->view().size));
  info_env().set("thread_level", name_of_thread_level(required));
  // A program that exits without MPI_Finalize must not find the thread in UCX's own exit.
  initialized_by = getpid();
  std::atexit([] {
    if (getpid() == initialized_by) the_process->helper.reset();
  });
  if (the_process->checker) open_thread_judge(report_only);
  if (Error e = meet_parent()) return e;
  phase.store(Phase::running, std::memory_order_release);
  return {};
}

}  // namespace

Error init_thread(int*, char***, int required, int* provided) {
  if (phase.load() != Phase::before_init)
    return failure(MPI_ERR_OTHER, "MPI is initialized already{}",
                   phase.load() == Phase::finalized ? " and finalized: it starts once" : "");
  if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
      required != MPI_THREAD_SERIALIZED && required != MPI_THREAD_MULTIPLE)
    return failure(MPI_ERR_ARG, "{} is no thread level (argument required)", required);
  if (initializing.exchange(true))
    return failure(MPI_ERR_OTHER, "another thread is initializing MPI: it is done once, by one thread (the "
                   "standard, section 11.2)");
  Error error = initialize(required, provided);
  if (error) initializing = false;
  return error;
}

namespace {

Error end_process(Process& p) {
  // What the program attached to MPI_COMM_SELF runs first, while MPI still works (section 11.2.4).
  if (Error e = p.self->attributes.delete_all(p.self->handle)) return e;
  if (Error e = p.world->attributes.delete_all(p.world->handle)) return e;
  send_buffer().flush();
  if (Error e = part_from_others(p)) return e;
  phase.store(Phase::finalized, std::memory_order_release);
  if (flight::Record* record = flight::mine()) record->phase.store(2, std::memory_order_relaxed);
  const std::function<void()> part = p.transport->parting();
  p.transport.reset();
  p.job->leave();
  // A rank that leaves PMIx (4.2) counts as lost in a fence that is open, perhaps that of a program
  // which another rank of the node runs after this one.
  part();
  return {};
}

}  // namespace

Error finalize() {
  if (finalizing.exchange(true))
    return failure(MPI_ERR_OTHER, "MPI_Finalize is under way already: it is called once, by one thread (the "
                   "standard, section 11.2.2)");
  Error error = end_process(*the_process);
  if (error) finalizing = false;
  return error;
}

Error initialized(int* flag) {
  *flag = phase.load() != Phase::before_init;
  return {};
}

Error finalized(int* flag) {
  *flag = phase.load() == Phase::finalized;
  return {};
}

Error query_thread(int* provided) {
  *provided = process().thread_level;
  return {};
}

Error is_thread_main(int* flag) {
  *flag = std::this_thread::get_id() == process().main_thread;
  return {};
}

Error abort(Comm& comm, int errorcode) {
  process().job->abort(errorcode, fmt::format("MPI_Abort on {} with code {}",
                                              comm.name.empty() ? "a communicator" : comm.name,
                                              errorcode));
  return {};  // never
}

Error get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return {};
}

Error get_library_version(char* version, int* resultlen) {
  const std::string text = fmt::format("Tutti {}, MPI {}.{}, ABI {}.{}", TUTTI_VERSION, MPI_VERSION,
                                       MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  std::memcpy(version, text.c_str(), text.size() + 1);
  *resultlen = static_cast<int>(text.size());
  return {};
}

Error get_processor_name(char* name, int* resultlen) {
  std::string host = process().job->view().host;
  host.resize(std::min<size_t>(host.size(), MPI_MAX_PROCESSOR_NAME - 1));
  std::memcpy(name, host.c_str(), host.size() + 1);
  *resultlen = static_cast<int>(host.size());
  return {};
}

Error alloc_mem(MPI_Aint size, Info*, void* baseptr) {
  if (size < 0) return failure(MPI_ERR_ARG, "{} is no size (argument size)", size);
  void* memory = nullptr;
  // A cache line apart, as transports like it.
  if (posix_memalign(&memory, 64, static_cast<size_t>(std::max<MPI_Aint>(size, 1))) != 0)
    return failure(MPI_ERR_NO_MEM, "there is no memory for {} bytes", size);
  *static_cast<void**>(baseptr) = memory;
  return {};
}

Error free_mem(void* base) {
  std::free(base);
  return {};
}

}  // namespace tutti::mpi
