// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_idup and MPI_Comm_idup_with_info (the standard, section 7.4.2): the context comes by a broadcast with a
// request.
#include "mpi/coll/comm_idup.hpp"

#include "base/flight.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "functions.hpp"
#include "mpi/coll/api_comm_idup.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/comm/making.hpp"

namespace tutti::mpi {

Error find_context(Comm& comm, const Ref<Comm>& made, MPI_Request* request) {
  auto context = std::make_shared<uint64_t>(offer_context(comm, comm.hidden.rank == 0));
  ResolvedCall resolved{.call = bcast_bytes(context.get(), sizeof *context, 0)};
  resolved.call.signature = contract::word_of(Function::Comm_dup);
  Error e = start(comm, std::move(resolved), request, [made, context]() -> Error {
    if (*context == engine::kNoContext) return no_context_left(*made);
    made->set_context(*context);
    return {};
  });
  if (e) comm.contexts().release(*context);
  return e;
}

namespace {

// For a rank whose copy callback has failed: the others, whose callbacks have not, make the duplicate, and find its context
// by a broadcast that needs this rank, too.
void take_part_for_others(Comm& comm) {
  const auto context = std::make_shared<uint64_t>(offer_context(comm, comm.hidden.rank == 0));
  coll::Call call = bcast_bytes(context.get(), sizeof *context, 0);
  call.signature = contract::in_form(contract::word_of(Function::Comm_dup), contract::Form::nonblocking);
  take_part(comm, call, [context, &comm] { comm.contexts().release(*context); });
}

}  // namespace

Error comm_idup(Comm& comm, MPI_Comm* newcomm, MPI_Request* request) {
  const Ref<Comm> made = begin_duplicate(comm);
  *newcomm = MPI_COMM_NULL;  // what a copy callback that fails leaves, and not what stood there before
  // The attributes are those of the time of the call (section 7.4.2).
  if (Error e = copy_attributes(comm, *made)) {
    take_part_for_others(comm);
    return e;
  }
  if (Error e = find_context(comm, made, request)) {
    Error ignored = made->attributes.delete_all(made->handle);
    static_cast<void>(ignored);  // the first failure is the one to tell
    return e;
  }
  *newcomm = hand_out(*made);
  return {};
}

Error comm_idup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm, MPI_Request* request) {
  if (Error e = comm_idup(comm, newcomm, request)) return e;
  take_hints(*resolve<Comm>(*newcomm), info);
  return {};
}

}  // namespace tutti::mpi
