// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests (the standard, section 3.9): an operation with all its arguments, which
// MPI_Start starts as often as the program likes. Each start makes an ordinary request, which the
// completion calls see in place of this one; while there is none it is inactive.
#pragma once

#include <functional>
#include <utility>

#include "mpi/request/request.hpp"

namespace tutti::mpi {

class PersistentRequest final : public Request {
 public:
  // `start` starts the operation and gives out its request. It holds on to what it needs.
  using Start = std::function<Error(MPI_Request*)>;
  PersistentRequest(Comm& comm, Start start)
      : Request(Kind::persistent, comm), start_(std::move(start)) {}
  ~PersistentRequest() override;

  Request* started() const { return started_; }  // nullptr: inactive
  Error start();
  // Inactive again; the caller takes the request over.
  Request* take_started() { return std::exchange(started_, nullptr); }

  void fill(MPI_Status& status) const override;
  Error error() const override { return started_ ? started_->error() : Error(); }
  Error cancel() override { return started_ ? started_->cancel() : Error(); }

 private:
  void add_open_needs(engine::Condition& needs) const override;

  const Start start_;
  Request* started_ = nullptr;
};

// nullptr: an ordinary one.
inline PersistentRequest* as_persistent(Request* request) {
  return request->kind == Request::Kind::persistent ? static_cast<PersistentRequest*>(request)
                                                    : nullptr;
}

}  // namespace tutti::mpi
