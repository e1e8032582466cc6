// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/comm.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/flight.hpp"
#include "boot/joining.hpp"
#include "contract/checker.hpp"
#include "contract/ledger.hpp"
#include "contract/signature.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "exec/store.hpp"
#include "functions.hpp"
#include "members/processes.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/area_key.hpp"
#include "mpi/comm/dividing.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"
#include "transport/router.hpp"

namespace tutti::mpi {

using engine::Engine;

namespace {

exec::Stress stress_of(const StressMode& mode) {
  return {.synchronising = mode.kind == StressMode::Kind::sync,
          .chance = mode.kind == StressMode::Kind::random ? mixed(mode.seed, 1) | 1 : 0,
          .loops = mode.kind != StressMode::Kind::off};
}

// No two jobs share memory, and nobody shares what is between two groups, wherever their ranks are.
bool may_share(const engine::Channel& channel) {
  return (channel.context & ~uint64_t{1}) != engine::kNoContext && !engine::spans_jobs(channel.context) &&
         !channel.sides;
}

ProcessList union_of(const Group& first, const Group& second) {
  ProcessList::Builder all;
  all.add(first.processes);
  all.add(second.processes);
  return all.take();
}

}  // namespace

Comm::Comm(Ref<Group> members, uint64_t context, Ref<Errhandler> handler)
    : Comm(std::move(members), {}, true, context, std::move(handler)) {}

Comm::Comm(Ref<Group> local, Ref<Group> remote, bool local_first, uint64_t context, Ref<Errhandler> handler)
    : HasErrhandler(Tag::comm, Errhandler::On::communicator, std::move(handler)),
      process(mpi::process()),
      group(std::move(local)),
      remote_group(std::move(remote)),
      planner(process.selection, stress_of(process.stress_mode), process.store),
      attributes(KeyKind::comm) {
  user.engine = hidden.engine = process.engine.get();
  user.rank = hidden.rank = group->rank;
  user.peers = hidden.peers = group->processes;
  if (remote_group) {
    user.peers = remote_group->processes;
    hidden.peers = local_first ? union_of(*group, *remote_group) : union_of(*remote_group, *group);
    if (!local_first) hidden.rank += remote_group->size();
    hidden.sides = {
        .first = local_first ? group->size() : remote_group->size(), .all = hidden.size(), .rank = hidden.rank};
  }
  set_context(context);
  if (group->session) group->session->made(*this);
}

engine::ContextPool& Comm::contexts() const {
  return *process.contexts;
}
contract::Checker* Comm::checker() const {
  return process.checker.get();
}
const std::shared_ptr<exec::Store>& Comm::store() const {
  return process.store;
}

Comm::~Comm() {
  if (process.survivor) process.survivor->gone(*this);
  if (hidden.harm && process.survivor && !asked_for_area_ && may_share(hidden))
    process.transport->decline_area(area_key(hidden));
  if (group->session) group->session->ended(*this);
  if (hidden.ledger && process.checker) process.checker->close(*hidden.ledger);
  flight::comm_freed(user.context);
  forget_context(user.context);
}

void Comm::set_context(uint64_t context) {
  user.context = context;
  hidden.context = context | 1;
  note_context(context);
  if (process.survivor) process.survivor->made(*this);
  if (context == engine::kNoContext || !process.checker) return;
  // The call that makes it is the one that this thread is in, on the communicator that it is made of.
  const flight::CallRecord* made_by = flight::now();
  contract::Origin origin;
  if (made_by)
    origin = {made_by->function, made_by->caller, made_by->context};
  else
    origin.function = static_cast<uint16_t>(Function::Init);  // of which there is no record yet
  hidden.ledger = process.checker->open(hidden, origin);
  hidden.ledger->set_fatal(errhandler->ends_job());
  flight::comm_made({.context = context,
                     .parent = origin.parent,
                     .caller = origin.caller,
                     .size = size(),
                     .rank = rank(),
                     .remote_size = is_inter() ? remote_size() : 0,
                     .function = origin.function});
}

void Comm::note_context(uint64_t context) const {
  if (!engine::spans_jobs(context)) return;
  const Lock lock(process.spanning_mutex);
  process.spanning.emplace_back(context, this);
}

void Comm::forget_context(uint64_t context) const {
  if (engine::spans_jobs(context)) {
    const Lock lock(process.spanning_mutex);
    std::erase_if(process.spanning, [&](const auto& one) { return one.first == context; });
  }
  if (context != engine::kNoContext && process.contexts) process.contexts->release(context);
}

std::string Comm::description() const {
  return fmt::format("{} ({} {})", name.empty() ? "a communicator" : name, size(), size() == 1 ? "rank" : "ranks");
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
  area_ = share(hidden);
}

std::unique_ptr<transport::Area> Comm::share(engine::Channel& channel) {
  if (!may_share(channel)) return nullptr;
  channel.nodes = find_nodes();
  const StressMode& stress = process.stress_mode;
  if (!stress.shares_collectives()) return nullptr;
  // What --stress makes of a plan it makes of it on all ranks alike: here leaders have messages.
  if (channel.nodes && stress.kind != StressMode::Kind::off) return nullptr;
  std::vector<int> here;  // the processes on this node, among which I have a number
  for (int i = 0; i < channel.neighbours(); ++i) here.push_back(process_of(channel.neighbour(i)));
  std::unique_ptr<transport::Area> area = process.transport->area_for(area_key(channel), here, channel.local());
  channel.area = area.get();
  if (channel.ledger) channel.ledger->set_area(area.get());
  return area;
}

bool are_many(const Comm& comm) {
  return comm.hidden.size() >= 64 || comm.process.stress_mode.kind != StressMode::Kind::off;
}

// Who is where, if the ranks are on several nodes. What all ranks know alike, so that they choose
// alike.
const NodeLayout* Comm::find_nodes() {
  const boot::JobInfo& job = process.job->view();
  const auto job_size = static_cast<size_t>(job.size);
  if (job.node_ranks.size() == job_size || size() < 3) return nullptr;
  const std::vector<int>& node_of = process.processes->nodes();
  if (!group->nodes) {
    bool all_known = true;
    group->processes.each_range([&](int first, int count, int stride) {
      all_known = all_known && std::max(first, first + (count - 1) * stride) < static_cast<int>(node_of.size());
    });
    if (!all_known) return nullptr;
    group->nodes = std::make_shared<const NodeLayout>(node_of, group->processes, rank());
  }
  return group->nodes->nodes() > 1 ? group->nodes.get() : nullptr;
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
  if (&comm1 == &comm2) {
    *result = MPI_IDENT;
    return {};
  }
  int alike = compare(*comm1.group, *comm2.group);
  if (comm1.is_inter() != comm2.is_inter()) {
    alike = MPI_UNEQUAL;
  } else if (comm1.is_inter()) {
    const int remote = compare(*comm1.remote_group, *comm2.remote_group);
    if (remote == MPI_UNEQUAL || (remote == MPI_SIMILAR && alike == MPI_IDENT)) alike = remote;
  }
  *result = alike == MPI_IDENT ? MPI_CONGRUENT : alike;
  return {};
}

Error comm_group(Comm& comm, MPI_Group* group) {
  *group = make_group(comm.group->processes, comm.rank(), comm.group->session);
  return {};
}

Error comm_test_inter(Comm& comm, int* flag) {
  *flag = comm.is_inter();
  return {};
}

Error comm_remote_size(Comm& comm, int* size) {
  if (!comm.is_inter()) return failure(MPI_ERR_COMM, "the communicator is no intercommunicator (argument comm)");
  *size = comm.remote_size();
  return {};
}

Error comm_remote_group(Comm& comm, MPI_Group* group) {
  if (!comm.is_inter()) return failure(MPI_ERR_COMM, "the communicator is no intercommunicator (argument comm)");
  *group = make_group(comm.remote_group->processes, MPI_UNDEFINED, comm.group->session);
  return {};
}

Error comm_set_name(Comm& comm, const char* comm_name) {
  comm.set_name({comm_name, strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1)});
  return {};
}

Error comm_get_name(const Comm* comm, char* comm_name, int* resultlen) {
  give_name(comm, "MPI_COMM_NULL", comm_name, resultlen);
  return {};
}

// ---- and fewer

namespace {

// Freeing is collective, though nobody waits for the others: they may still be told of it.
void note_freed(Comm& comm, Function function) {
  if (!comm.hidden.ledger) return;
  const Engine::Guard own(comm.engine());
  if (comm.hidden.harm) return;  // others may have failed in calls that this one has not come to
  const uint32_t serial = comm.hidden.next_serial++;
  if (flight::CallRecord* call = flight::now()) {
    flight::set(call->context, comm.context());
    flight::set(call->serial, serial + 1);
  }
  comm.hidden.ledger->started(serial, contract::word_of(function));
}

}  // namespace

Error free_communicator(MPI_Comm* comm, Function function) {
  Comm& object = *resolve<Comm>(*comm);
  if (&object == current.world || &object == current.self)
    return failure(MPI_ERR_COMM, "{} is predefined and may not be freed (argument comm)", object.name);
  if (Error e = object.attributes.delete_all(object.handle)) return e;
  note_freed(object, function);
  if (contract::Ledger* ledger = object.hidden.ledger) {
    const Engine::Guard own(object.engine());
    object.checker()->settle(*ledger);
  }
  // Freed or disconnected, it is what MPI_Comm_get_parent returns no longer (section 11.8.2).
  if (process().parent == *comm) process().parent = MPI_COMM_NULL;
  *comm = MPI_COMM_NULL;
  object.free_handle();  // operations under way keep it
  return {};
}

Error comm_free(MPI_Comm* comm) {
  return free_communicator(comm, Function::Comm_free);
}

}  // namespace tutti::mpi
