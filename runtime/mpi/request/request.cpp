// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/request.hpp"

#include <algorithm>
#include <vector>

#include "mpi/object/entry.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/status.hpp"
#include "mpi/request/persistent.hpp"
#include "mpi/request/api_request.hpp"

namespace tutti::mpi {
namespace {

Error checked(int count, const MPI_Request* requests) {
  if (count > 0 && !requests) return failure(MPI_ERR_ARG, "the array of {} requests is NULL", count);
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL && !resolve<Request>(requests[i])) {
      inventory::mention(requests[i], "request");
      return failure(MPI_ERR_REQUEST, "entry {} of the array is no request: completed or freed "
                     "already, or never set", i);
    }
  return {};
}

// What has been started, of a handle that was found good: of a persistent request its operation
// under way. nullptr: nothing.
Request* at(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return nullptr;
  Request* const request = known<Request>(handle);
  const PersistentRequest* persistent = as_persistent(request);
  return persistent ? persistent->started() : request;
}

// Gives out the request's status and error, and gives up the handle, but of a persistent one.
// `held` is what stands behind the handle.
Error complete(MPI_Request& handle, Request& held, MPI_Status* status) {
  PersistentRequest* const persistent = as_persistent(&held);
  Request& request = persistent ? *persistent->started() : held;
  if (status != MPI_STATUS_IGNORE) request.fill(*status);
  Error error;
  if (!request.ended_well()) error = request.error();
  // Only for collectives does a single completion call set the status' error (section 6.12).
  if (status != MPI_STATUS_IGNORE && request.kind == Request::Kind::collective)
    status->MPI_ERROR = error.mpi_class();
  if (error) {
    error_comm() = Ref<Object>(&request.raises_on());
    inventory::mention(handle, "operation");
  }
  if (persistent) {
    persistent->take_started();
  } else {
    handle = MPI_REQUEST_NULL;
  }
  request.release();
  return error;
}

Error complete(MPI_Request& handle, MPI_Status* status) {
  return complete(handle, *known<Request>(handle), status);
}

void one_pass() {
  engine::Engine& engine = engine_of_process();
  engine.enter();
  const bool moved = engine.progress();
  engine.leave();
  if (!moved) engine.give_way();
}

// Where a search among `count` requests begins: any will do, and --stress=random takes any.
int search_from(int count) {
  Process& p = process();
  if (p.stress_mode.kind != StressMode::Kind::random || count == 0) return 0;
  static thread_local uint64_t chance = p.stress_mode.seed;
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int>((chance >> 33) % static_cast<uint64_t>(count));
}

// One of the active requests that is complete, or -1; `active` tells whether there are any.
int find_complete(int count, const MPI_Request* requests, bool& active) {
  active = false;
  const int first = search_from(count);
  for (int n = 0; n < count; ++n) {
    const int i = first + n < count ? first + n : first + n - count;
    if (const Request* request = at(requests[i])) {
      active = true;
      if (request->is_complete()) return i;
    }
  }
  return -1;
}

bool all_complete(int count, const MPI_Request* requests) {
  return std::all_of(requests, requests + count, [](MPI_Request handle) {
    const Request* request = at(handle);
    return !request || request->is_complete();
  });
}

// Adds what the active requests need, side by side.
void add_needs_of(int count, const MPI_Request* requests, engine::Condition& needs) {
  for (int i = 0; i < count; ++i)
    if (const Request* request = at(requests[i])) request->add_needs(needs);
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

// Statuses of a call over all requests: MPI_ERROR is set in each if one of them failed.
Error complete_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  Error first;
  std::vector<int> classes;
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
    // None any more: an entry that stands in the array twice.
    Request* const held = requests[i] == MPI_REQUEST_NULL ? nullptr : resolve<Request>(requests[i]);
    if (!held || (as_persistent(held) && !as_persistent(held)->started())) {
      if (status) fill_empty(*status);
      continue;
    }
    if (!status && held->ended_well()) [[likely]] {
      requests[i] = MPI_REQUEST_NULL;
      held->release();
    } else if (Error error = complete(requests[i], *held, status)) [[unlikely]] {
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
  return first;
}

Error complete_some(int incount, MPI_Request* requests, int* outcount, int* indices,
                    MPI_Status* statuses) {
  int found = 0;
  bool active = false;
  Error first;
  std::vector<int> classes;
  for (int i = 0; i < incount; ++i) {
    Request* request = at(requests[i]);
    if (!request) continue;
    active = true;
    if (!request->is_complete()) continue;
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + found;
    Error error = complete(requests[i], status);
    classes.push_back(error.mpi_class());
    indices[found++] = i;
    if (error && !first)
      first = failure(MPI_ERR_IN_STATUS, "request {} of {}: {}", i, incount, error.message());
  }
  *outcount = active ? found : MPI_UNDEFINED;
  if (first && statuses != MPI_STATUSES_IGNORE)
    for (int i = 0; i < found; ++i) statuses[i].MPI_ERROR = classes[static_cast<size_t>(i)];
  return first;
}

}  // namespace

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
  return failure(outcome.mpi_class, "the message could not be carried; the line above says why");
}

Error wait(MPI_Request* handle, MPI_Status* status) {
  Request* request = at(*handle);
  if (!request) {
    if (status) fill_empty(*status);
    return {};
  }
  if (!request->is_complete()) {
    engine::Engine& engine = engine_of_process();
    const engine::Engine::Guard own(engine);
    engine.wait_until([request] { return request->is_complete(); },
                      [request](engine::Condition& needs) { request->add_needs(needs); });
  }
  return complete(*handle, status);
}

Error test(MPI_Request* handle, int* flag, MPI_Status* status) {
  Request* request = at(*handle);
  if (request && !request->is_complete()) one_pass();
  *flag = !request || request->is_complete();
  if (!request && status) fill_empty(*status);
  return request && *flag ? complete(*handle, status) : Error();
}

Error waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (Error e = checked(count, requests)) return e;
  bool active;
  int found = find_complete(count, requests, active);
  if (found < 0 && active)
    wait_for([&] { return (found = find_complete(count, requests, active)) >= 0; },
             needs_of_any(count, requests));
  if (found < 0) {
    *index = MPI_UNDEFINED;
    if (status) fill_empty(*status);
    return {};
  }
  *index = found;
  return complete(requests[found], status);
}

Error testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (Error e = checked(count, requests)) return e;
  bool active;
  int found = find_complete(count, requests, active);
  if (found < 0 && active) {
    one_pass();
    found = find_complete(count, requests, active);
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  *flag = found >= 0 || !active;
  if (found >= 0) return complete(requests[found], status);
  if (*flag && status) fill_empty(*status);
  return {};
}

Error waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  int done = 0;  // all before it are complete: each is asked once
  const auto advance = [&] {
    for (; done < count; ++done)
      if (const Request* r = at(requests[done]); r && !r->is_complete()) return false;
    return true;
  };
  if (!advance()) {
    engine::Engine& engine = engine_of_process();
    const engine::Engine::Guard own(engine);
    engine.wait_until(advance,
                      [=](engine::Condition& needs) { add_needs_of(count, requests, needs); });
  }
  return complete_all(count, requests, statuses);
}

Error testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  if (!all_complete(count, requests)) one_pass();
  *flag = all_complete(count, requests);
  return *flag ? complete_all(count, requests, statuses) : Error();
}

Error waitsome(int incount, MPI_Request* requests, int* outcount, int* indices,
               MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  if (find_complete(incount, requests, active) < 0 && active)
    wait_for([&] { return find_complete(incount, requests, active) >= 0; },
             needs_of_any(incount, requests));
  return complete_some(incount, requests, outcount, indices, statuses);
}

Error testsome(int incount, MPI_Request* requests, int* outcount, int* indices,
               MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  if (find_complete(incount, requests, active) < 0 && active) one_pass();
  return complete_some(incount, requests, outcount, indices, statuses);
}

Error request_free(MPI_Request* handle) {
  Request* request = *handle == MPI_REQUEST_NULL ? nullptr : resolve<Request>(*handle);
  if (!request) return failure(MPI_ERR_REQUEST, "the request is null (argument request)");
  const PersistentRequest* persistent = as_persistent(request);
  const Request* active = persistent ? persistent->started() : request;
  if (active && active->kind == Request::Kind::collective) {
    error_comm() = Ref<Object>(request->comm.get());
    inventory::mention(*handle, "operation");
    return failure(MPI_ERR_REQUEST,
                   "the request belongs to an active nonblocking collective: complete it with "
                   "MPI_Wait or MPI_Test (the standard, section 6.12)");
  }
  *handle = MPI_REQUEST_NULL;
  const engine::Engine::Guard own(engine_of_process());
  request->free_handle();  // an operation under way keeps its own reference
  return {};
}

Error request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  const Request* request = at(handle);
  if (request && !request->is_complete()) one_pass();
  *flag = !request || request->is_complete();
  if (!*flag || !status) return {};
  request ? request->fill(*status) : fill_empty(*status);
  return {};
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
  if (*flag && status) found >= 0 ? at(requests[found])->fill(*status) : fill_empty(*status);
  return {};
}

Error request_get_status_all(int count, const MPI_Request* requests, int* flag,
                             MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  if (!all_complete(count, requests)) one_pass();
  *flag = all_complete(count, requests);
  for (int i = 0; *flag && statuses && i < count; ++i) {
    const Request* request = at(requests[i]);
    request ? request->fill(statuses[i]) : fill_empty(statuses[i]);
  }
  return {};
}

Error request_get_status_some(int incount, const MPI_Request* requests, int* outcount,
                              int* indices, MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  if (find_complete(incount, requests, active) < 0 && active) one_pass();
  int found = 0;
  for (int i = 0; i < incount; ++i) {
    const Request* request = at(requests[i]);
    if (!request || !request->is_complete()) continue;
    if (statuses) request->fill(statuses[found]);
    indices[found++] = i;
  }
  *outcount = active ? found : MPI_UNDEFINED;
  return {};
}

Error cancel(MPI_Request* handle) {
  Request* request = at(*handle);
  if (!request)
    return failure(MPI_ERR_REQUEST, "the request is {} (argument request)",
                   *handle == MPI_REQUEST_NULL ? "null" : "inactive: nothing has been started");
  const engine::Engine::Guard own(engine_of_process());
  if (request->kind == Request::Kind::collective || request->kind == Request::Kind::one_sided)
    error_comm() = Ref<Object>(&request->raises_on());
  Error error = request->cancel();
  if (error) inventory::mention(*handle, "operation");
  else error_comm() = {};
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
