// SPDX-License-Identifier: BSD-3-Clause
// `tutti fortran`: builds library and modules of MPI for a Fortran compiler.
#pragma once

#include <string>
#include <vector>

namespace tutti::launcher {

// Becomes the script that is installed with the sources; returns, with an exit code, only if it cannot.
int fortran_command(const std::vector<std::string>& arguments);

}  // namespace tutti::launcher
