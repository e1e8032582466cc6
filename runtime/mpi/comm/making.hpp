// SPDX-License-Identifier: BSD-3-Clause
// How communicators are made out of others: what the calls of other chapters that make some share.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/function.hpp"
#include "contract/founding.hpp"
#include "contract/signature.hpp"
#include "engine/operation.hpp"
#include "mpi/comm/comm.hpp"

namespace tutti::mpi {

class Given;

// Names a new communicator by a handle. Its error handler is the parent's (section 9.3), and so are the
// predefined attributes. The second one has two groups, and `local_first` as at Comm's constructor.
Comm* make_comm(const Comm& parent, ProcessList processes, int rank, uint64_t context);
Comm* make_intercomm(const Comm& parent, Ref<Group> local, Ref<Group> remote, bool local_first, uint64_t context);
// Of the session of `like`, if it has one.
Ref<Group> new_group(ProcessList processes, int rank, const Group& like);

// A duplicate without attributes, and without a handle of the program's yet, in a context that its first rank has offered; an error if there was none left.
Result<Ref<Comm>> duplicate_in(const Comm& comm, uint64_t context);
// One that has no context yet.
Ref<Comm> begin_duplicate(const Comm& comm);
// A new communicator's part of MPI_Comm_dup: the attributes, whose functions may refuse; and the handle.
Error copy_attributes(const Comm& from, Comm& to);
MPI_Comm hand_out(Comm& made);

// The first of `processes`, which are those of a new communicator, tells the others `bytes` bytes at `data`, each
// those that follow it in a binomial tree; nobody else takes part. `match` is of these messages alone but for the
// source, which is what stands for the sender in `sources`. `rank`: mine among them.
// An error if who tells this rank has failed, of which it knows then, or has an error, which it tells in place of it all.
Error tell_group(engine::Engine& engine, engine::Match match, const ProcessList& processes, const ProcessList& sources,
                 int rank, void* data, size_t bytes);

// The same way backwards: each has put `bytes` bytes at its place of `all`, and the first gets those of all of them. What
// others have where the bytes of neither themselves nor of those that tell them stand is as it was.
Error hear_group(engine::Engine& engine, engine::Match match, const ProcessList& processes, const ProcessList& sources,
                 int rank, std::byte* all, size_t bytes);

// For these where they are part of a collective call, of which an exchange of all ranks is over: the match of its messages,
// as far as it is the same for all of them.
engine::Match match_of_call(const Comm& comm);

// Whether the ranks are on several nodes, as far as all of them know: then comm.hidden.nodes says who is where. Engine not
// owned.
bool is_on_nodes(Comm& comm);

// The members of a group by their ranks in what all of them are in, so that all know who comes first, in whatever order
// the program has named them. `mine`: my place in it.
struct InRankOrder {
  ProcessList ranks;
  int mine = 0;
};
InRankOrder in_rank_order(const ProcessList& ranks, int mine);
// What the first one tells the others, without the context.
contract::Founding founding(const ProcessList& ranks, std::string_view tag);
// An error where this rank has given another group, or another order, than `first`, the one that has told.
Error same_group(const contract::Founding& mine, const contract::Founding& said, int first);

// What to say where the process whose turn it is has no context to offer.
Error no_context_left(const Comm& parent);

// Collective, also over both groups of an intercommunicator, which gives another one: a rank gets
// MPI_COMM_NULL if there is nobody of its color in the other group. The ranks that give the same color, which is not negative or MPI_UNDEFINED, get a communicator of
// their own, in the order of key and of their rank; those that give MPI_UNDEFINED get MPI_COMM_NULL.
// `function`: the program's call, which all must have made. `given`: what they must give alike (agreement.hpp).
Error divide(Comm& comm, Function function, int color, int key, MPI_Comm* newcomm);
Error divide(Comm& comm, Function function, int color, int key, const Given& given, MPI_Comm* newcomm);

// A context for a communicator of which this rank is the first, if it is; kNoContext if none is left.
uint64_t offer_context(bool first);
// The same, for one that is made out of `parent`.
uint64_t offer_context(const Comm& parent, bool first);
// Collective: a context that all ranks of `comm`, of both groups if it has two, have agreed on for what one call of
// theirs makes, whose word is `signature`.
Result<uint64_t> agree_on_context(Comm& comm, contract::Word signature);

// Waits until nothing of the program's is under way on a communicator.
void await_communication(Comm& comm);
// What MPI_Comm_free does, for the program's call of `function`.
Error free_communicator(MPI_Comm* comm, Function function);

}  // namespace tutti::mpi
