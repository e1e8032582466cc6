// SPDX-License-Identifier: BSD-3-Clause
// What is known of the Fortran compiler of this process, because a Fortran library has told it once.
// Refuses to be told a second time. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "mpi/object/info.hpp"

namespace tutti::mpi {

// The values of .true. and .false., as they lie in memory.
struct FortranBooleans {
  static constexpr int kLargest = 16;
  int size = 0;  // of a LOGICAL, in bytes
  std::array<std::byte, kLargest> for_true{}, for_false{};
};
std::optional<FortranBooleans> fortran_booleans();

// Of a key of MPI_Abi_set_fortran_info ("mpi_integer_size"): what it was set to, nullopt if nothing was. Tutti's own key
// tutti_real10_supported says whether the compiler has a REAL(10), which the standard has no name for.
std::optional<std::string> fortran_abi(std::string_view key);

}  // namespace tutti::mpi
