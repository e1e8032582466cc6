// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, error classes and codes with their strings (the standard, sections 9.3 to 9.5).
#pragma once

#include <mpi.h>

#include <string>

#include "mpi/object/objects.hpp"

namespace tutti::contract {
class Ledger;
}

namespace tutti::mpi {

class Errhandler final : public NamedObject {
 public:
  enum class Does { end_job, abort_communicator, return_code, call_user };
  // What the user's function wants a handle of.
  enum class On { communicator, window, file, session };
  using Function = void (*)();  // of whatever type, which HasErrhandler::call_user() knows
  explicit Errhandler(Does does, Function function = nullptr, On on = On::communicator)
      : NamedObject(Tag::errhandler), does(does), function(function), on(on) {}

  Error suits(On object) const;

  bool ends_job() const { return does == Does::end_job || does == Does::abort_communicator; }
  const Does does;
  const Function function;
  const On on;
  MPI_Errhandler handle = MPI_ERRHANDLER_NULL;  // the ABI's number, or this object's address
};

// MPI_ERRORS_ARE_FATAL and its like.
Errhandler& predefined_errhandler(MPI_Errhandler handle);

// Of MPI_COMM_WORLD and MPI_COMM_SELF at first, and where there is no object: as mpirun was told by
// --initial-errhandler, else MPI_ERRORS_ARE_FATAL (the standard, section 9.3).
Errhandler& initial_errhandler();

// What errors are raised on: a communicator, window, file or session. Its handler is set and asked for
// while no other thread raises an error there, as the standard leaves it to the program.
class HasErrhandler : public NamedObject {
 public:
  HasErrhandler(Tag tag, Errhandler::On kind, Ref<Errhandler> errhandler)
      : NamedObject(tag), errhandler(std::move(errhandler)), kind(kind) {}

  // Calls the user's function of `with` with the handle of this object. Returns the code that it leaves, which the
  // function of MPI returns then (9.3.1).
  virtual int call_user(const Errhandler& with, int code) = 0;
  // Where the contract checker keeps the collective calls on this object; nullptr: nowhere.
  virtual contract::Ledger* ledger() const { return nullptr; }
  // "MPI_COMM_WORLD (4 ranks)"
  virtual std::string description() const = 0;
  // "window", as a sentence about this object calls it.
  virtual const char* noun() const = 0;

  Ref<Errhandler> errhandler;
  const Errhandler::On kind;
};

// How call_user() does it.
template <class Function, class Handle>
int call_with_handle(const Errhandler& with, Handle handle, int code) {
  reinterpret_cast<Function*>(with.function)(&handle, &code);
  return code;
}

// MPI_Xxx_create_errhandler, _set_, _get_ and _call_errhandler of all kinds of objects. `function` is the
// entry point's name: "MPI_Comm_call_errhandler".
Error create_errhandler(Errhandler::Function function, Errhandler::On on, MPI_Errhandler* errhandler);
Error set_errhandler(HasErrhandler& on, Errhandler& errhandler);
Error get_errhandler(HasErrhandler& on, MPI_Errhandler* errhandler);
Error call_errhandler_of(HasErrhandler& on, int errorcode, const char* function);

// The largest code in use, which grows with MPI_Add_error_class and _code: the value of the
// attribute MPI_LASTUSEDCODE.
const int* last_used_code();

// What a standard class means, as MPI_Error_string says it; empty for other codes.
std::string class_string(int code);

}  // namespace tutti::mpi
