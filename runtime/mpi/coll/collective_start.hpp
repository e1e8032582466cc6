// SPDX-License-Identifier: BSD-3-Clause
// From a collective call of MPI to a running plan: the blocking form waits, the nonblocking one
// hands out a request.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "base/engine_owned.hpp"
#include "coll/call.hpp"
#include "contract/signature.hpp"
#include "mpi/coll/arguments.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/request/request.hpp"
#include "mpi/type/datatype.hpp"
#include "mpi/type/op.hpp"

namespace tutti::mpi {

// Objects that are kept alive. The few of most calls take no memory of their own.
class Uses {
 public:
  void add(Ref<Object> object) {
    if (count_ < few_.size()) {
      few_[count_++] = std::move(object);
    } else {
      more_.push_back(std::move(object));
    }
  }

 private:
  std::array<Ref<Object>, 3> few_;
  size_t count_ = 0;
  std::vector<Ref<Object>> more_;
};

// A call with its arguments resolved, and what it refers to.
struct ResolvedCall {
  coll::Call call;
  std::vector<const Layout*> in_layouts, out_layouts;  // MPI_Alltoallw: `call` looks at these
  std::vector<const void*> in_types, out_types;        // and at these
  const Op* op = nullptr;                              // of a reduction
  Uses uses;                                           // kept alive while a nonblocking call is under way
};

// Starts it and leaves a request; its signature is of the blocking form.
// `then` is called when it completes, with the engine owned, before the request does; its error is the request's.
Error start(Comm& comm, ResolvedCall resolved, MPI_Request* request, std::function<Error()> then = {});

// Starts a step of something that goes on by itself: a call of the library's own that has no handle. `over` hears
// of its end, however it ends, with the engine owned. `step` is the operation until then, and nullptr afterwards.
// Called by a thread that may wait; an Error: it has not been started.
Error start_step(Comm& comm, const coll::Call& call, std::function<void(Error)> over,
                 const Request*& step) TUTTI_ENGINE_OWNED;
// The same for the others' sake: no request stands for it, and how it ends matters to nobody here. `over` is called
// behind its end, or at once if it cannot be started, with the engine owned.
void take_part(Comm& comm, const coll::Call& call, std::function<void()> over);

// What this rank sends itself in the call must be what it expects from itself: where all ranks are
// equally wrong they do not contradict each other. Tells the communicator's ranks if it is not.
Error check_own_block(const ResolvedCall& resolved, Comm& comm, contract::Form form);

}  // namespace tutti::mpi
