// SPDX-License-Identifier: BSD-3-Clause
#include "exec/messages.hpp"

#include <mpi-ext.h>

#include "engine/engine.hpp"

namespace tutti::exec {

Messages::Messages(Run& run, engine::Channel& channel, const Binding& binding)
    : run_(run), channel_(channel), binding_(binding), sends_(binding.plan().sends), recvs_(binding.plan().recvs) {}

void Messages::send(uint32_t number) {
  const Buf& from = run_.step_of(number).from;
  send(number, binding_.resolve(from), binding_.signature_of(from));
}

void Messages::send(uint32_t number, const Payload& payload, uint64_t signature) {
  const Step& step = run_.step_of(number);
  Send& op = sends_[step.operation];
  op.step = number;
  op.payload = payload;
  op.peer = channel_.process_of(step.peer);
  op.match = {channel_.context, channel_.rank, step.slot, serial_};
  op.signature = signature;
  op.owner = this;
  op.under_way = true;
  ++open_;
  op.on_complete = [](engine::Operation& done) TUTTI_ENGINE_OWNED {
    static_cast<Send&>(done).under_way = false;
    static_cast<Messages*>(done.owner)->done(done, static_cast<Send&>(done).step);
  };
  channel_.engine->send(op);
}

bool Messages::is_forsaken(int mpi_class) {
  return mpi_class == MPIX_ERR_PROC_FAILED || mpi_class == MPIX_ERR_REVOKED || mpi_class == MPI_ERR_PROC_ABORTED;
}

void Messages::receive(uint32_t number) {
  const Step& step = run_.step_of(number);
  Receive& op = recvs_[step.operation];
  op.step = number;
  op.payload = binding_.resolve(step.into);
  op.match = {channel_.context, step.peer, step.slot, serial_};
  op.owner = this;
  ++open_;
  op.on_complete = [](engine::Operation& done) TUTTI_ENGINE_OWNED {
    auto& receive = static_cast<Receive&>(done);
    auto& messages = *static_cast<Messages*>(done.owner);
    if (receive.signature != messages.binding_.call().signature) [[unlikely]]
      messages.compare(receive);
    messages.done(done, receive.step);
  };
  channel_.engine->recv(op);
}

void Messages::done(const engine::Operation& operation, uint32_t step) {
  --open_;
  run_.message_done(step, operation.outcome.mpi_class);
}

// Messages that came before this communicator was known here, and what the pairs of v and w forms
// exchange, are compared when they are received; the others were when they arrived.
void Messages::compare(const Receive& receive) const {
  if (!channel_.ledger || receive.outcome.cancelled || withdrawn_) return;
  if (is_forsaken(receive.outcome.mpi_class)) return;  // what it knows of a message is of an earlier start
  if (!binding_.call().pair_data) return channel_.ledger->differs(serial_, receive.match.source, receive.signature);
  channel_.ledger->pair_differs(serial_, receive.match.source, receive.signature,
                                binding_.signature_of(run_.step_of(receive.step).into), receive.outcome.sent_bytes,
                                receive.payload.bytes());
}

void Messages::withdraw_receive(uint32_t operation) {
  channel_.engine->cancel(recvs_[operation]);
}

void Messages::withdraw() {
  withdrawn_ = true;
  for (Receive& op : recvs_)
    if (op.posted) channel_.engine->cancel(op);
  for (Send& op : sends_)
    if (op.under_way) channel_.engine->cancel(op);
}

void Messages::add_needs(life::Condition& needs) const {
  if (!are_open()) return;
  const auto add = [&](uint32_t number) TUTTI_ENGINE_OWNED {
    needs.collective(channel_.process_of(run_.step_of(number).peer), channel_.context, serial_);
  };
  for (const Send& op : sends_)
    if (op.under_way && (!op.sent || !op.matched)) add(op.step);
  for (const Receive& op : recvs_)
    if (op.posted) add(op.step);
}

}  // namespace tutti::exec
