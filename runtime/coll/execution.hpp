// SPDX-License-Identifier: BSD-3-Clause
// Execution: a plan bound to the buffers of one call, and the run of it. One plan has three lives:
// prepare (bind: the persistent form), start (post: the nonblocking form), run (start and wait: the
// blocking form). An execution resumes when one of its messages is done and never blocks; it runs
// wherever the engine is being driven.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "coll/planner.hpp"
#include "engine/channel.hpp"

namespace tutti::coll {

class Execution {
 public:
  // Called once for each start, with the engine owned, perhaps before start() returns. The
  // execution is not touched after it: it may be started again or destroyed there.
  void (*on_complete)(Execution&) = nullptr;
  void* owner = nullptr;  // for on_complete's use
  int mpi_class = 0;      // of the first error (MPI_ERR_TRUNCATE, …); set when complete

  ~Execution();  // not while it runs
  Execution(const Execution&) = delete;

  bool running() const { return active_; }
  uint32_t serial() const { return serial_; }  // of the latest start
  const Call& call() const { return call_; }
  const Plan& plan() const { return *plan_; }

 private:
  friend Result<std::unique_ptr<Execution>> prepare(engine::Channel&, Planner&, const Call&);
  friend void start(Execution&);
  struct BoundSend;
  struct BoundRecv;

  Execution(engine::Channel& channel, std::shared_ptr<const Plan> plan, const Call& call);
  Error allocate();
  Payload resolve(const Buf& buf) const;
  Payload block(Region region, uint32_t i) const;
  void run();
  void perform(uint32_t step);
  void post_send(uint32_t step);
  void post_recv(uint32_t step);
  void step_done(uint32_t step);
  void message_done(const engine::Operation& operation, uint32_t step);

  engine::Channel& channel_;
  std::shared_ptr<const Plan> plan_;
  Call call_;
  // One block of memory holds what the steps need, and the scratch.
  std::byte* memory_ = nullptr;
  BoundSend* sends_ = nullptr;
  BoundRecv* recvs_ = nullptr;
  void** scratch_ = nullptr;   // where element 0 would begin
  uint32_t* waits_ = nullptr;  // by step: for how many others it still waits
  uint32_t* ready_ = nullptr;  // every step enters this queue once
  uint32_t ready_begin_ = 0, ready_end_ = 0;
  uint32_t left_ = 0;  // steps to go
  uint32_t serial_ = 0;
  bool performing_ = false;  // run() is at work: what becomes ready joins the queue
  bool active_ = false;
};

// Binds; no communication. Needs the channel's planner for itself, not the engine. The channel, the
// call's buffers, layouts and arrays outlive the execution. Fails with MPI_ERR_NO_MEM.
// Reductions read the vector's count and layout from in_count and in_layout, or under MPI_IN_PLACE
// from out_count and out_layout; reduce_scatter(_block) their counts from the out side always.
Result<std::unique_ptr<Execution>> prepare(engine::Channel& channel, Planner& planner,
                                           const Call& call);

// Takes the channel's next serial and posts what can be posted. The engine is owned. The order of
// start() on a channel is the order in which its calls meet those of the other ranks.
void start(Execution& execution);

}  // namespace tutti::coll
