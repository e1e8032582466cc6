// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/pmix/pmix_server.hpp"

#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "base/address_key.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "base/os/home.hpp"
#include "base/os/peer_owner.hpp"
#include "base/os/probe.hpp"
#include "base/signals.hpp"
#include "base/waits_event.hpp"
#include "launcher/loop/on_loop.hpp"
#include "launcher/pmix/pmix_asks.hpp"
#include "launcher/pmix/pmix_door.hpp"
#include "launcher/pmix/pmix_info.hpp"
#include "launcher/pmix/pmix_tools.hpp"
#include "launcher/pmix/pmix_words.hpp"
#include "mpi.h"

extern char** environ;

namespace tutti::launcher {
namespace {

constexpr int kThreads = 2;  // of the library: its progress, and its listener
constexpr const char* kOffer = kSecurityVariable;

Error pmix_failure(const char* what, pmix_status_t status) {
  return failure(MPI_ERR_OTHER, "PMIx cannot {}: {}", what, PMIx_Error_string(status));
}

// Whether the kernel keeps other users out.
bool keeps_out_others(const std::string& node_name) {
  const char* const why = !pmix_door_is_guarded() ? "a preloaded library has an accept() of its own"
                          : !peers_are_told()
                              ? "neither netlink (inet_diag) nor /proc/net/tcp tells whose a connection is"
                              : nullptr;
  if (why)
    say(Level::warning,
        "other users of {} can reach the PMIx server of this job at its loopback device: {}. They can disturb and end "
        "the job; only the key in its ranks' environment keeps them from joining it",
        node_name, why);
  return !why;
}

// A launcher inside another job must not take that job's server for its own.
void forget_other_servers() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view pair = *entry;
    if (pair.starts_with("PMIX_") && !pair.starts_with("PMIX_MCA_")) names.emplace_back(pair.substr(0, pair.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

// PMIx brings an answer's bytes from our thread to its own by means that no checker of races sees:
// that both sides have held this lock, it does.
Mutex& hand_over_lock() {
  static auto& lock = *new Mutex;  // PMIx's thread outlives everything
  return lock;
}

void release_bytes(void* bytes) {
  {
    const Lock seen(hand_over_lock());
  }
  delete static_cast<std::string*>(bytes);
}

// The text that this name tells, if there is one.
std::string_view told(const pmix_info_t info[], size_t count, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&info[i], name) && info[i].value.type == PMIX_STRING && info[i].value.data.string)
      return info[i].value.data.string;
  return "";
}

// The key of the addresses of which this one asks for a table; empty: it asks for something else.
std::string table_of(std::string_view key) {
  if (!key.starts_with(kTableKey) || key.size() < sizeof kTableKey) return "";
  key.remove_prefix(sizeof kTableKey);
  return is_address_key(key) ? std::string(key) : "";
}

// PMIx keeps the bytes until it calls the release function.
void answer(pmix_modex_cbfunc_t callback, void* token, int status, const std::string& data) {
  auto* bytes = new std::string(data);
  const char* const begin = bytes->data();
  {
    const Lock seen(hand_over_lock());
  }
  callback(status, begin, data.size(), token, release_bytes, bytes);
}

}  // namespace

// What waits for an answer from the job. PMIx's thread adds, the loop's takes.
struct PmixServer::Pending {
  using Answer = std::function<void(int status, const std::string& data)>;
  using Answered = std::function<void(const Reply& reply)>;
  Mutex mutex;
  Loop* loop TUTTI_GUARDED_BY(mutex) = nullptr;
  Events* events TUTTI_LOOPS = nullptr;
  std::string nspace TUTTI_GUARDED_BY(mutex);
  std::map<std::string, int> fence_counts TUTTI_GUARDED_BY(mutex);  // how often each set of ranks has met here
  std::map<std::string, Answer> fences TUTTI_GUARDED_BY(mutex);     // and the like
  std::map<uint64_t, Answer> modexes TUTTI_GUARDED_BY(mutex);
  uint64_t next_modex TUTTI_GUARDED_BY(mutex) = 1;
  std::map<uint64_t, Answered> asks TUTTI_GUARDED_BY(mutex);
  uint64_t next_ask TUTTI_GUARDED_BY(mutex) = 1;

  pmix_proc_t proc_of(pmix_rank_t rank) {
    const Lock lock(mutex);
    pmix_proc_t proc;
    std::memset(&proc, 0, sizeof proc);
    PMIX_LOAD_PROCID(&proc, nspace.c_str(), rank);
    return proc;
  }

  template <class Task>
  void hand_over(Task task) {
    const Lock lock(mutex);
    if (loop)
      loop->post([this, task] {
        assume_on_loop();
        if (events) task(*events);
      });
  }
};

// The functions that PMIx calls, on its own thread. PMIx has room for one server in a process.
struct PmixServer::Upcalls {
  static inline Pending* pending = nullptr;

  static pmix_status_t connected(const pmix_proc_t* proc, void*, pmix_info_t[], size_t, pmix_op_cbfunc_t, void*) {
    pending->hand_over([rank = proc->rank](Events& e) { e.client_connected(static_cast<int>(rank)); });
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    pending->hand_over([rank = proc->rank](Events& e) { e.client_finalized(static_cast<int>(rank)); });
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t aborted(const pmix_proc_t* proc, void*, int code, const char text[], pmix_proc_t[], size_t,
                               pmix_op_cbfunc_t, void*) {
    pending->hand_over([rank = proc->rank, code, words = std::string(text ? text : "")](Events& e) {
      e.client_aborted(static_cast<int>(rank), code, words);
    });
    return PMIX_OPERATION_SUCCEEDED;
  }
  // The key of a meeting of these. Not all of them name the members in the same order.
  static std::string meeting(const pmix_proc_t procs[], size_t count, std::string_view kind, Pending::Answer answer) {
    std::vector<std::string> members;
    for (size_t i = 0; i < count; ++i) members.push_back(name_of(procs[i]) + " ");
    std::ranges::sort(members);
    std::string key;
    for (const std::string& member : members) key += member;
    key += kind;
    const Lock lock(pending->mutex);
    key += fmt::format("{}", pending->fence_counts[key]++);
    pending->fences[key] = std::move(answer);
    return key;
  }
  static pmix_status_t fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[], size_t infos,
                             char* data, size_t size, pmix_modex_cbfunc_t callback, void* token) {
    const std::string key = meeting(procs, count, "#", [callback, token](int status, const std::string& all) {
      answer(callback, token, status, all);
    });
    std::string bytes(data ? data : "", data ? size : 0);
    std::free(data);  // ours by the contract of fence_nb
    std::string published(told(info, infos, kPublishedKey));
    if (!is_address_key(published)) published.clear();
    pending->hand_over(
        [key, bytes = std::move(bytes), published](Events& e) { e.fence_reached(key, bytes, published); });
    return PMIX_SUCCESS;
  }
  static pmix_status_t modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t count,
                             pmix_modex_cbfunc_t callback, void* token) {
    const auto done = [callback, token](int status, const std::string& data) { answer(callback, token, status, data); };
    uint64_t name;
    bool own = true;
    {
      const Lock lock(pending->mutex);
      own = pending->nspace == proc->nspace;
      name = pending->next_modex++;
      if (own) pending->modexes[name] = done;
    }
    if (!own) return modex_of_kin(*proc, done);
    pending->hand_over([name, rank = proc->rank, table = table_of(told(info, count, PMIX_REQUIRED_KEY))](Events& e) {
      e.modex_needed(name, static_cast<int>(rank), table);
    });
    return PMIX_SUCCESS;
  }
  static void modex_found(pmix_status_t status, char* data, size_t size, void* token) {
    const uint64_t name = reinterpret_cast<uintptr_t>(token);
    std::string bytes(data ? data : "", data ? size : 0);
    pending->hand_over([name, status, bytes = std::move(bytes)](Events& e) { e.modex_ready(name, status, bytes); });
  }
  static pmix_status_t register_events(pmix_status_t*, size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                              pmix_info_t info[], size_t count, pmix_op_cbfunc_t, void*) {
    if (is_release(code)) return PMIX_OPERATION_SUCCEEDED;
    if (code == kWaitsEvent) {
      pending->hand_over([rank = source->rank](Events& e) { e.client_waits(static_cast<int>(rank)); });
      return PMIX_OPERATION_SUCCEEDED;
    }
    if (range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL) return PMIX_OPERATION_SUCCEEDED;
    std::optional<std::string> packed = pack_event(code, *source, info, count);
    if (!packed) return PMIX_ERR_PACK_FAILURE;
    pending->hand_over([packed = std::move(*packed)](Events& e) { e.event_raised(packed); });
    return PMIX_OPERATION_SUCCEEDED;
  }
  // Only for a host with this function the library removes the files that a client wants removed at its end, such as
  // Open MPI's memory in /dev/shm. What it leaves to us, signals and the like, is not the clients' business.
  static pmix_status_t control(const pmix_proc_t*, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                               pmix_info_cbfunc_t, void*) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  // Beyond the job.
  static pmix_status_t ask(Ask ask, const pmix_proc_t* who, Pending::Answered answered) {
    ask.who = name_of(*who);
    uint64_t number;
    {
      const Lock lock(pending->mutex);
      if (pending->nspace != who->nspace) return PMIX_ERR_NOT_SUPPORTED;  // a tool
      number = pending->next_ask++;
      pending->asks[number] = std::move(answered);
    }
    pending->hand_over([number, ask = std::move(ask)](Events& e) { e.asked(number, ask); });
    return PMIX_SUCCESS;
  }
  static pmix_status_t modex_of_kin(const pmix_proc_t& whose, const Pending::Answer& done) {
    if (whose.rank > PMIX_RANK_VALID) return PMIX_ERR_NOT_FOUND;  // of the whole job all is known that there is
    const pmix_proc_t anyone = pending->proc_of(0);
    Ask question{.what = Ask::What::modex, .words = {whose.nspace}, .rank = static_cast<int>(whose.rank)};
    return ask(std::move(question), &anyone, [done](const Reply& reply) {
      done(reply.values.empty() ? PMIX_ERR_NOT_FOUND : status_of(reply.outcome),
           reply.values.empty() ? "" : reply.values[0]);
    });
  }
  // Tutti's own library starts further jobs by a launcher of their own, without PMIx.
  static pmix_status_t spawn(const pmix_proc_t* proc, const pmix_info_t infos[], size_t count, const pmix_app_t apps[],
                             size_t programs, pmix_spawn_cbfunc_t callback, void* token) {
    const auto doubt = [rank = proc->rank](const std::string& why) {
      pending->hand_over([rank, why](Events& e) { e.spawn_doubted(static_cast<int>(rank), why); });
    };
    std::vector<std::string> left_out;
    Result<std::vector<std::string>> words = launcher_arguments(infos, count, apps, programs, left_out);
    if (!words) {
      doubt(words.error().message());
      return PMIX_ERR_BAD_PARAM;
    }
    for (const std::string& key : left_out) doubt(fmt::format("the key '{}' is not known here, and is left out", key));
    return ask({.what = Ask::What::spawn, .words = *std::move(words)}, proc,
               [callback, token](const Reply& reply) { answer_spawn(reply, callback, token); });
  }
  static pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t infos[], size_t count,
                               pmix_op_cbfunc_t callback, void* token) {
    return ask(publication(infos, count), proc,
               [callback, token](const Reply& reply) { callback(status_of(reply.outcome), token); });
  }
  static pmix_status_t look_up(const pmix_proc_t* proc, char** names, const pmix_info_t infos[], size_t count,
                               pmix_lookup_cbfunc_t callback, void* token) {
    return ask(lookup(names, infos, count), proc,
               [callback, token](const Reply& reply) { answer_lookup(reply, callback, token); });
  }
  static pmix_status_t unpublish(const pmix_proc_t* proc, char** names, const pmix_info_t[], size_t,
                                 pmix_op_cbfunc_t callback, void* token) {
    return ask(withdrawal(names), proc,
               [callback, token](const Reply& reply) { callback(status_of(reply.outcome), token); });
  }
  static pmix_status_t join(std::string_view kind, const pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t callback,
                            void* token) {
    const std::string key =
        meeting(procs, count, kind, [callback, token](int status, const std::string&) { callback(status, token); });
    pending->hand_over([key](Events& e) { e.fence_reached(key, "", ""); });
    return PMIX_SUCCESS;
  }
  static pmix_status_t connect(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t,
                               pmix_op_cbfunc_t callback, void* token) {
    return join(kConnects, procs, count, callback, token);
  }
  static pmix_status_t disconnect(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t,
                                  pmix_op_cbfunc_t callback, void* token) {
    return join(kDisconnects, procs, count, callback, token);
  }
};

PmixServer::PmixServer() : pending_(std::make_unique<Pending>()) {}

Result<std::unique_ptr<PmixServer>> PmixServer::start(const std::string& folder, const std::string& node_name,
                                                      const Topology& topology, ToolServices* for_tools,
                                                      bool survives) {
  if (Error e = probe_threads(kThreads)) return e;
  if (!loopback_is_up())
    return failure(
        MPI_ERR_OTHER,
        "the loopback device of {} is down, on which mpirun and its ranks talk to each other; 'ip link set lo up' "
        "raises it (in a container or namespace: inside of it)",
        node_name);
  forget_other_servers();
  // By itself PMIx compares the user's number that a rank claims, which in a user namespace is another one. Where the
  // kernel has told whose a connection is, a rank may do without that.
  const char* const offered = std::getenv(kOffer);
  if (keeps_out_others(node_name)) {
    let_only_known_peers_in();  // who claims nothing has nothing else to show
    ::setenv(kOffer, kAlsoNone, 0);
  } else if (offered && std::string_view(offered) == kAlsoNone) {
    ::unsetenv(kOffer);  // it comes from a job around this one, which was kept
  }
  ::setenv("PMIX_MCA_gds", "hash", 1);  // quickest to the first fence, and no files to leave
  // A job that goes on without ranks that fail hears of all meetings, also of those of ranks of one node.
  if (survives) ::setenv("PMIX_MCA_pmix_server_fence_localonly_opt", "0", 1);
  std::unique_ptr<PmixServer> server(new PmixServer);
  server->folder_ = folder;
  server->node_name_ = node_name;
  Upcalls::pending = server->pending_.get();
  // Functions that are absent here answer PMIX_ERR_NOT_SUPPORTED.
  static pmix_server_module_t module;
  module.client_connected2 = &Upcalls::connected;
  module.client_finalized = &Upcalls::finalized;
  module.abort = &Upcalls::aborted;
  module.fence_nb = &Upcalls::fence;
  module.direct_modex = &Upcalls::modex;
  module.register_events = &Upcalls::register_events;
  module.deregister_events = &Upcalls::deregister_events;
  module.notify_event = &Upcalls::notify;
  module.job_control = &Upcalls::control;
  module.spawn = &Upcalls::spawn;
  module.publish = &Upcalls::publish;
  module.lookup = &Upcalls::look_up;
  module.unpublish = &Upcalls::unpublish;
  module.connect = &Upcalls::connect;
  module.disconnect = &Upcalls::disconnect;
  InfoList info;
  server->for_tools_ = for_tools;
  if (for_tools) {
    put_tool_functions(module, *for_tools);
    info.flag(PMIX_SERVER_TOOL_SUPPORT, true);
  }
  info.text(PMIX_SERVER_TMPDIR, folder);
  info.text(PMIX_SYSTEM_TMPDIR, folder);
  info.text(PMIX_HOSTNAME, node_name);
  // Else the library reads the machine once more, with all of hwloc's plugins, one of which looks
  // for X servers: 13 ms of 30 that a job of two takes.
  std::string source = Topology::hwloc_name();
  pmix_topology_t known{source.data(), topology.handle()};
  info.add(PMIX_TOPOLOGY2, &known, PMIX_TOPO);
  // Never freed: the library goes on using the copy of the topology that it holds.
  const auto* const told = new InfoArray(info.array());
  leave_ends_to_the_launcher();
  const SomeHome home;
  const SignalsBlocked none;  // the library makes threads
  if (const pmix_status_t status = PMIx_server_init(&module, told->data(), told->size()); status != PMIX_SUCCESS)
    return pmix_failure("start its server", status);
  return server;
}

PmixServer::~PmixServer() {
  if (for_tools_) {
    const Lock lock(for_tools_->mutex);
    for_tools_->loop = nullptr;
  }
  {
    const Lock lock(pending_->mutex);
    pending_->loop = nullptr;
  }
  // The library is not finalized: that takes longer than a short job, and the process ends next.
  // Its thread may still call, so what it refers to stays.
  static_cast<void>(pending_.release());
}

void PmixServer::attach(Loop& loop, Events& events) {
  pending_->events = &events;
  const Lock lock(pending_->mutex);
  pending_->loop = &loop;
}

Error PmixServer::register_job(const NodeTask& task, const Topology::Binding& binding) {
  const std::string name = namespace_of(task);
  {
    const Lock lock(pending_->mutex);
    pending_->nspace = name;
  }
  if (for_tools_) for_tools_->nspace = name;
  const InfoArray info = describe_job(task, binding, name, folder_);
  const std::vector<int> local = task.map.ranks_on(task.node);
  pmix_nspace_t nspace;
  PMIX_LOAD_NSPACE(nspace, name.c_str());
  pmix_status_t status =
      PMIx_server_register_nspace(nspace, static_cast<int>(local.size()), info.data(), info.size(), nullptr, nullptr);
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return pmix_failure("register the job", status);
  for (int rank : local) {
    const pmix_proc_t proc = pending_->proc_of(static_cast<pmix_rank_t>(rank));
    status = PMIx_server_register_client(&proc, ::getuid(), ::getgid(), nullptr, nullptr, nullptr);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) return pmix_failure("register a rank", status);
  }
  return {};
}

Result<std::vector<std::string>> PmixServer::variables_of(int rank) {
  const pmix_proc_t proc = pending_->proc_of(static_cast<pmix_rank_t>(rank));
  char** list = nullptr;
  if (const pmix_status_t status = PMIx_server_setup_fork(&proc, &list); status != PMIX_SUCCESS)
    return pmix_failure("make a rank's environment", status);
  std::vector<std::string> out;
  for (char** entry = list; entry && *entry; ++entry) {
    out.emplace_back(*entry);
    std::free(*entry);
  }
  std::free(list);
  return out;
}

void PmixServer::finish_fence(const std::string& key, int status, const std::string& data) {
  Pending::Answer waiting;
  {
    const Lock lock(pending_->mutex);
    const auto found = pending_->fences.find(key);
    if (found == pending_->fences.end()) return;
    waiting = std::move(found->second);
    pending_->fences.erase(found);
  }
  waiting(status, data);
}

void PmixServer::reply(uint64_t number, const Reply& reply) {
  Pending::Answered waiting;
  {
    const Lock lock(pending_->mutex);
    const auto found = pending_->asks.find(number);
    if (found == pending_->asks.end()) return;
    waiting = std::move(found->second);
    pending_->asks.erase(found);
  }
  waiting(reply);
}

Error PmixServer::learn(NodeTask kin) {
  const auto here = std::ranges::find(kin.map.nodes, node_name_);
  kin.node = here == kin.map.nodes.end() ? -1 : static_cast<int>(here - kin.map.nodes.begin());
  kin.pmix_ranks = std::numeric_limits<int>::max();  // one rank after the other
  const std::string name = namespace_of(kin);
  const InfoArray info = describe_job(kin, {}, name, folder_);
  pmix_nspace_t nspace;
  PMIX_LOAD_NSPACE(nspace, name.c_str());
  const pmix_status_t status = PMIx_server_register_nspace(nspace, 0, info.data(), info.size(), nullptr, nullptr);
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED
             ? Error()
             : pmix_failure("register a job of others", status);
}

// "OpenPMIx 4.2.2 (PMIx Standard: 4.1, …", of which the second word is the number.
std::string PmixServer::library_name() {
  const std::string_view whole = PMIx_Get_version();
  const size_t begin = whole.find(' ') + 1, end = std::min(whole.find_first_of(" ,", begin), whole.size());
  return fmt::format("PMIx {}", whole.substr(begin, end - begin));
}

std::string PmixServer::published_by(int rank, const std::string& key) const {
  const pmix_proc_t proc = pending_->proc_of(static_cast<pmix_rank_t>(rank));
  pmix_info_t here;
  bool yes = true;
  PMIX_INFO_LOAD(&here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  pmix_value_t* value = nullptr;
  std::string bytes;
  if (PMIx_Get(&proc, key.c_str(), &here, 1, &value) == PMIX_SUCCESS) {
    if (value->type == PMIX_BYTE_OBJECT) bytes.assign(value->data.bo.bytes, value->data.bo.size);
    PMIX_VALUE_RELEASE(value);
  }
  PMIX_INFO_DESTRUCT(&here);
  return bytes;
}

void PmixServer::find_modex(uint64_t token, int rank) {
  const pmix_proc_t proc = pending_->proc_of(static_cast<pmix_rank_t>(rank));
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, &Upcalls::modex_found, reinterpret_cast<void*>(token));
  if (status != PMIX_SUCCESS) pending_->events->modex_ready(token, status, "");
}

void PmixServer::finish_modex(uint64_t token, int status, const std::string& data) {
  Pending::Answer waiting;
  {
    const Lock lock(pending_->mutex);
    const auto found = pending_->modexes.find(token);
    if (found == pending_->modexes.end()) return;
    waiting = std::move(found->second);
    pending_->modexes.erase(found);
  }
  waiting(status, data);
}

void PmixServer::deliver_event(const std::string& packed) {
  raise_event(packed);
}

void PmixServer::hear_failure(int rank, const std::string& why) {
  const std::optional<std::string> packed = pack_failure(pending_->proc_of(static_cast<pmix_rank_t>(rank)), why);
  if (packed) raise_event(*packed);
}

void PmixServer::tell_failure(int rank, const std::string& why) {
  const std::optional<std::string> packed = pack_failure(pending_->proc_of(static_cast<pmix_rank_t>(rank)), why);
  if (!packed) return;
  raise_event(*packed);
  pending_->events->event_raised(*packed);
}

}  // namespace tutti::launcher
