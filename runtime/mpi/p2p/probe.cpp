// SPDX-License-Identifier: BSD-3-Clause
// Probes (the standard, section 3.8): they look among the messages that have arrived.
#include <memory>

#include "engine/engine.hpp"
#include "mpi/check/strict.hpp"
#include "mpi/comm/survivor.hpp"
#include "mpi/object/hearsay.hpp"
#include "mpi/object/inventory.hpp"
#include "mpi/p2p/api_p2p.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi {
namespace {

using engine::Engine;

void fill_from(MPI_Status* status, const transport::Header& header) {
  if (status) fill_status(*status, {header.source, header.tag, header.bytes, header.bytes});
}

// Why none will come, of a communicator that is harmed.
Error refusal(const engine::Match& match, const Comm& comm) {
  return comm.user.harm ? survivor_of(comm)->refusal_of_probe(comm, match.source) : Error();
}

// Asks once more after a pass of progress; `blocking` waits for as long as it takes, or until none will come.
template <class Look>
Result<bool> look_for(Look&& look, bool blocking, const engine::Match& match, const Comm& comm) TUTTI_ENGINE_OWNED {
  Engine& engine = comm.engine();
  if (comm.user.harm & engine::Channel::kRevoked) [[unlikely]]
    return refusal(match, comm);
  if (look()) return true;
  engine.progress();
  if (blocking)
    engine.wait_until([&]() TUTTI_ENGINE_OWNED { return look() || refusal(match, comm); },
                      [&](life::Condition& needs) TUTTI_ENGINE_OWNED {
                        if (!engine.probe(match)) add_needs_of_source(needs, match.source, comm);
                      });
  if (look()) return true;
  if (Error e = refusal(match, comm)) return e;
  return false;
}

Result<bool> probe_for(int source, int tag, Comm& comm, bool blocking, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    if (status) fill_proc_null(*status);
    return true;
  }
  Engine& engine = comm.engine();
  const Engine::Guard own(engine);
  const engine::Match match{comm.user.context, source, tag, 0};
  const engine::Unexpected* found = nullptr;
  const Result<bool> there =
      look_for([&]() TUTTI_ENGINE_OWNED { return (found = engine.probe(match)) != nullptr; }, blocking, match, comm);
  if (!there) return Error(there.error().mpi_class(), there.error().message());
  if (!*there) return false;
  hearsay::may_hear();
  fill_from(status, found->header);
  if (strict) [[unlikely]]
    strict->looks(comm, source, tag);
  return true;
}

Result<bool> take_message(int source, int tag, Comm& comm, bool blocking, MPI_Message* message, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    if (status) fill_proc_null(*status);
    *message = MPI_MESSAGE_NO_PROC;
    return true;
  }
  Engine& engine = comm.engine();
  const Engine::Guard own(engine);
  const engine::Match match{comm.user.context, source, tag, 0};
  std::unique_ptr<engine::Unexpected> taken;
  if (strict) [[unlikely]]
    strict->looks(comm, source, tag);
  const Result<bool> there =
      look_for([&]() TUTTI_ENGINE_OWNED { return taken || (taken = engine.take(match)); }, blocking, match, comm);
  if (!there) return Error(there.error().mpi_class(), there.error().message());
  if (!*there) return false;
  hearsay::may_hear();
  fill_from(status, taken->header);
  *message = inventory::hand_out<Message>(*new Message(std::move(taken), comm));
  return true;
}

}  // namespace

Error probe(int source, int tag, Comm& comm, MPI_Status* status) {
  return probe_for(source, tag, comm, true, status).error();
}

Error iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status) {
  const Result<bool> found = probe_for(source, tag, comm, false, status);
  *flag = found && *found;
  if (!found) return Error(found.error().mpi_class(), found.error().message());
  if (!*flag) comm.engine().give_way();
  return {};
}

Error mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) {
  return take_message(source, tag, comm, true, message, status).error();
}

Error improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const Result<bool> found = take_message(source, tag, comm, false, message, status);
  *flag = found && *found;
  if (!found) return Error(found.error().mpi_class(), found.error().message());
  if (!*flag) {
    *message = MPI_MESSAGE_NULL;
    comm.engine().give_way();
  }
  return {};
}

}  // namespace tutti::mpi
