// SPDX-License-Identifier: BSD-3-Clause
// From two groups to an intercommunicator, and back to one (the standard, section 7.6).
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/process_list_on_wire.hpp"
#include "contract/founding.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/comm/summary.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/other_jobs.hpp"
#include "mpi/object/watcher.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;

// What one leader tells the other, and its own group: how many processes stand behind it, whether they are
// the first group, and, if they are, the context. `count` -1, to its group: it could not reach the other. `apart`:
// processes of several jobs are among them, so that numbers say nothing. `list_bytes`: of the list of the processes.
struct Offer {
  int64_t count = 0;
  int64_t list_bytes = 0;
  int64_t apart = 0;
  uint64_t context = engine::kNoContext;
  int64_t first = 0;
  int64_t error_class = 0;
};

// The leaders give each other their bytes. `remote`: a rank of the hidden channel.
Error swap_bytes(const engine::Channel& channel, int remote, int tag, const void* mine, size_t bytes, void* theirs,
                 size_t their_bytes) {
  Engine& engine = *channel.engine;
  const Engine::Guard own(engine);
  if (checking.watcher) [[unlikely]]
    checking.watcher->acts();
  hearsay::may_tell();
  int open = 2;
  const auto over = [](engine::Operation& op) TUTTI_ENGINE_OWNED { --*static_cast<int*>(op.owner); };
  engine::RecvOperation receive;
  receive.payload = {theirs, static_cast<int64_t>(their_bytes), &Layout::bytes()};
  receive.match = {channel.context, remote, tag, contract::kLeadersSerial};
  engine::SendOperation send;
  send.payload = {const_cast<void*>(mine), static_cast<int64_t>(bytes), &Layout::bytes()};
  send.peer = channel.process_of(remote);
  send.match = {channel.context, channel.rank, tag, contract::kLeadersSerial};
  receive.owner = send.owner = &open;
  receive.on_complete = send.on_complete = over;
  engine.recv(receive);
  engine.send(send);
  engine.wait_until([&] { return open == 0; },
                    [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                      if (receive.posted || !send.sent || !send.matched) needs.process(send.peer);
                    });
  hearsay::may_hear();
  const int failed = receive.outcome.mpi_class != MPI_SUCCESS ? receive.outcome.mpi_class : send.outcome.mpi_class;
  if (failed == MPI_SUCCESS || failed == MPI_ERR_TRUNCATE) return {};
  return failure(failed, "the other leader cannot be spoken to any more (argument remote_leader)");
}

// Of the other leader on the hidden channel.
int hidden_rank(const Comm& peer, int remote_leader) {
  const engine::Channel& channel = peer.hidden;
  return channel.sides ? channel.sides.other_begin() + remote_leader : remote_leader;
}

// The leader's part: who stands on the other side, and what both agree about.
Error meet(const Comm& local, Comm* peer, int remote_leader, int tag, Offer& offer, Bytes& remote) {
  if (remote_leader < 0 || remote_leader >= peer->remote_size())
    return failure(MPI_ERR_RANK, "rank {} is not in the peer communicator of {} rank{} (argument remote_leader)",
                   remote_leader, peer->remote_size(), peer->remote_size() == 1 ? "" : "s");
  const engine::Channel& channel = peer->hidden;
  const int other = hidden_rank(*peer, remote_leader);
  if (other == channel.rank)
    return failure(MPI_ERR_RANK, "rank {} of the peer communicator leads both groups (argument remote_leader)",
                   remote_leader);
  offer.first = channel.rank < other;
  offer.count = local.size();
  Bytes mine;
  put_list(mine, local.group->processes);
  offer.list_bytes = static_cast<int64_t>(mine.size());
  offer.context = offer_context(offer.first != 0);
  offer.apart = engine::spans_jobs(peer->context()) || engine::spans_jobs(local.context());
  Offer theirs;
  if (Error e = swap_bytes(channel, other, tag, &offer, sizeof offer, &theirs, sizeof theirs)) return e;
  offer.apart |= theirs.apart;
  if (offer.apart) {
    local.contexts().release(offer.context);
    return {};
  }
  remote.resize(static_cast<size_t>(theirs.list_bytes));
  if (Error e = swap_bytes(channel, other, tag, mine.data(), mine.size(), remote.data(), remote.size())) return e;
  offer.count = theirs.count;
  offer.list_bytes = theirs.list_bytes;
  if (!offer.first) offer.context = theirs.context;
  return {};
}

Error bcast_from(Comm& comm, int leader, void* data, size_t bytes) {
  coll::Call spread = bcast_bytes(data, static_cast<int64_t>(bytes), leader);
  spread.signature = contract::word_of(Function::Intercomm_create, leader);
  return run(comm, spread);
}

// No process may stand on both sides.
Error check_disjoint(const Group& local, const ProcessList& remote) {
  const ProcessRanks rank_of(local.processes, remote.size());
  for (int i = 0; i < remote.size(); ++i)
    if (const int rank = rank_of(remote[i]); rank >= 0)
      return failure(MPI_ERR_COMM,
                     "the groups are not disjoint: rank {} of the local one is rank {} of the remote one, too "
                     "(argument local_comm)",
                     rank, i);
  return {};
}

Error create_apart(Comm& local, int leader, Comm* peer, int remote_leader, int tag, const Offer& offer,
                   MPI_Comm* newintercomm) {
  const Swap swap = [&](const std::string& mine) {
    char out[MPI_MAX_PORT_NAME] = {}, in[MPI_MAX_PORT_NAME] = {};
    mine.copy(out, sizeof out - 1);
    if (swap_bytes(peer->hidden, hidden_rank(*peer, remote_leader), tag, out, sizeof out, in, sizeof in))
      return std::string();  // which is no port
    in[sizeof in - 1] = '\0';
    return std::string(in);
  };
  Result<Ref<Comm>> made = other_jobs.join_apart(local, leader, offer.first != 0, swap);
  if (!made) return std::move(made).error();
  (*made)->handle = handle_of(**made);
  (*made)->retain();  // the handle's
  *newintercomm = inventory::hand_out(**made);
  return {};
}

// Which ranks of a group do not say the same to MPI_Intercomm_merge, where some do not.
Error differing(Comm& intercomm, bool high) {
  const Sides sides = intercomm.hidden.sides;
  const char mine = high;
  std::vector<char> said(static_cast<size_t>(sides.all));
  coll::Call exchange = allgather_bytes(&mine, said.data(), sizeof mine);
  exchange.signature = contract::word_of(Function::Intercomm_merge);
  if (Error e = run(intercomm, exchange)) return e;
  int rank = 1;
  while (rank + 1 < sides.all &&
         (rank == sides.first || said[static_cast<size_t>(rank)] == said[static_cast<size_t>(rank) - 1]))
    ++rank;
  const int begin = rank < sides.first ? 0 : sides.first;
  return failure(
      MPI_ERR_ARG,
      "rank {} and rank {} of {} group do not say the same of whether it comes last: all ranks of a group do "
      "(argument high)",
      rank - 1 - begin, rank - begin, sides.is_mine(rank) ? "this" : "the other");
}

}  // namespace

Error intercomm_create(Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag,
                       MPI_Comm* newintercomm) {
  if (local_leader < 0 || local_leader >= local_comm.size())
    return failure(MPI_ERR_RANK, "rank {} is not in the local communicator of {} rank{} (argument local_leader)",
                   local_leader, local_comm.size(), local_comm.size() == 1 ? "" : "s");
  const bool leads = local_comm.rank() == local_leader;
  Offer offer;
  Bytes remote;
  Error failed;
  if (leads) {
    failed = meet(local_comm, peer_comm, remote_leader, tag, offer, remote);
    if (failed) offer = {.count = -1, .error_class = failed.mpi_class()};
  }
  if (Error e = bcast_from(local_comm, local_leader, &offer, sizeof offer)) return e;
  if (leads && failed) return failed;
  if (offer.apart) return create_apart(local_comm, local_leader, peer_comm, remote_leader, tag, offer, newintercomm);
  if (offer.count < 0)
    return failure(static_cast<int>(offer.error_class),
                   "the leader, rank {}, could not speak with the other group: its own error says why", local_leader);
  remote.resize(static_cast<size_t>(offer.list_bytes));
  if (Error e = bcast_from(local_comm, local_leader, remote.data(), remote.size())) return e;
  std::span<const std::byte> list = remote;
  std::optional<ProcessList> processes = get_list(list);
  Error overlap = processes && processes->size() == offer.count
                      ? check_disjoint(*local_comm.group, *processes)
                      : failure(MPI_ERR_OTHER, "the other leader has told something else than a list of processes");
  if (overlap || offer.context == engine::kNoContext) {
    if (leads && offer.first) local_comm.contexts().release(offer.context);
    return overlap ? std::move(overlap) : no_context_left(local_comm);
  }
  *newintercomm =
      make_intercomm(local_comm, local_comm.group, new_group(*std::move(processes), MPI_UNDEFINED, *local_comm.group),
                     offer.first != 0, offer.context)
          ->handle;
  return {};
}

Error intercomm_merge(Comm& intercomm, int high, MPI_Comm* newintracomm) {
  if (!intercomm.is_inter())
    return failure(MPI_ERR_COMM, "the communicator is no intercommunicator (argument intercomm)");
  const engine::Channel& channel = intercomm.hidden;
  const Sides sides = channel.sides;
  // Either group may come first, and its first rank makes the context.
  uint64_t context = offer_context(intercomm, sides.rank_in_group() == 0);
  // Of the first group and of the other one: whether any rank says that it comes last, and whether any says that it does not;
  // and the contexts.
  enum : size_t { kHigh, kLow, kContext, kNumbers };
  std::array<uint64_t, 2 * kNumbers> said{};
  const size_t mine = sides.in_first() ? size_t{0} : size_t{kNumbers};
  said[mine + (high ? kHigh : kLow)] = 1;
  said[mine + kContext] = context;
  Error e = largest_of_all(intercomm, Function::Intercomm_merge, said);
  for (size_t side = 0; side < said.size() && !e; side += kNumbers)
    if (said[side + kHigh] && said[side + kLow]) e = differing(intercomm, high != 0);
  if (e) {
    intercomm.contexts().release(context);
    return e;
  }
  // Where both say the same, the order is that of the union.
  const bool swapped = said[kHigh] > said[kNumbers + kHigh];
  if (channel.rank != (swapped ? sides.first : 0)) intercomm.contexts().release(context);
  context = said[(swapped ? size_t{kNumbers} : size_t{0}) + kContext];
  if (context == engine::kNoContext) return no_context_left(intercomm);
  ProcessList::Builder processes;
  const ProcessList group = channel.peers.at(ProcessList::range(0, sides.first)),
                    other = channel.peers.at(ProcessList::range(sides.first, sides.all - sides.first));
  processes.add(swapped ? other : group);
  processes.add(swapped ? group : other);
  const int rank = !swapped           ? channel.rank
                   : sides.in_first() ? channel.rank + sides.other_size()
                                      : channel.rank - sides.first;
  *newintracomm = make_comm(intercomm, processes.take(), rank, context)->handle;
  return {};
}

}  // namespace tutti::mpi
