// SPDX-License-Identifier: BSD-3-Clause
// MPI_Intercomm_create_from_groups (the standard, section 7.6.2). The leaders alone know both groups. The one
// whose process comes first makes the context and tells the other one; each tells its own group who stands on
// the other side.
#include <utility>
#include <vector>

#include "engine/context.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/from_group.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/entry_guard.hpp"

namespace tutti::mpi {
namespace {

// What a leader tells its group.
struct Offer {
  int64_t count = 0;  // processes of the other group; -1: there is none, for the class of error below
  int64_t error_class = MPI_SUCCESS;
  int64_t is_first = 0;
  uint64_t context = engine::kNoContext;
};

Error bad_leader(int leader, const Group& group, const char* argument) {
  if (leader >= 0 && leader < group.size()) return {};
  return failure(MPI_ERR_RANK, "rank {} is not in the group of {} (argument {})", leader, group.size(), argument);
}

Error check_disjoint(const Group& local, const Group& remote) {
  const ProcessRanks local_rank_of(local.processes, remote.size());
  for (int rank = 0; rank < remote.size(); ++rank) {
    const int at = local_rank_of(remote.processes[rank]);
    if (at >= 0)
      return failure(MPI_ERR_GROUP,
                     "the groups are not disjoint: rank {} of the local one is rank {} of the remote one, too "
                     "(argument remote_group)",
                     at, rank);
  }
  return {};
}

// Both leaders find the same errors, so that neither waits for the other.
Error meet(const Group& local, int local_leader, const Group& remote, int remote_leader, const char* string_tag,
           Offer& offer) {
  if (Error e = of_two_sessions(local, remote)) return e;
  if (Error e = foreign_member(remote, "remote_group")) return e;
  if (Error e = bad_leader(remote_leader, remote, "remote_leader")) return e;
  if (Error e = check_disjoint(local, remote)) return e;
  int leaders[2] = {local.processes[local_leader], remote.processes[remote_leader]};
  offer.is_first = leaders[0] < leaders[1];
  offer.count = remote.size();
  if (!offer.is_first) std::swap(leaders[0], leaders[1]);
  const uint64_t call = offer.is_first ? number_of_call(string_tag, {&local.processes, &remote.processes})
                                       : number_of_call(string_tag, {&remote.processes, &local.processes});
  offer.context = offer_context(offer.is_first != 0);
  if (Error e =
          tell_group(call, {leaders[0], leaders[1]}, offer.is_first ? 0 : 1, &offer.context, sizeof offer.context))
    return e;
  return offer.context == engine::kNoContext ? no_context_for(string_tag) : Error();
}

// Both groups; `remote` is significant at the leader.
Error make(Group& local, int local_leader, const Group* remote, int remote_leader, const char* string_tag,
           const Info* info, Errhandler& errhandler, MPI_Comm* newcomm) {
  if (Error e = bad_string_tag(string_tag)) return e;
  if (local.rank == MPI_UNDEFINED)
    return failure(MPI_ERR_GROUP, "the calling process is not in the group of {} (argument local_group)", local.size());
  if (Error e = foreign_member(local, "local_group")) return e;
  if (Error e = bad_leader(local_leader, local, "local_leader")) return e;
  const bool leads = local.rank == local_leader;
  Offer offer;
  Error failed;
  if (leads) {
    failed = meet(local, local_leader, *remote, remote_leader, string_tag, offer);
    if (failed) offer = {.count = -1, .error_class = failed.mpi_class()};
  }
  // The leader first, then the others in their order.
  ProcessList::Builder in_order;
  in_order.add(local.processes[local_leader]);
  for (int r = 0; r < local.size(); ++r)
    if (r != local_leader) in_order.add(local.processes[r]);
  const ProcessList members = in_order.take();
  const int rank = leads ? 0 : local.rank < local_leader ? local.rank + 1 : local.rank;
  const uint64_t call =
      number_of_call(string_tag, {&local.processes, &local.processes});  // no other call names a group twice
  offer_context(false);
  if (Error e = tell_group(call, members, rank, &offer, sizeof offer); e && !failed) failed = std::move(e);
  if (failed) return failed;
  if (offer.count <= 0)
    return failure(static_cast<int>(offer.error_class),
                   "the leader, rank {} of the local group, could not make the intercommunicator: its own error "
                   "says why",
                   local_leader);
  std::vector<int> others(static_cast<size_t>(offer.count));
  if (leads) others = remote->processes.to_vector();
  if (Error e = tell_group(call, members, rank, others.data(), others.size() * sizeof(int))) return e;
  auto* made = new Comm(Ref<Group>(&local), new_group(others, MPI_UNDEFINED, local), offer.is_first != 0, offer.context,
                        Ref<Errhandler>(&errhandler));
  finish_new(*made, info);
  *newcomm = made->handle;
  return {};
}

}  // namespace

Error intercomm_create_from_groups(Group& local_group, int local_leader, const Group* remote_group, int remote_leader,
                                   const char* stringtag, Info* info, Errhandler& errhandler, MPI_Comm* newintercomm) {
  *newintercomm = MPI_COMM_NULL;
  if (Error e = errhandler.suits(Errhandler::On::communicator)) return e;
  Error error = make(local_group, local_leader, remote_group, remote_leader, stringtag, info, errhandler, newintercomm);
  if (error) raise_on_what_is_made(errhandler, Errhandler::On::communicator);
  return error;
}

}  // namespace tutti::mpi
