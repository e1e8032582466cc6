// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <utility>

#include "contract/signature.hpp"
#include "functions.hpp"
#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/coll/comm_idup.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/survival/api_survival.hpp"

namespace tutti::mpi::surviving {
namespace {

Arguments conjunction(const int* mine, int* all) {
  return allreduce_of(mine, all, 1, *resolve<Datatype>(MPI_INT), *resolve<Op>(MPI_BAND));
}

}  // namespace

Error comm_get_failed(Comm&, MPI_Group* failedgrp) {
  *failedgrp = MPI_GROUP_EMPTY;
  return {};
}

Error comm_ack_failed(Comm&, int, int* num_acked) {
  *num_acked = 0;
  return {};
}

Error comm_failure_ack(Comm&) {
  return {};
}

Error comm_failure_get_acked(Comm& comm, MPI_Group* failedgrp) {
  return comm_get_failed(comm, failedgrp);
}

Error comm_revoke(Comm&) {
  return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                 "communicators cannot be revoked: the job ends when a rank fails, so that nobody waits for it");
}

Error comm_is_revoked(Comm&, int* flag) {
  *flag = 0;
  return {};
}

Error comm_agree(Comm& comm, int* flag) {
  const int mine = *flag;
  return run(conjunction(&mine, flag), comm);
}

Error comm_iagree(Comm& comm, int* flag, MPI_Request* request) {
  struct Flags {
    int mine, all;
  };
  const auto flags = std::make_shared<Flags>(Flags{*flag, 0});
  Result<ResolvedCall> made = resolve_call(conjunction(&flags->mine, &flags->all), comm);
  if (!made) return std::move(made).error();
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  return start(comm, *std::move(made), request, [flags, flag]() -> Error {
    *flag = flags->all;
    return {};
  });
}

Error comm_shrink(Comm& comm, MPI_Comm* newcomm) {
  Result<uint64_t> context = agree_on_context(comm, contract::word_of(Function::Comm_dup));
  if (!context) return std::move(context).error();
  Result<Ref<Comm>> made = duplicate_in(comm, *context);
  if (!made) return std::move(made).error();
  (*made)->attributes.copy_predefined(comm.attributes);
  *newcomm = hand_out(**made);
  return {};
}

Error comm_ishrink(Comm& comm, MPI_Comm* newcomm, MPI_Request* request) {
  const Ref<Comm> made = begin_duplicate(comm);
  made->attributes.copy_predefined(comm.attributes);
  if (Error e = find_context(comm, made, request)) return e;
  *newcomm = hand_out(*made);
  return {};
}

}  // namespace tutti::mpi::surviving
