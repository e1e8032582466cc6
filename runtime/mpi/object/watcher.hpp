// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict wants to hear from datatypes and communicators, on which it is built itself (mpi/check/).
#pragma once

#include <string>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "mpi/object/checking.hpp"

namespace tutti::mpi {

class Watcher {
 public:
  // This rank is about to do what may tell others how far it has come.
  virtual void acts() TUTTI_ENGINE_OWNED = 0;
  // A reduction that the standard does not define: "MPI_SUM on MPI_CHAR". Any thread.
  virtual void computes_undefined(std::string what) = 0;
  // The program has heard that an operation is complete, whose request stays: its buffers are the program's again.
  virtual void tells_of_end(const void* operation) = 0;
  // A call does what is an error with strict alone: that of the call, unless findings are only to be reported.
  virtual Error found(Error error) = 0;

 protected:
  ~Watcher() = default;
};

}  // namespace tutti::mpi
