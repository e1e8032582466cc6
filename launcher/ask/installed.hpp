// SPDX-License-Identifier: BSD-3-Clause
// What `tutti info` says of this installation: the libraries below it, and the Fortran compilers that it has modules for.
// Reads folders, and asks a program of its own for UCX's version; no job, and no other node.
#pragma once

#include <string>
#include <vector>

namespace tutti::launcher {

// "PMIx 4.2.2 (compiled with 4.2.2)": UCX, PMIx, hwloc and libevent, each as it is loaded, and what it was compiled
// with. Of hwloc it is the version of the interface.
std::vector<std::string> installed_libraries();

// "gfortran-12 (/home/you/.local/share/tutti/fortran)": the compilers that mpifort finds modules for, in the order in which
// it looks for them, so that of one compiler the first counts.
std::vector<std::string> installed_modules();

}  // namespace tutti::launcher
