// SPDX-License-Identifier: BSD-3-Clause
// What --check=strict wants to hear from datatypes and communicators, on which it is built itself (mpi/check/).
#pragma once

#include <string>
#include <string_view>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "mpi/object/checking.hpp"
#include "mpi/object/incident.hpp"

namespace tutti::mpi {

class Watcher {
 public:
  // This rank is about to do what may tell others how far it has come.
  virtual void acts() TUTTI_ENGINE_OWNED = 0;
  // A reduction that the standard does not define: "MPI_SUM on MPI_CHAR". Any thread.
  virtual void computes_undefined(std::string what) = 0;
  // The program has heard that an operation is complete, whose request stays: its buffers are the program's again.
  virtual void tells_of_end(const void* operation) = 0;
  // An error of a file was returned to the program, by the error handler that files have unless it sets one; it sets one;
  // and it asks what the latest error of this thread means. Any thread.
  virtual void returns_error_of_file(int error_class, std::string_view text, CallSite place) = 0;
  virtual void sets_handler_of_file() = 0;
  virtual void asks_of_error() = 0;
  // The program hears that an operation is complete: an error if it has disturbed it. Asked of watched ones alone.
  virtual Error judges(const void* operation) = 0;
  // A call does what is an error with strict alone: that of the call, unless findings are only to be reported.
  virtual Error found(Error error) = 0;

 protected:
  ~Watcher() = default;
};

}  // namespace tutti::mpi
