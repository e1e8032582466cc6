// SPDX-License-Identifier: BSD-3-Clause
// Private to libmpifort_abi, which does without them above another library of MPI's ABI: their names are no part of
// MPI's.
#include <cstdint>
#include <cstring>

#include "entry.hpp"
#include "function_names.hpp"
#include "functions.hpp"
#include "mpi/file/file.hpp"
#include "mpi/object/checking.hpp"
#include "mpi/object/known_arrays.hpp"
#include "mpi/object/watcher.hpp"
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
[[gnu::visibility("default")]] extern const void* const* const tutti_strict;
[[gnu::visibility("default")]] void tutti_note_array(const void* base, size_t bytes);
[[gnu::visibility("default")]] int tutti_judge_array(const char* function, int what, void* handle, size_t bytes,
                                                     size_t element, int number, MPI_Count count, MPI_Datatype type,
                                                     int* is_refused);
}

// Where the library of Fortran looks in each call: what it finds there is NULL but for --check=strict.
const void* const* const tutti_strict = reinterpret_cast<const void* const*>(&mpi::checking.watcher);

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

namespace {

bool is_integer(mpi::TypeClass of) {
  return of == mpi::TypeClass::c_integer || of == mpi::TypeClass::fortran_integer;
}

// What is wrong with an array of Fortran, of `bytes` bytes and elements of `element` each, as a call's buffer. `number`: of
// lib/fortran/descriptor.h, 1 an integer, 2 a real number, 3 another one, and 4 characters.
Error error_of_array(size_t bytes, size_t element, int number, int64_t count, MPI_Datatype handle) {
  const auto* const type = mpi::resolve<mpi::Datatype>(handle);
  if (!type || count <= 0 || handle == MPI_BYTE || handle == MPI_PACKED) return {};
  const Layout& layout = *type->layout;
  if (layout.size() == 0 || layout.true_lower_bound() < 0 || layout.extent() < 0) return {};
  const __int128 end =
      static_cast<__int128>(count - 1) * layout.extent() + layout.true_lower_bound() + layout.true_extent();
  if (end > static_cast<__int128>(bytes))
    return failure(MPI_ERR_COUNT,
                   "the array has fewer elements than count and datatype say: from where the buffer begins it has {} "
                   "bytes, and {} of {} take {}",
                   bytes, count, mpi::description(*type), static_cast<int64_t>(end));
  const bool is_kind = number == 1   ? is_integer(type->type_class)
                       : number == 2 ? type->type_class == mpi::TypeClass::floating
                                     : false;
  // Who takes each element for several, as bytes are taken, has more of them than the array.
  if (!type->predefined || !is_kind || static_cast<size_t>(count) > bytes / element) return {};
  if (static_cast<size_t>(layout.size()) == element) return {};
  return failure(MPI_ERR_TYPE,
                 "the elements of the array have {} bytes, and those of {} have {}: the datatype is not that of the "
                 "array's kind",
                 element, mpi::description(*type), layout.size());
}

}  // namespace

// With --check=strict. The buffer of the call that begins, where it consists of blocks; `bytes` -1: nothing is known of it.
void tutti_note_array(const void* base, size_t bytes) {
  mpi::known_arrays::note(base, bytes, reinterpret_cast<uintptr_t>(lib::fortran_caller));
}

// With --check=strict. Raises what it finds as tutti_refuse() does.
int tutti_judge_array(const char* function, int what, void* handle, size_t bytes, size_t element, int number,
                      MPI_Count count, MPI_Datatype type, int* is_refused) {
  const mpi::CallSite place{number_of(function), reinterpret_cast<uintptr_t>(lib::fortran_caller)};
  mpi::set_here(place);
  Error error = mpi::checking.watcher->found(error_of_array(bytes, element, number, count, type));
  if (!error) return MPI_SUCCESS;
  *is_refused = 1;
  return lib::raise(place, object_of(what, handle), std::move(error));
}
