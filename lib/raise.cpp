// SPDX-License-Identifier: BSD-3-Clause
#include "raise.hpp"

#include <cstring>

#include "mpi/comm.hpp"
#include "mpi/entry.hpp"

namespace tutti::lib {

int raise(const char* function, mpi::Comm* on, Error error) noexcept {
  const int code = error.mpi_class();
  std::string text = fmt::format("{}: {}", function, error.message());
  // The tool information interface never calls error handlers (the standard, section 15.3.10).
  const bool calls_handler = std::strncmp(function, "MPI_T_", 6) != 0;
  // Held while the handler runs, which may free the communicator.
  mpi::Ref<mpi::Object> held = std::exchange(mpi::error_comm(), {});
  if (!held) held = mpi::Ref<mpi::Object>(on);
  mpi::last_error() = {code, text};
  if (calls_handler) mpi::call_errhandler(static_cast<mpi::Comm*>(held.get()), code, text);
  return code;
}

}  // namespace tutti::lib
