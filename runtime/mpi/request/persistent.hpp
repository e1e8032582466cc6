// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests (the standard, section 3.9): an operation with all its arguments, which
// MPI_Start starts as often as the program likes. Each start makes an ordinary request, which the
// completion calls see in place of this one; while there is none it is inactive.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "base/engine_owned.hpp"
#include "mpi/object/current.hpp"
#include "mpi/request/request.hpp"

namespace tutti::mpi::partitioned {
class Partitioned;
}

namespace tutti::mpi {

using partitioned::Partitioned;

class PersistentRequest final : public Request, public Pooled<PersistentRequest> {
 public:
  // `start` starts the operation and gives out its request. It holds on to what it needs.
  using Start = std::function<Error(MPI_Request*)>;
  PersistentRequest(Comm& comm, Start start) : Request(Kind::persistent, comm), start_(std::move(start)) {}
  ~PersistentRequest() override;

  Request* started() const { return started_.load(std::memory_order_acquire); }  // nullptr: inactive
  Error start();
  // Inactive again; the caller has taken the request and releases it.
  void leave_started() { started_.store(nullptr, std::memory_order_release); }
  // Before it is started or freed. False: another thread is about to do so.
  bool reserve() { return !current.concurrent_calls || !reserved_.exchange(true); }
  void give_back() { reserved_.store(false, std::memory_order_release); }

  void fill(MPI_Status& status) const override;
  Error error() const override { return started() ? started()->error() : Error(); }
  Error cancel() override TUTTI_ENGINE_OWNED { return started() ? started()->cancel() : Error(); }

  // Of a partitioned operation (section 4.2): what its partitions are. nullptr: of another one. Written before
  // the handle is given out.
  std::shared_ptr<Partitioned> partitioned;

 private:
  void add_open_needs(life::Condition& needs) const override TUTTI_ENGINE_OWNED;

  const Start start_;
  std::atomic<Request*> started_{nullptr};
  std::atomic<bool> reserved_{false};
};

// nullptr: an ordinary one.
inline PersistentRequest* as_persistent(Request* request) {
  return request->kind == Request::Kind::persistent ? static_cast<PersistentRequest*>(request) : nullptr;
}

}  // namespace tutti::mpi
