// SPDX-License-Identifier: BSD-3-Clause
// Performance variables (the standard, section 15.3.7): what the runtime counts or knows anyway,
// read when a tool asks. A handle of a variable that can be started counts what happens between
// start and stop.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/flight.hpp"
#include "base/pool.hpp"
#include "exec/plan_counts.hpp"
#include "functions.hpp"
#include "mpi/object/entry.hpp"
#include "mpi/object/process.hpp"
#include "mpi/tool/api_tool.hpp"
#include "mpi/tool/event.hpp"
#include "mpi/tool/tool.hpp"
#include "transport/counting.hpp"

namespace tutti::mpi {
namespace tool {
namespace {

bool running() {
  return phase.load() == Phase::running;
}

// In an event's callback the engine is owned already.
class Look {
 public:
  Look() : engine_(running() && !in_event() ? the_process->engine.get() : nullptr) {
    if (engine_) engine_->enter();
  }
  ~Look() {
    if (engine_) engine_->leave();
  }

 private:
  engine::Engine* const engine_;
};

int one(const Comm*) {
  return 1;
}
int of_peers(const Comm* comm) {
  return comm ? comm->remote_size() : 0;
}

template <bool sent>
void messages(const Comm* comm, double* values) {
  for (int i = 0; i < of_peers(comm); ++i) values[i] = 0;
  engine_of_process().each_peer([&](int peer, uint32_t out, uint32_t in) {
    for (int i = 0; i < of_peers(comm); ++i)
      if (comm->process_of(i) == peer) values[i] = sent ? out : in;
  });
}

// ---- what is counted while a handle is started

std::unique_ptr<transport::Counting>& counting() {
  static auto& made = *new std::unique_ptr<transport::Counting>;
  return made;
}

template <bool sent>
void bytes(const Comm* comm, double* values) {
  for (int i = 0; i < of_peers(comm); ++i) {
    values[i] = 0;
    const auto peer = static_cast<size_t>(comm->process_of(i));
    if (!counting() || peer >= counting()->by_peer().size()) continue;
    const auto& both = counting()->by_peer()[peer];
    values[i] = static_cast<double>(sent ? both.out.bytes : both.in.bytes);
  }
}

template <bool shared, bool of_bytes>
void by_way(const Comm*, double* v) {
  *v = 0;
  if (!counting() || !running()) return;
  const std::vector<int>& near = process().job->view().node_ranks;
  for (size_t peer = 0; peer < counting()->by_peer().size(); ++peer) {
    const bool is_shared = process().transport->has_shared_memory() &&
                           std::ranges::binary_search(near, static_cast<int>(peer));
    const auto& out = counting()->by_peer()[peer].out;
    if (is_shared == shared) *v += static_cast<double>(of_bytes ? out.bytes : out.messages);
  }
}

template <size_t happening>
void events(const Comm*, double* v) {
  *v = static_cast<double>(events_counted(happening));
}

int functions(const Comm*) {
  return static_cast<int>(kFunctionCount);
}
void time_in_calls(const Comm*, double* v) {
  for (size_t i = 0; i < kFunctionCount; ++i) v[i] = flight::seconds_in(static_cast<uint16_t>(i));
}
void time_in_mpi(const Comm*, double* v) {
  *v = 0;
  for (size_t i = 0; i < kFunctionCount; ++i) *v += flight::seconds_in(static_cast<uint16_t>(i));
}

// ---- what is there anyway

void tried(const Comm*, double* v) {
  *v = running() ? static_cast<double>(engine_of_process().matcher().tried()) : 0;
}
void unexpected_bytes(const Comm*, double* v) {
  *v = 0;
  if (!running()) return;
  engine_of_process().matcher().each_unexpected([&](const engine::Unexpected& message) {
    if (!engine::is_hidden(message.header.context)) *v += static_cast<double>(message.header.bytes);
  });
}

// Of the program's messages: those of the library's collectives are its own affair.
void unexpected(const Comm*, double* v) {
  *v = 0;
  if (!running()) return;
  engine_of_process().matcher().each_unexpected(
      [&](const engine::Unexpected& message) { *v += !engine::is_hidden(message.header.context); });
}
void posted(const Comm*, double* v) {
  *v = 0;
  if (!running()) return;
  engine_of_process().matcher().each_posted([&](const engine::RecvOperation& receive) {
    *v += !engine::is_hidden(receive.match.context);
  });
}
void pending(const Comm*, double* v) {
  *v = running() ? static_cast<double>(engine_of_process().pending()) : 0;
}
void completed(const Comm*, double* v) {
  *v = the_process ? static_cast<double>(process().completions) : 0;
}
void wakeups(const Comm*, double* v) {
  *v = running() && process().helper ? static_cast<double>(process().helper->wakeups()) : 0;
}
void built(const Comm*, double* v) {
  *v = static_cast<double>(coll::plan_counts.built.get());
}
void reused(const Comm*, double* v) {
  *v = static_cast<double>(coll::plan_counts.reused.get());
}

// ---- memory

void idle_objects(const Comm*, double* v) {
  *v = static_cast<double>(PoolsHere::idle_bytes());
}
void kept_of_collectives(const Comm*, double* v) {
  *v = running() ? static_cast<double>(process().store->bytes()) : 0;
}
template <auto member>
void rings(const Comm*, double* v) {
  *v = running() ? static_cast<double>(process().transport->rings().*member) : 0;
}

void level(const Comm*, double* v) {
  static_assert(MPI_THREAD_MULTIPLE > 0);
  *v = running() ? process().thread_level.load() : 0;
}
void node_ranks(const Comm*, double* v) {
  *v = running() ? static_cast<double>(process().job->view().node_ranks.size()) : 0;
}
void shared_memory(const Comm*, double* v) {
  *v = running() && process().transport->has_shared_memory();
}
void time(const Comm*, double* v) {
  *v = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr int kNone = MPI_T_BIND_NO_OBJECT, kComm = MPI_T_BIND_MPI_COMM;
const PerformanceVariable kVariables[] = {
    {"messages.sent", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Messages that this process has sent to each rank of the communicator, on whatever "
     "communicator",
     of_peers, messages<true>},
    {"messages.received", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Messages that have come from each rank of the communicator, on whatever communicator",
     of_peers, messages<false>},
    {"messages.bytes_sent", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Bytes of messages that this process has sent to each other rank of the communicator while the handle was "
     "started, on whatever communicator, those of collectives included",
     of_peers, bytes<true>, Listens::transport},
    {"messages.bytes_received", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kComm, false, false,
     "Bytes of messages that have come from each other rank of the communicator while the handle was started",
     of_peers, bytes<false>, Listens::transport},
    {"messages.matched", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages on communicators that have met their receive while the handle was started", one,
     events<0>, Listens::events},
    {"messages.unexpected", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages on communicators that have come before their receive while the handle was started", one,
     events<1>, Listens::events},
    {"messages.tried", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Receives and messages that searches for a match have looked at; what is found at once counts nothing", one, tried},
    {"messages.unexpected_bytes_now", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of the messages that have come and that no receive has matched yet", one, unexpected_bytes},
    {"messages.unexpected_now", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Messages that have come and that no receive has matched yet", one, unexpected},
    {"messages.posted_now", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Receives that are posted and that no message has matched yet", one, posted},
    {"progress.pending", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Operations under way that need progress", one, pending},
    {"progress.completed", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Requests that have completed", one, completed},
    {"progress.wakeups", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "How often the progress thread has woken", one, wakeups},
    {"collectives.plans_built", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Plans of collectives that were built", one, built},
    {"collectives.plans_reused", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Plans of collectives that were looked up and found; a call like an earlier one need not look",
     one, reused},
    {"collectives.started", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Collective calls that have begun in this process while the handle was started", one, events<2>,
     Listens::events},
    {"calls.time", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, kNone, false, false,
     "Seconds in each function of MPI while the handle was started, an element for each in the order of the alphabet: of "
     "those that communicate, wait, or make and free objects",
     functions, time_in_calls, Listens::calls},
    {"calls.time_in_all", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, kNone, false, false,
     "Seconds in all of these functions together", one, time_in_mpi, Listens::calls},
    {"process.thread_level", MPI_T_PVAR_CLASS_STATE, MPI_INT, kNone, true, true,
     "The thread level that MPI_Init_thread gave; none before and after", one, level},
    {"process.ranks_on_node", MPI_T_PVAR_CLASS_SIZE, MPI_UNSIGNED_LONG, kNone, true, true,
     "Ranks of the job on this node", one, node_ranks},
    {"transport.shared_memory_used", MPI_T_PVAR_CLASS_SIZE, MPI_UNSIGNED_LONG, kNone, true, true,
     "1: messages on this node go through shared memory", one, shared_memory},
    {"transport.shared_memory_messages", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages that this process has sent through shared memory while the handle was started", one,
     by_way<true, false>, Listens::transport},
    {"transport.shared_memory_bytes", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Bytes of these messages", one, by_way<true, true>, Listens::transport},
    {"transport.ucx_messages", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Messages that this process has sent over UCX while the handle was started", one, by_way<false, false>,
     Listens::transport},
    {"transport.ucx_bytes", MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG, kNone, false, false,
     "Bytes of these messages", one, by_way<false, true>, Listens::transport},
    {"memory.idle_objects", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of requests and messages that are over, which the thread that asks keeps for its next ones", one,
     idle_objects},
    {"memory.collectives", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of plans, and of scratch of collectives that are over, which are kept for the next ones", one,
     kept_of_collectives},
    {"memory.rings", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes of the shared rings in which this process's messages go to others of its node", one,
     rings<&transport::RingFigures::taken>},
    {"memory.rings_unread", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Bytes in these rings that their readers have not said to have read, which they say from time to time", one,
     rings<&transport::RingFigures::unread>},
    {"memory.large_rings_lent", MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG, kNone, true, true,
     "Large shared rings that are lent for long messages at the moment, to all processes of the node", one,
     rings<&transport::RingFigures::lent>},
    {"process.time", MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, kNone, false, false,
     "Seconds that have passed while the handle was started", one, time},
};

struct PerformanceSession;
struct PerformanceHandle {
  PerformanceSession* session;
  const PerformanceVariable* variable;
  Ref<Comm> comm;
  bool started = false;
  std::vector<double> kept;   // what was counted before the latest start, or was written
  std::vector<double> since;  // the values at the latest start

  // A counter tells what has been added; others what is.
  bool adds() const { return !variable->continuous; }
};
struct PerformanceSession {
  std::set<PerformanceHandle*> handles;
};
Handles<PerformanceHandle>& handles() {
  static auto& made = *new Handles<PerformanceHandle>;
  return made;
}
Handles<PerformanceSession>& sessions() {
  static auto& made = *new Handles<PerformanceSession>;
  return made;
}

std::vector<double> values_now(const PerformanceHandle& h) {
  std::vector<double> values(h.kept.size());
  const Look look;
  if (!h.comm || running()) h.variable->read(h.comm.get(), values.data());
  return values;
}
std::vector<double> value(const PerformanceHandle& h) {
  if (!h.adds()) return values_now(h);
  std::vector<double> values = h.kept;
  if (h.started) {
    const std::vector<double> now = values_now(h);
    for (size_t i = 0; i < values.size(); ++i) values[i] += now[i] - h.since[i];
  }
  return values;
}
void set(PerformanceHandle& h, std::vector<double> values) {
  h.kept = std::move(values);
  if (h.started) h.since = values_now(h);
}

void store(const PerformanceVariable& variable, const std::vector<double>& values, void* buffer) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (variable.type == MPI_DOUBLE)
      static_cast<double*>(buffer)[i] = values[i];
    else if (variable.type == MPI_INT)
      static_cast<int*>(buffer)[i] = static_cast<int>(values[i]);
    else
      static_cast<unsigned long*>(buffer)[i] = static_cast<unsigned long>(std::llround(values[i]));
  }
}

[[gnu::cold]] Error bad_session() {
  return failure(MPI_T_ERR_INVALID_SESSION, "this is no session: freed already, or never created");
}
Error find(MPI_T_pvar_session session, MPI_T_pvar_handle handle, PerformanceHandle*& found) {
  PerformanceSession* const of = sessions().find(session);
  if (!of) return bad_session();
  found = handle == MPI_T_PVAR_ALL_HANDLES ? nullptr : handles().find(handle);
  if (!found) return bad_handle("performance variable");
  if (found->session == of) return {};
  return failure(MPI_T_ERR_INVALID_HANDLE, "the handle belongs to another session");
}

// One handle, or all of a session that `suits`.
template <class Suits, class Act>
Error act_on(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Suits&& suits, Act&& act) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    PerformanceSession* const of = sessions().find(session);
    if (!of) return bad_session();
    for (PerformanceHandle* h : of->handles)
      if (!suits(*h)) act(*h);
    return {};
  }
  PerformanceHandle* found = nullptr;
  if (Error e = find(session, handle, found)) return e;
  if (Error e = suits(*found)) return e;
  act(*found);
  return {};
}

bool is_wanted(Listens by) {
  return std::ranges::any_of(handles().all(), [by](const PerformanceHandle* h) {
    return h->started && h->variable->listens == by;
  });
}

// The engine is owned. Counting stays where it is while a stressed transport is in use: in front of that.
void count_traffic(Process& p, bool on) {
  transport::Transport& usual = p.stress ? *p.stress : p.transport->direct();
  if (!on) return p.engine->switch_transport(usual);
  if (!counting())
    counting() = std::make_unique<transport::Counting>(p.stress ? *p.stress
                                                                : static_cast<transport::Transport&>(*p.transport));
  p.engine->switch_transport(*counting());
}

// After a handle has been started, stopped or freed.
void listen_as_wanted() {
  flight::time_calls(is_wanted(Listens::calls));
  count_events(is_wanted(Listens::events));
  if (!running() || in_event()) return;
  const bool wanted = is_wanted(Listens::transport);
  if (!wanted && !counting()) return;
  const Look look;
  count_traffic(process(), wanted);
}

Error can_start(const PerformanceHandle& h) {
  if (!h.variable->continuous) return {};
  return failure(MPI_T_ERR_PVAR_NO_STARTSTOP,
                 "{} is always there: it is neither started nor stopped", h.variable->name);
}
Error can_write(const PerformanceHandle& h) {
  if (!h.variable->readonly) return {};
  return failure(MPI_T_ERR_PVAR_NO_WRITE, "{} can only be read", h.variable->name);
}

}  // namespace

void begin_counting(Process& process) {
  const std::lock_guard lock(mutex());
  counting().reset();  // of an earlier engine
  const engine::Engine::Guard own(*process.engine);
  if (is_wanted(Listens::transport)) count_traffic(process, true);
}

std::span<const PerformanceVariable> performance_variables() {
  return kVariables;
}

}  // namespace tool

using namespace tool;

Error t_pvar_get_num(int* num_pvar) {
  TUTTI_TOOL_READY;
  if (!num_pvar) return null_address("num_pvar");
  *num_pvar = static_cast<int>(std::size(kVariables));
  return {};
}

Error t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                      MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                      int* bind, int* readonly, int* continuous, int* atomic) {
  TUTTI_TOOL_READY;
  if (!within(pvar_index, std::size(kVariables)))
    return bad_index(pvar_index, std::size(kVariables), "performance variable");
  const PerformanceVariable& v = kVariables[pvar_index];
  give_text(v.name, name, name_len);
  give(verbosity, int{MPI_T_VERBOSITY_USER_DETAIL});
  give(var_class, v.variable_class);
  give(datatype, v.type);
  give(enumtype, tool::handle_of(v.type == MPI_INT ? thread_levels() : nullptr));
  give_text(v.doc, desc, desc_len);
  give(bind, v.bind);
  give(readonly, int{v.readonly});
  give(continuous, int{v.continuous});
  give(atomic, int{!v.readonly});
  return {};
}

Error t_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  TUTTI_TOOL_READY;
  if (!name || !pvar_index) return null_address(name ? "pvar_index" : "name");
  for (size_t i = 0; i < std::size(kVariables); ++i)
    if (std::strcmp(kVariables[i].name, name) == 0 && kVariables[i].variable_class == var_class) {
      *pvar_index = static_cast<int>(i);
      return {};
    }
  return bad_name(name, "performance variable of this class");
}

Error t_pvar_session_create(MPI_T_pvar_session* session) {
  TUTTI_TOOL_READY;
  if (!session) return null_address("session");
  *session = reinterpret_cast<MPI_T_pvar_session>(sessions().add(new PerformanceSession));
  return {};
}

Error t_pvar_session_free(MPI_T_pvar_session* session) {
  TUTTI_TOOL_READY;
  if (!session) return null_address("session");
  PerformanceSession* const found = sessions().find(*session);
  if (!found) return bad_session();
  for (PerformanceHandle* h : found->handles) handles().remove(h);
  sessions().remove(found);
  listen_as_wanted();
  *session = MPI_T_PVAR_SESSION_NULL;
  return {};
}

Error t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* obj_handle,
                          MPI_T_pvar_handle* handle, int* count) {
  TUTTI_TOOL_READY;
  PerformanceSession* const of = sessions().find(session);
  if (!of) return bad_session();
  if (!within(pvar_index, std::size(kVariables)))
    return bad_index(pvar_index, std::size(kVariables), "performance variable");
  if (!handle) return null_address("handle");
  const PerformanceVariable& v = kVariables[pvar_index];
  Ref<Comm> comm;
  if (Error e = resolve_bound(v.bind, obj_handle, comm)) return e;
  const int number = v.count(comm.get());
  auto* made = handles().add(new PerformanceHandle{of, &v, std::move(comm), false, {}, {}});
  made->kept.resize(static_cast<size_t>(number));
  of->handles.insert(made);
  *handle = reinterpret_cast<MPI_T_pvar_handle>(made);
  give(count, number);
  return {};
}

Error t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  TUTTI_TOOL_READY;
  if (!handle) return null_address("handle");
  PerformanceHandle* found = nullptr;
  if (Error e = find(session, *handle, found)) return e;
  found->session->handles.erase(found);
  handles().remove(found);
  listen_as_wanted();
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return {};
}

Error t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TUTTI_TOOL_READY;
  return act_on(session, handle, can_start, [](PerformanceHandle& h) {
    if (h.started) return;
    h.started = true;
    if (h.variable->listens != Listens::nobody) listen_as_wanted();
    h.since = values_now(h);
  });
}

Error t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TUTTI_TOOL_READY;
  return act_on(session, handle, can_start, [](PerformanceHandle& h) {
    h.kept = value(h);
    h.started = false;
    if (h.variable->listens != Listens::nobody) listen_as_wanted();
  });
}

Error t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  TUTTI_TOOL_READY;
  PerformanceHandle* found = nullptr;
  if (Error e = find(session, handle, found)) return e;
  if (!buf) return null_address("buf");
  store(*found->variable, value(*found), buf);
  return {};
}

Error t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  TUTTI_TOOL_READY;
  PerformanceHandle* found = nullptr;
  if (Error e = find(session, handle, found)) return e;
  if (!buf) return null_address("buf");
  if (Error e = can_write(*found)) return e;
  std::vector<double> values(found->kept.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = found->variable->type == MPI_DOUBLE
                    ? static_cast<const double*>(buf)[i]
                    : static_cast<double>(static_cast<const unsigned long*>(buf)[i]);
  set(*found, std::move(values));
  return {};
}

Error t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TUTTI_TOOL_READY;
  return act_on(session, handle, can_write,
                [](PerformanceHandle& h) { set(h, std::vector<double>(h.kept.size())); });
}

Error t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  TUTTI_TOOL_READY;
  PerformanceHandle* found = nullptr;
  if (Error e = find(session, handle, found)) return e;
  if (!buf) return null_address("buf");
  if (Error e = can_write(*found)) return e;
  // What is counted between the two would be in neither: so the variable is asked once.
  std::vector<double> values = found->kept;
  if (found->started) {
    std::vector<double> now = values_now(*found);
    for (size_t i = 0; i < values.size(); ++i) values[i] += now[i] - found->since[i];
    found->since = std::move(now);
  }
  found->kept.assign(values.size(), 0);
  store(*found->variable, values, buf);
  return {};
}

}  // namespace tutti::mpi
