// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, error classes and codes with their strings (the standard, sections 9.3 to 9.5).
#pragma once

#include <mpi.h>

#include <string>

#include "mpi/object/objects.hpp"

namespace tutti::mpi {

class Errhandler final : public NamedObject {
 public:
  enum class Does { end_job, abort_communicator, return_code, call_user };
  // What the user's function wants a handle of; it is kept as one for communicators.
  enum class On { communicator, window };
  Errhandler(Does does, MPI_Comm_errhandler_function* function = nullptr, On on = On::communicator)
      : NamedObject(Tag::errhandler), does(does), function(function), on(on) {}

  Error suits(On object) const;

  bool ends_job() const { return does == Does::end_job || does == Does::abort_communicator; }
  const Does does;
  MPI_Comm_errhandler_function* const function;
  const On on;
  MPI_Errhandler handle = MPI_ERRHANDLER_NULL;  // the ABI's number, or this object's address
};

// The largest code in use, which grows with MPI_Add_error_class and _code: the value of the
// attribute MPI_LASTUSEDCODE.
const int* last_used_code();

// What a standard class means, as MPI_Error_string says it; empty for other codes.
std::string class_string(int code);

}  // namespace tutti::mpi
