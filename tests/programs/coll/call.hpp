// SPDX-License-Identifier: BSD-3-Clause
// One way to call a collective in its blocking or its nonblocking form.
#pragma once

#include "check.hpp"

enum class Form { blocking, nonblocking };

// CALL(form, Bcast, Ibcast, buffer, count, …) calls MPI_Bcast, or MPI_Ibcast and waits.
#define CALL(form, blocking_name, nonblocking_name, ...)  \
  do {                                                    \
    if ((form) == Form::blocking) {                       \
      OK(MPI_##blocking_name(__VA_ARGS__));               \
    } else {                                              \
      MPI_Request request_;                               \
      OK(MPI_##nonblocking_name(__VA_ARGS__, &request_)); \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));         \
    }                                                     \
  } while (false)
