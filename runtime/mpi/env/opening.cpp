// SPDX-License-Identifier: BSD-3-Clause
// Opening: settings become a transport, an engine and a checker. Collective over the job.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "base/config.hpp"
#include "base/flight.hpp"
#include "base/log.hpp"
#include "base/os/dead_folders.hpp"
#include "base/os/late_word.hpp"
#include "base/os/probe.hpp"
#include "boot/joining.hpp"
#include "coll/selection.hpp"
#include "contract/checker.hpp"
#include "contract/ledger.hpp"
#include "contract/threads.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/check/buffers.hpp"
#include "mpi/check/known_memory.hpp"
#include "mpi/check/message_types.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/env/instance.hpp"
#include "mpi/object/errors_of_files.hpp"
#include "mpi/object/other_jobs.hpp"
#include "mpi/object/process.hpp"
#include "mpi/p2p/operations.hpp"
#include "mpi/process/connections.hpp"
#include "mpi/process/parent.hpp"
#include "mpi/tool/tool.hpp"
#include "mpi/type/datatype.hpp"
#include "profile/profiler.hpp"
#include "rma/window_end.hpp"
#include "transport/guard.hpp"
#include "transport/router.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/testing/stress.hpp"

namespace tutti::mpi::env {

namespace {

// From the end of a process until its launcher has told the others of the job, also on a machine that is busy.
constexpr std::chrono::seconds kToHearOfAnEnd = kTimeToEnd + std::chrono::seconds(1);

// A rank whose node has more ranks than cores gives its core away sooner.
engine::Waiting waiting_of(const Config& config, const boot::JobInfo& job) {
  engine::Waiting waiting;
  const int cores = boot::allowed_cores();
  const bool crowded = static_cast<int>(job.node_ranks.size()) > cores;
  const bool told = config.value("wait.spins").origin != "default";
  waiting.spreads = crowded && config.flag("wait.spread");
  waiting.adapts = !crowded && !told;  // who yields from the first poll on has adapted
  waiting.polls = crowded && !told ? 1 : static_cast<int>(config.number("wait.spins"));
  say(Level::debug, "ranks on this node: {}, cores for them: {}; a call that waits looks {} times first",
      job.node_ranks.size(), cores, waiting.polls);
  return waiting;
}

// Where hundreds of ranks share a core, looking at each of them every few milliseconds would take all of it. Its turn
// takes a rank as long there. At 8 ranks a core, 250 looks a second each take it some two percent.
int crowd_factor(const boot::JobInfo& job) {
  constexpr int kRanksWithoutCare = 8, kMost = 16;
  return std::clamp(static_cast<int>(job.node_ranks.size()) / (boot::allowed_cores() * kRanksWithoutCare), 1, kMost);
}

// The job goes on without ranks that fail.
bool survives_failures(const Config& config) {
  return config.value("failure.action").number > 0;
}

transport::RouterOptions transport_options(const Config& config, const boot::JobInfo& job, members::Processes& all) {
  const std::string tls(config.text("transport.ucx_tls"));
  return {.job = job.id,
          .process = job.rank,
          .job_size = job.size,
          .neighbours = job.node_ranks,
          .members = &all,
          .shared_memory = config.flag("transport.shared_memory"),
          .read_peers = config.text("transport.cma") != "off",
          .try_rings = config.text("transport.cma") != "on",
          .both_copy = static_cast<int>(job.node_ranks.size()) <= boot::allowed_cores(),
          .survives = survives_failures(config),
          .no_way =
              [](int peer, const Error& why) {
                // One that has ended cannot be reached either. Its launcher tells why, and ends this process meanwhile.
                std::this_thread::sleep_for(kToHearOfAnEnd);
                const std::vector<int>& near = process().job->view().node_ranks;
                process().job->abort(
                    1, fmt::format("a message to rank {}{} cannot leave: {}", peer,
                                   std::ranges::binary_search(near, peer) ? " on the same node" : "", why.message()));
              },
          .one_place = boot::ranks_share_loopback(),
          .ucx = {tls},
          .ucx_is_told = tls.empty() ? ""
                                     : fmt::format("with transport.ucx_tls={} (from: {})", tls,
                                                   config.value("transport.ucx_tls").origin)};
}

transport::Wiring wiring_of(boot::Membership& job) {
  transport::Wiring wiring{.publish = [&job](const std::string& address) { return job.publish(address); },
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
bool all_threads_blocked() TUTTI_ENGINE_OWNED {
  Process& p = process();
  if (p.thread_level != MPI_THREAD_MULTIPLE) return true;
  std::vector<int> waiting;
  for (const life::Blocked* b = p.engine->blocked(); b; b = b->next) waiting.push_back(b->thread);
  return contract::none_may_act_but(waiting, std::as_bytes(std::span(&p.engine->ownership(), 1)));
}

contract::Others other_jobs(int job_size) {
  return {.job_size = job_size,
          .name_of =
              [](int number) {
                const members::GlobalName name = process().processes->name_of(number);
                return contract::Name{name.job, name.rank};
              },
          .number_of = [](const contract::Name& name) { return process().processes->find({name.job, name.rank}); },
          .text_of = [](int number) { return process().processes->text(number); }};
}

contract::Hooks contract_hooks(int job_size) {
  return {.end_job =
              [](int code, const std::string& text) {
                end_all_connected(code, true);
                process().job->abort(code, text);
              },
          .is_told =
              [](const contract::Ledger& ledger) {
                if (ledger.origin().function == static_cast<uint16_t>(Function::File_open))
                  errors_of_files().told.store(true, std::memory_order_relaxed);
              },
          // MPI_Finalize itself is a call on MPI_COMM_WORLD, for which the others may wait already.
          .has_made_all_calls =
              [](uint64_t context) TUTTI_ENGINE_OWNED {
                return process().finalizing && (context & ~uint64_t{1}) != engine::ContextPool::world();
              },
          .all_threads_blocked = all_threads_blocked,
          .may_have_sent = may_have_sent,
          .has_ended = is_at_exit,
          .is_gone =
              [](int number) {
                const members::State state = process().processes->state_of(number);
                return state == members::State::failed || state == members::State::left;
              },
          .others = other_jobs(job_size)};
}

contract::CheckOptions contract_options(const Config& config) {
  return {.level = static_cast<contract::CheckLevel>(config.value("contract.check").number),
          .report_only = config.flag("contract.report_only"),
          .ask_after = config.duration("contract.ask_after"),
          .standstill = config.duration("contract.standstill")};
}

void begin_profile(const boot::JobInfo& view, const Config& config) {
  const auto bytes_of_type = [](uint64_t handle) -> int64_t {
    const Datatype* const type = resolve<Datatype>(reinterpret_cast<MPI_Datatype>(handle));
    return type ? type->layout->size() : 0;
  };
  if (Error e = profile::begin({.rank = view.rank,
                                .size = view.size,
                                .bytes_of_type = bytes_of_type,
                                .has_timeline = !config.text("profile.file").empty(),
                                .host = view.host,
                                .file = std::string(config.text("profile.file"))}))
    // That there is no place for it is alike for all.
    if (e.mpi_class() != MPI_ERR_OTHER || view.rank == 0) say(Level::warning, "{}", e.message());
}

// The flight record and those that read it, the checker and the profile; or none of them.
void open_contract(Process& p, const Config& config) {
  const contract::CheckOptions options = contract_options(config);
  const bool is_off = options.level == contract::CheckLevel::off, profiles = config.flag("profile.page");
  if (is_off && !profiles) return flight::switch_off();
  const boot::JobInfo& view = p.job->view();
  flight::open(view.id, p.processes->job(), view.rank, view.size, view.host);
  if (profiles) begin_profile(view, config);
  if (is_off) return;
  p.checker = std::make_unique<contract::Checker>(*p.engine, options, contract_hooks(view.size));
  const engine::Engine::Guard own(*p.engine);
  p.engine->set_observer(p.checker.get());
  checking.compares_types = true;
  checking.report_only = options.report_only;
  if (options.level == contract::CheckLevel::strict) open_strict(options.report_only);
  open_buffers();
}

Error open_engine(Process& p, const Config& config) {
  using Kind = StressMode::Kind;
  const boot::JobInfo& view = p.job->view();
  const std::optional<StressMode> mode = stress_mode(config.text("contract.stress"));
  if (!mode)
    return failure(MPI_ERR_ARG, "the setting contract.stress (from: {}) takes {}, not '{}'",
                   config.value("contract.stress").origin, kStressModes, config.text("contract.stress"));
  p.stress_mode = *mode;
  transport::Transport* transport = &p.transport->direct();
  if (mode->kind != Kind::off) {
    transport = p.transport.get();  // which may get more ways to others while it runs
    p.stress = transport::stressed(*transport,
                                   {.disturb = mode->kind == Kind::random, .seed = mode->seed, .process = view.rank});
    transport = p.stress.get();
  }
  p.engine = std::make_unique<engine::Engine>(*transport, view.rank, waiting_of(config, view));
  const engine::Engine::Guard own(*p.engine);
  p.engine->set_active_handler(p.one_sided.get());
  if (mode->kind == Kind::sync) p.engine->set_manner(engine::Manner::synchronous);
  if (mode->kind == Kind::loose) p.engine->set_manner(engine::Manner::buffering);
  if (mode->kind == Kind::random) p.engine->shuffle(mode->seed + static_cast<uint64_t>(view.rank));
  return {};
}

// A sanitizer sees what other processes do to the program's memory only where messages bring it.
bool windows_go_direct(std::string_view setting) {
  return setting == "auto" ? !sanitizer_looks_on() : setting == "on";
}

// Of the engine (2), the flight record and the progress thread (5), whose libevent ends the process when it has none.
constexpr int kFilesOfEngine = 8;

}  // namespace

Error open_process(Process& p, std::optional<engine::Ticks>& ticks, bool& report_only) {
  transport::use_remote_fences();  // before PMIx starts a thread
  Result<Config> config = Config::load(tool::written_settings());
  if (config) set_log_level(static_cast<Level>(config->value("log.level").number));
  // Before anything else can go wrong: what does is said by the launcher then, once for all ranks.
  Result<std::unique_ptr<boot::Membership>> job = boot::Membership::join();
  if (!job) return std::move(job).error();
  p.job = *std::move(job);
  const boot::JobInfo& view = p.job->view();
  if (config && survives_failures(*config) && !view.own_launcher)
    return failure(
        MPI_ERR_OTHER,
        "the setting failure.action={} (from: {}) is not supported here: only mpirun goes on without ranks that "
        "fail, and other launchers end the job",
        config->text("failure.action"), config->value("failure.action").origin);
  p.processes = std::make_unique<members::Processes>(members::Processes::id_of(view.id, view.size), view.size,
                                                     [&mine = *p.job] { return mine.nodes(); });
  set_speaker(fmt::format("rank {} on {}", view.rank, view.host));
  // Our own launcher has done so; others know nothing of what a killed one has left.
  if (!view.own_launcher && view.size > 1 && view.rank == view.node_ranks.front())
    remove_dead_folders(folder_of_jobs());
  if (!config) return std::move(config).error();
  Result<std::shared_ptr<const coll::Selection>> selection = coll::Selection::load(
      std::string(config->text("collectives.override")), std::string(config->text("collectives.rules")));
  if (!selection)
    return std::move(selection).error().within(
        fmt::format("the settings collectives.rules (from: {}) and collectives.override (from: {})",
                    config->value("collectives.rules").origin, config->value("collectives.override").origin));
  p.selection = *std::move(selection);

  // In a job that goes on without ranks that fail, it is this one that has failed.
  if (!survives_failures(*config))
    transport::when_broken([&mine = *p.job](const std::string& sentence) { mine.abort(1, sentence); });
  Result<std::unique_ptr<transport::Router>> transport =
      transport::Router::open(transport_options(*config, view, *p.processes), wiring_of(*p.job));
  if (!transport) return std::move(transport).error();
  p.transport = *std::move(transport);
  p.windows_direct = windows_go_direct(config->text("rma.direct"));

  if (Error e = probe_descriptors(kFilesOfEngine)) return e;
  if (Error e = open_engine(p, *config)) return e;
  open_contract(p, *config);
  report_only = config->flag("contract.report_only");
  processes::set_connect_timeout(
      std::chrono::duration_cast<std::chrono::milliseconds>(config->duration("process.connect_timeout")));
  p.contexts = std::make_unique<engine::ContextPool>(view.rank);
  if (survives_failures(*config)) {
    const engine::Engine::Guard own(*p.engine);
    p.survivor = std::make_shared<Survivor>(
        p,
        Survivor::Hooks{interrupt_receive, resume_receive,
                        [](int lost, int mpi_class) TUTTI_ENGINE_OWNED { process().one_sided->lose(lost, mpi_class); },
                        [](int lost) TUTTI_ENGINE_OWNED { processes::connections().lose_root(lost); }});
    p.end_members = end_members;
  }
  if (config->flag("progress.thread")) {
    using std::chrono::duration_cast, std::chrono::microseconds;
    ticks = engine::Ticks{duration_cast<microseconds>(config->duration("progress.tick_min")),
                          duration_cast<microseconds>(config->duration("progress.tick_max"))};
    if (config->value("progress.tick_max").origin == "default") ticks->longest *= crowd_factor(view);
  }
  return {};
}

}  // namespace tutti::mpi::env
