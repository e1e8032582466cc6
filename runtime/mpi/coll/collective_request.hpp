// SPDX-License-Identifier: BSD-3-Clause
// A collective under way behind a request: one start of a nonblocking or persistent one.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/engine_owned.hpp"
#include "base/pooled.hpp"
#include "contract/ledger.hpp"
#include "exec/execution.hpp"
#include "mpi/coll/arguments.hpp"
#include "mpi/coll/collective_start.hpp"
#include "mpi/coll/repeated.hpp"

namespace tutti::mpi {

// As Repeated::keep(), which it makes for the first call that may come again.
bool keep(Comm& comm, const Arguments& given, bool nonblocking,
          std::unique_ptr<exec::Execution>& execution) TUTTI_ENGINE_OWNED;

class CollectiveRequest final : public Request, public Pooled<CollectiveRequest>, private contract::Abandonable {
 public:
  // A nonblocking one that is not like those before it.
  struct New {
    explicit New(ResolvedCall resolved, std::function<Error()> then = {})
        : resolved(std::move(resolved)), then(std::move(then)) {}
    ResolvedCall resolved;
    std::function<Error()> then;
    std::function<void(Error)> over;  // hears of the end instead of whoever completes the request
    std::optional<Arguments> given;   // by which the execution may be kept
    OwnArrays arrays;                 // of types, which it refers to
  };

  explicit CollectiveRequest(Comm& comm, std::unique_ptr<New> made = {})
      : Request(Kind::collective, comm), new_(std::move(made)) {}
  // A start of a persistent one, whose execution lies there while it is idle.
  CollectiveRequest(Comm& comm, std::shared_ptr<exec::Kept> persistent)
      : Request(Kind::collective, comm), persistent_(std::move(persistent)) {}

  // `home`: where the execution goes when it is over.
  void start(std::unique_ptr<exec::Execution> execution, Repeated::Home home = {}) TUTTI_ENGINE_OWNED;
  // In place of start(): it is complete, and has failed.
  void fail(Error why) TUTTI_ENGINE_OWNED {
    failed_ = std::move(why);
    begin();
    finish(false);
  }
  void fill(MPI_Status& status) const override { fill_empty(status); }
  Error error() const override;
  Error cancel() override TUTTI_ENGINE_OWNED;

 private:
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED;
  void over() TUTTI_ENGINE_OWNED;
  void end_step() TUTTI_ENGINE_OWNED;
  void leave_execution() TUTTI_ENGINE_OWNED;
  void abandon() override TUTTI_ENGINE_OWNED;
  void resume() override TUTTI_ENGINE_OWNED;

  bool held_ = false;  // complete, but for the word of the contract checker
  bool abandoned_ = false;
  Repeated::Home home_;
  const std::shared_ptr<exec::Kept> persistent_;  // before the execution, which refers to what holds it
  std::unique_ptr<exec::Execution> execution_;
  Error failed_;  // of New::then, or for which it was not started
  const std::unique_ptr<New> new_;
};

}  // namespace tutti::mpi
