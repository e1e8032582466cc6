// SPDX-License-Identifier: BSD-3-Clause
// Calls that complete requests: MPI_Wait, MPI_Test, and those over several.
#include <vector>

#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/status.hpp"
#include "mpi/object/watcher.hpp"
#include "mpi/request/generalized.hpp"
#include "mpi/request/live.hpp"

namespace tutti::mpi {
namespace {

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

// Gives out the request's status and error, and gives up the handle, but of a persistent one.
Error complete(MPI_Request& handle, const Live& live, MPI_Status* status) {
  Request& request = *live.request;
  if (request.is_interrupted()) [[unlikely]] {
    if (!error_object()) error_object() = Ref<HasErrhandler>(&request.raises_on());
    return interrupted();
  }
  if (!request.take()) [[unlikely]]
    return taken_by_another_thread();
  if (GeneralizedRequest* const own = as_generalized(&request)) [[unlikely]]
    return complete_generalized(handle, *own, status);
  if (status != MPI_STATUS_IGNORE) request.fill(*status);
  Error error;
  if (!request.ended_well()) {
    error = request.error();
    if (request.is_watched()) {
      if (checking.watcher && !error) error = checking.watcher->judges(&request);
      tell_of_end(live);
    }
  }
  // Only for collectives does a single completion call set the status' error (section 6.12).
  if (status != MPI_STATUS_IGNORE && request.kind == Request::Kind::collective) status->MPI_ERROR = error.mpi_class();
  if (error && !error_object()) {  // of several that a call completes it tells of the first one that has failed
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
  if (current.concurrent_calls)
    for (int i = 0; i < count; ++i) active += at(requests[i]) ? 1 : 0;
  return active;
}
// Adds what the active requests need, side by side.
void add_needs_of(int count, const MPI_Request* requests, life::Condition& needs) TUTTI_ENGINE_OWNED {
  for (int i = 0; i < count; ++i)
    if (const Live live = at(requests[i])) live->add_needs(needs);
}
auto needs_of_any(int count, const MPI_Request* requests) {
  return [=](life::Condition& needs) TUTTI_ENGINE_OWNED {
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
  const uint64_t& completions = current.completions;
  uint64_t seen = completions;
  bool found = look();
  if (found) return;
  engine.wait_until(
      [&]() TUTTI_ENGINE_OWNED {
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

// The same, of a call that takes one of several.
Error give_out(int count, MPI_Request* requests, int found, int* index, MPI_Status* status) {
  *index = found;
  asker.turn.take(count, requests, found);
  return complete_found(requests[found], status);
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
      if (!first) first = failure(MPI_ERR_IN_STATUS, "request {} of {}: {}", i, count, error.message());
    }
  }
  if (first && statuses != MPI_STATUSES_IGNORE)
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = classes[static_cast<size_t>(i)];
  if (!first && completed < expected) return taken_by_another_thread();
  return first;
}

// `expected`: some were active when the call began.
Error complete_some(int incount, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses,
                    bool expected) {
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
    if (error && !first) first = failure(MPI_ERR_IN_STATUS, "request {} of {}: {}", i, incount, error.message());
  }
  *outcount = active ? found : MPI_UNDEFINED;
  if (expected && !active) return taken_by_another_thread();
  if (first && statuses != MPI_STATUSES_IGNORE)
    for (int i = 0; i < found; ++i) statuses[i].MPI_ERROR = classes[static_cast<size_t>(i)];
  return first;
}

}  // namespace

Error wait(MPI_Request* handle, MPI_Status* status) {
  const Live live = at(*handle);
  if (!live) {
    pass_at_times();
    if (status) fill_empty(*status);
    return {};
  }
  if (live->is_complete()) {
    pass_at_times();
  } else {
    engine::Engine& engine = engine_of_process();
    const engine::Engine::Guard own(engine);
    // The handle is looked at each time: another thread may complete the request and end it, though it must not.
    engine.wait_until(
        [=] {
          const Live now = at(*handle);
          return now.request != live.request || now->is_complete();
        },
        [=](life::Condition& needs) TUTTI_ENGINE_OWNED {
          if (const Live now = at(*handle)) now->add_needs(needs);
        });
    if (at(*handle).request != live.request) return taken_by_another_thread();
  }
  return complete(*handle, live, status);
}

Error test(MPI_Request* handle, int* flag, MPI_Status* status) {
  const Live live = at(*handle);
  live && !live->is_complete() ? one_pass() : pass_at_times();
  *flag = !live || live->is_complete();
  if (!live && status) fill_empty(*status);
  return live && *flag ? complete(*handle, live, status) : Error();
}

Error waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  const bool known = asker.turn.is_known(count, requests) && !chooses_by_chance();
  const int first = known ? asker.turn.next() : 0;
  // Of a program that waits for one after the other of many a call need not look at all of them. Another thread may
  // have taken it since, though it must not.
  if (const Live next = known ? at(requests[first]) : Live(); next && next->is_complete()) {
    pass_at_times();
    return give_out(count, requests, first, index, status);
  }
  if (Error e = checked(count, requests)) return e;
  bool active;
  int found = find_complete(count, requests, active, first);
  if (found >= 0 || !active) {
    pass_at_times();
  } else {
    wait_for([&] { return (found = find_complete(count, requests, active, first)) >= 0 || !active; },
             needs_of_any(count, requests));
    if (found < 0) return taken_by_another_thread();
  }
  if (found >= 0) return give_out(count, requests, found, index, status);
  *index = MPI_UNDEFINED;
  if (status) fill_empty(*status);
  return {};
}

Error testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (Error e = checked(count, requests)) return e;
  bool active;
  const int first = asker.turn.first(count, requests);
  int found = find_complete(count, requests, active, first);
  if (found >= 0 || !active) {
    pass_at_times();
  } else {
    one_pass();
    found = find_complete(count, requests, active, first);
    if (found < 0 && !active) return taken_by_another_thread();
  }
  *flag = found >= 0 || !active;
  if (found >= 0) return give_out(count, requests, found, index, status);
  *index = MPI_UNDEFINED;
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
  if (advance()) {
    pass_at_times();
  } else {
    engine::Engine& engine = engine_of_process();
    const engine::Engine::Guard own(engine);
    engine.wait_until(advance,
                      [=](life::Condition& needs) TUTTI_ENGINE_OWNED { add_needs_of(count, requests, needs); });
  }
  return complete_all(count, requests, statuses, expected);
}

Error testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (Error e = checked(count, requests)) return e;
  const int expected = active_among(count, requests);
  all_complete(count, requests) ? pass_at_times() : one_pass();
  *flag = all_complete(count, requests);
  return *flag ? complete_all(count, requests, statuses, expected) : Error();
}

Error waitsome(int incount, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active, still_active;
  if (find_complete(incount, requests, active) >= 0 || !active)
    pass_at_times();
  else
    wait_for([&] { return find_complete(incount, requests, still_active) >= 0 || !still_active; },
             needs_of_any(incount, requests));
  return complete_some(incount, requests, outcount, indices, statuses, active);
}

Error testsome(int incount, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (Error e = checked(incount, requests)) return e;
  bool active;
  find_complete(incount, requests, active) < 0 && active ? one_pass() : pass_at_times();
  return complete_some(incount, requests, outcount, indices, statuses, active);
}

}  // namespace tutti::mpi
