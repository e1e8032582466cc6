// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are made out of others, of one group or of two.
#include <mpi-ext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/fault_point.hpp"
#include "base/flight.hpp"
#include "base/secret.hpp"
#include "contract/checker.hpp"
#include "contract/founding.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/comm/agreement.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/collective_call.hpp"
#include "mpi/comm/dividing.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/comm/summary.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"
#include "mpi/object/watcher.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;

constexpr size_t kMostListed = 12;  // members in a sentence

}  // namespace

Error no_context_left(const Comm& parent) {
  return failure(MPI_ERR_OTHER,
                 "rank 0 has {} communicators and persistent collectives in use and no number left for "
                 "another one (made from {}): free some",
                 1 << engine::ContextPool::kSlotBits, parent.name.empty() ? "a communicator" : parent.name);
}

// Contexts also end without a call that frees a communicator: those of persistent collectives.
uint64_t offer_context(bool first) {
  if (checking.watcher) [[unlikely]] {  // the members hear of each other
    const Engine::Guard own(engine_of_process());
    checking.watcher->acts();
  }
  if (contract::Checker* checker = own_checker()) {
    const Engine::Guard own(engine_of_process());
    checker->forget_the_gone();
  }
  return first ? current.self->contexts().acquire() : engine::kNoContext;
}

uint64_t offer_context(const Comm& parent, bool first) {
  if (engine::spans_jobs(parent.context())) return first ? engine::random_context() : engine::kNoContext;
  return offer_context(first);
}

Ref<Group> new_group(ProcessList processes, int rank, const Group& like) {
  return Ref<Group>::adopt(new Group(std::move(processes), rank, like.session));
}

Comm* make_comm(const Comm& parent, ProcessList processes, int rank, uint64_t context) {
  return make_intercomm(parent, new_group(std::move(processes), rank, *parent.group), {}, true, context);
}

Comm* make_intercomm(const Comm& parent, Ref<Group> local, Ref<Group> remote, bool local_first, uint64_t context) {
  auto* made = new Comm(std::move(local), std::move(remote), local_first, context, parent.errhandler);
  made->handle = inventory::hand_out(*made);
  // MPI_TAG_UB and its kin: programs ask any communicator for them.
  made->attributes.copy_predefined(parent.attributes);
  return made;
}

namespace {

// Of those who tell each other something, one has an error, and says so by saying less: nothing of a failure, a letter of a
// revocation.
constexpr char kRevoked = 'r';

// Whether this rank knows that one of them has failed, whose communicator nobody could use.
bool has_lost(const ProcessList& processes) {
  const members::Processes& known = *process().processes;
  return known.changes() > 0 && std::ranges::any_of(processes, [&](int each) { return known.has_failed(each); });
}

// One of them has failed, as another one has found: from here on this rank knows, too, which one, and a program that asks for
// that is told. The news come to everybody.
void await_news_of(engine::Engine& engine, const ProcessList& processes) TUTTI_ENGINE_OWNED {
  engine.wait_until([&] { return has_lost(processes); });
}

// What a receive has ended with, or what it has been told.
int error_of_word(engine::Engine& engine, const engine::Outcome& outcome, size_t expected,
                  const ProcessList& processes) TUTTI_ENGINE_OWNED {
  if (outcome.mpi_class != MPI_SUCCESS) return outcome.mpi_class;
  const auto sent = static_cast<size_t>(outcome.sent_bytes);
  if (sent == expected || sent > sizeof kRevoked) return MPI_SUCCESS;
  if (sent == sizeof kRevoked) return MPIX_ERR_REVOKED;
  await_news_of(engine, processes);
  return MPIX_ERR_PROC_FAILED;
}

}  // namespace

Error tell_group(engine::Engine& engine, engine::Match match, const ProcessList& processes, const ProcessList& sources,
                 int rank, void* data, size_t bytes) {
  const Engine::Guard own(engine);
  if (checking.watcher) [[unlikely]]
    checking.watcher->acts();
  hearsay::may_tell();
  int open = 0, failed = MPI_SUCCESS;
  const auto over = [](engine::Operation& op) TUTTI_ENGINE_OWNED { --*static_cast<int*>(op.owner); };
  Payload payload{data, static_cast<int64_t>(bytes), &Layout::bytes()};
  if (rank > 0) {
    const int before = rank & (rank - 1);  // who tells me: my number without its lowest bit
    engine::RecvOperation receive;
    open = 1;
    match.source = sources[before];
    receive.payload = payload;
    receive.match = match;
    receive.owner = &open;
    receive.on_complete = over;
    engine.recv(receive);
    engine.wait_until([&] { return open == 0; },
                      [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                        if (receive.posted) needs.process(processes[before]);
                      });
    TUTTI_FAULT_POINT("context.heard");
    failed = error_of_word(engine, receive.outcome, bytes, processes);
    if (failed == MPIX_ERR_REVOKED) payload = {const_cast<char*>(&kRevoked), sizeof kRevoked, &Layout::bytes()};
  }
  if (failed == MPI_SUCCESS && has_lost(processes)) failed = MPIX_ERR_PROC_FAILED;
  if (failed == MPIX_ERR_PROC_FAILED) payload.count = 0;
  std::array<engine::SendOperation, 31> sends;
  size_t told = 0;
  match.source = sources[rank];
  // Those whose numbers are mine with one bit more below my lowest one; who has most to tell goes first.
  const int64_t reach = rank > 0 ? rank & -rank : int64_t{1} << 31;
  for (int64_t bit = reach >> 1; bit > 0; bit >>= 1) {
    if (rank + bit >= processes.size()) continue;
    engine::SendOperation& send = sends[told++];
    send.payload = payload;
    send.peer = processes[static_cast<int>(rank + bit)];
    send.match = match;
    send.owner = &open;
    send.on_complete = over;
    ++open;
    engine.send(send);
    TUTTI_FAULT_POINT("context.told_one");
  }
  engine.wait_until([&] { return open == 0; },
                    [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                      for (size_t i = 0; i < told; ++i)
                        if (!sends[i].sent || !sends[i].matched) needs.process(sends[i].peer);
                    });
  hearsay::may_hear();
  for (size_t i = 0; i < told && failed == MPI_SUCCESS; ++i) failed = sends[i].outcome.mpi_class;
  if (failed == MPI_SUCCESS || failed == MPI_ERR_TRUNCATE) return {};
  return failure(failed, "a process of the new communicator has failed");
}

Error hear_group(engine::Engine& engine, engine::Match match, const ProcessList& processes, const ProcessList& sources,
                 int rank, std::byte* all, size_t bytes) {
  const Engine::Guard own(engine);
  if (checking.watcher) [[unlikely]]
    checking.watcher->acts();
  hearsay::may_tell();
  const int size = processes.size();
  const auto over = [](engine::Operation& op) TUTTI_ENGINE_OWNED { --*static_cast<int*>(op.owner); };
  // Those whose blocks come by way of `from`: itself, and who follows it up to the next one that says more than one.
  const auto blocks = [&](int from) {
    const int64_t most = from > 0 ? from & -from : size;
    return Payload{all + static_cast<size_t>(from) * bytes,
                   std::min<int64_t>(most, size - from) * static_cast<int64_t>(bytes), &Layout::bytes()};
  };
  int open = 0;
  std::array<engine::RecvOperation, 31> receives;
  size_t heard = 0;
  const int64_t reach = rank > 0 ? rank & -rank : size;
  for (int64_t bit = 1; bit < reach && rank + bit < size; bit <<= 1) {
    engine::RecvOperation& receive = receives[heard++];
    const auto from = static_cast<int>(rank + bit);
    match.source = sources[from];
    receive.payload = blocks(from);
    receive.match = match;
    receive.owner = &open;
    receive.on_complete = over;
    ++open;
    engine.recv(receive);
  }
  engine.wait_until([&] { return open == 0; },
                    [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                      for (size_t i = 0; i < heard; ++i)
                        if (receives[i].posted) needs.process(processes[rank + (1 << i)]);
                    });
  int failed = MPI_SUCCESS;
  for (size_t i = 0; i < heard && failed == MPI_SUCCESS; ++i) {
    failed = receives[i].outcome.mpi_class;
    if (failed == MPI_SUCCESS && receives[i].outcome.sent_bytes == 0) failed = MPIX_ERR_PROC_FAILED;
  }
  if (rank > 0) {
    engine::SendOperation send;
    send.payload = blocks(rank);
    if (failed != MPI_SUCCESS) send.payload.count = 0;  // who has not heard all says nothing
    send.peer = processes[rank & (rank - 1)];
    match.source = sources[rank];
    send.match = match;
    send.owner = &open;
    send.on_complete = over;
    open = 1;
    engine.send(send);
    engine.wait_until([&] { return open == 0; },
                      [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                        if (!send.sent || !send.matched) needs.process(send.peer);
                      });
    if (failed == MPI_SUCCESS) failed = send.outcome.mpi_class;
  }
  hearsay::may_hear();
  if (failed == MPI_SUCCESS || failed == MPI_ERR_TRUNCATE) return {};
  return failure(failed, "a process of the communicator has failed");
}

engine::Match match_of_call(const Comm& comm) {
  const Engine::Guard own(*comm.hidden.engine);
  return {comm.hidden.context, 0, static_cast<int>(comm.hidden.next_serial & 0x7fffffff), contract::kDividedSerial};
}

bool is_on_nodes(Comm& comm) {
  const Engine::Guard own(*comm.hidden.engine);
  comm.find_area();
  return comm.hidden.nodes != nullptr;
}

InRankOrder in_rank_order(const ProcessList& ranks, int mine) {
  const int me = ranks[mine];
  std::vector<int> sorted = ranks.to_vector();
  std::ranges::sort(sorted);
  const auto at = static_cast<int>(std::ranges::lower_bound(sorted, me) - sorted.begin());
  return {sorted, at};
}

contract::Founding founding(const ProcessList& ranks, std::string_view tag) {
  contract::Founding made;
  uint64_t hash = static_cast<uint64_t>(ranks.size());
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (int i = 0; i < ranks.size(); ++i) {
    hash = (hash ^ static_cast<uint32_t>(ranks[i])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
    if (i < static_cast<int>(kMostListed)) text += fmt::format("{} {}", i ? "," : "", ranks[i]);
  }
  if (ranks.size() > static_cast<int>(kMostListed)) text += fmt::format(", … ({} in all)", ranks.size());
  made.group_hash = hash;
  contract::Founding::put(made.group, text);
  contract::Founding::put(made.tag, tag);
  return made;
}

Error same_group(const contract::Founding& mine, const contract::Founding& said, int first) {
  if (mine.group_hash == said.group_hash) return {};
  return failure(
      MPI_ERR_GROUP,
      "the group is that of {}, where rank {} gives that of {}: all members of a group give it, in one order "
      "(the standard, section 7.4.2) (argument group)",
      mine.group, first, said.group);
}

namespace {

// Without attributes, and not handed out.
Ref<Comm> duplicate(const Comm& comm, uint64_t context) {
  const bool first = !comm.is_inter() || comm.hidden.sides.in_first();
  auto made = Ref<Comm>::adopt(new Comm(comm.group, comm.remote_group, first, context, comm.errhandler));
  made->handle = handle_of(*made);
  made->topology = comm.topology;
  return made;
}

}  // namespace

Ref<Comm> begin_duplicate(const Comm& comm) {
  return duplicate(comm, engine::kNoContext);
}

MPI_Comm hand_out(Comm& made) {
  made.retain();  // the handle's
  return inventory::hand_out(made);
}

Error copy_attributes(const Comm& from, Comm& to) {
  Error e = to.attributes.copy_all(from.handle, from.attributes);
  if (e) {
    Error ignored = to.attributes.delete_all(to.handle);
    static_cast<void>(ignored);  // the first failure is the one to tell
  }
  return e;
}

namespace {

// The members' ranks in `comm`; an error if one is not in it.
Result<ProcessList> ranks_in(const Comm& comm, const Group& group) {
  const ProcessList& all = comm.group->processes;
  const ProcessRanks rank_of(all, group.size());
  ProcessList::Builder ranks;
  if (group.processes.is_regular() && all.is_regular() && group.size() > 2) {
    // In equal steps: all of them are there if the first two and the last one are.
    const int first = rank_of(group.processes[0]), second = rank_of(group.processes[1]),
              last = rank_of(group.processes[group.size() - 1]);
    if (first >= 0 && second >= 0 && last >= 0) return ProcessList::range(first, group.size(), second - first);
  }
  for (const int member : group.processes) {
    const int rank = rank_of(member);
    if (rank < 0)
      return failure(MPI_ERR_GROUP,
                     "the process with rank {} in the group is not in the communicator (argument "
                     "group)",
                     ranks.size());
    ranks.add(rank);
  }
  return ranks.take();
}

}  // namespace

Result<uint64_t> agree_on_context(Comm& comm, contract::Word signature) {
  uint64_t context = offer_context(comm, comm.hidden.rank == 0);
  TUTTI_FAULT_POINT("context.offered");
  coll::Call spread = bcast_bytes(&context, sizeof context, 0);
  spread.signature = signature;
  if (Error e = run(comm, spread)) {
    comm.contexts().release(context);
    return e;
  }
  TUTTI_FAULT_POINT("context.agreed");
  if (context == engine::kNoContext) return no_context_left(comm);
  return context;
}

Result<Ref<Comm>> duplicate_in(const Comm& comm, uint64_t context) {
  if (context == engine::kNoContext) return no_context_left(comm);
  return duplicate(comm, context);
}

Error comm_dup(Comm& comm, MPI_Comm* newcomm) {
  Result<uint64_t> context = agree_on_context(comm, contract::word_of(Function::Comm_dup));
  if (!context) return std::move(context).error();
  const Ref<Comm> made = duplicate(comm, *context);
  *newcomm = MPI_COMM_NULL;  // what a copy callback that fails leaves, and not what stood there before
  if (Error e = copy_attributes(comm, *made)) return e;
  *newcomm = hand_out(*made);
  return {};
}

// A duplicate has the hints that it is given, and none of the original's (section 7.4.2).
Error comm_dup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm) {
  if (Error e = comm_dup(comm, newcomm)) return e;
  take_hints(*resolve<Comm>(*newcomm), info);
  return {};
}

Error comm_split(Comm& comm, int color, int key, MPI_Comm* newcomm) {
  if (color < 0 && color != MPI_UNDEFINED)
    return failure(MPI_ERR_ARG, "color {} is negative and not MPI_UNDEFINED (argument color)", color);
  return divide(comm, Function::Comm_split, color, key, newcomm);
}

namespace {

// Whether all members of each group give it, in one order, which few numbers tell of all ranks: what those say that are in
// their group is to be said as often as the first of each says that there are members.
Result<bool> groups_are_whole(Comm& comm, const Said& said, int place) {
  const auto* first = reinterpret_cast<const char*>(&said);
  const std::string_view text(first, sizeof said);
  static_assert(sizeof said == 8);  // no bytes that mean nothing
  const std::array<uint64_t, 2> meaning = {siphash("members, once", text), siphash("members, again", text)};
  std::array<uint64_t, 2> left{};
  for (size_t i = 0; i < left.size() && place != MPI_UNDEFINED; ++i)
    left[i] = meaning[i] - (place == 0 ? meaning[i] * static_cast<uint64_t>(said.members) : 0);
  if (Error e = sum_of_all(comm, Function::Comm_create, left)) return e;
  return left == std::array<uint64_t, 2>{};
}

}  // namespace

Error comm_create(Comm& comm, Group& group, MPI_Comm* newcomm) {
  Result<ProcessList> members = ranks_in(comm, group);
  if (!members) return std::move(members).error();
  // The ranks of one group go by its first, in the group's order: groups may be disjoint. Between two
  // groups all ranks of either give the same one (section 7.4.2).
  const bool inside = group.rank != MPI_UNDEFINED;
  const int color = !inside ? MPI_UNDEFINED : comm.is_inter() ? 0 : members->front();
  if (!Given::is_asked_for(comm)) return divide(comm, Function::Comm_create, color, inside ? group.rank : 0, newcomm);
  const int begin = comm.hidden.sides ? comm.hidden.sides.begin() : 0;
  // What ranks give that are not in it changes nothing, and is a matter of strict, which has a watcher.
  const Said said = inside || checking.watcher ? said_of(*members, begin) : Said();
  if (are_many(comm) && may_tell_apart(comm) && !checking.watcher) {
    Result<bool> whole = groups_are_whole(comm, said, group.rank);
    if (!whole) return std::move(whole).error();
    *newcomm = MPI_COMM_NULL;
    if (*whole) return inside ? make_of_members(comm, *members, newcomm) : Error();
  }
  const auto alike = [&](std::span<const SplitEntry> all) {
    std::vector<Said> said_by;
    std::vector<char> inside_of;
    for (const SplitEntry& entry : all) {
      said_by.push_back(entry.said);
      inside_of.push_back(entry.color != MPI_UNDEFINED);
    }
    std::vector<int> ranks = members->to_vector();
    for (int& rank : ranks) rank += begin;
    return agree_on_groups(comm, said_by, inside_of, ranks);
  };
  return divide_if(comm, Function::Comm_create, SplitEntry{color, inside ? group.rank : 0, engine::kNoContext, said},
                   alike, newcomm);
}

Error comm_create_group(Comm& comm, Group& group, int tag, MPI_Comm* newcomm) {
  Result<ProcessList> members = ranks_in(comm, group);
  if (!members) return std::move(members).error();
  *newcomm = MPI_COMM_NULL;
  if (group.rank == MPI_UNDEFINED) return {};
  const InRankOrder order = in_rank_order(*members, group.rank);
  ProcessList::Builder processes;
  for (const int rank : order.ranks) processes.add(comm.process_of(rank));
  const contract::Founding mine = founding(*members, fmt::format("tag {}", tag));
  contract::Founding said = mine;
  said.context = offer_context(comm, order.mine == 0);
  if (Error e = tell_group(*comm.hidden.engine, {comm.hidden.context, 0, tag, contract::kCreateGroupSerial},
                           processes.take(), order.ranks, order.mine, &said, sizeof said))
    return e;
  if (comm.hidden.ledger)
    if (Error e = same_group(mine, said, order.ranks.front())) return e;
  if (said.context == engine::kNoContext) return no_context_left(comm);
  *newcomm = make_comm(comm, group.processes, group.rank, said.context)->handle;
  return {};
}
}  // namespace tutti::mpi
