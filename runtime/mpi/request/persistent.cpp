// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/persistent.hpp"

#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/api_request.hpp"
#include "mpi/request/watch.hpp"

namespace tutti::mpi {
namespace {

[[gnu::cold]] Error is_active(const PersistentRequest& request, MPI_Request handle) {
  error_object() = Ref<HasErrhandler>(request.comm.get());
  inventory::mention(handle, "request");
  return failure(MPI_ERR_REQUEST,
                 "the request is active: it can be started again once MPI_Wait, MPI_Test or their "
                 "like has found it complete (the standard, section 3.9)");
}

Error start_one(MPI_Request handle) {
  Request* request = handle == MPI_REQUEST_NULL ? nullptr : resolve<Request>(handle);
  PersistentRequest* persistent = request ? as_persistent(request) : nullptr;
  if (!persistent)
    return failure(MPI_ERR_REQUEST,
                   "the request is {}: only one that MPI_Send_init, MPI_Recv_init or their like has "
                   "made can be started",
                   request ? "not persistent" : "null, or completed or freed already");
  if (!current.concurrent_calls && !persistent->started()) [[likely]]
    return persistent->start();
  if (!persistent->reserve()) return taken_by_another_thread();
  Error error = persistent->started() ? is_active(*persistent, handle) : persistent->start();
  persistent->give_back();
  return error;
}

}  // namespace

PersistentRequest::~PersistentRequest() {
  Request* const operation = started();
  if (is_watched() && operation && !operation->is_complete()) [[unlikely]]
    hand_watchers_on(*this, *operation);
  // It goes on, and nobody will ask for it.
  if (operation && (!operation->is_complete() || operation->take())) operation->free_handle();
}

Error PersistentRequest::start() {
  if (is_watched()) [[unlikely]]
    tell_watchers(*this, Watched::starts);
  MPI_Request operation = MPI_REQUEST_NULL;
  if (Error e = start_(&operation)) {
    error_object() = Ref<HasErrhandler>(comm.get());
    return e;
  }
  auto* const started = resolve<Request>(operation);
  if (is_watched()) [[unlikely]]
    started->set_watched();  // so that its end is told
  started_.store(started, std::memory_order_release);
  return {};
}

void PersistentRequest::fill(MPI_Status& status) const {
  started() ? started()->fill(status) : fill_empty(status);
}

void PersistentRequest::add_open_needs(life::Condition& needs) const {
  started() ? started()->add_needs(needs) : void(needs.always());
}

Error start(MPI_Request* request) {
  return start_one(*request);
}

Error startall(int count, MPI_Request* requests) {
  if (count > 0 && !requests) return failure(MPI_ERR_ARG, "the array of {} requests is NULL", count);
  for (int i = 0; i < count; ++i)
    if (Error e = start_one(requests[i])) return std::move(e).within(fmt::format("entry {}", i));
  return {};
}

}  // namespace tutti::mpi
