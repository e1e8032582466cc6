// SPDX-License-Identifier: BSD-3-Clause
// Calls that look at a request without completing it, give it up or withdraw its operation.
#include <utility>

#include "contract/checker.hpp"
#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/status.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/request/buffers_end.hpp"
#include "mpi/request/generalized.hpp"
#include "mpi/request/live.hpp"

namespace tutti::mpi {
namespace {

// Gives up the handle of a request that is active, or of an inactive persistent one. What is under way stays
// that meanwhile.
Error free_owned(MPI_Request handle, Request& held) TUTTI_ENGINE_OWNED {
  if (!resolve<Request>(handle)) return taken_by_another_thread();
  PersistentRequest* const persistent = as_persistent(&held);
  if (persistent && !persistent->reserve()) return taken_by_another_thread();
  Request* const active = persistent ? persistent->started() : &held;
  Error error;
  // One that has failed already would say so to MPI_Wait, and does to this call.
  if (active && active->is_complete()) {
    if (!persistent && !active->take()) return taken_by_another_thread();
    if (!active->ended_well()) error = active->unheard_error();  // error() might take the engine, to ask other ranks
    if (active->is_watched()) tell_of_end({persistent, active});
    if (error) error_object() = Ref<HasErrhandler>(&active->raises_on());
  }
  // From here on the program may learn of its end by other messages alone.
  if (active && buffers_end) [[unlikely]]
    buffers_end(active);
  held.free_handle();  // an operation under way keeps its own reference
  return error;
}

// The program's function frees it now, or when the program completes it.
Error free_generalized(GeneralizedRequest& request) {
  Ref<GeneralizedRequest> complete;
  {
    const engine::Engine::Guard own(engine_of_process());  // another thread may complete it
    if (request.is_second_end()) complete = Ref<GeneralizedRequest>(&request);
    request.free_handle();
  }
  return complete ? complete->free() : Error();
}

}  // namespace

Error request_free(MPI_Request* handle) {
  const MPI_Request freed = *handle;
  Request* const held = freed == MPI_REQUEST_NULL ? nullptr : resolve<Request>(freed);
  if (!held) return failure(MPI_ERR_REQUEST, "the request is null (argument request)");
  const Live live = at(freed);
  // One that MPI_Request_get_status has called complete is not active any more for the program (3.7.6).
  const bool is_known_to_be_over = live && live->is_complete() && live->was_looked_at();
  if (live && live->kind == Request::Kind::collective && !is_known_to_be_over) {
    error_object() = Ref<HasErrhandler>(held->comm.get());
    inventory::mention(freed, "operation");
    return failure(MPI_ERR_REQUEST,
                   "the request belongs to an active nonblocking collective: complete it with "
                   "MPI_Wait or MPI_Test (the standard, section 6.12)");
  }
  if (live && live->kind == Request::Kind::partitioned) {  // it may be one that could never end
    const engine::Engine::Guard own(engine_of_process());
    Error error = live->is_complete() ? Error() : live->unheard_error();
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
  if (may_end_comm && own_checker()) own_checker()->forget_the_gone();
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
    if (live->is_interrupted()) [[unlikely]]
      return interrupted();
    MPI_Status unwanted;  // a request may want to know that the program has heard of its end
    if (!live->look(status ? *status : unwanted)) return taken_by_another_thread();
    if (live->is_watched()) [[unlikely]]
      tell_of_end(live);
    if (checking.watcher) [[unlikely]]
      checking.watcher->tells_of_end(live.request);
    return {};
  }
  if (status) fill_empty(*status);
  return {};
}

}  // namespace

Error request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  const Live live = at(handle);
  live && !live->is_complete() ? one_pass() : pass_at_times();
  *flag = !live || live->is_complete();
  return *flag ? look_at(live, status) : Error();
}

Error request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (Error e = checked(count, requests)) return e;
  bool active;
  const int first = asker.turn.first(count, requests);
  int found = find_complete(count, requests, active, first);
  if (found >= 0 || !active) {
    pass_at_times();
  } else {
    one_pass();
    found = find_complete(count, requests, active, first);
  }
  *index = found < 0 ? MPI_UNDEFINED : found;
  *flag = found >= 0 || !active;
  if (!*flag) return {};
  if (found < 0) return look_at({}, status);
  asker.turn.take(count, requests, found);
  const Live live = at(requests[found]);
  return live ? look_at(live, status) : taken_by_another_thread();
}

Error request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  all_complete(count, requests) ? pass_at_times() : one_pass();
  *flag = all_complete(count, requests);
  Error first;
  for (int i = 0; *flag && i < count; ++i)
    if (Error e = look_at(at(requests[i]), statuses ? statuses + i : nullptr); e && !first) first = std::move(e);
  return first;
}

Error request_get_status_some(int incount, const MPI_Request* requests, int* outcount, int* indices,
                              MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  find_complete(incount, requests, active) < 0 && active ? one_pass() : pass_at_times();
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
  if (current.concurrent_calls && live->is_complete() && !live->is_interrupted() &&
      live->kind != Request::Kind::collective)
    return {};
  if (live->kind == Request::Kind::collective || live->kind == Request::Kind::one_sided ||
      live->kind == Request::Kind::file)
    error_object() = Ref<HasErrhandler>(&live->raises_on());
  Error error = live->cancel();
  if (error)
    inventory::mention(cancelled, "operation");
  else
    error_object() = {};
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
