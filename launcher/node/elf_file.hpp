// SPDX-License-Identifier: BSD-3-Clause
// The head of an ELF file, as far as a launcher wants it: for which machine it is, and what it
// needs to run. Everything read is bounded and checked: a file may be cut, foreign, or made to
// mislead.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti::launcher {

struct ElfFile {
  int machine = 0;  // EM_X86_64, …
  int bits = 0;     // 32 or 64
  bool big_endian = false;
  bool is_object = false;  // not linked yet
  // Of files with 64 bits and this machine's order of bytes; of others they stay empty:
  std::string interpreter;                   // the dynamic linker
  std::vector<std::string> needed;           // DT_NEEDED
  std::vector<std::string> library_folders;  // DT_RPATH and DT_RUNPATH, with $ORIGIN replaced
};
// Nothing: no regular file that can be read, or no ELF.
std::optional<ElfFile> read_elf(const std::string& path);
// "64-bit Arm (aarch64)"
std::string machine_text(const ElfFile& file);

}  // namespace tutti::launcher
