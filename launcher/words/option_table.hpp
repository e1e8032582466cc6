// SPDX-License-Identifier: BSD-3-Clause
// The options of mpirun as one table: those of Tutti, and those that users of Open MPI, MPICH and
// Slurm type. From it come parsing, the help, suggestions, the completion of shells and the rows of
// tutti-options(7).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/words/options.hpp"

namespace tutti::launcher {

struct Option;

// A command line as far as it is understood.
struct Parse {
  RunOptions run;
  AppOptions app;
  std::string option;              // as the user wrote it, for messages
  const Option* row = nullptr;     // what it is
  std::string second;              // the second value, where the row has two
  std::string ranks_by;            // which option gave this program its number of ranks
  std::vector<std::string> files;  // --app: files of programs
};

struct Option {
  std::vector<std::string_view> names;  // without dashes, the documented one first
  std::string_view value;               // what it takes, for the help; empty: nothing
  std::string_view doc;                 // of the help; empty: not in its short form
  Error (*take)(Parse&, std::string_view value);
  std::string_view from{};    // O: Open MPI, M: MPICH and Intel MPI, S: Slurm, A: aprun and PALS, J: jsrun, T: Tutti
  std::string_view page{};    // what Tutti does with it, where `doc` does not say so
  std::string_view sample{};  // a right value, for tests; two of them are divided by a space
  int values = 1;             // 2: NAME VALUE; 0: one behind '=', or none
};

const std::vector<Option>& option_table();
const std::vector<Option>& foreign_options();  // those of them that are of other launchers alone
const Option* find_option(std::string_view name);
std::string names_of(const Option& option);  // "-n, -np, --ntasks"
bool is_refused(const Option& option);       // with a sentence that says what to type
bool is_noted(const Option& option);         // taken, and a line says that it changes nothing
bool is_inert(const Option& option);         // taken; what it asks for is so, or cannot matter here
// Those that mean something here: shells complete them, and a misspelt one is taken for them.
bool is_offered(const Option& option);
std::string option_rows();   // the rows of tutti-options(7), as roff
std::string option_specs();  // for the _arguments of zsh, a line each

// --mca NAME VALUE: what it means here, or what to use instead.
Error take_mca(Parse& parse, std::string_view name);

Error bad_value(const Parse& p, std::string_view value, std::string_view expected);

}  // namespace tutti::launcher
