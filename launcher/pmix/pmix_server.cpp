// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/pmix/pmix_server.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstring>
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
#include "launcher/pmix/pmix_door.hpp"
#include "launcher/pmix/pmix_info.hpp"
#include "launcher/pmix/pmix_tools.hpp"
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
  struct Answer {
    pmix_modex_cbfunc_t callback;
    void* token;
  };
  Mutex mutex;
  Loop* loop TUTTI_GUARDED_BY(mutex) = nullptr;
  Events* events TUTTI_LOOPS = nullptr;
  std::string nspace TUTTI_GUARDED_BY(mutex);
  std::map<std::string, int> fence_counts TUTTI_GUARDED_BY(mutex);  // how often each set of ranks has met here
  std::map<std::string, Answer> fences TUTTI_GUARDED_BY(mutex);
  std::map<uint64_t, Answer> modexes TUTTI_GUARDED_BY(mutex);
  uint64_t next_modex TUTTI_GUARDED_BY(mutex) = 1;

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
  static pmix_status_t fence(const pmix_proc_t procs[], size_t count, const pmix_info_t info[], size_t infos,
                             char* data, size_t size, pmix_modex_cbfunc_t callback, void* token) {
    std::string key;
    for (size_t i = 0; i < count; ++i) key += fmt::format("{}:{} ", procs[i].nspace, procs[i].rank);
    {
      const Lock lock(pending->mutex);
      key += fmt::format("#{}", pending->fence_counts[key]++);
      pending->fences[key] = {callback, token};
    }
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
    uint64_t name;
    {
      const Lock lock(pending->mutex);
      if (pending->nspace != proc->nspace) return PMIX_ERR_NOT_FOUND;
      name = pending->next_modex++;
      pending->modexes[name] = {callback, token};
    }
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
  // Tutti's library starts further jobs by a launcher of their own, without PMIx.
  static pmix_status_t spawn(const pmix_proc_t* proc, const pmix_info_t[], size_t, const pmix_app_t[], size_t,
                             pmix_spawn_cbfunc_t, void*) {
    pending->hand_over([rank = proc->rank](Events& e) { e.client_spawns(static_cast<int>(rank)); });
    return PMIX_ERR_NOT_SUPPORTED;
  }
};

// The server listens on the loopback device. Where that is down, as in a namespace of a network that nobody has set up,
// the library has several sentences of its own.
bool loopback_is_up() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return true;  // not known
  bool up = false, there = false;
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    const bool loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
    there = there || loopback;
    up = up || (loopback && (each->ifa_flags & IFF_UP) != 0);
  }
  ::freeifaddrs(all);
  return up || !there;
}

PmixServer::PmixServer() : pending_(std::make_unique<Pending>()) {}

Result<std::unique_ptr<PmixServer>> PmixServer::start(const std::string& folder, const std::string& node_name,
                                                      const Topology& topology, ToolServices* for_tools) {
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
  std::unique_ptr<PmixServer> server(new PmixServer);
  server->folder_ = folder;
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
  // Whoever knows it may ask to be let in, and the job's number is no secret: files, sockets and
  // lists show it. The key is in the environment of the ranks alone.
  const std::string name = job_prefix(task.map.id) + task.key;
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
    waiting = found->second;
    pending_->fences.erase(found);
  }
  answer(waiting.callback, waiting.token, status, data);
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
    waiting = found->second;
    pending_->modexes.erase(found);
  }
  answer(waiting.callback, waiting.token, status, data);
}

void PmixServer::deliver_event(const std::string& packed) {
  raise_event(packed);
}

}  // namespace tutti::launcher
