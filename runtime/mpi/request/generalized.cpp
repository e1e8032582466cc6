// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/request/generalized.hpp"

#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/status.hpp"
#include "mpi/request/api_request.hpp"

namespace tutti::mpi {
namespace {

Error returned(int code, const char* which) {
  if (code == MPI_SUCCESS) return {};
  return failure(code, "the {} function of the generalised request returned {}", which, code);
}

}  // namespace

Error GeneralizedRequest::query(MPI_Status& status) const {
  MPI_Status filled;
  fill_empty(filled);
  int code = MPI_SUCCESS;
  {
    const InCallback in_callback;
    code = callbacks_.query(callbacks_.extra_state, &filled);
  }
  filled.MPI_ERROR = status.MPI_ERROR;
  status = filled;
  return returned(code, "query");
}

Error GeneralizedRequest::free() const {
  const InCallback in_callback;
  return returned(callbacks_.free(callbacks_.extra_state), "free");
}

Error GeneralizedRequest::call_cancel() const {
  const InCallback in_callback;
  return returned(callbacks_.cancel(callbacks_.extra_state, is_complete()), "cancel");
}

Error grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                     MPI_Grequest_cancel_function* cancel, void* extra_state, MPI_Request* request) {
  const char* const missing = !query ? "query_fn" : !free ? "free_fn" : !cancel ? "cancel_fn" : nullptr;
  if (missing)
    return failure(MPI_ERR_ARG, "the function is NULL: each of the three is called at some time (argument {})",
                   missing);
  auto* made = new GeneralizedRequest(*current.self, {query, free, cancel, extra_state});
  {
    const engine::Engine::Guard own(engine_of_process());
    made->begin();
  }
  *request = inventory::hand_out<Request>(*made);
  return {};
}

Error grequest_complete(MPI_Request handle) {
  // MPI_Request_free may have freed the handle: the operation holds the request until now.
  Request* const found = handle == MPI_REQUEST_NULL ? nullptr : resolve_also_freed<Request>(handle);
  GeneralizedRequest* const request = found ? as_generalized(found) : nullptr;
  if (!request) {
    inventory::mention(handle, "request");
    return failure(MPI_ERR_REQUEST,
                   "the request is {}: only one that MPI_Grequest_start has made is completed by its program "
                   "(argument request)",
                   found ? "not a generalised one" : "null, or completed already");
  }
  Ref<GeneralizedRequest> held;
  bool last = false;
  {
    const engine::Engine::Guard own(engine_of_process());
    if (request->is_complete())
      return failure(MPI_ERR_REQUEST,
                     "the generalised request is complete already: MPI_Grequest_complete is called once "
                     "(argument request)");
    held = Ref<GeneralizedRequest>(request);
    last = request->is_second_end();  // before others see that it is complete
    request->finish();
  }
  return last ? request->free() : Error();
}

}  // namespace tutti::mpi
