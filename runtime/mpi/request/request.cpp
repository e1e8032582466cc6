// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/request.hpp"

#include <algorithm>
#include <vector>

#include "base/cpu.hpp"
#include "contract/checker.hpp"
#include "mpi/object/entry.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/status.hpp"
#include "mpi/request/api_request.hpp"
#include "mpi/request/generalized.hpp"
#include "mpi/request/persistent.hpp"
#include "mpi/request/watch.hpp"

namespace tutti::mpi {
namespace {

bool is_good(MPI_Request handle) { return handle == MPI_REQUEST_NULL || resolve<Request>(handle); }

[[gnu::cold]] Error bad_entry(int i, const MPI_Request* requests) {
  inventory::mention(requests[i], "request");
  return failure(MPI_ERR_REQUEST,
                 "entry {} of the array is no request: completed or freed already, or never set", i);
}

Error checked(int count, const MPI_Request* requests) {
  if (count > 0 && !requests) return failure(MPI_ERR_ARG, "the array of {} requests is NULL", count);
  for (int i = 0; i < count; ++i)
    if (!is_good(requests[i])) return bad_entry(i, requests);
  return {};
}

// What stands behind a handle, and what has been started: of a persistent request its operation under
// way. Each call reads the handle and the operation once, for another thread may change them.
struct Live {
  PersistentRequest* persistent = nullptr;  // nullptr: an ordinary one
  Request* request = nullptr;               // nullptr: nothing has been started
  explicit operator bool() const { return request != nullptr; }
  Request* operator->() const { return request; }
};

// Of a handle that was found good.
Live at(const MPI_Request& place) {
  const MPI_Request handle = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (handle == MPI_REQUEST_NULL) return {};
  Request* const request = known<Request>(handle);
  PersistentRequest* const persistent = as_persistent(request);
  return {persistent, persistent ? persistent->started() : request};
}

// The same of a generalised one, by the program's functions. Of two errors that of the last call counts.
[[gnu::cold]] Error complete_generalized(MPI_Request& handle, GeneralizedRequest& request, MPI_Status* status) {
  MPI_Status unwanted{};
  Error error = request.query(status != MPI_STATUS_IGNORE ? *status : unwanted);
  if (request.is_second_end())
    if (Error e = request.free()) error = std::move(e);
  handle = MPI_REQUEST_NULL;
  request.release();
  return error;
}

// A call is about to say that it is complete.
[[gnu::cold]] void tell_of_end(const Live& live) {
  if (live.persistent) tell_watchers(*live.persistent, Watched::ends);
  tell_watchers(*live.request, Watched::ends);
}

// Gives out the request's status and error, and gives up the handle, but of a persistent one.
Error complete(MPI_Request& handle, const Live& live, MPI_Status* status) {
  Request& request = *live.request;
  if (!request.take()) [[unlikely]]
    return taken_by_another_thread();
  if (GeneralizedRequest* const own = as_generalized(&request)) [[unlikely]]
    return complete_generalized(handle, *own, status);
  if (status != MPI_STATUS_IGNORE) request.fill(*status);
  Error error;
  if (!request.ended_well()) {
    error = request.error();
    if (request.is_watched()) tell_of_end(live);
  }
  // Only for collectives does a single completion call set the status' error (section 6.12).
  if (status != MPI_STATUS_IGNORE && request.kind == Request::Kind::collective)
    status->MPI_ERROR = error.mpi_class();
  if (error) {
    error_object() = Ref<HasErrhandler>(&request.raises_on());
    inventory::mention(handle, "operation");
  }
  if (live.persistent) {
    live.persistent->leave_started();
  } else {
    handle = MPI_REQUEST_NULL;
  }
  request.release();
  return error;
}

// How many requests a call is to complete. Asked only where another thread may take them meanwhile.
int active_among(int count, const MPI_Request* requests) {
  int active = 0;
  if (concurrent_calls)
    for (int i = 0; i < count; ++i) active += at(requests[i]) ? 1 : 0;
  return active;
}

void one_pass() {
  engine::Engine& engine = engine_of_process();
  engine.enter();
  const bool moved = engine.progress();
  engine.leave();
  if (!moved) engine.give_way();
}

// Entries that MPI_Waitany passes over in a row where it went on from the last call.
constexpr int kMostSkipped = 64;

bool chooses_by_chance() { return process().stress_mode.kind == StressMode::Kind::random; }

// Where a search among `count` requests begins: any will do, and --stress=random takes any.
int search_from(int count) {
  if (!chooses_by_chance() || count == 0) return 0;
  static thread_local uint64_t chance = process().stress_mode.seed;
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int>((chance >> 33) % static_cast<uint64_t>(count));
}

// One of the active requests that is complete, or -1; `active` tells whether there are any.
int find_complete(int count, const MPI_Request* requests, bool& active) {
  active = false;
  const int first = search_from(count);
  for (int n = 0; n < count; ++n) {
    const int i = first + n < count ? first + n : first + n - count;
    if (const Live live = at(requests[i])) {
      active = true;
      if (live->is_complete()) return i;
    }
  }
  return -1;
}

bool all_complete(int count, const MPI_Request* requests) {
  return std::all_of(requests, requests + count, [](const MPI_Request& handle) {
    const Live live = at(handle);
    return !live || live->is_complete();
  });
}

// Adds what the active requests need, side by side.
void add_needs_of(int count, const MPI_Request* requests, engine::Condition& needs) {
  for (int i = 0; i < count; ++i)
    if (const Live live = at(requests[i])) live->add_needs(needs);
}
auto needs_of_any(int count, const MPI_Request* requests) {
  return [=](engine::Condition& needs) {
    needs.any();
    add_needs_of(count, requests, needs);
    needs.end();
  };
}

// Waits until another of the engine's requests completes, and looks again; the look may be long.
template <class Look, class Needs>
void wait_for(Look&& look, Needs&& needs) {
  engine::Engine& engine = engine_of_process();
  const engine::Engine::Guard own(engine);
  const uint64_t& completions = process().completions;
  uint64_t seen = completions;
  bool found = look();
  if (found) return;
  engine.wait_until(
      [&] {
        if (found || completions == seen) return found;
        seen = completions;
        return found = look();
      },
      needs);
}

// The request that a search has found. Another thread may have emptied the place since.
Error complete_found(MPI_Request& handle, MPI_Status* status) {
  const Live live = at(handle);
  return live && live->is_complete() ? complete(handle, live, status) : taken_by_another_thread();
}

// Statuses of a call over all requests: MPI_ERROR is set in each if one of them failed. `expected` of
// them were active when the call began, where that was asked.
Error complete_all(int count, MPI_Request* requests, MPI_Status* statuses, int expected) {
  Error first;
  int completed = 0;
  std::vector<int> classes;
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
    // None any more: an entry that stands in the array twice.
    const Live live = resolve<Request>(requests[i]) ? at(requests[i]) : Live();
    if (!live) {
      if (status) fill_empty(*status);
      continue;
    }
    ++completed;
    if (!status && !live.persistent && live->ended_well() && live->take()) [[likely]] {
      requests[i] = MPI_REQUEST_NULL;
      live->release();
    } else if (Error error = complete(requests[i], live, status)) [[unlikely]] {
      classes.resize(static_cast<size_t>(count));
      classes[static_cast<size_t>(i)] = error.mpi_class();
      if (!first)
        first = statuses == MPI_STATUSES_IGNORE
                    ? std::move(error)
                    : failure(MPI_ERR_IN_STATUS, "request {} of {}: {}", i, count, error.message());
    }
  }
  if (first && statuses != MPI_STATUSES_IGNORE)
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = classes[static_cast<size_t>(i)];
  if (!first && completed < expected) return taken_by_another_thread();
  return first;
}

// `expected`: some were active when the call began.
Error complete_some(int incount, MPI_Request* requests, int* outcount, int* indices,
                    MPI_Status* statuses, bool expected) {
  int found = 0;
  bool active = false;
  Error first;
  std::vector<int> classes;
  for (int i = 0; i < incount; ++i) {
    const Live live = at(requests[i]);
    if (!live) continue;
    active = true;
    if (!live->is_complete()) continue;
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + found;
    Error error = complete(requests[i], live, status);
    classes.push_back(error.mpi_class());
    indices[found++] = i;
    if (error && !first)
      first = failure(MPI_ERR_IN_STATUS, "request {} of {}: {}", i, incount, error.message());
  }
  *outcount = active ? found : MPI_UNDEFINED;
  if (expected && !active) return taken_by_another_thread();
  if (first && statuses != MPI_STATUSES_IGNORE)
    for (int i = 0; i < found; ++i) statuses[i].MPI_ERROR = classes[static_cast<size_t>(i)];
  return first;
}

const char* name_of(Request::Kind kind) {
  switch (kind) {
    case Request::Kind::send: return "a send";
    case Request::Kind::recv: return "a receive";
    case Request::Kind::collective: return "a collective";
    case Request::Kind::one_sided: return "a one-sided operation";
    case Request::Kind::file: return "an access to a file";
    case Request::Kind::partitioned: return "a partitioned operation";
    case Request::Kind::generalized:
    case Request::Kind::persistent: break;
  }
  return "an operation";
}

// Whoever drives the engine finds it out, in whatever call, or none. Ends the job.
[[gnu::cold]] void tell_lost(const Request& request, const Error& lost) {
  const Comm& comm = *request.comm;
  std::string text = fmt::format(
      "rank {} on {}: {} on {} failed after MPI_Request_free: {}. The job ends: when the request is "
      "freed, nobody is left to hear of an error, whatever the error handler (the standard, section 3.7.3)",
      my_process(), process().job->view().host, name_of(request.kind),
      comm.name.empty() ? "a communicator" : comm.name, lost.message());
  if (const auto known = keeps_what_is_gone ? inventory::history_of(static_cast<const Object*>(&request))
                                            : std::nullopt) {
    const std::vector<std::string> places = place_texts({known->made, known->freed});
    text += fmt::format("\n  it was started by {}\n  it was freed by {}", places[0], places[1]);
  }
  process().job->abort(std::clamp(lost.mpi_class(), 1, 255), text);
}

}  // namespace

// ---- the part of Request that few calls need

bool Request::take_from_others() {
  for (;;) {
    State now = State::complete;
    if (state_.compare_exchange_strong(now, State::taken, std::memory_order_acq_rel)) return true;
    if (now != State::looked_at) return now == State::for_ever;
    cpu::pause();
  }
}

bool Request::look(MPI_Status& status) {
  if (!concurrent_calls || state_.load(std::memory_order_relaxed) == State::for_ever) {
    fill(status);
    return true;
  }
  for (;;) {
    State now = State::complete;
    if (state_.compare_exchange_strong(now, State::looked_at, std::memory_order_acq_rel)) break;
    if (now != State::looked_at) return false;
    cpu::pause();
  }
  fill(status);
  state_.store(State::complete, std::memory_order_release);
  return true;
}

Error taken_by_another_thread() {
  return failure(MPI_ERR_REQUEST,
                 "another thread has completed, started or freed the request while this call was at it: "
                 "only one thread at a time may use a request (the standard, section 11.6.2)");
}

void Request::end_unheard() {
  const Error lost = well_ ? Error() : error();
  if (watched_) tell_watchers(*this, Watched::ends);
  if (lost) tell_lost(*this, lost);
  state_.store(State::taken, std::memory_order_release);
  destroy();
}

void fill_empty(MPI_Status& status) {
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  status.MPI_TAG = MPI_ANY_TAG;
  status.MPI_ERROR = MPI_SUCCESS;
  set_status_bytes(status, 0);
  set_status_cancelled(status, false);
}

void fill_proc_null(MPI_Status& status) {
  status.MPI_SOURCE = MPI_PROC_NULL;
  status.MPI_TAG = MPI_ANY_TAG;
  set_status_bytes(status, 0);
  set_status_cancelled(status, false);
}

void fill_status(MPI_Status& status, const engine::Outcome& outcome) {
  status.MPI_SOURCE = outcome.source;
  status.MPI_TAG = outcome.tag;
  set_status_bytes(status, outcome.bytes);
  set_status_cancelled(status, outcome.cancelled);
}

Error failure_of(const engine::Outcome& outcome) {
  if (outcome.mpi_class == MPI_ERR_TRUNCATE)
    return failure(MPI_ERR_TRUNCATE,
                   "the message of {} bytes from rank {} with tag {} is longer than the receive "
                   "buffer of {} bytes",
                   outcome.sent_bytes, outcome.source, outcome.tag, outcome.bytes);
  if (outcome.mpi_class == MPI_ERR_PROC_ABORTED)
    return failure(outcome.mpi_class, "the job of the process at the other end has ended");
  return failure(outcome.mpi_class, "the message could not be carried; the line above says why");
}

Error wait(MPI_Request* handle, MPI_Status* status) {
  const Live live = at(*handle);
  if (!live) {
    if (status) fill_empty(*status);
    return {};
  }
  if (!live->is_complete()) {
    engine::Engine& engine = engine_of_process();
    const engine::Engine::Guard own(engine);
    // The handle is looked at each time: another thread may complete the request and end it, though it must not.
    engine.wait_until(
        [=] {
          const Live now = at(*handle);
          return now.request != live.request || now->is_complete();
        },
        [=](engine::Condition& needs) {
          if (const Live now = at(*handle)) now->add_needs(needs);
        });
    if (at(*handle).request != live.request) return taken_by_another_thread();
  }
  return complete(*handle, live, status);
}

Error test(MPI_Request* handle, int* flag, MPI_Status* status) {
  const Live live = at(*handle);
  if (live && !live->is_complete()) one_pass();
  *flag = !live || live->is_complete();
  if (!live && status) fill_empty(*status);
  return live && *flag ? complete(*handle, live, status) : Error();
}

Error waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  // A program that waits for one after the other of many would have each call look at all that are
  // complete before it: so a thread that comes back with the same array goes on where it was.
  static thread_local struct {
    const MPI_Request* requests = nullptr;
    int count = 0, next = 0;
  } latest;
  if (latest.requests == requests && latest.count == count && !chooses_by_chance()) {
    for (int i = latest.next; i < count && i < latest.next + kMostSkipped; ++i) {
      if (!is_good(requests[i])) break;
      const Live request = at(requests[i]);
      if (!request) continue;
      if (!request->is_complete()) break;
      *index = i;
      latest.next = i + 1;
      return complete_found(requests[i], status);
    }
  }
  if (Error e = checked(count, requests)) return e;
  bool active;
  int found = find_complete(count, requests, active);
  if (found < 0 && active) {
    wait_for([&] { return (found = find_complete(count, requests, active)) >= 0 || !active; },
             needs_of_any(count, requests));
    if (found < 0) return taken_by_another_thread();
  }
  if (found < 0) {
    *index = MPI_UNDEFINED;
    if (status) fill_empty(*status);
    return {};
  }
  *index = found;
  latest = {requests, count, found + 1};
  return complete_found(requests[found], status);
}

Error testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (Error e = checked(count, requests)) return e;
  bool active;
  int found = find_complete(count, requests, active);
  if (found < 0 && active) {
    one_pass();
    found = find_complete(count, requests, active);
    if (found < 0 && !active) return taken_by_another_thread();
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  *flag = found >= 0 || !active;
  if (found >= 0) return complete_found(requests[found], status);
  if (*flag && status) fill_empty(*status);
  return {};
}

Error waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  const int expected = active_among(count, requests);
  int done = 0;  // all before it are complete: each is asked once
  const auto advance = [&] {
    for (; done < count; ++done)
      if (const Live live = at(requests[done]); live && !live->is_complete()) return false;
    return true;
  };
  if (!advance()) {
    engine::Engine& engine = engine_of_process();
    const engine::Engine::Guard own(engine);
    engine.wait_until(advance,
                      [=](engine::Condition& needs) { add_needs_of(count, requests, needs); });
  }
  return complete_all(count, requests, statuses, expected);
}

Error testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  const int expected = active_among(count, requests);
  if (!all_complete(count, requests)) one_pass();
  *flag = all_complete(count, requests);
  return *flag ? complete_all(count, requests, statuses, expected) : Error();
}

Error waitsome(int incount, MPI_Request* requests, int* outcount, int* indices,
               MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active, still_active;
  if (find_complete(incount, requests, active) < 0 && active)
    wait_for([&] { return find_complete(incount, requests, still_active) >= 0 || !still_active; },
             needs_of_any(incount, requests));
  return complete_some(incount, requests, outcount, indices, statuses, active);
}

Error testsome(int incount, MPI_Request* requests, int* outcount, int* indices,
               MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  if (find_complete(incount, requests, active) < 0 && active) one_pass();
  return complete_some(incount, requests, outcount, indices, statuses, active);
}

namespace {

// Gives up the handle of a request that is active, or of an inactive persistent one. The engine is owned, so
// that what is under way stays that.
Error free_owned(MPI_Request handle, Request& held) {
  if (!resolve<Request>(handle)) return taken_by_another_thread();
  PersistentRequest* const persistent = as_persistent(&held);
  if (persistent && !persistent->reserve()) return taken_by_another_thread();
  Request* const active = persistent ? persistent->started() : &held;
  Error error;
  // One that has failed already would say so to MPI_Wait, and does to this call.
  if (active && active->is_complete()) {
    if (!persistent && !active->take()) return taken_by_another_thread();
    if (!active->ended_well()) error = active->error();
    if (active->is_watched()) tell_of_end({persistent, active});
    if (error) error_object() = Ref<HasErrhandler>(&active->raises_on());
  }
  held.free_handle();  // an operation under way keeps its own reference
  return error;
}

// The program's function frees it now, or when the program completes it.
Error free_generalized(GeneralizedRequest& request) {
  const Ref<GeneralizedRequest> held(&request);
  const bool last = request.is_second_end();
  request.free_handle();
  return last ? request.free() : Error();
}

}  // namespace

Error request_free(MPI_Request* handle) {
  const MPI_Request freed = *handle;
  Request* const held = freed == MPI_REQUEST_NULL ? nullptr : resolve<Request>(freed);
  if (!held) return failure(MPI_ERR_REQUEST, "the request is null (argument request)");
  const Live live = at(freed);
  if (live && live->kind == Request::Kind::collective) {
    error_object() = Ref<HasErrhandler>(held->comm.get());
    inventory::mention(freed, "operation");
    return failure(MPI_ERR_REQUEST,
                   "the request belongs to an active nonblocking collective: complete it with "
                   "MPI_Wait or MPI_Test (the standard, section 6.12)");
  }
  if (live && live->kind == Request::Kind::partitioned) {  // it may be one that could never end
    const engine::Engine::Guard own(engine_of_process());
    Error error = live->is_complete() ? Error() : live->error();
    if (error) {
      error_object() = Ref<HasErrhandler>(held->comm.get());
      return error;
    }
  }
  *handle = MPI_REQUEST_NULL;
  if (GeneralizedRequest* const own = as_generalized(held)) return free_generalized(*own);
  const engine::Engine::Guard own(engine_of_process());
  const bool may_end_comm = as_persistent(held) != nullptr;  // a persistent collective's own
  Error error = free_owned(freed, *held);
  if (may_end_comm && process().checker) process().checker->forget_the_gone();
  return error;
}

namespace {

// The status of a complete request for MPI_Request_get_status*, which the request outlives. The query function
// of a generalised one is called whether or not anybody wants the status.
Error look_at(const Live& live, MPI_Status* status) {
  if (live) {
    if (GeneralizedRequest* const own = as_generalized(live.request)) [[unlikely]] {
      MPI_Status unwanted{};
      return own->query(status ? *status : unwanted);
    }
    if (status && !live->look(*status)) return taken_by_another_thread();
    if (live->is_watched()) [[unlikely]]
      tell_of_end(live);
    return {};
  }
  if (status) fill_empty(*status);
  return {};
}

}  // namespace

Error request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  const Live live = at(handle);
  if (live && !live->is_complete()) one_pass();
  *flag = !live || live->is_complete();
  return *flag ? look_at(live, status) : Error();
}

Error request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                             MPI_Status* status) {
  if (Error e = checked(count, requests)) return e;
  bool active;
  int found = find_complete(count, requests, active);
  if (found < 0 && active) {
    one_pass();
    found = find_complete(count, requests, active);
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  *flag = found >= 0 || !active;
  if (!*flag) return {};
  if (found < 0) return look_at({}, status);
  const Live live = at(requests[found]);
  return live ? look_at(live, status) : taken_by_another_thread();
}

Error request_get_status_all(int count, const MPI_Request* requests, int* flag,
                             MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  if (!all_complete(count, requests)) one_pass();
  *flag = all_complete(count, requests);
  Error first;
  for (int i = 0; *flag && i < count; ++i)
    if (Error e = look_at(at(requests[i]), statuses ? statuses + i : nullptr); e && !first) first = std::move(e);
  return first;
}

Error request_get_status_some(int incount, const MPI_Request* requests, int* outcount,
                              int* indices, MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  if (find_complete(incount, requests, active) < 0 && active) one_pass();
  int found = 0;
  Error first;
  for (int i = 0; i < incount; ++i) {
    const Live live = at(requests[i]);
    if (!live || !live->is_complete()) continue;
    if (Error e = look_at(live, statuses ? statuses + found : nullptr); e && !first) first = std::move(e);
    indices[found++] = i;
  }
  *outcount = active ? found : MPI_UNDEFINED;
  return first;
}

Error cancel(MPI_Request* handle) {
  const MPI_Request cancelled = *handle;
  const Live live = at(cancelled);
  if (!live)
    return failure(MPI_ERR_REQUEST, "the request is {} (argument request)",
                   cancelled == MPI_REQUEST_NULL ? "null" : "inactive: nothing has been started");
  if (const GeneralizedRequest* const own = as_generalized(live.request)) return own->call_cancel();
  const engine::Engine::Guard own(engine_of_process());
  // One that is not complete stays alive while the engine is owned. Another thread may complete this one
  // at any time, and may: then there is nothing left to cancel.
  if (concurrent_calls && live->is_complete() && live->kind != Request::Kind::collective) return {};
  if (live->kind == Request::Kind::collective || live->kind == Request::Kind::one_sided ||
      live->kind == Request::Kind::file)
    error_object() = Ref<HasErrhandler>(&live->raises_on());
  Error error = live->cancel();
  if (error) inventory::mention(cancelled, "operation");
  else error_object() = {};
  return error;
}

Error test_cancelled(const MPI_Status* status, int* flag) {
  *flag = status_cancelled(*status);
  return {};
}

Error status_set_cancelled(MPI_Status* status, int flag) {
  set_status_cancelled(*status, flag != 0);
  return {};
}

}  // namespace tutti::mpi
