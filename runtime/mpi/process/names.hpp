// SPDX-License-Identifier: BSD-3-Clause
// Published names of ports (the standard, section 11.9.4): one file for each, in a folder of the user's that the nodes
// of a cluster share where they share his home. No service has to run for them. The publisher holds a lock on the file
// while it lives, so that what a killed process has left counts for nothing.
//
// The folder: TUTTI_NAMES, or else .tutti/names in the user's home, or else one in TMPDIR, which other nodes may not see.
#pragma once

#include <string>

#include "base/result.hpp"

namespace tutti::mpi::processes::names {

Error publish(const std::string& service, const std::string& port);  // MPI_ERR_SERVICE: it is published already
// MPI_ERR_SERVICE: not by this process, or with another port than `port`; empty: nobody says which.
Error unpublish(const std::string& service, const std::string& port);
Result<std::string> look_up(const std::string& service);  // MPI_ERR_NAME: there is none
void unpublish_all();                                     // what this process has published

}  // namespace tutti::mpi::processes::names
