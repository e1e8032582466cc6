// SPDX-License-Identifier: BSD-3-Clause
// Performance variables (the standard, section 15.3.7): sessions, and handles. A handle of a variable that can
// be started counts what happens between start and stop.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/flight.hpp"
#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/process.hpp"
#include "mpi/tool/api_tool.hpp"
#include "mpi/tool/counted.hpp"
#include "mpi/tool/event.hpp"
#include "mpi/tool/tool.hpp"
#include "transport/router.hpp"

namespace tutti::mpi::tool {
namespace {

// In an event's callback the engine is owned already, and while there is none nothing needs it; so none of this is
// proven.
class TUTTI_SCOPED_CAPABILITY Look {
 public:
  Look() TUTTI_ACQUIRES(engine_owned) TUTTI_NOT_PROVEN
      : engine_(running() && !in_event() ? &engine_of_process() : nullptr) {
    if (engine_) engine_->enter();
  }
  ~Look() TUTTI_RELEASES() TUTTI_NOT_PROVEN {
    if (engine_) engine_->leave();
  }

 private:
  engine::Engine* const engine_;
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
// What tools have made here. It lives as long as the process, because they may use it before MPI_Init and behind
// MPI_Finalize.
struct Measurements {
  Handles<PerformanceHandle> handles TUTTI_GUARDED_BY(mutex());
  Handles<PerformanceSession> sessions TUTTI_GUARDED_BY(mutex());
};
Measurements& measurements() {
  static auto& only = *new Measurements;
  return only;
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
Error find(MPI_T_pvar_session session, MPI_T_pvar_handle handle, PerformanceHandle*& found) TUTTI_REQUIRES(mutex()) {
  PerformanceSession* const of = measurements().sessions.find(session);
  if (!of) return bad_session();
  found = handle == MPI_T_PVAR_ALL_HANDLES ? nullptr : measurements().handles.find(handle);
  if (!found) return bad_handle("performance variable");
  if (found->session == of) return {};
  return failure(MPI_T_ERR_INVALID_HANDLE, "the handle belongs to another session");
}

// One handle, or all of a session that `suits`.
template <class Suits, class Act>
Error act_on(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Suits&& suits, Act&& act) TUTTI_REQUIRES(mutex()) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    PerformanceSession* const of = measurements().sessions.find(session);
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

bool is_wanted(Listens by) TUTTI_REQUIRES(mutex()) {
  return std::ranges::any_of(measurements().handles.all(),
                             [by](const PerformanceHandle* h) { return h->started && h->variable->listens == by; });
}

// After a handle has been started, stopped or freed.
void listen_as_wanted() TUTTI_REQUIRES(mutex()) {
  flight::time_calls(is_wanted(Listens::calls));
  count_events(is_wanted(Listens::events));
  traffic().listen_if(is_wanted(Listens::traffic));
}

Error can_start(const PerformanceHandle& h) {
  if (!h.variable->continuous) return {};
  return failure(MPI_T_ERR_PVAR_NO_STARTSTOP, "{} is always there: it is neither started nor stopped",
                 h.variable->name);
}
Error can_write(const PerformanceHandle& h) {
  if (!h.variable->readonly) return {};
  return failure(MPI_T_ERR_PVAR_NO_WRITE, "{} can only be read", h.variable->name);
}

}  // namespace

Error t_pvar_get_num(int* num_pvar) {
  TUTTI_TOOL_READY;
  if (!num_pvar) return null_address("num_pvar");
  *num_pvar = static_cast<int>(performance_variables().size());
  return {};
}

Error t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class, MPI_Datatype* datatype,
                      MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* readonly, int* continuous,
                      int* atomic) {
  TUTTI_TOOL_READY;
  if (!within(pvar_index, performance_variables().size()))
    return bad_index(pvar_index, performance_variables().size(), "performance variable");
  const PerformanceVariable& v = performance_variables()[static_cast<size_t>(pvar_index)];
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
  const std::span all = performance_variables();
  for (size_t i = 0; i < all.size(); ++i)
    if (std::strcmp(all[i].name, name) == 0 && all[i].variable_class == var_class) {
      *pvar_index = static_cast<int>(i);
      return {};
    }
  return bad_name(name, "performance variable of this class");
}

Error t_pvar_session_create(MPI_T_pvar_session* session) {
  TUTTI_TOOL_READY;
  if (!session) return null_address("session");
  *session = reinterpret_cast<MPI_T_pvar_session>(measurements().sessions.add(new PerformanceSession));
  return {};
}

Error t_pvar_session_free(MPI_T_pvar_session* session) {
  TUTTI_TOOL_READY;
  if (!session) return null_address("session");
  PerformanceSession* const found = measurements().sessions.find(*session);
  if (!found) return bad_session();
  for (PerformanceHandle* h : found->handles) measurements().handles.remove(h);
  measurements().sessions.remove(found);
  listen_as_wanted();
  *session = MPI_T_PVAR_SESSION_NULL;
  return {};
}

Error t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* obj_handle, MPI_T_pvar_handle* handle,
                          int* count) {
  TUTTI_TOOL_READY;
  PerformanceSession* const of = measurements().sessions.find(session);
  if (!of) return bad_session();
  if (!within(pvar_index, performance_variables().size()))
    return bad_index(pvar_index, performance_variables().size(), "performance variable");
  if (!handle) return null_address("handle");
  const PerformanceVariable& v = performance_variables()[static_cast<size_t>(pvar_index)];
  Ref<Comm> comm;
  if (Error e = resolve_bound(v.bind, obj_handle, comm)) return e;
  const int number = v.count(comm.get());
  auto* made = measurements().handles.add(new PerformanceHandle{of, &v, std::move(comm), false, {}, {}});
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
  measurements().handles.remove(found);
  listen_as_wanted();
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return {};
}

Error t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TUTTI_TOOL_READY;
  return act_on(session, handle, can_start, [](PerformanceHandle& h) TUTTI_REQUIRES(mutex()) {
    if (h.started) return;
    h.started = true;
    if (h.variable->listens != Listens::nobody) listen_as_wanted();
    h.since = values_now(h);
  });
}

Error t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TUTTI_TOOL_READY;
  return act_on(session, handle, can_start, [](PerformanceHandle& h) TUTTI_REQUIRES(mutex()) {
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
    values[i] = found->variable->type == MPI_DOUBLE ? static_cast<const double*>(buf)[i]
                                                    : static_cast<double>(static_cast<const unsigned long*>(buf)[i]);
  set(*found, std::move(values));
  return {};
}

Error t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TUTTI_TOOL_READY;
  return act_on(session, handle, can_write, [](PerformanceHandle& h) { set(h, std::vector<double>(h.kept.size())); });
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

}  // namespace tutti::mpi::tool
