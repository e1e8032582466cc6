// SPDX-License-Identifier: BSD-3-Clause
// Fault points: named steps at which tests let a process die, so that what its death leaves there is seen by those who
// live. They exist in a library of the tests' own alone (tests/programs/CMakeLists.txt compiles the sources that have some
// once more, with TUTTI_FAULT_POINTS); in the library that is installed they are nothing.
#pragma once

#ifdef TUTTI_FAULT_POINTS
namespace tutti {

// Kills the process by SIGKILL if the environment variable TUTTI_TEST_DIE is NAME:RANK:NTH with this name and with this
// process' rank, and if it comes here for the NTH time; before that it says so on stderr. Any thread.
void reach_fault_point(const char* name);

}  // namespace tutti
#define TUTTI_FAULT_POINT(name) ::tutti::reach_fault_point(name)
#else
#define TUTTI_FAULT_POINT(name) static_cast<void>(0)
#endif
