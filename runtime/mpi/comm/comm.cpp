// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/comm.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <vector>

#include "base/flight.hpp"
#include "contract/checker.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/coll/collective.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;

// The messages of MPI_Comm_create_group on the parent's hidden channel: a serial that no
// collective call reaches before 2^32 of them.
constexpr uint32_t kCreateGroupSerial = std::numeric_limits<uint32_t>::max();

Error no_context_left(const Comm& parent) {
  return failure(MPI_ERR_OTHER,
                 "rank 0 of the new communicator has {} communicators in use and no number left for "
                 "another (made from {}): free some",
                 1 << ContextPool::kSlotBits, parent.name.empty() ? "a communicator" : parent.name);
}

}  // namespace

// Communicators also end without a call that frees one: those of persistent collectives.
uint64_t offer_context(bool first) {
  if (contract::Checker* checker = process().checker.get()) {
    const Engine::Guard own(engine_of_process());
    checker->forget_the_gone();
  }
  return first ? process().contexts->acquire() : kNoContext;
}

uint64_t offer_context(const Comm& parent, bool first) {
  if (spans_jobs(parent.context())) return first ? random_context() : kNoContext;
  return offer_context(first);
}

namespace {

// Names the new communicator by a handle; its error handler is the parent's (section 9.3).
Comm* make_comm(const Comm& parent, std::vector<int> processes, int rank, uint64_t context) {
  auto group = Ref<Group>::adopt(
      new Group(std::make_shared<const std::vector<int>>(std::move(processes)), rank));
  auto* made = new Comm(std::move(group), context, parent.errhandler);
  made->handle = inventory::hand_out(*made);
  // MPI_TAG_UB and its kin: programs ask any communicator for them.
  made->attributes.copy_predefined(parent.attributes);
  return made;
}

// Without attributes, and not handed out.
Ref<Comm> duplicate(const Comm& comm, uint64_t context) {
  auto made = Ref<Comm>::adopt(new Comm(comm.group, context, comm.errhandler));
  made->handle = handle_of(*made);
  made->topology = comm.topology;
  return made;
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

// What each rank says when a communicator is divided.
struct Entry {
  int32_t color;
  int32_t key;
  uint64_t context;  // for the case that it comes first among its color
};

}  // namespace

// Everybody's colors and keys: my part of them, in the order of key and rank.
Error divide(Comm& comm, Function function, int color, int key, MPI_Comm* newcomm) {
  const auto size = static_cast<size_t>(comm.size());
  const Entry mine{color, key, offer_context(comm, color != MPI_UNDEFINED)};
  std::vector<Entry> all(size);
  coll::Call exchange = allgather_bytes(&mine, all.data(), sizeof mine);
  exchange.signature = contract::word_of(function);
  if (Error e = run(comm, exchange)) {
    process().contexts->release(mine.context);
    return e;
  }
  *newcomm = MPI_COMM_NULL;
  if (color == MPI_UNDEFINED) return {};

  std::vector<int> members;  // ranks in comm
  for (int r = 0; r < comm.size(); ++r)
    if (all[static_cast<size_t>(r)].color == color) members.push_back(r);
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all[static_cast<size_t>(a)].key < all[static_cast<size_t>(b)].key;
  });
  const uint64_t context = all[static_cast<size_t>(members[0])].context;
  if (members[0] != comm.rank() && mine.context != kNoContext)
    process().contexts->release(mine.context);
  if (context == kNoContext) return no_context_left(comm);
  int rank = 0;
  std::vector<int> processes;
  for (const int member : members) {
    if (member == comm.rank()) rank = static_cast<int>(processes.size());
    processes.push_back(comm.process_of(member));
  }
  *newcomm = make_comm(comm, std::move(processes), rank, context)->handle;
  return {};
}

namespace {

// Rank 0 of the group tells the others; nobody else of `comm` takes part.
Error spread_context(Comm& comm, const Group& group, const std::vector<int>& rank_in_comm, int tag,
                     uint64_t& context) {
  Engine& engine = engine_of_process();
  const Engine::Guard own(engine);
  if (strict) [[unlikely]] strict->acts();
  int open = 0;
  const auto over = [](engine::Operation& op) { --*static_cast<int*>(op.owner); };
  const Payload payload{&context, sizeof context, &Layout::bytes()};
  if (group.rank == 0) {
    std::vector<engine::SendOperation> sends(rank_in_comm.size());
    open = static_cast<int>(sends.size()) - 1;
    for (size_t i = 1; i < sends.size(); ++i) {
      sends[i].payload = payload;
      sends[i].peer = (*group.processes)[i];
      sends[i].match = {comm.hidden.context, comm.rank(), tag, kCreateGroupSerial};
      sends[i].owner = &open;
      sends[i].on_complete = over;
      engine.send(sends[i]);
    }
    engine.wait_until([&] { return open == 0; },
                      [&](engine::Condition& needs) {
                        for (size_t i = 1; i < sends.size(); ++i)
                          if (!sends[i].sent || !sends[i].matched) needs.process(sends[i].peer);
                      });
    return {};
  }
  engine::RecvOperation receive;
  open = 1;
  receive.payload = payload;
  receive.match = {comm.hidden.context, rank_in_comm[0], tag, kCreateGroupSerial};
  receive.owner = &open;
  receive.on_complete = over;
  engine.recv(receive);
  engine.wait_until([&] { return open == 0; },
                    [&](engine::Condition& needs) {
                      if (receive.posted) needs.process((*group.processes)[0]);
                    });
  return {};
}

// The members' ranks in `comm`; an error if one is not in it.
Result<std::vector<int>> ranks_in(const Comm& comm, const Group& group) {
  std::unordered_map<int, int> rank_of;
  for (int r = 0; r < comm.size(); ++r) rank_of.emplace(comm.process_of(r), r);
  std::vector<int> ranks;
  for (const int member : *group.processes) {
    const auto at = rank_of.find(member);
    if (at == rank_of.end())
      return failure(MPI_ERR_GROUP,
                     "the process with rank {} in the group is not in the communicator (argument "
                     "group)",
                     ranks.size());
    ranks.push_back(at->second);
  }
  return ranks;
}

}  // namespace

namespace {

coll::Stress stress_of(const StressMode& mode) {
  return {.synchronising = mode.kind == StressMode::Kind::sync,
          .chance = mode.kind == StressMode::Kind::random ? mixed(mode.seed, 1) | 1 : 0};
}

}  // namespace

Comm::Comm(Ref<Group> members, uint64_t context, Ref<Errhandler> handler)
    : NamedObject(Tag::comm),
      group(std::move(members)),
      planner(process().selection, stress_of(process().stress_mode)),
      errhandler(std::move(handler)),
      attributes(KeyKind::comm) {
  user.engine = hidden.engine = process().engine.get();
  user.rank = hidden.rank = group->rank;
  user.peers = hidden.peers = group->processes;
  set_context(context);
}

Comm::~Comm() {
  if (spans_jobs(user.context)) {
    const std::lock_guard lock(process().spanning_mutex);
    std::erase(process().spanning, this);
  }
  if (hidden.ledger && process().checker) process().checker->close(*hidden.ledger);
  flight::comm_freed(user.context);
  if (user.context != kNoContext && process().contexts) process().contexts->release(user.context);
}

void Comm::set_context(uint64_t context) {
  user.context = context;
  hidden.context = context | 1;
  // The ranks of several jobs have no ledger in common: they know each other by other numbers.
  if (spans_jobs(context)) {
    const std::lock_guard lock(process().spanning_mutex);
    process().spanning.push_back(this);
    return;
  }
  if (context == kNoContext || !process().checker) return;
  // The call that makes it is the one that this thread is in, on the communicator that it is made of.
  const flight::Call* made_by = flight::now();
  contract::Origin origin;
  if (made_by) origin = {made_by->function, made_by->caller, made_by->context};
  hidden.ledger = process().checker->open(hidden, origin);
  hidden.ledger->set_fatal(errhandler->ends_job());
  flight::comm_made({.context = context,
                     .parent = origin.parent,
                     .caller = origin.caller,
                     .size = size(),
                     .rank = rank(),
                     .function = origin.function});
}

void Comm::set_name(std::string_view given) {
  const Engine::Guard own(*user.engine);  // the progress thread may be about to tell it
  name = given;
  if (!hidden.ledger) return;
  hidden.ledger->set_name(name);
  flight::comm_named(user.context, name);
}

void Comm::ask_for_area() {
  asked_for_area_ = true;
  if (spans_jobs(context())) return;  // no two jobs share memory
  find_nodes();
  const StressMode& stress = process().stress_mode;
  if (!stress.shares_collectives()) return;
  // What --stress makes of a plan it makes of it on all ranks alike: here leaders have messages.
  if (hidden.nodes && stress.kind != StressMode::Kind::off) return;
  std::vector<int> here;  // the processes on this node, among which I have a number
  for (int i = 0; i < hidden.neighbours(); ++i) here.push_back(process_of(hidden.neighbour(i)));
  const uint64_t id = context();
  area_ = process().transport->area_for({.context = id,
                                         .owner = ContextPool::owner_of(id),
                                         .slot = ContextPool::slot_of(id),
                                         .generation = ContextPool::generation_of(id),
                                         .generations = 1u << ContextPool::kGenerationBits},
                                        here, hidden.local());
  hidden.area = area_.get();
  if (hidden.ledger) hidden.ledger->set_area(area_.get());
}

// Who is where, if the ranks are on several nodes. What all ranks know alike, so that they choose
// alike.
void Comm::find_nodes() {
  Process& p = process();
  const auto job_size = static_cast<size_t>(p.job->view().size);
  if (p.job->view().node_ranks.size() == job_size || size() < 3) return;
  if (p.node_of.empty()) p.node_of = p.job->nodes();
  std::vector<int> places;
  for (const int process : *group->processes) {
    if (static_cast<size_t>(process) >= p.node_of.size()) return;
    places.push_back(p.node_of[static_cast<size_t>(process)]);
  }
  NodeLayout layout(places, rank());
  if (layout.nodes() < 2) return;
  nodes_ = std::make_unique<const NodeLayout>(std::move(layout));
  hidden.nodes = nodes_.get();
}

// ---- what a communicator is

Error comm_size(Comm& comm, int* size) {
  *size = comm.size();
  return {};
}

Error comm_rank(Comm& comm, int* rank) {
  *rank = comm.rank();
  return {};
}

Error comm_compare(Comm& comm1, Comm& comm2, int* result) {
  const auto& a = *comm1.group->processes;
  const auto& b = *comm2.group->processes;
  if (&comm1 == &comm2) {
    *result = MPI_IDENT;
  } else if (a == b) {
    *result = MPI_CONGRUENT;
  } else {
    *result = a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin())
                  ? MPI_SIMILAR
                  : MPI_UNEQUAL;
  }
  return {};
}

Error comm_group(Comm& comm, MPI_Group* group) {
  *group = make_group(*comm.group->processes, comm.rank());
  return {};
}

Error comm_test_inter(Comm& comm, int* flag) {
  *flag = comm.is_inter();
  return {};
}

Error comm_remote_size(Comm&, int*) {
  return failure(MPI_ERR_COMM, "the communicator is no intercommunicator (argument comm)");
}

Error comm_remote_group(Comm&, MPI_Group*) {
  return failure(MPI_ERR_COMM, "the communicator is no intercommunicator (argument comm)");
}

Error comm_set_name(Comm& comm, const char* comm_name) {
  comm.set_name({comm_name, strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1)});
  return {};
}

Error comm_get_name(const Comm* comm, char* comm_name, int* resultlen) {
  give_name(comm, "MPI_COMM_NULL", comm_name, resultlen);
  return {};
}

// ---- making more

Result<Ref<Comm>> make_duplicate(Comm& comm, contract::Word signature) {
  uint64_t context = offer_context(comm, comm.rank() == 0);
  coll::Call spread = bcast_bytes(&context, sizeof context, 0);
  spread.signature = signature;
  if (Error e = run(comm, spread)) {
    process().contexts->release(context);
    return e;
  }
  return duplicate_in(comm, context);
}

Result<Ref<Comm>> duplicate_in(const Comm& comm, uint64_t context) {
  if (context == kNoContext) return no_context_left(comm);
  return duplicate(comm, context);
}

Error comm_dup(Comm& comm, MPI_Comm* newcomm) {
  Result<Ref<Comm>> made = make_duplicate(comm, contract::word_of(Function::Comm_dup));
  if (!made) return std::move(made).error();
  if (Error e = copy_attributes(comm, **made)) return e;
  *newcomm = hand_out(**made);
  return {};
}

// A duplicate has the hints that it is given, and none of the original's (section 7.4.2).
Error comm_dup_with_info(Comm& comm, Info* info, MPI_Comm* newcomm) {
  if (Error e = comm_dup(comm, newcomm)) return e;
  take_hints(*resolve<Comm>(*newcomm), info);
  return {};
}

Error comm_idup(Comm& comm, MPI_Comm* newcomm, MPI_Request* request) {
  const Ref<Comm> made = duplicate(comm, kNoContext);
  // The attributes are those of the time of the call (section 7.4.2).
  if (Error e = copy_attributes(comm, *made)) return e;
  auto context = std::make_shared<uint64_t>(offer_context(comm, comm.rank() == 0));
  Prepared prepared{.call = bcast_bytes(context.get(), sizeof *context, 0)};
  prepared.call.signature = contract::word_of(Function::Comm_dup);
  Error e = start(comm, std::move(prepared), request, [made, context]() -> Error {
    if (*context == kNoContext) return no_context_left(*made);
    made->set_context(*context);
    return {};
  });
  if (e) {
    process().contexts->release(*context);
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

Error comm_split(Comm& comm, int color, int key, MPI_Comm* newcomm) {
  if (color < 0 && color != MPI_UNDEFINED)
    return failure(MPI_ERR_ARG, "color {} is negative and not MPI_UNDEFINED (argument color)", color);
  return divide(comm, Function::Comm_split, color, key, newcomm);
}

Error comm_split_type(Comm& comm, int split_type, int key, Info* info, MPI_Comm* newcomm) {
  const bool guided =
      split_type == MPI_COMM_TYPE_HW_GUIDED || split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
  const bool shared = split_type == MPI_COMM_TYPE_SHARED ||
                      (guided && info && info->get("mpi_hw_resource_type") == "mpi_shared_memory");
  // Of the resources, only the node's memory is known: for others there is no communicator.
  const bool known = shared || guided || split_type == MPI_COMM_TYPE_HW_UNGUIDED ||
                     split_type == MPI_UNDEFINED;
  if (!known) return failure(MPI_ERR_ARG, "{} is no split type (argument split_type)", split_type);
  // A node goes by the lowest rank of the job on it.
  const int node = process().job->view().node_ranks.front();
  return divide(comm, Function::Comm_split_type, shared ? node : MPI_UNDEFINED, key, newcomm);
}

Error comm_create(Comm& comm, Group& group, MPI_Comm* newcomm) {
  Result<std::vector<int>> members = ranks_in(comm, group);
  if (!members) return std::move(members).error();
  // The ranks of one group go by its first, in the group's order: groups may be disjoint.
  const bool inside = group.rank != MPI_UNDEFINED;
  return divide(comm, Function::Comm_create, inside ? members->front() : MPI_UNDEFINED,
                inside ? group.rank : 0, newcomm);
}

Error comm_create_group(Comm& comm, Group& group, int tag, MPI_Comm* newcomm) {
  Result<std::vector<int>> members = ranks_in(comm, group);
  if (!members) return std::move(members).error();
  *newcomm = MPI_COMM_NULL;
  if (group.rank == MPI_UNDEFINED) return {};
  uint64_t context = offer_context(comm, group.rank == 0);
  if (Error e = spread_context(comm, group, *members, tag, context)) return e;
  if (context == kNoContext) return no_context_left(comm);
  *newcomm = make_comm(comm, *group.processes, group.rank, context)->handle;
  return {};
}

// ---- and fewer

namespace {

// Freeing is collective, though nobody waits for the others: they may still be told of it.
void note_freed(Comm& comm, Function function) {
  if (!comm.hidden.ledger) return;
  const Engine::Guard own(engine_of_process());
  const uint32_t serial = comm.hidden.next_serial++;
  if (flight::Call* call = flight::now()) {
    flight::set(call->context, comm.context());
    flight::set(call->serial, serial + 1);
  }
  comm.hidden.ledger->started(serial, contract::word_of(function));
}

}  // namespace

Error free_communicator(MPI_Comm* comm, Function function) {
  Comm& object = *resolve<Comm>(*comm);
  if (&object == process().world || &object == process().self)
    return failure(MPI_ERR_COMM, "{} is predefined and may not be freed (argument comm)", object.name);
  if (Error e = object.attributes.delete_all(object.handle)) return e;
  note_freed(object, function);
  if (contract::Ledger* ledger = object.hidden.ledger) {
    const Engine::Guard own(engine_of_process());
    process().checker->settle(*ledger);
  }
  *comm = MPI_COMM_NULL;
  object.free_handle();  // operations under way keep it
  return {};
}

void await_communication(Comm& comm) {
  Engine& engine = engine_of_process();
  // An inactive request, or one that is complete, is no communication (section 11.10.4).
  const Ref<Comm> mine(&comm);
  const Engine::Guard own(engine);
  engine.wait_until([&] { return comm.under_way == 0; },
                    [&](engine::Condition& needs) {
                      engine.matcher().each_posted([&](const engine::RecvOperation& receive) {
                        if (receive.match.context == comm.context()) add_needs(needs, receive, comm);
                      });
                    });
}

Error comm_free(MPI_Comm* comm) { return free_communicator(comm, Function::Comm_free); }

}  // namespace tutti::mpi
