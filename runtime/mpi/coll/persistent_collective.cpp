// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives (the standard, section 6.13). Each has a communicator of its own, which
// its initialisation makes: so the ranks may start several in any order, and between other
// collectives.
#include <memory>

#include "mpi/coll/api_collective.hpp"
#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/collective_signature.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/request/persistent.hpp"

namespace tutti::mpi {

namespace {

// A call that is made again and again. It has its arrays of its own: programs free theirs after the
// initialisation, though the standard does not oblige an implementation to bear with it.
struct Again {
  Again(const Arguments& from_program, Prepared made, int ranks)
      : given(from_program), prepared(std::move(made)) {
    arrays.take_types(given, prepared.call);
    arrays.take_counts(given, prepared.call, coll::ArrayLengths(prepared.call, ranks));
  }

  OwnArrays arrays;
  Arguments given;
  Prepared prepared;
};

}  // namespace

Error prepare_to_start(const Arguments& given, Comm& comm, Info*, MPI_Request* request) {
  Result<Prepared> made = prepared(given, comm);
  if (!made) return std::move(made).error();
  if (Error e = check_own_block(*made, comm, contract::Form::persistent)) return e;
  if (comm.hidden.ledger) sign(made->call, made->op, comm);
  Result<Ref<Comm>> own =
      make_duplicate(comm, contract::in_form(made->call.signature, contract::Form::persistent));
  if (!own) return std::move(own).error();
  (*own)->counted_on = &comm;  // which the request holds
  auto again = std::make_shared<const Again>(given, *std::move(made), comm.size());
  auto* started =
      new PersistentRequest(comm, [own = *std::move(own), again](MPI_Request* operation) {
        return start_again(again->given, *own, operation)
                   ? Error()
                   : start_prepared(again->given, Prepared(again->prepared), *own, operation);
      });
  *request = inventory::hand_out<Request>(*started);
  return {};
}

}  // namespace tutti::mpi
