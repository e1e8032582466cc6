// SPDX-License-Identifier: BSD-3-Clause
// The run of a graph of messages: steps become ready when those that they wait for are done, and go on as
// messages come and go. What has to wait in shared memory, or gives way to other threads, is asked again in
// each pass of the engine.
#include <mpi.h>

#include <utility>

#include "exec/execution_operations.hpp"

namespace tutti::coll {

void Execution::run_ready() {
  if (performing_) return;
  performing_ = true;
  while (ready_begin_ != ready_end_ && !resumes_ && !abandoned_ && !is_disturbed()) {
    if (waits_for_application(plan_->steps[ready_[ready_begin_]].kind)) {
      resumes_ = true;
      channel_.engine->leave_to_application(resumption_);
      break;
    }
    const bool complete = perform(ready_[ready_begin_++]);
    if (!complete) --ready_begin_;
    if (complete && (!std::exchange(was_long_, false) || ready_begin_ == ready_end_ || !channel_.engine->takes_turns()))
      continue;
    keep_polling();
    break;
  }
  performing_ = false;
  if (abandoned_ ? messages_ > 0 || resumes_ : left_ > 0 || is_disturbed()) return;
  leave_lists();
  over();
}

void Execution::step_done(uint32_t step) {
  --left_;
  for (uint32_t f = plan_->first_follower[step]; f < plan_->first_follower[step + 1]; ++f) {
    const uint32_t follower = plan_->followers[f];
    if (--waits_[follower] == 0) ready_[ready_end_++] = follower;
  }
}

// False: it is not over, and to be performed again.
bool Execution::perform(uint32_t index) {
  const Step& step = plan_->steps[index];
  switch (step.kind) {
    case Step::Kind::send:
      post_send(index);
      return true;
    case Step::Kind::recv:
      post_recv(index);
      return true;
    case Step::Kind::copy:
      if (!copy(step)) return false;
      break;
    case Step::Kind::reduce:
      if (!reduce(step)) return false;
      break;
    case Step::Kind::join:
      break;
    default:
      if (share(step)) break;
      stall(index);
      return true;
  }
  step_done(index);
  return true;
}

void Execution::post_send(uint32_t index) {
  const Step& step = plan_->steps[index];
  post_send(index, resolve(step.from), call_.pair_data ? signature_of(step.from) : call_.signature);
}

void Execution::post_send(uint32_t index, const Payload& payload, uint64_t signature) {
  const Step& step = plan_->steps[index];
  BoundSend& op = sends_[step.operation];
  op.step = index;
  op.payload = payload;
  op.peer = channel_.process_of(step.peer);
  op.match = {channel_.context, channel_.rank, step.slot, serial_};
  op.signature = signature;
  op.owner = this;
  op.under_way = true;
  ++messages_;
  op.on_complete = [](engine::Operation& done) {
    static_cast<BoundSend&>(done).under_way = false;
    static_cast<Execution*>(done.owner)->message_done(done, static_cast<BoundSend&>(done).step);
  };
  channel_.engine->send(op);
}

void Execution::post_recv(uint32_t index) {
  const Step& step = plan_->steps[index];
  BoundRecv& op = recvs_[step.operation];
  op.step = index;
  op.payload = resolve(step.into);
  op.match = {channel_.context, step.peer, step.slot, serial_};
  op.owner = this;
  ++messages_;
  op.on_complete = [](engine::Operation& done) {
    auto& receive = static_cast<BoundRecv&>(done);
    auto& execution = *static_cast<Execution*>(done.owner);
    if (receive.signature != execution.call_.signature) [[unlikely]]
      execution.compare(receive);
    execution.message_done(done, receive.step);
  };
  channel_.engine->recv(op);
}

void Execution::withdraw_receive(uint32_t operation) {
  channel_.engine->cancel(recvs_[operation]);
}

// The message that a take expects: it is here, or on its way into the block.
bool Execution::has_come(const BoundStep& step) const {
  return !recvs_[step_of(step).operation].posted;
}

// Of the data that one message of a v or w form carries.
uint64_t Execution::signature_of(const Buf& buf) const {
  if (buf.region == Region::scratch) return call_.signature;
  return call_.signature | call_.pair_data(call_, buf.region == Region::input, buf.index);
}

// Messages that came before this communicator was known here, and what the pairs of v and w forms
// exchange, are compared when they are received; the others were when they arrived.
void Execution::compare(const BoundRecv& receive) {
  if (!channel_.ledger || receive.outcome.cancelled || abandoned_) return;
  if (!call_.pair_data) return channel_.ledger->differs(serial_, receive.match.source, receive.signature);
  channel_.ledger->pair_differs(serial_, receive.match.source, receive.signature,
                                signature_of(plan_->steps[receive.step].into), receive.outcome.sent_bytes,
                                receive.payload.bytes());
}

void Execution::message_done(const engine::Operation& operation, uint32_t step) {
  --messages_;
  if (mpi_class == MPI_SUCCESS) mpi_class = operation.outcome.mpi_class;
  if (plan_->is_program()) return end_program();
  step_done(step);
  run_ready();
}

// ---- steps in shared memory among the messages

// A step that cannot be done yet. There is only one: those in shared memory follow each other.
void Execution::stall(uint32_t step) {
  next_ = step;
  keep_polling();
}

// True if anything happened; then it may be over, and gone.
bool Execution::go_on() {
  if (is_disturbed()) return false;
  bool moved = false;
  if (const uint32_t step = next_; step != kNoStep) {
    const int awaited = awaited_;
    if (share(plan_->steps[step])) {
      next_ = kNoStep;
      step_done(step);
      return run_ready(), true;
    }
    moved = awaited_ != awaited;
  }
  if (ready_begin_ == ready_end_ || resumes_) return moved;
  run_ready();
  return true;
}

}  // namespace tutti::coll
