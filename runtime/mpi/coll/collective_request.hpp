// SPDX-License-Identifier: BSD-3-Clause
// A collective under way behind a request: one start of a nonblocking or persistent one. And what begins and
// ends a call of any form.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/flight.hpp"
#include "base/pool.hpp"
#include "contract/ledger.hpp"
#include "engine/listener.hpp"
#include "exec/execution.hpp"
#include "mpi/coll/arguments.hpp"
#include "mpi/coll/collective.hpp"

namespace tutti::mpi {

// The error that an execution which is over has met.
Error outcome_of(const coll::Execution& execution);

// What comes before each call on a hidden channel. The engine is owned.
Error settle_first(const engine::Channel& channel);
// Something is wrong there: waits until it is known what. No error: it was nothing, or has only been reported.
[[gnu::cold]] Error settle(const contract::Ledger& ledger);

// For the flight record: the call that this thread is in is the channel's next.
inline const flight::Call* note_serial(const engine::Channel& channel) {
  flight::Call* call = flight::now();
  if (!call) return nullptr;
  flight::set(call->context, channel.context & ~uint64_t{1});
  flight::set(call->serial, channel.next_serial + 1);
  return call;
}

// Tells the tools that listen.
inline void tell(const Comm& comm, engine::Happening what) {
  engine::tell_listener({.what = what, .context = comm.context()});
}

class CollectiveRequest final : public Request,
                                public Pooled<CollectiveRequest>,
                                private contract::Abandonable {
 public:
  // A nonblocking one that is not like those before it.
  struct New {
    explicit New(Prepared prepared, std::function<Error()> then = {})
        : prepared(std::move(prepared)), then(std::move(then)) {}
    Prepared prepared;
    std::function<Error()> then;
    std::optional<Arguments> given;  // by which the execution may be kept
    OwnArrays arrays;                // of types, which it refers to
  };

  explicit CollectiveRequest(Comm& comm, std::unique_ptr<New> made = {})
      : Request(Kind::collective, comm), new_(std::move(made)) {}
  // A start of a persistent one, whose execution lies there while it is idle.
  CollectiveRequest(Comm& comm, std::shared_ptr<coll::Kept> persistent)
      : Request(Kind::collective, comm), persistent_(std::move(persistent)) {}

  // `home`: where the execution goes when it is over. The engine is owned.
  void start(std::unique_ptr<coll::Execution> execution, Repeated::Home home = {});
  void fill(MPI_Status& status) const override { fill_empty(status); }
  Error error() const override;
  Error cancel() override;

 private:
  void add_open_needs(engine::Condition& needs) const override;
  void over();
  void leave_execution();
  void abandon() override;
  void resume() override;

  bool held_ = false;  // complete, but for the word of the contract checker
  bool abandoned_ = false;
  Repeated::Home home_;
  const std::shared_ptr<coll::Kept> persistent_;  // before the execution, which refers to what holds it
  std::unique_ptr<coll::Execution> execution_;
  Error failed_;  // of New::then
  const std::unique_ptr<New> new_;
};

}  // namespace tutti::mpi
