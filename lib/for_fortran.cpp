// SPDX-License-Identifier: BSD-3-Clause
// Private to libmpifort_abi, which does without them above another library of MPI's ABI: their names are no part of
// MPI's.
#include <cstdint>
#include <cstring>

#include "entry.hpp"
#include "function_names.hpp"
#include "functions.hpp"
#include "mpi/file/file.hpp"
#include "mpi/request/watch.hpp"
#include "mpi/rma/window.hpp"
#include "raise.hpp"

namespace {

using namespace tutti;

mpi::HasErrhandler* object_of(int what, void* handle) {
  switch (what) {
    case 0:
      return mpi::resolve<mpi::Comm>(static_cast<MPI_Comm>(handle));
    case 1:
      return mpi::resolve<mpi::File>(static_cast<MPI_File>(handle));
    case 2:
      return mpi::resolve<mpi::Window>(static_cast<MPI_Win>(handle));
    default:
      return nullptr;
  }
}

uint16_t number_of(const char* function) {
  for (size_t i = 0; i < kFunctionCount; ++i)
    if (std::strcmp(kFunctionNames[i], function) == 0) return static_cast<uint16_t>(i);
  return 0;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] int tutti_watch_request(MPI_Request request, void (*watcher)(void*, int, int),
                                                       void* state);
[[gnu::visibility("default")]] int tutti_watch_window(MPI_Win win, int rank, void (*watcher)(void*, int, int),
                                                      void* state);
[[gnu::visibility("default")]] int tutti_watch_split(MPI_File file, const void* buffer,
                                                     void (*watcher)(void*, int, int), void* state);
[[gnu::visibility("default")]] int tutti_refuse(const char* function, int what, void* handle, int error_class,
                                                const char* sentence);
}

// See runtime/mpi/request/watch.hpp, whose Watched the watcher is told. 0: the request is over already.
int tutti_watch_request(MPI_Request request, void (*watcher)(void*, int, int), void* state) {
  mpi::Request* const watched = mpi::resolve<mpi::Request>(request);
  return watched && mpi::watch(*watched, watcher, state);
}

// The same of the operations on a window that have been started at a rank, and
int tutti_watch_window(MPI_Win win, int rank, void (*watcher)(void*, int, int), void* state) {
  mpi::Window* const window = mpi::resolve<mpi::Window>(win);
  return window && window->watch(rank, watcher, state);
}

// of the split access that has begun on a file, whose end will name `buffer`.
int tutti_watch_split(MPI_File file, const void* buffer, void (*watcher)(void*, int, int), void* state) {
  mpi::File* const watched = mpi::resolve<mpi::File>(file);
  if (!watched || !watched->split.request) return 0;
  watched->split.buffer = buffer;
  watched->split.watchers.add(watcher, state);
  return 1;
}

// Raises on a communicator (what: 0), a file (1) or a window (2) that the library of Fortran has refused a call.
int tutti_refuse(const char* function, int what, void* handle, int error_class, const char* sentence) {
  const mpi::CallSite place{number_of(function), reinterpret_cast<uintptr_t>(lib::fortran_caller)};
  return lib::raise(place, object_of(what, handle), Error(error_class, sentence));
}
