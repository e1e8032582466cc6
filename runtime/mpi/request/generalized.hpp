// SPDX-License-Identifier: BSD-3-Clause
// Generalised requests (the standard, section 13.2): operations that the program carries out
// itself, and completes by MPI_Grequest_complete. Its functions are called by the completion calls,
// never with the engine owned, for they may call MPI. No other process is asked what such a request
// waits for: it is never part of a deadlock.
#pragma once

#include "base/engine_owned.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {

class GeneralizedRequest final : public Request, public Pooled<GeneralizedRequest> {
 public:
  // The program's functions. Others than C's are called through functions of C that stand here for
  // them, with an `extra_state` that names both.
  struct Callbacks {
    MPI_Grequest_query_function* query;
    MPI_Grequest_free_function* free;
    MPI_Grequest_cancel_function* cancel;
    void* extra_state;
  };
  GeneralizedRequest(Comm& comm, const Callbacks& callbacks)
      : Request(Kind::generalized, comm), callbacks_(callbacks) {}

  // ---- each calls one of the program's functions: not with the engine owned

  // The status of a complete one. MPI_ERROR stays what it was.
  Error query(MPI_Status& status) const TUTTI_ENGINE_NOT_OWNED;
  Error free() const TUTTI_ENGINE_NOT_OWNED;
  Error call_cancel() const TUTTI_ENGINE_NOT_OWNED;

  // The operation is over, or the program has given up its handle: the second of the two frees.
  bool is_second_end() { return ended_once_.exchange(true, std::memory_order_acq_rel); }

  // The query function's error is told where it is called.
  void fill(MPI_Status& status) const override { (void)query(status); }
  Error error() const override { return {}; }
  Error cancel() override TUTTI_ENGINE_OWNED { return {}; }

 private:
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED { needs.always(); }

  const Callbacks callbacks_;
  std::atomic<bool> ended_once_{false};
};

inline GeneralizedRequest* as_generalized(Request* request) {
  return request->kind == Request::Kind::generalized ? static_cast<GeneralizedRequest*>(request) : nullptr;
}

}  // namespace tutti::mpi
