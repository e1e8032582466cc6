// SPDX-License-Identifier: BSD-3-Clause
// What the entry points in lib/ ask of the objects beside argument checks: whether MPI may be
// called now, and what to do with an error. The chapters (api_*.hpp) hold the functions themselves.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "mpi/object/error.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

// Whether calls of MPI are allowed (the standard, section 11.4): `running` between MPI_Init and
// MPI_Finalize, still in the callbacks that it makes, and while there is a session. Otherwise it tells what
// has become of the World Model. Written by env/instance.cpp alone.
enum class Phase : int { before_init, running, finalized };
inline std::atomic<Phase> phase{Phase::before_init};

// On which errors are raised that belong to no object: MPI_COMM_SELF between MPI_Init and MPI_Finalize.
// nullptr: there is none, and the initial error handler is called. Written with `phase`.
inline std::atomic<HasErrhandler*> on_no_object{nullptr};

// Calls the error handler of `on`; with nullptr that of on_no_object, and without one the initial one.
// Returns the code that the call returns, which a handler of the program's may have changed. Does not return if that
// handler ends the process. `text` is the sentence that a fatal handler prints, with the story of the incident below
// it. Called without the engine owned. (The standard, 9.3.)
struct Incident {
  CallSite place;  // caller 0: there is no story
  std::vector<Mention> mentions;
};
int call_errhandler(HasErrhandler* on, int code, std::string_view text, const Incident& incident = {});

// This thread is in a function of the program's that the library has called, perhaps with the handle
// of an object that is freed but for what is under way.
class InCallback {
 public:
  InCallback() { ++depth(); }
  ~InCallback() { --depth(); }
  static int& depth() {
    static thread_local int nested = 0;
    return nested;
  }
};
template <class T>
[[gnu::cold]] T* resolve_in_callback(typename HandleOf<T>::type handle) {
  return InCallback::depth() > 0 ? resolve_also_freed<T>(handle) : nullptr;
}

// The last error that this thread returned from an entry point, with its sentence: MPI_Error_string
// of that code may say more than the name of the class.
struct LastError {
  int code = MPI_SUCCESS;
  std::string text;
};
inline LastError& last_error() {
  static thread_local LastError last;
  return last;
}

// A completion call (MPI_Wait, MPI_Test, …) that fails because of an operation's own error raises
// it on the object of that operation: with the error that it returns, it puts that
// here before it lets go of the request. The entry point takes it out again.
inline Ref<HasErrhandler>& error_object() {
  static thread_local Ref<HasErrhandler> object;
  return object;
}

// The error that is about to be returned goes to the handler of the object that is not made: by way of error_object(),
// if the handler is one for such objects.
void raise_on_what_is_made(Errhandler& errhandler, Errhandler::On kind);

}  // namespace tutti::mpi
