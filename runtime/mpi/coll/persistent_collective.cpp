// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives (the standard, section 6.13). Each has a communicator of its own, which
// its initialisation makes: so the ranks may start several in any order, and between other
// collectives.
#include <memory>

#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/persistent.hpp"

namespace tutti::mpi {

Error prepare_to_start(const Arguments& given, Comm& comm, Info*, MPI_Request* request) {
  Result<Prepared> made = prepared(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::persistent)) return e;
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  Result<Ref<Comm>> own =
      make_duplicate(comm, contract::in_form(made->call.signature, contract::Form::persistent));
  if (!own) return std::move(own).error();
  (*own)->counted_on = &comm;  // which the request holds
  // Arrays stay where they are; what the call refers to is kept.
  auto kept = std::make_shared<const Prepared>(*std::move(made));
  auto* started =
      new PersistentRequest(comm, [own = *std::move(own), kept, given](MPI_Request* operation) {
        return start_again(given, *own, operation)
                   ? Error()
                   : start_prepared(given, Prepared(*kept), *own, operation);
      });
  *request = inventory::hand_out<Request>(*started);
  return {};
}

}  // namespace tutti::mpi
