// SPDX-License-Identifier: BSD-3-Clause
// Judges a program's file before it is started, and explains why one could not be: an MPI that is
// not this one, another machine, an interpreter that is missing, a source file. Looks through
// scripts of shells and through commands such as env; where nothing can be told, it is silent.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::launcher {

// How a program is started.
struct ProgramStart {
  std::string path;                               // as find_program() found it
  std::vector<std::string> command;               // the program's name and its arguments
  std::string folder, search_path, library_path;  // current folder, PATH, LD_LIBRARY_PATH
};
struct OtherMpi {
  std::string program;
  const char* mpi;
  std::string library;
  bool joins;  // its ranks meet each other by the launcher's PMIx server, as Tutti's do
};
// Where the program is built for an MPI that is not this one.
std::optional<OtherMpi> built_for_another_mpi(const ProgramStart& start);
std::string why_refused(const OtherMpi& other);    // with what to do
std::string whose_library(const OtherMpi& other);  // of one that joins

// Why execve() refused a file that is there; empty: the error number says it all.
std::string why_not_executed(const std::string& path, int error_number);
// "is a source file: compile it with …", by the file's name; empty: it does not look like one.
std::string what_to_do_with_source(const std::string& path);

}  // namespace tutti::launcher
