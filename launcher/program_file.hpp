// SPDX-License-Identifier: BSD-3-Clause
// What a program's file says of itself: the machine that it was built for, the libraries that it
// needs, the interpreter that it names, and, for a shell's script, which programs it starts. Judges
// a program before it is started, and explains why one could not be. Files are read with bounds and
// believed in nothing; where nothing can be told, nothing is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::launcher {

struct ElfFile {
  int machine = 0;     // EM_X86_64, …
  int bits = 0;        // 32 or 64
  bool big_endian = false;
  bool is_object = false;           // not linked yet
  std::string interpreter;          // the dynamic linker; empty: none, or not told
  std::vector<std::string> needed;  // DT_NEEDED, of files for machines like this one
  std::vector<std::string> library_folders;  // DT_RPATH and DT_RUNPATH, $ORIGIN replaced
};
// Nothing: no regular file, or no ELF.
std::optional<ElfFile> read_elf(const std::string& path);
// "64-bit Arm (aarch64)"
std::string machine_text(const ElfFile& file);

// How a program is started: its words, where from, and with which variables.
struct Start {
  std::string path;                  // as find_program() found it
  std::vector<std::string> command;  // the program's name and its arguments
  std::string folder, search_path, library_path;  // current folder, PATH, LD_LIBRARY_PATH
};
// The MPI that a program is built for that is not this one: a sentence that says so and what to do.
// Looks through scripts of shells, and through commands such as env and taskset.
std::optional<std::string> built_for_another_mpi(const Start& start);

// Of a shell's script the commands that run in any case, as words; those whose words depend on
// variables are left out, but for the script's own arguments.
std::vector<std::vector<std::string>> commands_of_script(std::string_view text,
                                                         const std::vector<std::string>& arguments);

// Why execve() refused a file that is there; empty: the error number says it all.
std::string why_not_executed(const std::string& path, int error_number);
// What to do with a file that is no program, by its name ("compile it with …"); empty: nobody knows.
std::string what_to_do_with_source(const std::string& path);

}  // namespace tutti::launcher
