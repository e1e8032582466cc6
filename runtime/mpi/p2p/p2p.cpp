// SPDX-License-Identifier: BSD-3-Clause
// What sends and receives share (operations.hpp), and which processes an operation waits for.
#include "engine/engine.hpp"
#include "mpi/object/current.hpp"
#include "mpi/p2p/operations.hpp"

namespace tutti::mpi {

using engine::Engine;
using engine::RecvOperation;
using engine::SendOperation;

Error done_at_once(Request::Kind kind, Comm& comm, bool proc_null, MPI_Request* request) {
  auto* made = new DoneRequest(kind, comm, proc_null);
  {
    const Engine::Guard own(engine_of_process());
    made->begin();
    made->finish();
  }
  *request = inventory::hand_out<Request>(*made);
  return {};
}

Error check_start(Request& made, std::initializer_list<BufferUse> uses) {
  Error error = take_buffers(made, {uses.begin(), uses.size()});
  if (error) made.release();
  return error;
}

Error receive_status(RecvOperation& op, const Comm& comm, const Datatype& type, MPI_Status* status) {
  compare_types(op.outcome, type);
  if (status) fill_status(*status, op.outcome);
  return error_of_receive(op.outcome, {comm, type, op.payload.count, op.match.source, op.match.tag},
                          AskedFrom::in_receive);
}

Message* HandleOf<Message>::predefined(uintptr_t) {
  return nullptr;
}
Request* HandleOf<Request>::predefined(uintptr_t) {
  return nullptr;
}

// ---- what they need

void add_needs(life::Condition& needs, const SendOperation& op) {
  needs.process(op.peer);
}

void add_needs(life::Condition& needs, const RecvOperation& op, const Comm& comm) {
  if (!op.posted) return void(needs.always());  // matched: its bytes are on their way
  add_needs_of_source(needs, op.match.source, comm);
}

void add_needs_of_source(life::Condition& needs, int source, const Comm& comm) {
  if (source != MPI_ANY_SOURCE) return void(needs.process(comm.process_of(source)));
  const ProcessList& sources = comm.user.peers;
  if (sources.is_regular() && !sources.empty())  // however many they are
    return void(needs.some(sources[0], sources.size(), sources.size() > 1 ? sources[1] - sources[0] : 1));
  needs.any();  // myself last: another of my threads
  for (int i = 1; i <= sources.size(); ++i) needs.process(sources[(comm.rank() + i) % sources.size()]);
  needs.end();
}

}  // namespace tutti::mpi
