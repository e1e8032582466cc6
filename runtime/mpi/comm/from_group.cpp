// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create_from_group (the standard, section 7.4.2): a communicator that is made of none.
// The first of the group makes its context and tells the others, in messages of a context that no
// communicator has, where a number made of the string tag and the group keeps those of different
// calls apart.
#include "mpi/comm/from_group.hpp"

#include <cstring>

#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "members/processes.hpp"
#include "mpi/comm/api_comm.hpp"
#include "mpi/comm/making.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/process.hpp"

namespace tutti::mpi {
namespace {

uint64_t hash(uint64_t sum, const void* data, size_t bytes) {  // FNV-1a
  for (const auto* at = static_cast<const unsigned char*>(data); bytes > 0; --bytes, ++at)
    sum = (sum ^ *at) * 0x100000001b3;
  return sum;
}

Error bad_group(const Group& group) {
  if (Error e = foreign_member(group, "group")) return e;
  if (group.rank != MPI_UNDEFINED) return {};
  return failure(MPI_ERR_GROUP, "the calling process is not in the group of {} (argument group)", group.size());
}

}  // namespace

Error bad_string_tag(const char* text) {
  const size_t length = strnlen(text, MPI_MAX_STRINGTAG_LEN);
  if (length < MPI_MAX_STRINGTAG_LEN) return {};
  return failure(MPI_ERR_ARG, "the tag has more than {} characters (argument stringtag)", MPI_MAX_STRINGTAG_LEN - 1);
}

Error foreign_member(const Group& group, const char* argument) {
  for (const int member : group.processes)
    if (process().processes->is_foreign(member))
      return failure(MPI_ERR_GROUP,
                     "{} is in the group: a session's groups have processes of its own job alone; jobs connect by "
                     "MPI_Comm_connect and MPI_Comm_accept (argument {})",
                     process().processes->text(member), argument);
  return {};
}

uint64_t number_of_call(const char* string_tag, std::initializer_list<const ProcessList*> groups) {
  uint64_t sum = hash(0xcbf29ce484222325, string_tag, std::strlen(string_tag) + 1);
  for (const ProcessList* group : groups) {
    const int64_t size = group->size();
    sum = hash(sum, &size, sizeof size);
    for (const int process : *group) sum = hash(sum, &process, sizeof process);
  }
  return sum;
}

Error tell_group(uint64_t call, const ProcessList& processes, int rank, void* data, size_t bytes) {
  const engine::Match match{engine::ContextPool::without_parent(), 0, static_cast<int>(call & 0x7fffffff),
                            static_cast<uint32_t>(call >> 32)};
  return tell_group(engine_of_process(), match, processes, processes, rank, data, bytes);
}

Error no_context_for(const char* string_tag) {
  return failure(MPI_ERR_OTHER,
                 "the first process of the group has {} communicators in use and no number left for another "
                 "(stringtag '{}'): free some",
                 1 << engine::ContextPool::kSlotBits, string_tag);
}

void finish_new(Comm& made, const Info* info) {
  made.handle = inventory::hand_out(made);
  made.attributes.copy_predefined(current.world->attributes);
  take_hints(made, info);
}

Error comm_create_from_group(Group& group, const char* stringtag, Info* info, Errhandler& errhandler,
                             MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  Error error = errhandler.suits(Errhandler::On::communicator);
  if (error) return error;  // on the group's session: this handler cannot be called
  if (group.size() == 0) return {};
  error = bad_string_tag(stringtag);
  if (!error) error = bad_group(group);
  contract::Founding said;
  if (!error) {
    const InRankOrder order = in_rank_order(group.processes, group.rank);
    const contract::Founding mine = said = founding(group.processes, fmt::format("the stringtag '{}'", stringtag));
    said.context = offer_context(order.mine == 0);
    error = tell_group(number_of_call(stringtag, {&order.ranks}), order.ranks, order.mine, &said, sizeof said);
    if (!error && own_checker()) error = same_group(mine, said, order.ranks.front());
    if (!error && said.context == engine::kNoContext) error = no_context_for(stringtag);
  }
  if (error) {
    raise_on_what_is_made(errhandler, Errhandler::On::communicator);
    return error;
  }
  auto* made = new Comm(Ref<Group>(&group), said.context, Ref<Errhandler>(&errhandler));
  finish_new(*made, info);
  *newcomm = made->handle;
  return {};
}

}  // namespace tutti::mpi
