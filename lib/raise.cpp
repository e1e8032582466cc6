// SPDX-License-Identifier: BSD-3-Clause
#include "raise.hpp"

#include <cstring>

#include "function_names.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/object/entry_guard.hpp"

namespace tutti::lib {

int raise(mpi::CallSite place, mpi::HasErrhandler* on, Error error) noexcept {
  const char* const function = kFunctionNames[place.function];
  const std::vector<mpi::Mention> mentions = std::exchange(mpi::mentions(), {});
  int code = error.mpi_class();
  std::string text = fmt::format("{}: {}", function, error.message());
  // The tool information interface never calls error handlers (the standard, section 15.3.10).
  const bool calls_handler = std::strncmp(function, "MPI_T_", 6) != 0;
  // Held while the handler runs, which may free the object.
  mpi::Ref<mpi::HasErrhandler> held = std::exchange(mpi::error_object(), {});
  if (!held) held = mpi::Ref<mpi::HasErrhandler>(on);
  mpi::last_error() = {code, text};
  if (calls_handler) code = mpi::call_errhandler(held.get(), code, text, {place, mentions});
  return code;
}

}  // namespace tutti::lib
