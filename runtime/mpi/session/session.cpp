// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/object/session.hpp"

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "engine/engine.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/psets.hpp"
#include "mpi/env/instance.hpp"
#include "mpi/env/thread_level.hpp"
#include "mpi/object/api_error.hpp"
#include "mpi/object/current.hpp"
#include "mpi/object/entry_guard.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/object/memory_kinds.hpp"
#include "mpi/p2p/bsend.hpp"
#include "mpi/session/api_session.hpp"

namespace tutti::mpi::session {
namespace {

constexpr int kThreadLevels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

Result<int> thread_level_in(const Info* info) {
  const std::optional<std::string> asked = info ? info->get("thread_level") : std::nullopt;
  if (!asked) return MPI_THREAD_SINGLE;
  for (const int level : kThreadLevels)
    if (*asked == env::name_of_thread_level(level)) return level;
  return failure(MPI_ERR_INFO_VALUE,
                 "thread_level is one of MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED and _MULTIPLE, not '{}' "
                 "(argument info)",
                 *asked);
}

Error no_pset(std::string_view name) {
  std::string names;
  for (const PsetOfRanks& pset : psets()) names += (names.empty() ? "" : ", ") + pset.name;
  return failure(MPI_ERR_ARG, "there is no process set '{}' (argument pset_name): there are {}", name, names);
}

// What a session's end would leave in the air: whoever completes it would call MPI without a
// session.
Error pending_operations(const Session& session) {
  const engine::Engine::Guard own(engine_of_process());
  int64_t pending = 0;
  std::string where;
  session.each_comm([&](const Comm& comm) {
    assume_engine_owned();  // as above
    if (comm.under_way <= 0) return;
    pending += comm.under_way;
    if (where.empty()) where = comm.description();
  });
  if (pending == 0) return {};
  return failure(MPI_ERR_PENDING,
                 "{} operation{} of the session {} not complete, on {}: complete {} before "
                 "MPI_Session_finalize "
                 "(the standard, section 11.3.1)",
                 pending, pending == 1 ? "" : "s", pending == 1 ? "is" : "are", where, pending == 1 ? "it" : "them");
}

// Communicators may outlive their session, yet hardly on purpose.
void tell_left_over_of(const Session& session) {
  int left = 0;
  std::string first;
  session.each_comm([&](const Comm& comm) {
    if (with_handle(comm.tag()) != comm.tag()) return;  // freed, but for what refers to it
    if (left++ == 0) first = comm.description();
  });
  if (left > 0)
    say(Level::note,
        "note: MPI_Session_finalize: {} communicator{} of the session {} not freed; the first is "
        "{}",
        left, left == 1 ? "" : "s", left == 1 ? "is" : "are", first);
}

}  // namespace

// An error belongs to nobody but to the handler that the session would have had.
Error session_init(Info* info, Errhandler& errhandler, MPI_Session* session) {
  Result<int> level = thread_level_in(info);
  auto made = Ref<Session>::adopt(new Session(level ? *level : MPI_THREAD_SINGLE, Ref<Errhandler>(&errhandler)));
  Error error = errhandler.suits(Errhandler::On::session);
  if (error) {
    made->errhandler = Ref<Errhandler>(&predefined_errhandler(MPI_ERRORS_ARE_FATAL));
  } else {
    error = level ? env::begin_session(*level) : std::move(level).error();
  }
  if (error) {
    error_object() = Ref<HasErrhandler>(made.get());
    return error;
  }
  made->hints = {{"thread_level", env::name_of_thread_level(made->thread_level)},
                 {"mpi_memory_alloc_kinds", memory_kinds_given(info)}};
  made->retain();  // the handle's
  inventory::hand_out(*made);
  *session = made->handle;
  return {};
}

Error session_finalize(MPI_Session* session) {
  Session& object = *resolve<Session>(*session);
  const Ref<Session> held(&object);
  error_object() = Ref<HasErrhandler>(&object);
  if (Error e = pending_operations(object)) return e;
  error_object() = {};
  if (strict) tell_left_over_of(object);
  if (object.send_buffer) object.send_buffer->flush();
  send_buffer().flush();
  *session = MPI_SESSION_NULL;
  object.free_handle();
  env::end_session();
  return {};
}

Error session_get_info(Session& session, MPI_Info* info_used) {
  *info_used = inventory::hand_out(*new Info(session.hints));
  return {};
}

Error session_get_num_psets(Session&, Info*, int* npset_names) {
  *npset_names = static_cast<int>(psets().size());
  return {};
}

Error session_get_nth_pset(Session&, Info*, int n, int* pset_len, char* pset_name) {
  const std::vector<PsetOfRanks>& all = psets();
  if (n < 0 || static_cast<size_t>(n) >= all.size())
    return failure(MPI_ERR_ARG, "there are {} process sets, and none has the number {} (argument n)", all.size(), n);
  if (*pset_len < 0) return failure(MPI_ERR_ARG, "{} is no length (argument pset_len)", *pset_len);
  if (*pset_len > 0 && !pset_name) return failure(MPI_ERR_ARG, "the address is NULL (argument pset_name)");
  const std::string& name = all[static_cast<size_t>(n)].name;
  if (*pset_len > 0) pset_name[name.copy(pset_name, static_cast<size_t>(*pset_len) - 1)] = 0;
  *pset_len = static_cast<int>(name.size()) + 1;  // the terminator's
  return {};
}

Error session_get_pset_info(Session&, const char* pset_name, MPI_Info* info) {
  const PsetOfRanks* pset = find_pset(pset_name);
  if (!pset) return no_pset(pset_name);
  *info = inventory::hand_out(*new Info({{"mpi_size", std::to_string(pset->ranks.size())}}));
  return {};
}

Error group_from_session_pset(Session& session, const char* pset_name, MPI_Group* newgroup) {
  const PsetOfRanks* pset = find_pset(pset_name);
  if (!pset) return no_pset(pset_name);
  const int me = pset->ranks.rank_of(my_process());
  *newgroup = inventory::hand_out(*new Group(pset->ranks, me < 0 ? MPI_UNDEFINED : me, Ref<Session>(&session)));
  return {};
}

}  // namespace tutti::mpi::session
