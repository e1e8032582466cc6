// SPDX-License-Identifier: BSD-3-Clause
// What the entry points in lib/ ask of the objects beside argument checks: whether MPI may be
// called now, and what to do with an error. The chapters (api_*.hpp) hold the functions themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/object/current.hpp"
#include "mpi/object/error.hpp"
#include "mpi/object/incident.hpp"
#include "mpi/object/objects.hpp"

namespace tutti::mpi {

// Calls the error handler of `on`; with nullptr that of current.on_no_object, and without one the initial one.
// Returns the code that the call returns, which a handler of the program's may have changed. Does not return if that
// handler ends the process. `text` is the sentence that a fatal handler prints, with the story of the incident below
// it. Called without the engine owned. (The standard, 9.3.)
struct Incident {
  CallSite place;  // caller 0: there is no story
  std::vector<Mention> mentions;
};
int call_errhandler(HasErrhandler* on, int code, std::string_view text, const Incident& incident = {});

// What a thread is in the midst of, and what is known of its calls; as long as the thread.
struct CallingThread {
  int callbacks = 0;          // functions of the program's that the library has called, and that have not returned
  bool tells_nobody = false;  // by its call; TellsNobody (check/strict.hpp)
  bool began_one = false;     // MPI, or a session. (The number of a thread that is over is soon another one's.)
  bool only_asks = false;     // in the call that env/thread_level.cpp judges
  CallSite unrecorded;        // its last call that the flight record does not know, as far as it was told
};
inline constinit thread_local CallingThread calling_thread;

// This thread is in a function of the program's that the library has called, perhaps with the handle
// of an object that is freed but for what is under way.
class InCallback {
 public:
  InCallback() { ++calling_thread.callbacks; }
  ~InCallback() { --calling_thread.callbacks; }
  static bool is_here() { return calling_thread.callbacks > 0; }
};
template <class T>
[[gnu::cold]] T* resolve_in_callback(typename HandleOf<T>::type handle) {
  return InCallback::is_here() ? resolve_also_freed<T>(handle) : nullptr;
}

// The last error that this thread returned from an entry point, with its sentence: MPI_Error_string
// of that code may say more than the name of the class.
struct LastError {
  int code = MPI_SUCCESS;
  std::string text;
};

// What a thread has to say of the errors of its calls; as long as the thread.
struct ThreadsErrors {
  LastError last;
  Ref<HasErrhandler> object;
  std::vector<Mention> mentions;
  // The latest error of a file that was returned, of which the program has not asked: its caller; 0: there is none. With
  // --check=strict.
  uint64_t unasked = 0;
};
inline ThreadsErrors& errors_of_thread() {
  static thread_local ThreadsErrors mine;
  return mine;
}
inline LastError& last_error() {
  return errors_of_thread().last;
}

// A completion call (MPI_Wait, MPI_Test, …) that fails because of an operation's own error raises
// it on the object of that operation: with the error that it returns, it puts that
// here before it lets go of the request. The entry point takes it out again.
inline Ref<HasErrhandler>& error_object() {
  return errors_of_thread().object;
}

// The error that is about to be returned goes to the handler of the object that is not made: by way of error_object(),
// if the handler is one for such objects.
void raise_on_what_is_made(Errhandler& errhandler, Errhandler::On kind);

}  // namespace tutti::mpi
